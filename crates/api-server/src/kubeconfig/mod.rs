//! Kubeconfigs: where API servers are, and as whom they are asked.

mod access;
mod context;
mod exec_plugin;
mod file;
mod in_cluster;
mod pem;

pub use access::Access;
pub use file::Kubeconfig;

pub(crate) use access::{Credentials, Proxy, TlsSettings};
pub(crate) use exec_plugin::ExecCredential;
pub(crate) use pem::Pem;
