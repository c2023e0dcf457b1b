//! Steps of claims and volumes, and of Services and the addresses behind them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Step, generic};

/// Returns the steps between two neighbouring versions of an object of `kind`.
pub(super) fn steps(kind: &str, before: Option<&Value>, after: &Value) -> Vec<Step> {
    let mut steps = match before {
        None => vec![generic::created(after)],
        Some(_) => Vec::new(),
    };
    match kind {
        "PersistentVolumeClaim" => bound(
            before,
            after,
            "volumeName",
            |object| object["spec"]["volumeName"].as_str().map(|name| format!("to volume {name}")),
            &mut steps,
        ),
        "PersistentVolume" => bound(before, after, "claimRef", claim, &mut steps),
        "Endpoints" | "EndpointSlice" => addresses(before, after, &mut steps),
        _ => {}
    }
    if let Some(before) = before {
        if kind == "Service" {
            steps.extend(generic::spec_changed(before, after));
        }
        generic::ending(before, after, &mut steps);
    }
    steps
}

fn claim(volume: &Value) -> Option<String> {
    let claim = &volume["spec"]["claimRef"];
    Some(format!("to claim {}/{}", claim["namespace"].as_str()?, claim["name"].as_str()?))
}

fn bound(before: Option<&Value>, after: &Value, field: &str, target: impl Fn(&Value) -> Option<String>, steps: &mut Vec<Step>) {
    let had = before.is_some_and(|before| !before["spec"][field].is_null());
    if let Some(target) = target(after).filter(|_| !had) {
        steps.push(Step::new("Reserved", target));
    }
    let phase = |object: &Value| object["status"]["phase"].as_str().unwrap_or_default().to_owned();
    let (old, new) = (before.map(phase).unwrap_or_default(), phase(after));
    if old == new {
        return;
    }
    match new.as_str() {
        "Bound" => steps.push(Step::new("Bound", target(after).unwrap_or_default())),
        "Lost" => steps.push(Step::new("Lost", "the other side is gone")),
        "Released" => steps.push(Step::new("Released", "its claim is gone")),
        "Failed" => steps.push(Step::new("Failed", after["status"]["message"].as_str().unwrap_or_default())),
        "Pending" | "Available" if before.is_some() => {
            steps.push(Step::new("Phase", format!("{} → {new}", if old.is_empty() { "none" } else { &old })))
        }
        _ => {}
    }
}

/// Ready addresses, of the old and the new kind of endpoints.
fn ready(object: &Value) -> BTreeSet<String> {
    let name = |item: &Value, address: &Value| {
        let target = item["targetRef"]["name"].as_str();
        target.or(address.as_str()).map(str::to_owned)
    };
    let subsets = object["subsets"].as_array().into_iter().flatten();
    let old =
        subsets.flat_map(|subset| subset["addresses"].as_array().into_iter().flatten()).filter_map(|address| name(address, &address["ip"]));
    let endpoints = object["endpoints"].as_array().into_iter().flatten().filter(|endpoint| endpoint["conditions"]["ready"] != false);
    old.chain(endpoints.filter_map(|endpoint| name(endpoint, &endpoint["addresses"][0]))).collect()
}

fn addresses(before: Option<&Value>, after: &Value, steps: &mut Vec<Step>) {
    let (old, new) = (before.map(ready).unwrap_or_default(), ready(after));
    let list = |names: Vec<&String>| names.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let (joined, left) = (list(new.difference(&old).collect()), list(old.difference(&new).collect()));
    if !joined.is_empty() {
        steps.push(Step::new("EndpointsReady", joined));
    }
    if !left.is_empty() {
        steps.push(Step::new("EndpointsGone", left));
    }
}
