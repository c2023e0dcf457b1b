//! One stored value as the rules look at it: how it is encoded, and what its metadata say.

use std::hash::{DefaultHasher, Hasher};

use jiff::Timestamp;
use serde_json::Value;

use ketcd_kube::encryption::{KeyRing, Scheme};
use ketcd_kube::{Body, Decoder, FieldSet};

use super::json_form::JsonForm;

/// Protobuf as API servers store it (apimachinery v0.37, `pkg/runtime/serializer/protobuf/protobuf.go`).
const PROTOBUF_MAGIC: &[u8] = b"k8s\0";

/// CBOR with the tag that describes itself (apimachinery v0.37, `pkg/runtime/serializer/cbor/cbor.go`).
const CBOR_MAGIC: &[u8] = b"\xd9\xd9\xf7";

/// What the rules look at in every object.
const LOOKED_AT: [&str; 12] = [
    "apiVersion",
    "kind",
    "metadata.creationTimestamp",
    "metadata.deletionTimestamp",
    "metadata.finalizers",
    "metadata.generation",
    "metadata.name",
    "metadata.namespace",
    "metadata.resourceVersion",
    "metadata.selfLink",
    "metadata.uid",
    "spec.nodeName",
];

/// How a value is encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Protobuf,
    Json(JsonForm),
    Cbor,
    /// By encryption at rest; what is within is not known.
    Sealed {
        scheme: Scheme,
        name: String,
    },
    /// Nothing that API servers write.
    Other,
}

/// What a value's object says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Metadata {
    pub api_version: Box<str>,
    pub name: Box<str>,
    pub namespace: Box<str>,
    pub uid: Box<str>,
    pub resource_version: Box<str>,
    pub self_link: Box<str>,
    pub generation: i64,
    /// In seconds since 1970.
    pub created: Option<i64>,
    /// Whether its deletion was asked for.
    pub is_marked: bool,
    /// Its finalizers, joined.
    pub finalizers: Box<str>,
    /// The node that a pod is bound to.
    pub node: Box<str>,
}

/// One stored value.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub encoding: Encoding,
    pub object: Option<Metadata>,
    /// Why no object can be read, where one was to be expected.
    pub unreadable: Option<String>,
    /// A hash of the bytes: values with another one differ.
    pub digest: u64,
    pub length: usize,
}

/// Reads stored values.
#[derive(Clone)]
pub(super) struct Reader {
    decoder: Decoder,
    keys: KeyRing,
    looked_at: FieldSet,
}

impl Reader {
    /// Reads values below `prefix`, sealed ones with these keys.
    pub(super) fn new(prefix: &str, keys: &KeyRing) -> Self {
        let decoder = Decoder::for_stored_values().with_storage(Some(prefix), keys.clone());
        Self { decoder, keys: keys.clone(), looked_at: FieldSet::of(LOOKED_AT) }
    }

    /// Reads a value.
    pub(super) fn read(&self, key: &[u8], value: &[u8]) -> Stored {
        // Without a revision the stored one is left.
        let decoded = self.decoder.only(&self.looked_at).decode(key, value, 0);
        let (object, unreadable) = match &decoded.body {
            Body::Object(object) => (Some(metadata(object)), None),
            Body::Opaque(opaque) => (None, (!opaque.expected).then(|| opaque.reason.clone())),
        };
        let mut hasher = DefaultHasher::new();
        hasher.write(value);
        Stored { encoding: self.encoding(value), object, unreadable, digest: hasher.finish(), length: value.len() }
    }

    /// Decodes all of a value; `None` where it is not an object. Values of Secrets are masked, and compare all the same.
    pub(super) fn whole(&self, key: &[u8], value: &[u8]) -> Option<Value> {
        match self.decoder.decode(key, value, 0).body {
            Body::Object(object) => Some(object.comparable().into_owned()),
            Body::Opaque(_) => None,
        }
    }

    /// Opens a sealed value; `None` where its key is not there.
    pub(super) fn opened(&self, key: &[u8], value: &[u8]) -> Option<Vec<u8>> {
        self.keys.open(key, value).ok()
    }

    fn encoding(&self, value: &[u8]) -> Encoding {
        let seal = self.keys.seal_of(value);
        match seal.scheme {
            Scheme::Identity if value.starts_with(PROTOBUF_MAGIC) => Encoding::Protobuf,
            Scheme::Identity if value.starts_with(CBOR_MAGIC) => Encoding::Cbor,
            Scheme::Identity if value.trim_ascii_start().starts_with(b"{") => Encoding::Json(JsonForm::of(value)),
            Scheme::Identity => Encoding::Other,
            scheme => Encoding::Sealed { scheme, name: seal.name },
        }
    }
}

impl Stored {
    /// The same without what no later version is compared with.
    pub(super) fn kept(mut self) -> Self {
        if let Some(object) = &mut self.object {
            object.name = Box::default();
            object.namespace = Box::default();
        }
        self
    }

    /// Whether encryption at rest sealed it.
    pub(super) fn is_sealed(&self) -> bool {
        matches!(self.encoding, Encoding::Sealed { .. })
    }
}

fn metadata(object: &Value) -> Metadata {
    let metadata = &object["metadata"];
    let text = |name: &str| Box::from(metadata[name].as_str().unwrap_or_default());
    let finalizers = metadata["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let created = metadata["creationTimestamp"].as_str().and_then(|time| time.parse::<Timestamp>().ok());
    Metadata {
        api_version: Box::from(object["apiVersion"].as_str().unwrap_or_default()),
        name: text("name"),
        namespace: text("namespace"),
        uid: text("uid"),
        resource_version: text("resourceVersion"),
        self_link: text("selfLink"),
        generation: metadata["generation"].as_i64().unwrap_or_default(),
        created: created.map(Timestamp::as_second),
        is_marked: metadata["deletionTimestamp"].is_string(),
        finalizers: finalizers.collect::<Vec<_>>().join(", ").into(),
        node: Box::from(object["spec"]["nodeName"].as_str().unwrap_or_default()),
    }
}
