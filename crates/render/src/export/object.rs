//! The row of an object, from its text: what columns show of it is read from there.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::kind_of;
use crate::contract::common::Time;
use crate::contract::export::ObjectRow;
use ketcd_cluster::read::{Item, ReadBody};
use ketcd_store::Revision;

/// An object that becomes a row.
pub struct ExportedObject<'a> {
    item: &'a Item<'a>,
    head: Head<'a>,
    object: Option<&'a RawValue>,
    error: Option<&'a str>,
}

impl<'a> ExportedObject<'a> {
    /// Reads what the columns show; `None` where there is no text.
    ///
    /// # Errors
    /// The text is not JSON.
    pub fn read(item: &'a Item<'a>) -> serde_json::Result<Option<Self>> {
        let (head, object, error) = match &item.body {
            ReadBody::Text(text) => (serde_json::from_slice(text)?, Some(serde_json::from_slice(text)?), None),
            ReadBody::Opaque(opaque) => (Head::default(), None, Some(opaque.reason.as_str())),
            ReadBody::None | ReadBody::Row(_) | ReadBody::Object(_) => return Ok(None),
        };
        Ok(Some(Self { item, head, object, error }))
    }

    /// Returns the row of a state: its revision, and its time where that is known.
    pub fn row(&self, revision: Revision, time: Option<Timestamp>) -> ObjectRow<'_> {
        let (entry, key) = (&self.item.entry, self.item.path());
        let Head { api_version, kind, metadata } = &self.head;
        let owner = metadata.owner_references.iter().flatten();
        let owner = owner.clone().find(|owner| owner.controller == Some(true)).or_else(|| owner.clone().next());
        ObjectRow {
            revision: revision.0,
            time: time.map(Time),
            kind: kind.as_deref().or_else(|| kind_of(key.as_ref())),
            api_version: api_version.as_deref(),
            namespace: key.and_then(|key| key.namespace),
            name: key.map_or("", |key| key.name),
            key: String::from_utf8_lossy(&entry.key),
            uid: metadata.uid.as_deref(),
            creation_timestamp: metadata.creation_timestamp.map(Time),
            deletion_timestamp: metadata.deletion_timestamp.map(Time),
            owner_kind: owner.map(|owner| &*owner.kind),
            owner_name: owner.map(|owner| &*owner.name),
            create_revision: entry.create_revision.0,
            mod_revision: entry.mod_revision.0,
            version: entry.version,
            value_bytes: entry.value.len() as i64,
            error: self.error,
            object: self.object,
        }
    }
}

/// What columns show of an object.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Head<'a> {
    #[serde(borrow)]
    api_version: Option<Cow<'a, str>>,
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    metadata: ExportedMetadata<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ExportedMetadata<'a> {
    #[serde(borrow)]
    uid: Option<Cow<'a, str>>,
    creation_timestamp: Option<Timestamp>,
    deletion_timestamp: Option<Timestamp>,
    #[serde(borrow)]
    owner_references: Option<Vec<Owner<'a>>>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct Owner<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    controller: Option<bool>,
}
