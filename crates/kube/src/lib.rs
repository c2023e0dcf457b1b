//! Bytes to objects: what Kubernetes means by the bytes in etcd.

pub use k8s_openapi::api;
pub use k8s_openapi::apimachinery;

mod address;
mod as_decoded;
mod custom_kind;
mod decoder;
pub mod encryption;
mod field_selector;
mod kinds;
mod nearest;
mod object;
mod observer;
pub mod proto;
mod quantity;
mod registry_key;
mod release;
mod release_evidence;
mod secret;
mod selector;

pub use address::{Address, AddressError, Scope};
pub use as_decoded::as_decoded;
pub use custom_kind::PrinterColumn;
pub use decoder::Decoder;
#[doc(hidden)]
pub use decoder::counted::decodes;
pub use decoder::go_duration;
pub use field_selector::FieldSelector;
pub use kinds::{Kind, Kinds, UnknownKind};
pub use object::{Body, Decoded, Object, Opaque, UnknownField};
pub use observer::Observer;
pub use quantity::{Format, Quantity, QuantityError};
pub use registry_key::{ObjectPath, RegistryKey, Resource, find_prefixes, normalize_prefix, prefix_of};
pub use release::{NoRelease, Release};
pub use release_evidence::ReleaseEvidence;
pub use secret::MASK;
pub use selector::{LabelSelector, SelectorError};
