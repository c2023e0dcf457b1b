//! Checks on the node's resources, in words.

use ketcd_scheduler::ResourceCheck;

use super::super::amounts::amount;
use super::{list, pod};

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
