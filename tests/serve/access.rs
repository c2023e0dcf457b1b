//! Who may ask what: the token, the host, the origin; reviews; and that nothing can be changed.

use std::path::{Path, PathBuf};

use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};

use crate::ketcd::ketcd;
use crate::kubectl;
use crate::server::{Server, capture};

const STORY: &str = "k136-story/snapshot.db.zst";

#[test]
fn every_path_needs_the_token_and_the_servers_own_name() {
    let server = Server::start(STORY, &[]);
    for path in ["/", "/healthz", "/version", "/api", "/apis", "/api/v1/pods", "/rev/5/api", "/nonsense"] {
        for token in ["", "Bearer", "Bearer x", "Basic eDp5"] {
            let (code, text) = server.send("GET", path, &[("authorization", token)], "");
            assert_eq!(code, 401, "{path} {token}: {text}");
        }
        assert_eq!(server.send("GET", path, &[("host", "evil.example")], "").0, 403, "{path}");
        assert_eq!(server.send("GET", path, &[("origin", "https://evil.example")], "").0, 403, "{path}");
    }
    let own = server.address().to_owned();
    assert_eq!(server.send("GET", "/version", &[("origin", &own)], "").0, 200);
    let port = own.rsplit(':').next().unwrap();
    assert_eq!(server.send("GET", "/version", &[("host", &format!("localhost:{port}"))], "").0, 200);
}

#[test]
fn nothing_can_be_changed_or_connected_to() {
    let server = Server::start(STORY, &[]);
    let pod = "/api/v1/namespaces/web/pods/db-0";
    for (method, path) in [
        ("POST", "/api/v1/namespaces/web/pods"),
        ("PUT", pod),
        ("PATCH", pod),
        ("DELETE", pod),
        ("DELETE", "/api/v1/namespaces/web/pods"),
        ("POST", &format!("{pod}/exec")),
        ("POST", &format!("{pod}/eviction")),
        ("GET", &format!("{pod}/exec")),
        ("GET", &format!("{pod}/portforward")),
        ("POST", "/api/v1/namespaces/web/bindings"),
    ] {
        let (code, text) = server.send(method, path, &[], "");
        let status: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((code, &status["reason"]), (405, &json!("MethodNotAllowed")), "{method} {path}");
        assert!(status["message"].as_str().unwrap().contains("at revision 3190"), "{method} {path}: {text}");
    }
    let (code, status) = server.get(&format!("{pod}/log"));
    assert_eq!(code, 405);
    assert!(status["message"].as_str().unwrap().contains("etcd holds no logs"), "{status}");
}

#[test]
fn reviews_allow_reading_alone() {
    let server = Server::start(STORY, &[]);
    let review = |kind: &str, spec: Value| -> Value {
        let path = format!("/apis/authorization.k8s.io/v1/{}s", kind.to_lowercase());
        let body = json!({"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}).to_string();
        let (code, text) = server.send("POST", &path, &[("content-type", "application/json")], &body);
        assert_eq!(code, 201, "{text}");
        serde_json::from_str(&text).unwrap()
    };
    for (verb, allowed) in [("get", true), ("list", true), ("watch", true), ("delete", false), ("create", false), ("*", false)] {
        for kind in ["SelfSubjectAccessReview", "SubjectAccessReview"] {
            let answer = review(kind, json!({"resourceAttributes": {"verb": verb, "resource": "pods"}}));
            assert_eq!((&answer["kind"], &answer["status"]["allowed"]), (&json!(kind), &json!(allowed)), "{verb}");
        }
    }
    let rules = review("SelfSubjectRulesReview", json!({"namespace": "web"}));
    assert_eq!(rules["status"]["resourceRules"][0]["verbs"], json!(["get", "list", "watch"]));
}

/// A certificate for these names, signed by none but itself, and its key.
fn certificate(folder: &Path, names: &[&str]) -> (PathBuf, PathBuf) {
    let key = KeyPair::generate().unwrap();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let made = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    let (certificate, private) = (folder.join("tls.crt"), folder.join("tls.key"));
    std::fs::write(&certificate, made.pem()).unwrap();
    std::fs::write(&private, key.serialize_pem()).unwrap();
    (certificate, private)
}

/// On every address of the machine, with the user's certificate: clients look for its name, and are let in by any address of the machine.
#[test]
fn others_reach_it_by_tls_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = certificate(folder.path(), &["etcd-1.example"]);
    let flags = ["--listen", "0.0.0.0:0", "--tls-cert", certificate.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    let server = Server::start_with(STORY, &[], &flags);
    let config = std::fs::read_to_string(server.kubeconfig()).unwrap();
    assert!(config.contains("tls-server-name: etcd-1.example"), "{config}");
    let output = kubectl::run(&server, &["get", "namespaces", "-o", "name"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 6);
    // One that is made for the run is for the machine's own addresses.
    let server = Server::start_with(STORY, &[], &["--listen", "0.0.0.0:0"]);
    let port = server.address().rsplit(':').next().unwrap().to_owned();
    for host in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("10.1.2.3:{port}")] {
        assert_eq!(server.send("GET", "/version", &[("host", &host)], "").0, 200, "{host}");
    }
    assert_eq!(server.send("GET", "/version", &[("host", &format!("evil.example:{port}"))], "").0, 403);
}

#[test]
fn certificates_and_addresses_that_cannot_be_used_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = certificate(folder.path(), &["localhost"]);
    let other = folder.path().join("other.key");
    std::fs::write(&other, KeyPair::generate().unwrap().serialize_pem()).unwrap();
    let (certificate, key, other) = (certificate.to_str().unwrap(), key.to_str().unwrap(), other.to_str().unwrap());
    for (flags, wanted) in [
        (&["--tls-cert", certificate, "--tls-key", other][..], "other.key: "),
        (&["--tls-cert", key, "--tls-key", key], "tls.key: no certificate is in it"),
        (&["--tls-cert", "/no/such/file", "--tls-key", key], "/no/such/file: "),
        (&["--tls-cert", certificate], "--tls-key"),
        (&["--listen", "203.0.113.7:0"], "cannot listen on 203.0.113.7:0"),
    ] {
        let output = ketcd().arg("-f").arg(capture(STORY)).arg("serve").args(flags).args(["--", "true"]).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(wanted), "{flags:?}: {text}");
    }
}

#[test]
fn a_kubeconfig_of_the_users_own_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    let run = || {
        let mut command = ketcd();
        command.arg("-f").arg(capture(STORY)).arg("serve").arg("--kubeconfig").arg(&path).args(["--", "true"]);
        command.output().unwrap()
    };
    std::fs::write(&path, "current-context: production\n").unwrap();
    let output = run();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("another file is there already"), "{output:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "current-context: production\n");
    std::fs::remove_file(&path).unwrap();
    // What an earlier run left is.
    assert_eq!((run().status.code(), run().status.code()), (Some(0), Some(0)));
}

/// The kubeconfig of a command is its own, and its exit code is ketcd's.
#[test]
fn a_command_has_a_private_kubeconfig_and_its_exit_code_is_the_end() {
    let script = "stat -c %a \"$KUBECONFIG\"; echo \"$KUBECONFIG\"; grep -c 'current-context: ketcd' \"$KUBECONFIG\"; exit 7";
    let output = ketcd().arg("-f").arg(capture(STORY)).args(["serve", "--", "sh", "-c", script]).output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0], lines[2]), ("600", "1"));
    assert!(!std::path::Path::new(lines[1]).exists(), "{} is still there", lines[1]);
    let output = ketcd().arg("-f").arg(capture(STORY)).args(["serve", "--", "/no/such/program"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
