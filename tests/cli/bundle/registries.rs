//! Hosts of public registries, in images and in text: they stay wherever they stand, and nothing of them keeps a bundle from being written.

use std::fs;

use ketcd_testing::written::Written;
use serde_json::json;

use crate::ketcd::{all, ketcd};

/// Each host in an image that a pod runs and an Event names, in an error of another registry's, and in a field for hosts.
fn source() -> Vec<u8> {
    let mut written = Written::default();
    for (place, host) in ["quay.io", "docker.io", "ghcr.io", "k8s.gcr.io", "registry.acme-canary.com"].iter().enumerate() {
        // All that is below this one is part of Kubernetes.
        let path = if *host == "k8s.gcr.io" { "pause" } else { "acme-canary/ledger" };
        let image = format!("{host}/{path}:v1.{place}");
        let name = format!("p{place}");
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "lab"},
            "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": image}]},
            "status": {"containerStatuses": [{"name": "c", "image": image, "imageID": format!("{host}/{path}@sha256:{}", "a1".repeat(32))}]}});
        written.put(&format!("/registry/pods/lab/{name}"), pod.to_string());
        let message = format!("Failed to pull image \"{image}\": Get https://{host}/v2/: {host} does not answer");
        let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": format!("{name}.17a2b3c4d5e6f708"), "namespace": "lab"},
            "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": "lab", "name": name}, "reason": "Failed", "message": message});
        written.put(&format!("/registry/events/lab/{name}.17a2b3c4d5e6f708"), event.to_string());
        let ingress = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": name, "namespace": "lab"},
            "spec": {"rules": [{"host": host}]}});
        written.put(&format!("/registry/ingress/lab/{name}"), ingress.to_string());
    }
    written.finish()
}

#[test]
fn hosts_of_public_registries_stay_and_others_go() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("it"), source()).unwrap();
    let run = |words: &str| ketcd().current_dir(folder.path()).args(words.split_whitespace()).output().unwrap();
    for choice in ["addresses", "names,addresses", "all"] {
        let output = run(&format!("-f it bundle -A --redact {choice} --salt x --out out.ketcd"));
        assert_eq!(output.status.code(), Some(0), "{choice}: {}", all(&output));
        let shown = String::from_utf8(run("-f out.ketcd history -A --all --objects -o ndjson").stdout).unwrap();
        for host in ["quay.io/", "docker.io/", "ghcr.io/", "https://quay.io/v2/", "https://k8s.gcr.io/v2/"] {
            assert!(shown.contains(host), "{choice}: {host}: {shown}");
        }
        assert!(!shown.contains("registry.acme-canary.com"), "{choice}: {shown}");
        assert_eq!(shown.contains("acme-canary/ledger"), choice == "addresses", "{choice}: {shown}");
    }
}
