//! The names of objects that schedulers watch.

use std::sync::Arc;

use super::WatchedKind;
use super::namespaced_name::NamespacedName;

/// An object's kind, namespace (empty for cluster-scoped kinds) and name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectKey {
    /// Its kind.
    pub kind: WatchedKind,
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// Parses what follows the prefix in a key of etcd, for example `pods/shop/web-0`; `None` for kinds no scheduler watches.
    pub fn parse(path: &str) -> Option<Self> {
        let below = |kind: WatchedKind| path.strip_prefix(kind.storage_path())?.strip_prefix('/');
        let (kind, rest) = WatchedKind::ALL.iter().find_map(|kind| Some((*kind, below(*kind)?)))?;
        let (namespace, name) = rest.split_once('/').unwrap_or(("", rest));
        (!name.is_empty() && !name.contains('/')).then(|| Self { kind, namespace: namespace.into(), name: name.into() })
    }

    /// Returns the object as a path of resource, namespace and name: `pods/shop/web-0`.
    pub fn path(&self) -> String {
        let resource = self.kind.resource();
        if self.namespace.is_empty() { format!("{resource}/{}", self.name) } else { format!("{resource}/{}/{}", self.namespace, self.name) }
    }

    /// Returns namespace and name.
    pub(super) fn namespaced_name(&self) -> NamespacedName {
        (self.namespace.clone(), self.name.clone())
    }
}
