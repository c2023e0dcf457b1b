//! Stored values to objects as a resource serves them: decoded, converted to its version, values of Secrets masked so that clients can decode them.

use std::sync::Arc;

use ketcd_cluster::api::StoredObjects;
use ketcd_kube::api::{Resource, convert};
use ketcd_kube::{Body, Decoded, FieldSet, Release, VALUE_MASK};
use ketcd_store::KeyValue;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::data::Served;
use crate::wire::{self, Status, append_json};

/// The mask of a Secret's values, in base64 as all of them are.
const MASKED_BYTES: &str = "Kioq";

/// Reads objects of one resource.
#[derive(Clone)]
pub(crate) struct Objects {
    resource: Arc<Resource>,
    /// The release whose API is served.
    release: Release,
    stored: StoredObjects,
    /// How the text of an object begins that needs no conversion.
    type_meta: String,
}

/// An object as it is stored, or why it cannot be decoded.
pub(crate) type Stored = Result<Value, String>;

/// What a key says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Named<'a> {
    /// `None` where cluster-scoped.
    pub namespace: Option<&'a str>,
    pub name: &'a str,
}

impl Objects {
    /// The objects of a resource.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(crate) async fn of(data: &Served, resource: &Arc<Resource>) -> wire::Result<Self> {
        let type_meta = format!("{{\"apiVersion\":{},\"kind\":{}", json!(resource.api_version()), json!(resource.kind.kind));
        let stored = StoredObjects::of(data.cluster(), resource).await?;
        Ok(Self { resource: Arc::clone(resource), release: data.release(), stored, type_meta })
    }

    /// Returns the prefix of their keys, in one namespace if one is given.
    pub(crate) fn key_prefix(&self, namespace: Option<&str>) -> String {
        self.stored.key_prefix(namespace)
    }

    /// Returns the namespace and name in a key; `None` where it is none of the resource's.
    pub(crate) fn name<'k>(&self, key: &'k [u8]) -> Option<Named<'k>> {
        let (namespace, name) = self.stored.name(key)?;
        Some(Named { namespace, name })
    }

    /// Returns the object in a value as it is stored.
    pub(crate) fn stored(&self, entry: &KeyValue) -> Stored {
        self.unmasked(self.stored.decoder().decode(&entry.key, &entry.value, entry.mod_revision.0))
    }

    /// Returns these members of the object in a value.
    pub(crate) fn stored_part(&self, entry: &KeyValue, fields: &FieldSet) -> Stored {
        self.unmasked(self.stored.decoder().only(fields).decode(&entry.key, &entry.value, entry.mod_revision.0))
    }

    /// Reads these members of the object in a value, which is no Secret, as `T`, and appends the JSON of the object's metadata.
    ///
    /// # Errors
    /// Why the value cannot be decoded; nothing is appended.
    pub(crate) fn row<'v, T: Deserialize<'v>>(&self, entry: &'v KeyValue, fields: &FieldSet, metadata: &mut Vec<u8>) -> Result<T, String> {
        let row = self.stored.decoder().only(fields).decode_row(&entry.key, &entry.value, entry.mod_revision.0, metadata);
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
    fn convert(&self, object: &mut Value) -> wire::Result<()> {
        convert::to(object, &self.resource, self.release).map_err(|reason| {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            Status::not_acceptable(format!("{} {name:?} is {reason}", self.resource.qualified()))
        })
    }

    /// Returns a stored object as the resource serves it or, where it could not be decoded, what its key says of it, with the reason in an annotation.
    ///
    /// # Errors
    /// It cannot be served in this version.
    pub(crate) fn served(&self, entry: &KeyValue, stored: Stored) -> wire::Result<Value> {
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
    pub(crate) fn append(&self, entry: &KeyValue, with_type: bool, out: &mut Vec<u8>) -> wire::Result<()> {
        let start = out.len();
        // Its members are sorted, so these come first.
        if !self.is_secret() && self.stored.decoder().decode_text(&entry.key, &entry.value, entry.mod_revision.0, out).is_ok() {
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
    pub(crate) fn append_served(&self, mut object: Value, with_type: bool, out: &mut Vec<u8>) {
        if let (false, Value::Object(members)) = (with_type, &mut object) {
            members.remove("apiVersion");
            members.remove("kind");
        }
        append_json(out, &object);
    }

    /// Appends the JSON of an object's `PartialObjectMetadata`; what its key says where it cannot be decoded, for the reason given. `metadata` is
    /// the text of its metadata where that was written already, else empty.
    pub(crate) fn append_partial(&self, entry: &KeyValue, undecoded: Option<&String>, metadata: &[u8], version: &str, out: &mut Vec<u8>) {
        out.extend(format!("{{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/{version}\",\"metadata\":").bytes());
        let written = match undecoded {
            Some(reason) => Err(reason.clone()),
            None if !metadata.is_empty() => {
                out.extend_from_slice(metadata);
                Ok(())
            }
            None => {
                let written = self.stored.decoder().decode_metadata_text(&entry.key, &entry.value, entry.mod_revision.0, out);
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
    pub(crate) fn stub(&self, entry: &KeyValue, reason: &str) -> Value {
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

/// Returns an object's `PartialObjectMetadata`.
pub(crate) fn partial(object: &Value, version: &str) -> Value {
    let metadata = object.get("metadata").cloned().unwrap_or_else(|| json!({}));
    json!({"kind": "PartialObjectMetadata", "apiVersion": format!("meta.k8s.io/{version}"), "metadata": metadata})
}

fn unmask(secret: &mut Value) {
    for value in secret.get_mut("data").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        if value == VALUE_MASK {
            *value = MASKED_BYTES.into();
        }
    }
}
