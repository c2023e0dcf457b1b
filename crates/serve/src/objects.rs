//! Stored values to objects as a resource serves them: decoded, converted to its version, values of Secrets masked so that clients can decode them.

use std::sync::Arc;

use ketcd_cluster::read::name_below;
use ketcd_kube::api::{Resource, convert};
use ketcd_kube::{Body, Decoded, Decoder, FieldSet, MASK};
use ketcd_store::KeyValue;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::app::App;
use super::status::{self, Status};

/// The mask of a Secret's values, in base64 as all of them are.
const MASKED_BYTES: &str = "Kioq";

/// Reads objects of one resource.
#[derive(Clone)]
pub(super) struct Objects {
    app: Arc<App>,
    resource: Arc<Resource>,
    prefix: String,
    decoder: Decoder,
    /// How the text of an object begins that needs no conversion.
    type_meta: String,
}

/// An object as it is stored, or why it cannot be decoded.
pub(super) type Stored = Result<Value, String>;

/// What a key says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Named<'a> {
    /// `None` where cluster-scoped.
    pub namespace: Option<&'a str>,
    pub name: &'a str,
}

impl Objects {
    /// The objects of a resource.
    pub(super) fn of(app: &Arc<App>, resource: &Arc<Resource>) -> Self {
        let type_meta = format!("{{\"apiVersion\":{},\"kind\":{}", json!(resource.api_version()), json!(resource.kind.kind));
        let prefix = resource.kind.key_prefix(app.data.prefix(), None);
        let decoder = app.data.decoder().clone();
        let decoder = match resource.schemas() {
            Some(schemas) => decoder.with_schemas(Arc::clone(schemas)),
            None => decoder,
        };
        Self { app: Arc::clone(app), resource: Arc::clone(resource), prefix, decoder, type_meta }
    }

