//! Checks on the node itself, in words.

use ketcd_scheduler::NodeCheck;
use ketcd_scheduler::cluster::{HostPort, Taint, Toleration};

use super::pod;

/// What was checked; `holds`: whether it lets the pod pass.
pub(super) fn text(check: &NodeCheck, holds: bool) -> String {
    match check {
        NodeCheck::Name(None) => "the pod names no node".to_owned(),
        NodeCheck::Name(Some(wanted)) => format!("the pod names node {wanted}"),
        NodeCheck::Unschedulable(false) => "it is not cordoned".to_owned(),
        NodeCheck::Unschedulable(true) if holds => "it is cordoned, which the pod tolerates".to_owned(),
        NodeCheck::Unschedulable(true) => "it is cordoned (spec.unschedulable)".to_owned(),
        NodeCheck::Taint { taint, toleration: None } => format!("taint {} is not tolerated", key_value_effect(taint)),
        NodeCheck::Taint { taint, toleration: Some(by) } => {
            format!("taint {} is tolerated by {}", key_value_effect(taint), toleration(by))
        }
        NodeCheck::NoTaints { effects } => format!("it has no {} taint", effects.join(" or ")),
        NodeCheck::Condition { kind, status: None } => format!("it has no condition {kind}"),
        NodeCheck::Condition { kind, status: Some(status) } => format!("condition {kind} is {status}"),
        NodeCheck::PressureOnBestEffort { kind } => {
            format!("condition {kind} is True, which keeps only pods away that ask for no cpu and memory")
        }
        NodeCheck::DeclaredFeature(feature) => format!("feature {feature} is {}", if holds { "declared" } else { "not declared" }),
        NodeCheck::HostPort { port, user: None } => format!("{} is free", host_port(port)),
        NodeCheck::HostPort { port, user: Some(user) } => format!("{} is {}'s", host_port(port), pod(user)),
        NodeCheck::NoHostPorts => "the pod wants no host port".to_owned(),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}

fn toleration(toleration: &Toleration) -> String {
    let effect = if toleration.effect.is_empty() { String::new() } else { format!(":{}", toleration.effect) };
    match (&*toleration.operator, &*toleration.key) {
        ("Exists", "") => format!("a toleration of every key{effect}"),
        ("Exists", key) => format!("{key} Exists{effect}"),
        ("" | "Equal", key) => format!("{key}={}{effect}", toleration.value),
        (operator, key) => format!("{key} {operator} {}{effect}", toleration.value),
    }
}

fn host_port(port: &HostPort) -> String {
    let address = if matches!(&*port.ip, "" | "0.0.0.0") { String::new() } else { format!(" of {}", port.ip) };
    format!("port {}/{}{address}", port.port, port.protocol)
}

/// A taint as kubectl takes it: `key=value:effect`.
pub(in crate::explanation) fn key_value_effect(taint: &Taint) -> String {
    let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
    format!("{}{value}:{}", taint.key, taint.effect)
}
