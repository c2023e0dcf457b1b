//! A version of an object on its way into the state: JSON text, bytes as they are stored, or parsed into the type of its kind.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use ketcd_kube::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use ketcd_kube::api::policy::v1::PodDisruptionBudget;
use ketcd_kube::api::resource::v1::DeviceClass;
use ketcd_kube::api::storage::v1::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment};
use ketcd_kube::api::{apps, core};
use ketcd_kube::{Body, Decoder, as_decoded};

use super::device::classic::{
    ClassNodes, DriverClaim, NamedResourceSlice, PodSchedulingContext, ResourceClaimParameters, ResourceClass, ResourceClassParameters,
    of_claim, of_class, of_slice,
};
use super::device::v1_conversion;
use super::{Claim, DeviceTaintRule, NodeFields, PodFields, PodGroup, Slice, WatchedKind, With, Workload};

/// A version of an object that is not compiled yet.
pub enum RawObject<'a> {
    /// The JSON the API server would return.
    Json(&'a [u8]),
    /// A value of etcd.
    Stored {
        /// The decoder that reads it.
        decoder: &'a Decoder,
        /// Its key.
        key: &'a [u8],
        /// Its bytes.
        value: &'a [u8],
        /// The revision that wrote it.
        mod_revision: i64,
    },
    /// Parsed already, which needs no state and can be done on another core; or why it cannot be read.
    Parsed(Result<ParsedObject<'a>, ParseError>),
}

/// Why an object cannot be read, and what is known of it all the same.
#[derive(Clone, Debug, Default)]
pub struct ParseError {
    /// Why, a fragment.
    pub why: String,
    /// The node a pod is on, if it can be read.
    pub node: Option<String>,
    /// Whether it is a pod that is on no node, nominated to none, or finished.
    pub idle: bool,
}

impl From<String> for ParseError {
    fn from(why: String) -> Self {
        Self { why, ..Self::default() }
    }
}

/// An object parsed into the type of its kind.
#[allow(missing_docs, reason = "the kinds' own names")]
pub enum ParsedObject<'a> {
    Pod(Box<PodFields<'a>>),
    Node(Box<NodeFields<'a>>),
    Namespace(Box<core::v1::Namespace>),
    Service(Box<core::v1::Service>),
    ReplicationController(Box<core::v1::ReplicationController>),
    ReplicaSet(Box<apps::v1::ReplicaSet>),
    StatefulSet(Box<apps::v1::StatefulSet>),
    PersistentVolume(Box<PersistentVolume>),
    PersistentVolumeClaim(Box<PersistentVolumeClaim>),
    StorageClass(Box<StorageClass>),
    CsiNode(Box<CSINode>),
    CsiDriver(Box<CSIDriver>),
    CsiStorageCapacity(Box<CSIStorageCapacity>),
    VolumeAttachment(Box<VolumeAttachment>),
    PodDisruptionBudget(Box<PodDisruptionBudget>),
    ResourceClaim(Box<Claim>, Option<Box<DriverClaim>>),
    ResourceSlice(Box<Slice>, Option<Box<NamedResourceSlice>>),
    DeviceClass(Box<DeviceClass>, Option<Box<ClassNodes>>),
    ResourceClass(Box<ResourceClass>),
    PodSchedulingContext(Box<PodSchedulingContext>),
    ResourceClassParameters(Box<ResourceClassParameters>),
    ResourceClaimParameters(Box<ResourceClaimParameters>),
    DeviceTaintRule(Box<DeviceTaintRule>),
    PodGroup(Box<PodGroup>),
    CompositePodGroup(Box<PodGroup>),
    Workload(Box<Workload>),
}

impl<'a> From<&'a [u8]> for RawObject<'a> {
    fn from(text: &'a [u8]) -> Self {
        Self::Json(text)
    }
}

impl<'a> From<&'a Vec<u8>> for RawObject<'a> {
    fn from(text: &'a Vec<u8>) -> Self {
        Self::Json(text)
    }
}

impl<'a> RawObject<'a> {
    /// Returns whether the object can contain `text`, without parsing it. Encrypted and parsed objects always can.
    pub fn may_hold(&self, text: &[u8]) -> bool {
        let bytes = match self {
            Self::Json(text) => text,
            Self::Stored { value, .. } => *value,
            Self::Parsed(_) => return true,
        };
        bytes.starts_with(b"k8s:enc:") || bytes.windows(text.len()).any(|window| window == text)
    }

