//! Kubeconfigs: where API servers are, and as whom they are asked.

mod access;
mod address;
mod context;
mod credentials;
mod exec_plugin;
mod file;
mod pem;

pub use access::Access;
pub use file::Kubeconfig;

pub(crate) use access::TlsSettings;
pub(crate) use address::{Proxy, Server};
pub(crate) use exec_plugin::Identity;
pub(crate) use pem::Pem;
