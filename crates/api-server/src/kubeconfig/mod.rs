//! Kubeconfigs: where API servers are, and as whom they are asked.

mod access;
mod exec_plugin;
mod file;
mod in_cluster;

pub use access::Access;
pub use file::Kubeconfig;

pub(crate) use access::{Credentials, Pem, Proxy, TlsSettings};
pub(crate) use exec_plugin::ExecCredential;
