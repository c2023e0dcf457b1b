//! Encryption at rest: what a value is sealed with, the keys that open it, and whether what is stored keeps a configuration's promise.
//!
//! Without the cargo feature `encryption` no sealed value is opened; how it is sealed is read all the same.
//!
//! Nothing here reads a file or talks to a plugin: configurations come as text, data keys through [`KeyService`]. Source of every
//! format: Kubernetes v1.36, `staging/src/k8s.io/apiserver/pkg/storage/value` and `pkg/server/options/encryptionconfig`.

mod audit;
#[cfg_attr(not(feature = "encryption"), path = "no_ciphers.rs")]
mod ciphers;
mod config;
mod key_ring;
mod kms;
mod seal;
#[cfg(all(test, feature = "encryption"))]
mod tests;

pub use audit::{Audit, AuditRow, Promise};
pub use config::{EncryptionConfig, Key, Provider, ResourceConfiguration, Secret};
pub use key_ring::{KeyRing, Unopened};
pub use kms::{KeyService, Wrapped};
pub use seal::{Scheme, Seal};
