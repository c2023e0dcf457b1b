//! Checks on the node's resources, in words, and amounts as people write them.

use ketcd_scheduler::ResourceCheck;

use super::{list, pod};

pub(in crate::explanation) fn is_in_bytes(resource: &str) -> bool {
    matches!(resource, "memory" | "ephemeral-storage") || resource.starts_with("hugepages-")
}

pub(super) fn text(check: &ResourceCheck) -> String {
    match check {
        ResourceCheck::Pods { count, allowed } => format!("pods: {count} of {allowed} there"),
        ResourceCheck::Sidecar => "it has a sidecar, and the feature gate SidecarContainers is off".to_owned(),
        ResourceCheck::Ignored { resource, requested } => format!("{resource}: {} asked, not looked at here", amount(resource, *requested)),
        ResourceCheck::Absent { resource, requested } => format!("{resource}: {} asked, the node has none", amount(resource, *requested)),
        ResourceCheck::Requested { resource, requested, used, allocatable, .. } => {
            let free = allocatable.saturating_sub(*used).max(0);
            let [requested, free, used, allocatable] = [*requested, free, *used, *allocatable].map(|value| amount(resource, value));
            format!("{resource}: {requested} asked, {free} free; {used} of {allocatable} taken")
        }
        ResourceCheck::WithDevices { resource, requested, used, allocatable } => {
            let [requested, used, allocatable] = [*requested, *used, *allocatable].map(|value| amount(resource, value));
            format!("{resource}: {requested} asked with what the devices take, {used} of {allocatable} taken")
        }
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}

/// The pods that take most of a resource.
pub(super) fn who(check: &ResourceCheck) -> Option<String> {
    const MAX_PODS_NAMED: usize = 3;
    match check {
        ResourceCheck::Requested { resource, pods, .. } if !pods.is_empty() => {
            let pods = pods.iter().map(|(key, requested)| format!("{} {}", pod(key), amount(resource, *requested)));
            Some(format!("by {}", list(pods, MAX_PODS_NAMED)))
        }
        _ => None,
    }
}

/// An amount as people write it: cores, Gi, pieces.
fn amount(resource: &str, value: i64) -> String {
    const BYTE_UNITS: [(&str, i64); 4] = [("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)];
    let trimmed = |number: f64| {
        let text = format!("{number:.2}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    match resource {
        "cpu" if value % 1000 == 0 || value.unsigned_abs() >= 1000 => trimmed(value as f64 / 1000.0),
        "cpu" => format!("{value}m"),
        _ if is_in_bytes(resource) => match BYTE_UNITS.iter().find(|(_, unit)| value.unsigned_abs() >= unit.unsigned_abs()) {
            Some((suffix, unit)) => format!("{}{suffix}", trimmed(value as f64 / *unit as f64)),
            None => value.to_string(),
        },
        _ => value.to_string(),
    }
}
