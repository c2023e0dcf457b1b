//! A version of an object on its way into the state: JSON text, bytes as they are stored, or read ahead into the type of its kind.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use ketcd_kube::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use ketcd_kube::api::policy::v1::PodDisruptionBudget;
use ketcd_kube::api::resource::v1::DeviceClass;
use ketcd_kube::api::storage::v1::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment};
use ketcd_kube::api::{apps, core};
use ketcd_kube::{Body, Decoder, as_decoded};

use super::driver_devices::{
    ClassNodes, DriverClaim, NamedResourceSlice, PodSchedulingContext, ResourceClaimParameters, ResourceClass, ResourceClassParameters,
    of_claim, of_class, of_slice,
};
use super::{Claim, DeviceTaintRule, NodeFields, PodFields, PodGroup, Slice, Watched, With, Workload, device_versions};

/// An object's version, not compiled yet.
pub enum Encoded<'a> {
    /// The JSON the API server would return.
    Json(&'a [u8]),
    /// A stored value.
    Stored {
        /// What reads it.
        decoder: &'a Decoder,
        /// Its key.
        key: &'a [u8],
        /// Its bytes.
        value: &'a [u8],
        /// The revision that wrote it.
        mod_revision: i64,
    },
    /// Read ahead, which needs no state and can be done on another core; or why it cannot be read.
    Ahead(Result<Read<'a>, Unread>),
}

/// Why an object cannot be read, and what is known of it all the same.
#[derive(Clone, Debug, Default)]
pub struct Unread {
    /// Why, a fragment.
    pub why: String,
    /// The node a pod is on, if it can be read.
    pub node: Option<String>,
    /// Whether it is a pod that is on no node, nominated to none, or finished.
    pub idle: bool,
}

impl From<String> for Unread {
    fn from(why: String) -> Self {
        Self { why, ..Self::default() }
    }
}

/// An object read into the type of its kind.
#[allow(missing_docs, reason = "the kinds' own names")]
pub enum Read<'a> {
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

impl<'a> From<&'a [u8]> for Encoded<'a> {
    fn from(text: &'a [u8]) -> Self {
        Self::Json(text)
    }
}

impl<'a> From<&'a Vec<u8>> for Encoded<'a> {
    fn from(text: &'a Vec<u8>) -> Self {
        Self::Json(text)
    }
}

impl<'a> Encoded<'a> {
    /// Whether a text can be in it, told without reading it; what is encrypted, and what was read, can hold anything.
    pub fn may_hold(&self, text: &[u8]) -> bool {
        let bytes = match self {
            Self::Json(text) => text,
            Self::Stored { value, .. } => *value,
            Self::Ahead(_) => return true,
        };
        bytes.starts_with(b"k8s:enc:") || bytes.windows(text.len()).any(|window| window == text)
    }

    /// The same, read as an object of `kind`.
    pub fn ahead(self, kind: Watched) -> Self {
        Self::Ahead(self.read(kind))
    }

    /// Reads the object, whatever served version it was stored in: the fields a scheduler reads kept their names.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn read(self, kind: Watched) -> Result<Read<'a>, Unread> {
        if let Self::Ahead(read) = self {
            return read;
        }
        Ok(match kind {
            Watched::Pod => {
                let again = self.again();
                let read = self.first_or_again(|_| ()).and_then(|pod: PodFields<'a>| is_of_kind("Pod", &pod.kind).map(|()| pod));
                Read::Pod(Box::new(read.map_err(|why| unread_pod(why, again))?))
            }
            Watched::Node => {
                let node: NodeFields<'a> = self.first_or_again(|_| ())?;
                is_of_kind("Node", &node.kind)?;
                Read::Node(Box::new(node))
            }
            Watched::Namespace => Read::Namespace(Box::new(self.typed()?)),
            Watched::Service => Read::Service(Box::new(self.typed()?)),
            Watched::ReplicationController => Read::ReplicationController(Box::new(self.typed()?)),
            Watched::ReplicaSet => Read::ReplicaSet(Box::new(self.typed()?)),
            Watched::StatefulSet => Read::StatefulSet(Box::new(self.typed()?)),
            Watched::PersistentVolume => Read::PersistentVolume(Box::new(self.typed()?)),
            Watched::PersistentVolumeClaim => Read::PersistentVolumeClaim(Box::new(self.typed()?)),
            Watched::StorageClass => Read::StorageClass(Box::new(self.typed()?)),
            Watched::CsiNode => Read::CsiNode(Box::new(self.typed()?)),
            Watched::CsiDriver => Read::CsiDriver(Box::new(self.typed()?)),
            Watched::CsiStorageCapacity => Read::CsiStorageCapacity(Box::new(self.typed()?)),
            Watched::VolumeAttachment => Read::VolumeAttachment(Box::new(self.typed()?)),
            Watched::PodDisruptionBudget => Read::PodDisruptionBudget(Box::new(self.typed()?)),
            Watched::ResourceClaim => {
                let (claim, driver) = self.with_additions(of_claim)?;
                Read::ResourceClaim(claim, driver)
            }
            Watched::ResourceSlice => {
                let (slice, named) = self.with_additions(of_slice)?;
                Read::ResourceSlice(slice, named)
            }
            Watched::DeviceClass => {
                let (class, nodes) = self.with(of_class)?;
                Read::DeviceClass(class, nodes)
            }
            Watched::ResourceClass => Read::ResourceClass(Box::new(self.first_or_again(|_| ())?)),
            Watched::PodScheduling | Watched::PodSchedulingContext => Read::PodSchedulingContext(Box::new(self.first_or_again(|_| ())?)),
            Watched::ResourceClassParameters => Read::ResourceClassParameters(Box::new(self.first_or_again(|_| ())?)),
            Watched::ResourceClaimParameters => Read::ResourceClaimParameters(Box::new(self.first_or_again(|_| ())?)),
            Watched::DeviceTaintRule => Read::DeviceTaintRule(Box::new(self.first_or_again(|_| ())?)),
            Watched::PodGroup => Read::PodGroup(Box::new(self.first_or_again(|_| ())?)),
            Watched::CompositePodGroup => Read::CompositePodGroup(Box::new(self.first_or_again(|_| ())?)),
            Watched::Workload => Read::Workload(Box::new(self.first_or_again(|_| ())?)),
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
            device_versions::to_v1(object);
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

    /// The same once more, unless it was read ahead.
    fn again(&self) -> Option<Self> {
        match self {
            Self::Json(text) => Some(Self::Json(text)),
            Self::Stored { decoder, key, value, mod_revision } => Some(Self::Stored { decoder, key, value, mod_revision: *mod_revision }),
            Self::Ahead(_) => None,
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
            Self::Ahead(_) => ("it was read already".to_owned(), None),
        };
        let mut object: Value = object.ok_or(error)?;
        as_decoded(&mut object);
        mend(&mut object);
        T::deserialize(object).map_err(|error| error.to_string())
    }
}

/// What is known of a pod that cannot be read: where it is, if that much of it can be.
fn unread_pod(why: String, again: Option<Encoded>) -> Unread {
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
    Unread { why, node: node.filter(|node| !node.is_empty()).map(str::to_owned), idle: waits || finished }
}

fn is_of_kind(wanted: &str, kind: &str) -> Result<(), String> {
    if kind.is_empty() || kind == wanted { Ok(()) } else { Err(format!("it is a {kind}")) }
}
