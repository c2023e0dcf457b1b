//! Objects that exist but cannot be read. The state notes each lookup of one, so that no plugin takes it for absent.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
pub(super) struct Unreadables {
    objects: BTreeMap<NamespacedName, Arc<Unreadable>>,
    encounters: Arc<Encounters>,
}

impl Unreadables {
    /// Reports lookups there from now on.
    pub(super) fn report_to(&mut self, encounters: &Arc<Encounters>) {
        self.encounters = Arc::clone(encounters);
    }

    /// Adds one, or removes it; returns the one from before.
    pub(super) fn set(&mut self, key: NamespacedName, unreadable: Option<Arc<Unreadable>>) -> Option<Arc<Unreadable>> {
        match unreadable {
            Some(unreadable) => self.objects.insert(key, unreadable),
            None if self.objects.is_empty() => None,
            None => self.objects.remove(&key),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Unreadable>> {
        self.objects.values()
    }

    /// Reports one, if it is among them.
    pub(super) fn report(&self, namespace: &str, name: &str) {
        self.objects.get(&(namespace, name) as &dyn Namespaced).into_iter().for_each(|one| self.encounters.report(one));
    }

    pub(super) fn report_in(&self, namespace: &str) {
        self.iter().filter(|unreadable| *unreadable.key.namespace == *namespace).for_each(|one| self.encounters.report(one));
    }

    pub(super) fn report_all(&self) {
        self.iter().for_each(|one| self.encounters.report(one));
    }

    /// Reports pods that may be bound or nominated to some node.
    pub(super) fn report_placed(&self) {
        self.iter().filter(|unreadable| !unreadable.idle).for_each(|one| self.encounters.report(one));
    }
}

/// The unreadable objects that lookups in one state encountered: a list for each [`Encounters::collect`] under way, the innermost last.
///
/// All lookups of a collection are made by one thread at a time: see [`in_parallel`](crate::cycle::in_parallel).
#[derive(Debug, Default)]
pub(crate) struct Encounters(Mutex<Vec<Vec<Arc<Unreadable>>>>);

impl Encounters {
    /// Runs `look` and returns its result with the unreadable objects that lookups encountered meanwhile, each once.
    pub(crate) fn collect<T>(&self, look: impl FnOnce() -> T) -> (T, Vec<Arc<Unreadable>>) {
        self.collections().push(Vec::new());
        let result = look();
        (result, self.collections().pop().unwrap_or_default())
    }

    /// Adds an object to the innermost collection.
    pub(crate) fn report(&self, unreadable: &Arc<Unreadable>) {
        if let Some(collected) = self.collections().last_mut()
            && !collected.contains(unreadable)
        {
            collected.push(unreadable.clone());
        }
    }

    fn collections(&self) -> MutexGuard<'_, Vec<Vec<Arc<Unreadable>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::WatchedKind;

    #[test]
    fn an_object_is_reported_once_and_to_the_innermost_collection() {
        let key = ObjectKey { kind: WatchedKind::CsiNode, namespace: "".into(), name: "n1".into() };
        let one = Arc::new(Unreadable { key, why: "it is empty".into(), node: None, idle: false });
        let encounters = Encounters::default();
        encounters.report(&one);
        let ((inside, met), outside) = encounters.collect(|| {
            encounters.report(&one);
            encounters.report(&one);
            encounters.collect(|| 7)
        });
        assert_eq!((inside, met.len(), outside), (7, 0, vec![one.clone()]));
        assert_eq!(one.to_string(), "CSINode \"n1\" cannot be read: it is empty");
    }
}
