//! Which pods are a pod's siblings, when nothing but its workload says so.

use std::sync::Arc;

use crate::Cycle;
use crate::cluster::{Lister, Owner, Requirement, Selector};

/// The selector of a pod's Services and its controller (up to 1.21: of every set that selects it), all requirements together; empty if there is none.
/// Upstream: `plugins/helper/spread.go` DefaultSelector.
pub(super) fn workload_selector(cycle: &Cycle) -> Selector {
    let mut merged = Selector::default();
    for selector in workload_selectors(cycle) {
        for requirement in selector.requirements {
            if !merged.requirements.contains(&requirement) {
                merged.requirements.push(requirement);
            }
        }
    }
    merged
}

/// The same, one selector per Service or set.
pub(super) fn workload_selectors(cycle: &Cycle) -> Vec<Selector> {
    let (pod, listers) = (cycle.pod, cycle.state.listers());
    let matching = |lister: &Lister<Owner>| -> Vec<Selector> {
        let selectors = lister.in_namespace(&pod.namespace).filter_map(|(_, owner)| owner.selector.as_ref());
        selectors.filter(|selector| selector.matches(&pod.labels)).cloned().collect()
    };
    let mut selectors = matching(&listers.services);
    if !cycle.profile.rules.default_selector_by_owner {
        selectors.extend(matching(&listers.replication_controllers));
        selectors.extend(matching(&listers.replica_sets));
        selectors.extend(matching(&listers.stateful_sets));
        return selectors;
    }
    let owner = pod.spec.controller.as_ref().and_then(|owner| {
        let lister = match (&*owner.api_version, &*owner.kind) {
            ("v1", "ReplicationController") => &listers.replication_controllers,
            ("apps/v1", "ReplicaSet") => &listers.replica_sets,
            ("apps/v1", "StatefulSet") => &listers.stateful_sets,
            _ => return None,
        };
        lister.get(&pod.namespace, &owner.name).map(Arc::as_ref)
    });
    let Some(own) = owner.and_then(|owner| owner.selector.clone()) else { return selectors };
    if pod.spec.controller.as_ref().is_some_and(|owner| &*owner.kind == "ReplicationController") {
        // Its selector is a map laid over those of the Services: where the pod no longer matches it, its values win.
        let again = |known: &Requirement| own.requirements.iter().any(|own| own.key == known.key);
        selectors.iter_mut().for_each(|selector| selector.requirements.retain(|known| !again(known)));
    }
    selectors.push(own);
    selectors
}
