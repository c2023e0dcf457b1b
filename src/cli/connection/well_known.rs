//! Where the common distributions keep the certificates that open their etcd.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A CA, a client certificate and its key, as one distribution lays them down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct WellKnown {
    /// Whose layout it is.
    pub distribution: &'static str,
    /// The CA of etcd's own certificates.
    pub cacert: PathBuf,
    /// A client certificate.
    pub cert: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// Distribution, CA, certificate, key; tried in this order. `*` stands for the node's name.
const CREDENTIAL_PLACES: &[(&str, &str, &str, &str)] = &[
    (
        "kubeadm",
        "etc/kubernetes/pki/etcd/ca.crt",
        "etc/kubernetes/pki/etcd/healthcheck-client.crt",
        "etc/kubernetes/pki/etcd/healthcheck-client.key",
    ),
    (
        "kubeadm",
        "etc/kubernetes/pki/etcd/ca.crt",
        "etc/kubernetes/pki/apiserver-etcd-client.crt",
        "etc/kubernetes/pki/apiserver-etcd-client.key",
    ),
    ("kubeadm", "etc/kubernetes/pki/etcd/ca.crt", "etc/kubernetes/pki/etcd/server.crt", "etc/kubernetes/pki/etcd/server.key"),
    (
        "k3s",
        "var/lib/rancher/k3s/server/tls/etcd/server-ca.crt",
        "var/lib/rancher/k3s/server/tls/etcd/client.crt",
        "var/lib/rancher/k3s/server/tls/etcd/client.key",
    ),
    (
        "RKE2",
        "var/lib/rancher/rke2/server/tls/etcd/server-ca.crt",
        "var/lib/rancher/rke2/server/tls/etcd/client.crt",
        "var/lib/rancher/rke2/server/tls/etcd/client.key",
    ),
    (
        "RKE2",
        "var/lib/rancher/rke2/server/tls/etcd/server-ca.crt",
        "var/lib/rancher/rke2/server/tls/etcd/server-client.crt",
        "var/lib/rancher/rke2/server/tls/etcd/server-client.key",
    ),
    (
        "OpenShift",
        "etc/kubernetes/static-pod-resources/etcd-certs/configmaps/etcd-all-bundles/server-ca-bundle.crt",
        "etc/kubernetes/static-pod-resources/etcd-certs/secrets/etcd-all-certs/etcd-peer-*.crt",
        "etc/kubernetes/static-pod-resources/etcd-certs/secrets/etcd-all-certs/etcd-peer-*.key",
    ),
    (
        "OpenShift",
        "etc/kubernetes/static-pod-resources/etcd-certs/configmaps/etcd-serving-ca/ca-bundle.crt",
        "etc/kubernetes/static-pod-resources/etcd-certs/secrets/etcd-all-certs/etcd-peer-*.crt",
        "etc/kubernetes/static-pod-resources/etcd-certs/secrets/etcd-all-certs/etcd-peer-*.key",
    ),
    ("Kubespray", "etc/ssl/etcd/ssl/ca.pem", "etc/ssl/etcd/ssl/admin-*.pem", "etc/ssl/etcd/ssl/admin-*-key.pem"),
    ("Kubespray", "etc/ssl/etcd/ssl/ca.pem", "etc/ssl/etcd/ssl/member-*.pem", "etc/ssl/etcd/ssl/member-*-key.pem"),
    ("Kubespray", "etc/ssl/etcd/ssl/ca.pem", "etc/ssl/etcd/ssl/node-*.pem", "etc/ssl/etcd/ssl/node-*-key.pem"),
];

/// Where the node's file system is in a container of `kubectl debug node/NAME`.
const NODE_IN_DEBUG_CONTAINER: &str = "host";

/// Returns the first place below `root`, or below the node's file system in a debug container, whose three files are there. A file that may not be read
/// counts as present: reading it then fails with the reason.
pub(in crate::cli) fn find(root: &Path) -> Option<WellKnown> {
    find_below(root).or_else(|| find_below(&root.join(NODE_IN_DEBUG_CONTAINER)))
}

fn find_below(root: &Path) -> Option<WellKnown> {
    CREDENTIAL_PLACES.iter().find_map(|(distribution, cacert, cert, key)| {
        let cacert = root.join(cacert);
        if !is_there(&cacert) {
            return None;
        }
        let (cert, key) = stems(root, cert)
            .into_iter()
            .map(|stem| (root.join(cert.replace('*', &stem)), root.join(key.replace('*', &stem))))
            .find(|(cert, key)| is_there(cert) && is_there(key))?;
        Some(WellKnown { distribution, cacert, cert, key })
    })
}

fn is_there(path: &Path) -> bool {
    match fs::metadata(path) {
        Ok(metadata) => metadata.is_file(),
        Err(error) => error.kind() == ErrorKind::PermissionDenied,
    }
}

/// What `*` stands for in the files that match `pattern`, in order; one empty stem for a pattern without it.
fn stems(root: &Path, pattern: &str) -> Vec<String> {
    let Some((before, after)) = pattern.split_once('*') else { return vec![String::new()] };
    let (folder, start) = before.rsplit_once('/').unwrap_or(("", before));
    let Ok(entries) = fs::read_dir(root.join(folder)) else { return Vec::new() };
    let mut found: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_prefix(start)?.strip_suffix(after)?.to_owned()))
        .collect();
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn check(files: &[&str], expected: Option<(&str, &str)>) {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let found = find(root.path());
        let cert = found.as_ref().map(|found| (found.distribution, found.cert.strip_prefix(root.path()).unwrap().to_str().unwrap()));
        assert_eq!(cert, expected);
    }

    #[test]
    fn each_layout_is_found() {
        check(&[], None);
        for (distribution, cacert, cert, key) in CREDENTIAL_PLACES {
            let named = |pattern: &str| pattern.replace('*', "n1");
            check(&[&named(cacert), &named(cert), &named(key)], Some((distribution, &named(cert))));
        }
    }

    #[test]
    fn the_distributions_are_those_that_the_page_of_support_names() {
        let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/support.md")).unwrap();
        let rows = page.lines().filter(|line| line.contains("; certificates are found"));
        let names = rows.filter_map(|row| row.strip_prefix("| ")?.split(" | ").next()?.split(", also ").next()?.split(", with ").next());
        let named: BTreeSet<&str> = names.flat_map(|names| names.split(", ")).collect();
        assert_eq!(named, CREDENTIAL_PLACES.iter().map(|place| place.0).collect());
    }

    #[test]
    fn in_a_debug_container_those_of_the_node_are_found() {
        let (distribution, cacert, cert, key) = CREDENTIAL_PLACES[0];
        let [cacert, cert, key] = [cacert, cert, key].map(|path| format!("host/{path}"));
        check(&[&cacert, &cert, &key], Some((distribution, &cert)));
    }

    #[test]
    fn a_layout_without_its_key_is_passed_over() {
        check(
            &[
                "etc/kubernetes/pki/etcd/ca.crt",
                "etc/kubernetes/pki/etcd/healthcheck-client.crt",
                "etc/ssl/etcd/ssl/ca.pem",
                "etc/ssl/etcd/ssl/admin-n2.pem",
                "etc/ssl/etcd/ssl/admin-n3.pem",
                "etc/ssl/etcd/ssl/admin-n3-key.pem",
            ],
            Some(("Kubespray", "etc/ssl/etcd/ssl/admin-n3.pem")),
        );
    }
}
