//! A pod's own way to the API server: its service account (client-go v0.36 `rest.InClusterConfig`).

use std::path::Path;

use super::access::{Access, Credentials, TlsSettings};
use super::pem::Pem;
use crate::limits::Limits;

/// Where the kubelet mounts a pod's service account.
const FOLDER: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// How a pod reaches the API server; `None` outside of a cluster.
pub(super) fn access(environment: &dyn Fn(&str) -> Option<String>) -> Option<Access> {
    let variable = |name: &str| environment(name).filter(|value| !value.is_empty());
    let (host, port) = (variable("KUBERNETES_SERVICE_HOST")?, variable("KUBERNETES_SERVICE_PORT")?);
    let folder = Path::new(FOLDER);
    let token = folder.join("token");
    token.is_file().then(|| Access {
        name: "in-cluster".to_owned(),
        uses_tls: true,
        host: host.trim_matches(['[', ']']).to_owned(),
        port: port.parse().unwrap_or(443),
        path: String::new(),
        tls: TlsSettings { ca: Some(Pem::File(folder.join("ca.crt"))), ..TlsSettings::default() },
        proxy: None,
        credentials: Credentials::TokenFile(token),
        impersonation: Vec::new(),
        limits: Limits::default(),
        #[cfg(test)]
        listener: None,
    })
}
