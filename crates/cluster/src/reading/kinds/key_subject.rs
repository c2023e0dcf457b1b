//! Which object a key belongs to, in the words of its kind.

use ketcd_kube::{KeyResource, ObjectPath, RegistryKey};

use crate::cluster::{Cluster, built_in};
use crate::error::Result;

/// The object of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct KeySubject {
    /// The kind, such as `Pod`; the resource, such as `crontabs.stable.example.com`, where its definition is not stored; empty for keys that
    /// belong to no object.
    pub kind: String,
    /// The namespace; empty where the kind has none.
    pub namespace: String,
    /// The name; empty for keys that belong to no object.
    pub name: String,
}

impl Cluster {
    /// Returns the object that a key belongs to.
    ///
    /// # Errors
    /// The kinds cannot be read.
    pub async fn subject_of(&self, key: &[u8]) -> Result<KeySubject> {
        let (prefix, built_in) = (self.prefix().await?, built_in());
        let mut parsed = RegistryKey::parse(prefix, key, built_in).object();
        // Definitions are read only where a key is of no built-in kind.
        if matches!(parsed, Some(ObjectPath { resource: KeyResource::Unlisted { .. }, .. })) {
            parsed = RegistryKey::parse(prefix, key, self.kinds().await?).object();
        }
        Ok(parsed.map_or_else(KeySubject::default, KeySubject::of))
    }
}

impl KeySubject {
    /// Returns the object that a key's path names.
    pub fn of(object: ObjectPath<'_>) -> Self {
        let kind = match object.resource {
            KeyResource::Known(kind) => kind.kind.to_string(),
            KeyResource::Unlisted { group: "", plural } => plural.to_owned(),
            KeyResource::Unlisted { group, plural } => format!("{plural}.{group}"),
        };
        Self { kind, namespace: object.namespace.unwrap_or_default().to_owned(), name: object.name.to_owned() }
    }
}
