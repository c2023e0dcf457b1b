//! What is written in place of a stored value: the stored bytes, a masked Secret, an object that is reduced or redacted.

use bytes::Bytes;
use serde_json::{Value, json};

use ketcd_kube::{Body, Decoder, is_secret_key};
use ketcd_store::KeyValue;

use super::kept_keys::KeptDepth;
use crate::cluster::Cluster;
use crate::questions::reduced::{mark, take_mark};

pub(super) struct Values {
    /// Shows what is stored, Secrets too.
    open: Decoder,
    /// The same with masked Secrets.
    masked: Decoder,
    holds_secrets: bool,
}

impl Values {
    /// Decodes what is stored; values of Secrets are written only where the bundle is to hold them.
    pub(super) fn new(cluster: &Cluster, prefix: &str, holds_secrets: bool) -> Self {
        let stored = Decoder::for_stored_values().with_storage(Some(prefix), cluster.options.keys.clone());
        Self { open: stored.clone().showing_secrets(true), masked: stored, holds_secrets }
    }

    /// Returns the object in a value as far as it is kept, before it is redacted; `None` where it cannot be decoded.
    pub(super) fn kept(&self, entry: &KeyValue, depth: KeptDepth) -> Option<KeptObject> {
        let decoded = match depth {
            KeptDepth::Scheduling(kind) => self.open.only(kind.reduced_fields()).decode(&entry.key, &entry.value, 0),
            KeptDepth::Whole | KeptDepth::Presence => self.open.decode(&entry.key, &entry.value, 0),
        };
        let Body::Object(object) = decoded.body else { return None };
        let mut object = object.into_value();
        let was_reduced = take_mark(&mut object);
        match depth {
            KeptDepth::Whole => {}
            KeptDepth::Scheduling(kind) => kind.reduce(&mut object),
            KeptDepth::Presence => object = presence(&object),
        }
        Some(KeptObject { object, is_reduced: was_reduced || matches!(depth, KeptDepth::Scheduling(_)) })
    }

    /// Returns what is written where nothing is redacted; `None` where that might hold what was to go, as the value cannot be decoded.
    pub(super) fn written(&self, entry: &KeyValue, depth: KeptDepth) -> Option<Bytes> {
        match depth {
            KeptDepth::Whole if is_secret_key(&entry.key) && !self.holds_secrets => self.masked(entry),
            KeptDepth::Whole => Some(entry.value.clone()),
            KeptDepth::Scheduling(_) | KeptDepth::Presence => {
                let mut kept = self.kept(entry, depth)?;
                kept.mark();
                kept.written()
            }
        }
    }

    fn masked(&self, entry: &KeyValue) -> Option<Bytes> {
        match self.masked.decode(&entry.key, &entry.value, 0).body {
            Body::Object(object) => json_of(&object),
            Body::Opaque(_) => None,
        }
    }
}

/// An object as far as it is kept.
pub(super) struct KeptObject {
    pub object: Value,
    /// Whether it is reduced, now or in the bundle that it is from.
    is_reduced: bool,
}

impl KeptObject {
    /// Marks it if it is reduced.
    pub(super) fn mark(&mut self) {
        if self.is_reduced {
            mark(&mut self.object);
        }
    }

    /// What is written of it.
    pub(super) fn written(&self) -> Option<Bytes> {
        json_of(&self.object)
    }
}

/// An API server with storage-media-type application/json stores an object so.
fn json_of(object: &Value) -> Option<Bytes> {
    serde_json::to_vec(object).ok().map(|mut text| {
        text.push(b'\n');
        text.into()
    })
}

fn presence(object: &Value) -> Value {
    let metadata = &object["metadata"];
    json!({"apiVersion": object["apiVersion"], "kind": object["kind"], "metadata": {"name": metadata["name"], "uid": metadata["uid"]}})
}
