//! Objects that exist but cannot be read. A lookup of one is reported to the innermost [`collect`], so that no plugin takes it for absent.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::ObjectKey;
use super::namespaced_name::{Namespaced, NamespacedName};

/// An object, or a part of one, that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectProblem {
    /// Which object: `pods/shop/web-0`.
    pub object: String,
    /// What is wrong, a sentence without its full stop.
    pub what: String,
}

/// An object that exists but cannot be read as its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Which object.
    pub key: ObjectKey,
    /// Why it cannot be read, a fragment.
    pub(crate) why: Arc<str>,
    /// The node of a pod, if that can be read.
    pub(crate) node: Option<Arc<str>>,
    /// Whether it is a pod that is not bound, not nominated, or finished: other pods are scheduled as if it did not exist.
    pub idle: bool,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (namespace, name) = (&self.key.namespace, &self.key.name);
        let slash = if namespace.is_empty() { "" } else { "/" };
        write!(f, "{} \"{namespace}{slash}{name}\" cannot be read: {}", self.key.kind.name(), self.why)
    }
}

impl Unreadable {
    /// Whether it may be a pod on `node`.
    pub fn may_be_on(&self, node: &str) -> bool {
        !self.idle && self.node.as_deref().is_none_or(|known| known == node)
    }
}

/// Unreadable objects of one kind, by namespace (empty for cluster-wide kinds) and name.
#[derive(Clone, Debug, Default)]
pub(super) struct Unreadables(BTreeMap<NamespacedName, Arc<Unreadable>>);

impl Unreadables {
    /// Adds one, or removes it; returns the one from before.
    pub(super) fn set(&mut self, key: NamespacedName, unreadable: Option<Arc<Unreadable>>) -> Option<Arc<Unreadable>> {
        match unreadable {
            Some(unreadable) => self.0.insert(key, unreadable),
            None if self.0.is_empty() => None,
            None => self.0.remove(&key),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Unreadable>> {
        self.0.values()
    }

    /// Reports one, if it is among them.
    pub(super) fn report(&self, namespace: &str, name: &str) {
        self.0.get(&(namespace, name) as &dyn Namespaced).into_iter().for_each(report);
    }

    /// Reports all of one namespace.
    pub(super) fn report_in(&self, namespace: &str) {
        self.iter().filter(|unreadable| *unreadable.key.namespace == *namespace).for_each(report);
    }

    /// Reports all of them.
    pub(super) fn report_all(&self) {
        self.iter().for_each(report);
    }

    /// Reports pods that may be bound or nominated to some node.
    pub(super) fn report_placed(&self) {
        self.iter().filter(|unreadable| !unreadable.idle).for_each(report);
    }
}

thread_local! {
    /// Objects reported on this thread, one list for each [`collect`] under way, the innermost last.
    static COLLECTIONS: RefCell<Vec<Vec<Arc<Unreadable>>>> = const { RefCell::new(Vec::new()) };
}

/// Runs `look` and returns its result with the unreadable objects that its lookups on this thread encountered, each once.
pub(crate) fn collect<T>(look: impl FnOnce() -> T) -> (T, Vec<Arc<Unreadable>>) {
    COLLECTIONS.with_borrow_mut(|collections| collections.push(Vec::new()));
    let result = look();
    (result, COLLECTIONS.with_borrow_mut(Vec::pop).unwrap_or_default())
}

/// Reports an unreadable object to the innermost [`collect`].
pub(crate) fn report(unreadable: &Arc<Unreadable>) {
    COLLECTIONS.with_borrow_mut(|collections| {
        if let Some(collected) = collections.last_mut()
            && !collected.contains(unreadable)
        {
            collected.push(unreadable.clone());
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::WatchedKind;

    #[test]
    fn an_object_is_reported_once_and_to_the_innermost_collection() {
        let key = ObjectKey { kind: WatchedKind::CsiNode, namespace: "".into(), name: "n1".into() };
        let one = Arc::new(Unreadable { key, why: "it is empty".into(), node: None, idle: false });
        report(&one);
        let ((inside, met), outside) = collect(|| {
            report(&one);
            report(&one);
            collect(|| 7)
        });
        assert_eq!((inside, met.len(), outside), (7, 0, vec![one.clone()]));
        assert_eq!(one.to_string(), "CSINode \"n1\" cannot be read: it is empty");
    }
}