    /// Returns the namespace and name in a key; `None` where it is none of the resource's.
    pub(super) fn name<'k>(&self, key: &'k [u8]) -> Option<Named<'k>> {
        let (namespace, name) = name_below(&self.resource.kind, key.get(self.prefix.len()..)?)?;
        Some(Named { namespace, name })
    }

    /// Returns the object in a value as it is stored.
    pub(super) fn stored(&self, entry: &KeyValue) -> Stored {
        self.unmasked(self.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0))
    }

    /// Returns these members of the object in a value.
    pub(super) fn stored_part(&self, entry: &KeyValue, fields: &FieldSet) -> Stored {
        self.unmasked(self.decoder.decode_only(&entry.key, &entry.value, entry.mod_revision.0, fields))
    }

    /// Reads these members of the object in a value, which is no Secret, as `T`, and appends the JSON of the object's metadata.
    ///
    /// # Errors
    /// Why the value cannot be decoded; nothing is appended.
    pub(super) fn row<'v, T: Deserialize<'v>>(
        &self,
        entry: &'v KeyValue,
        fields: &FieldSet,
        metadata: &mut Vec<u8>,
    ) -> std::result::Result<T, String> {
        let row = self.decoder.decode_row(&entry.key, &entry.value, entry.mod_revision.0, fields, metadata);
        row.map(|(row, _)| row).map_err(|opaque| opaque.reason)
    }

    fn unmasked(&self, decoded: Decoded) -> Stored {
        match decoded.body {
            Body::Object(object) => {
                let mut object = object.into_value();
                if self.is_secret() {
                    unmask(&mut object);
                }
                Ok(object)
            }
            Body::Opaque(opaque) => Err(opaque.reason),
        }
    }

    /// Makes a stored object what the resource serves.
    fn convert(&self, object: &mut Value) -> status::Result<()> {
        convert::to(object, &self.resource, self.app.data.release()).map_err(|reason| {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            Status::not_acceptable(format!("{} {name:?} is {reason}", self.resource.qualified()))
        })
    }

    /// Returns a stored object as the resource serves it or, where it could not be decoded, what its key says of it, with the reason in an annotation.
    ///
    /// # Errors
    /// It cannot be served in this version.
    pub(super) fn served(&self, entry: &KeyValue, stored: Stored) -> status::Result<Value> {
        match stored {
            Ok(mut object) => self.convert(&mut object).map(|()| object),
            Err(reason) => Ok(self.stub(entry, &reason)),
        }
    }

    /// Appends the JSON of an object, as [`Objects::served`] returns it; `with_type` says whether with its `apiVersion` and `kind`, which
    /// items of lists of Kubernetes' own kinds lack.
    ///
    /// # Errors
    /// As there.
    pub(super) fn append(&self, entry: &KeyValue, with_type: bool, out: &mut Vec<u8>) -> status::Result<()> {
        let start = out.len();
        // Its members are sorted, so these come first.
        if !self.is_secret() && self.decoder.decode_text(&entry.key, &entry.value, entry.mod_revision.0, out).is_ok() {
            let text = &out[start..];
            let after = text.get(self.type_meta.len()).copied();
            if text.starts_with(self.type_meta.as_bytes()) && matches!(after, Some(b',' | b'}')) {
                if !with_type {
                    let comma = usize::from(after == Some(b','));
                    out.drain(start + 1..start + self.type_meta.len() + comma);
                }
                return Ok(());
            }
        }
        out.truncate(start);
        self.append_served(self.served(entry, self.stored(entry))?, with_type, out);
        Ok(())
    }

    /// Appends the JSON of an object that is served, as [`Objects::append`] does.
    pub(super) fn append_served(&self, mut object: Value, with_type: bool, out: &mut Vec<u8>) {
        if let (false, Value::Object(members)) = (with_type, &mut object) {
            members.remove("apiVersion");
            members.remove("kind");
        }
        append_json(out, &object);
    }

    /// Appends the JSON of an object's `PartialObjectMetadata`; what its key says where it cannot be decoded, for the reason given. `metadata` is
    /// the text of its metadata where that was written already, else empty.
    pub(super) fn append_partial(&self, entry: &KeyValue, undecoded: Option<&String>, metadata: &[u8], version: &str, out: &mut Vec<u8>) {
        out.extend(format!("{{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/{version}\",\"metadata\":").bytes());
        let written = match undecoded {
            Some(reason) => Err(reason.clone()),
            None if !metadata.is_empty() => {
                out.extend_from_slice(metadata);
                Ok(())
            }
            None => {
                let written = self.decoder.decode_metadata_text(&entry.key, &entry.value, entry.mod_revision.0, out);
                written.map_err(|opaque| opaque.reason)
            }
        };
        if let Err(reason) = written {
            append_json(out, &self.stub(entry, &reason)["metadata"]);
        }
        out.push(b'}');
    }

    fn is_secret(&self) -> bool {
        self.resource.custom.is_none() && self.resource.kind.kind == "Secret"
    }

    /// Returns what the key says of an object that cannot be served.
    pub(super) fn stub(&self, entry: &KeyValue, reason: &str) -> Value {
        let mut metadata = Map::new();
        if let Some(named) = self.name(&entry.key) {
            metadata.insert("name".to_owned(), named.name.into());
            if let Some(namespace) = named.namespace {
                metadata.insert("namespace".to_owned(), namespace.into());
            }
        }
        metadata.insert("resourceVersion".to_owned(), entry.mod_revision.to_string().into());
        metadata.insert("annotations".to_owned(), json!({"ketcd/undecoded": reason}));
        json!({"apiVersion": self.resource.api_version(), "kind": self.resource.kind.kind, "metadata": metadata})
    }
}

/// Appends a value's JSON.
pub(super) fn append_json(out: &mut Vec<u8>, value: &Value) {
    serde_json::to_writer(out, value).expect("a value has only text for keys, and memory takes every byte");
}

/// Returns an object's `PartialObjectMetadata`.
pub(super) fn partial(object: &Value, version: &str) -> Value {
    let metadata = object.get("metadata").cloned().unwrap_or_else(|| json!({}));
    json!({"kind": "PartialObjectMetadata", "apiVersion": format!("meta.k8s.io/{version}"), "metadata": metadata})
}

fn unmask(secret: &mut Value) {
    for value in secret.get_mut("data").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        if value == MASK {
            *value = MASKED_BYTES.into();
        }
    }
}
