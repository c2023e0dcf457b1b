//! Bytes to objects: what Kubernetes means by the bytes in etcd.

pub use k8s_openapi::api;
pub use k8s_openapi::apimachinery;

mod object;

pub use object::{Body, Decoded, Opaque, UnknownField};
