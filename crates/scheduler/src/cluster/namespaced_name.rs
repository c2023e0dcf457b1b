//! Namespace and name as a key that is looked up by borrowed text, without an allocation.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A namespace (empty for cluster-scoped kinds) and a name.
pub(crate) type NamespacedName = (Arc<str>, Arc<str>);

/// A namespace and a name, owned or borrowed. Maps of [`NamespacedName`]s are looked up with `&(namespace, name) as &dyn Named`.
pub(super) trait Namespaced {
    fn namespace_and_name(&self) -> (&str, &str);
}

impl Namespaced for NamespacedName {
    fn namespace_and_name(&self) -> (&str, &str) {
        (&self.0, &self.1)
    }
}

impl Namespaced for (&str, &str) {
    fn namespace_and_name(&self) -> (&str, &str) {
        *self
    }
}

impl<'a> Borrow<dyn Namespaced + 'a> for NamespacedName {
    fn borrow(&self) -> &(dyn Namespaced + 'a) {
        self
    }
}

// Hashed and compared like the owned pair, as `Borrow` requires.
impl Hash for dyn Namespaced + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.namespace_and_name().hash(state);
    }
}

impl PartialEq for dyn Namespaced + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.namespace_and_name() == other.namespace_and_name()
    }
}

impl Eq for dyn Namespaced + '_ {}

impl PartialOrd for dyn Namespaced + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for dyn Namespaced + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        self.namespace_and_name().cmp(&other.namespace_and_name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};

    use super::*;

    #[test]
    fn borrowed_text_finds_owned_keys() {
        let names = [("", "n1"), ("a", ""), ("a", "b"), ("ab", ""), ("b", "a")];
        let owned = names.map(|(namespace, name)| (NamespacedName::from((namespace.into(), name.into())), name));
        let (hashed, sorted) = (HashMap::from(owned.clone()), BTreeMap::from(owned));
        for (namespace, name) in names {
            let key: &dyn Namespaced = &(namespace, name);
            assert_eq!((hashed.get(key), sorted.get(key)), (Some(&name), Some(&name)));
        }
        let absent: &dyn Namespaced = &("a", "c");
        assert!(!hashed.contains_key(absent) && !sorted.contains_key(absent));
    }
}
