//! Bytes to objects: what Kubernetes means by the bytes in etcd.

pub use k8s_openapi::api;
pub use k8s_openapi::apimachinery;

mod custom_kind;
mod kinds;
mod nearest;
mod object;
mod quantity;
mod registry_key;

pub use custom_kind::PrinterColumn;
pub use kinds::{Kind, Kinds, UnknownKind};
pub use object::{Body, Decoded, Opaque, UnknownField};
pub use quantity::{Format, Quantity, QuantityError};
pub use registry_key::{ObjectKey, RegistryKey, Resource, find_prefixes, normalize_prefix, prefix_of};