    /// Parses it as an object of `kind`, ahead of its use.
    pub fn parsed(self, kind: WatchedKind) -> Self {
        Self::Parsed(self.parse(kind))
    }

    /// Reads the object, whatever served version it was stored in: the fields a scheduler reads kept their names.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn parse(self, kind: WatchedKind) -> Result<ParsedObject<'a>, ParseError> {
        if let Self::Parsed(parsed) = self {
            return parsed;
        }
        Ok(match kind {
            WatchedKind::Pod => {
                let again = self.again();
                let read = self.first_or_again(|_| ()).and_then(|pod: PodFields<'a>| is_of_kind("Pod", &pod.kind).map(|()| pod));
                ParsedObject::Pod(Box::new(read.map_err(|why| unread_pod(why, again))?))
            }
            WatchedKind::Node => {
                let node: NodeFields<'a> = self.first_or_again(|_| ())?;
                is_of_kind("Node", &node.kind)?;
                ParsedObject::Node(Box::new(node))
            }
            WatchedKind::Namespace => ParsedObject::Namespace(Box::new(self.typed()?)),
            WatchedKind::Service => ParsedObject::Service(Box::new(self.typed()?)),
            WatchedKind::ReplicationController => ParsedObject::ReplicationController(Box::new(self.typed()?)),
            WatchedKind::ReplicaSet => ParsedObject::ReplicaSet(Box::new(self.typed()?)),
            WatchedKind::StatefulSet => ParsedObject::StatefulSet(Box::new(self.typed()?)),
            WatchedKind::PersistentVolume => ParsedObject::PersistentVolume(Box::new(self.typed()?)),
            WatchedKind::PersistentVolumeClaim => ParsedObject::PersistentVolumeClaim(Box::new(self.typed()?)),
            WatchedKind::StorageClass => ParsedObject::StorageClass(Box::new(self.typed()?)),
            WatchedKind::CsiNode => ParsedObject::CsiNode(Box::new(self.typed()?)),
            WatchedKind::CsiDriver => ParsedObject::CsiDriver(Box::new(self.typed()?)),
            WatchedKind::CsiStorageCapacity => ParsedObject::CsiStorageCapacity(Box::new(self.typed()?)),
            WatchedKind::VolumeAttachment => ParsedObject::VolumeAttachment(Box::new(self.typed()?)),
            WatchedKind::PodDisruptionBudget => ParsedObject::PodDisruptionBudget(Box::new(self.typed()?)),
            WatchedKind::ResourceClaim => {
                let (claim, driver) = self.with_additions(of_claim)?;
                ParsedObject::ResourceClaim(claim, driver)
            }
            WatchedKind::ResourceSlice => {
                let (slice, named) = self.with_additions(of_slice)?;
                ParsedObject::ResourceSlice(slice, named)
            }
            WatchedKind::DeviceClass => {
                let (class, nodes) = self.with(of_class)?;
                ParsedObject::DeviceClass(class, nodes)
            }
            WatchedKind::ResourceClass => ParsedObject::ResourceClass(Box::new(self.first_or_again(|_| ())?)),
            WatchedKind::PodScheduling | WatchedKind::PodSchedulingContext => {
                ParsedObject::PodSchedulingContext(Box::new(self.first_or_again(|_| ())?))
            }
            WatchedKind::ResourceClassParameters => ParsedObject::ResourceClassParameters(Box::new(self.first_or_again(|_| ())?)),
            WatchedKind::ResourceClaimParameters => ParsedObject::ResourceClaimParameters(Box::new(self.first_or_again(|_| ())?)),
            WatchedKind::DeviceTaintRule => ParsedObject::DeviceTaintRule(Box::new(self.first_or_again(|_| ())?)),
            WatchedKind::PodGroup => ParsedObject::PodGroup(Box::new(self.first_or_again(|_| ())?)),
            WatchedKind::CompositePodGroup => ParsedObject::CompositePodGroup(Box::new(self.first_or_again(|_| ())?)),
            WatchedKind::Workload => ParsedObject::Workload(Box::new(self.first_or_again(|_| ())?)),
        })
    }

    /// Reads the object as `T`, whatever served version it was stored in.
    ///
    /// # Errors
    /// Why it cannot be read, a fragment.
    pub fn typed<T: DeserializeOwned + k8s_openapi::Resource>(self) -> Result<T, String> {
        self.mended(|_| ())
    }

