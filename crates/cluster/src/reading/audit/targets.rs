//! From what a request names, a group and a resource, to the kind that is stored, and to keys.

use std::collections::HashMap;
use std::sync::Arc;

use ketcd_audit::RequestTarget;
use ketcd_kube::Kind;

/// More kinds than any cluster has: a forged log may name many.
const MAX_KINDS: usize = 10_000;

/// The stored kinds of what requests name. `None` is a resource without a known kind.
#[derive(Default)]
pub(crate) struct TargetKinds(HashMap<(Arc<str>, Arc<str>), Option<Arc<Kind>>>);

impl TargetKinds {
    /// The stored kind of a target, among `kinds`; `None` for one that is none of them.
    pub(crate) fn of<'k>(&mut self, target: &RequestTarget, kinds: impl IntoIterator<Item = &'k Arc<Kind>>) -> Option<Arc<Kind>> {
        let named = (Arc::clone(&target.group), Arc::clone(&target.resource));
        if let Some(known) = self.0.get(&named) {
            return known.clone();
        }
        // Events of both groups are stored as those of the core group.
        let group = if &*target.group == "events.k8s.io" { "" } else { &*target.group };
        let kind = kinds.into_iter().find(|kind| kind.plural == *target.resource && kind.has_group(group)).cloned();
        if self.0.len() < MAX_KINDS {
            self.0.insert(named, kind.clone());
        }
        kind
    }

    /// Whether a resource of that name is of a known kind.
    pub(crate) fn has_resource(&self, resource: &str) -> bool {
        self.0.values().flatten().any(|kind| kind.plural == resource)
    }
}

/// The key of an object that a request names, or of a collection what its keys begin with, where `name` is empty.
pub(crate) fn key(prefix: &str, kind: Option<&Kind>, target: &RequestTarget, (namespace, name): (&str, &str)) -> String {
    match kind {
        Some(kind) => kind.key(prefix, Some(namespace).filter(|namespace| !namespace.is_empty()), name),
        None if namespace.is_empty() => format!("{prefix}/{}/{}/{name}", target.group, target.resource),
        None => format!("{prefix}/{}/{}/{namespace}/{name}", target.group, target.resource),
    }
}
