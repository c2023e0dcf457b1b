//! Objects of one kind, looked up by name. The listers themselves are made by the table of kinds.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::namespaced_name::{Namespaced, NamespacedName};
use super::unreadable::{Encounters, Unreadable, Unreadables};

/// Objects of one kind by namespace (empty for cluster-scoped kinds) and name. A lookup of one that cannot be read is reported
/// ([`Encounters`]).
#[derive(Debug)]
pub(crate) struct Lister<T> {
    objects: BTreeMap<NamespacedName, Arc<T>>,
    unreadable: Unreadables,
}

impl<T> Clone for Lister<T> {
    fn clone(&self) -> Self {
        Self { objects: self.objects.clone(), unreadable: self.unreadable.clone() }
    }
}

impl<T> Default for Lister<T> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), unreadable: Unreadables::default() }
    }
}

impl<T> Lister<T> {
    /// Reports lookups there from now on.
    pub(super) fn report_to(&mut self, encounters: &Arc<Encounters>) {
        self.unreadable.report_to(encounters);
    }

    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<&Arc<T>> {
        let found = self.objects.get(&(namespace, name) as &dyn Namespaced);
        if found.is_none() {
            self.unreadable.report(namespace, name);
        }
        found
    }

    /// Returns all objects, ascending by namespace and name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.unreadable.report_all();
        self.objects.values()
    }

    /// Returns the objects of one namespace, ascending by name, each with its name.
    pub(crate) fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = (&Arc<str>, &Arc<T>)> {
        self.unreadable.report_in(namespace);
        let first = (namespace, "");
        let from: Bound<&dyn Namespaced> = Bound::Included(&first);
        let objects = self.objects.range::<dyn Namespaced, _>((from, Bound::Unbounded));
        objects.take_while(move |((of, _), _)| **of == *namespace).map(|((_, name), object)| (name, object))
    }

    /// Sets an object, or marks it as unreadable, or deletes both; returns what was there before.
    pub(super) fn set(
        &mut self,
        key: NamespacedName,
        object: Option<Arc<T>>,
        mark: Option<Arc<Unreadable>>,
    ) -> (Option<Arc<T>>, Option<Arc<Unreadable>>) {
        let marked = self.unreadable.set(key.clone(), mark);
        let before = match object {
            Some(object) => self.objects.insert(key, object),
            None => self.objects.remove(&key),
        };
        (before, marked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_are_listed_separately() {
        let mut lister = Lister::default();
        let objects = [("a", "x"), ("a", "y"), ("ab", "x"), ("", "x")];
        for (namespace, name) in objects {
            lister.set((namespace.into(), name.into()), Some(Arc::new(format!("{namespace}/{name}"))), None);
        }
        let listed = |namespace: &str| lister.in_namespace(namespace).map(|(_, object)| object.to_string()).collect::<Vec<_>>();
        assert_eq!(listed("a"), ["a/x", "a/y"]);
        assert_eq!((listed("ab"), listed(""), listed("b")), (vec!["ab/x".to_owned()], vec!["/x".to_owned()], Vec::new()));
        assert_eq!(lister.get("a", "y").map(|object| object.as_str()), Some("a/y"));
        assert!(lister.get("a", "z").is_none() && lister.iter().count() == 4);
        let (before, _) = lister.set(("a".into(), "y".into()), None, None);
        assert!(before.is_some_and(|before| *before == "a/y") && lister.get("a", "y").is_none());
    }
}
