//! Keys of the objects that schedulers watch.

use std::sync::Arc;

use serde_json::Value;

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
    /// Parses what follows the prefix in a key of etcd, for example `pods/shop/web-0`; `None` for kinds that no scheduler watches.
    pub fn parse(path: &str) -> Option<Self> {
        let below = |kind: WatchedKind| path.strip_prefix(kind.storage_path())?.strip_prefix('/');
        let (kind, rest) = WatchedKind::ALL.iter().find_map(|kind| Some((*kind, below(*kind)?)))?;
        let (namespace, name) = rest.split_once('/').unwrap_or(("", rest));
        (!name.is_empty() && !name.contains('/')).then(|| Self { kind, namespace: namespace.into(), name: name.into() })
    }

    /// Returns the key of an API object, by its `kind` and `metadata`; `None` for kinds that no scheduler watches.
    pub fn of(object: &Value) -> Option<Self> {
        let kind = WatchedKind::ALL.iter().copied().find(|kind| object["kind"] == kind.name())?;
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().into();
        Some(Self { kind, namespace: text("namespace"), name: text("name") })
    }

    /// Returns the object as a path of resource, namespace and name: `pods/shop/web-0`.
    pub(crate) fn path(&self) -> String {
        let resource = self.kind.resource();
        if self.namespace.is_empty() { format!("{resource}/{}", self.name) } else { format!("{resource}/{}/{}", self.namespace, self.name) }
    }

    pub(super) fn namespaced_name(&self) -> NamespacedName {
        (self.namespace.clone(), self.name.clone())
    }
}