    /// Reads an object of devices, and what it has beside it where it is stored in an older version.
    fn with<T: DeserializeOwned + k8s_openapi::Resource, U>(
        self,
        older: impl FnOnce(&Value) -> Option<U>,
    ) -> Result<(Box<T>, Option<Box<U>>), String> {
        let mut beside = None;
        let object = self.mended(|object| {
            beside = older(object);
            v1_conversion::to_v1(object);
        })?;
        Ok((Box::new(object), beside.map(Box::new)))
    }

    /// The same, where another version has fields elsewhere: `mend` puts them where `T` has them.
    fn mended<T: DeserializeOwned + k8s_openapi::Resource>(self, mend: impl FnOnce(&mut Value)) -> Result<T, String> {
        self.first_or_again(|object| {
            mend(object);
            if let Some(fields) = object.as_object_mut() {
                fields.insert("apiVersion".to_owned(), T::API_VERSION.into());
                fields.insert("kind".to_owned(), T::KIND.into());
            }
        })
    }

    /// Reads a claim or slice, what its type does not know yet, and what an older version has beside.
    #[expect(clippy::type_complexity, reason = "the two, each in its box")]
    fn with_additions<T, A, U>(self, older: impl FnOnce(&Value) -> Option<U>) -> Result<(Box<With<T, A>>, Option<Box<U>>), String>
    where
        T: DeserializeOwned + k8s_openapi::Resource,
        A: DeserializeOwned,
    {
        let again = self.again().ok_or_else(|| "it was read already".to_owned())?;
        let (known, beside) = self.with(older)?;
        Ok((Box::new(With { known: *known, added: again.first_or_again(|_| ())? }), beside))
    }

    /// The same once more, unless it was parsed already.
    fn again(&self) -> Option<Self> {
        match self {
            Self::Json(text) => Some(Self::Json(text)),
            Self::Stored { decoder, key, value, mod_revision } => Some(Self::Stored { decoder, key, value, mod_revision: *mod_revision }),
            Self::Parsed(_) => None,
        }
    }

    /// Reads the object as `T`; where that fails, by way of JSON with what is null made zero values, as the API server holds it.
    fn first_or_again<T: Deserialize<'a>>(self, mend: impl FnOnce(&mut Value)) -> Result<T, String> {
        let (error, object) = match self {
            Self::Json(text) => match serde_json::from_slice(text) {
                Ok(object) => return Ok(object),
                Err(error) => (error.to_string(), serde_json::from_slice(text).ok()),
            },
            Self::Stored { decoder, key, value, mod_revision } => match decoder.decode_borrowed(key, value, mod_revision) {
                Ok(object) => return Ok(object),
                Err(opaque) => match decoder.decode(key, value, mod_revision).body {
                    Body::Object(object) => (opaque.reason, Some(object.into_value())),
                    Body::Opaque(_) => (opaque.reason, None),
                },
            },
            Self::Parsed(_) => ("it was read already".to_owned(), None),
        };
        let mut object: Value = object.ok_or(error)?;
        as_decoded(&mut object);
        mend(&mut object);
        T::deserialize(object).map_err(|error| error.to_string())
    }
}

/// What is known of a pod that cannot be read: where it is, if that much of it can be.
fn unread_pod(why: String, again: Option<RawObject>) -> ParseError {
    let object: Option<Value> = again.and_then(|again| again.first_or_again(|_| ()).ok());
    let Some(object) = object else { return why.into() };
    let text = |pointer: &str| match object.pointer(pointer) {
        None => Some(""),
        Some(value) => value.as_str(),
    };
    let known = object["spec"].is_object() && object.get("status").is_none_or(Value::is_object);
    let (node, nominated) = (text("/spec/nodeName"), text("/status/nominatedNodeName"));
    let finished = matches!(text("/status/phase"), Some("Succeeded" | "Failed"));
    let waits = known && node == Some("") && nominated == Some("");
    ParseError { why, node: node.filter(|node| !node.is_empty()).map(str::to_owned), idle: waits || finished }
}

fn is_of_kind(wanted: &str, kind: &str) -> Result<(), String> {
    if kind.is_empty() || kind == wanted { Ok(()) } else { Err(format!("it is a {kind}")) }
}
