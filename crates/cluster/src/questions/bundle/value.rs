//! What is written in place of a stored value: the stored bytes, a masked Secret, an object that is reduced or redacted.

use bytes::Bytes;
use serde_json::{Value, json};

use ketcd_kube::{Body, Decoder, is_secret_key};
use ketcd_redact::Redactor;
use ketcd_store::KeyValue;

use super::kept_keys::KeptDepth;
use crate::cluster::Cluster;
use crate::questions::reduced::{mark, take_mark};

pub(super) struct Values {
    /// Shows what is stored, Secrets too.
    open: Decoder,
    /// The same with masked Secrets.
    masked: Decoder,
    show_secrets: bool,
}

impl Values {
    pub(super) fn new(cluster: &Cluster, prefix: &str) -> Self {
        let stored = Decoder::for_stored_values().with_prefix(prefix).with_key_ring(cluster.options.keys.clone());
        Self { open: stored.clone().showing_secrets(true), masked: stored, show_secrets: cluster.options.show_secrets }
    }

    /// Returns the object in a value as far as it is kept, before it is redacted; `None` where it cannot be decoded.
    pub(super) fn object(&self, entry: &KeyValue, depth: KeptDepth) -> Option<Value> {
        self.kept(entry, depth).map(|(object, _)| object)
    }

    /// The same, and whether it is reduced, now or in the bundle that it is from.
    fn kept(&self, entry: &KeyValue, depth: KeptDepth) -> Option<(Value, bool)> {
        let Body::Object(object) = self.open.decode(&entry.key, &entry.value, 0).body else { return None };
        let mut object = object.into_value();
        let was_reduced = take_mark(&mut object);
        match depth {
            KeptDepth::Whole => {}
            KeptDepth::Scheduling(kind) => kind.reduce(&mut object),
            KeptDepth::Presence => object = presence(&object),
        }
        Some((object, was_reduced || matches!(depth, KeptDepth::Scheduling(_))))
    }

    /// Returns what is written; `None` where that might hold what was to go, as the value cannot be decoded.
    pub(super) fn written(&self, entry: &KeyValue, depth: KeptDepth, redactor: Option<&mut Redactor>) -> Option<Bytes> {
        if depth == KeptDepth::Whole && redactor.is_none() {
            return match is_secret_key(&entry.key) && !self.show_secrets {
                true => self.masked(entry),
                false => Some(entry.value.clone()),
            };
        }
        let (mut object, is_reduced) = self.kept(entry, depth)?;
        if let Some(redactor) = redactor {
            redactor.object(&String::from_utf8_lossy(&entry.key), &mut object);
        }
        if is_reduced {
            mark(&mut object);
        }
        json_of(&object)
    }

    fn masked(&self, entry: &KeyValue) -> Option<Bytes> {
        match self.masked.decode(&entry.key, &entry.value, 0).body {
            Body::Object(object) => json_of(&object),
            Body::Opaque(_) => None,
        }
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
