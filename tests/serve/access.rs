//! Who may ask what: the token, the host, the origin; reviews; and that nothing can be changed.

use std::path::{Path, PathBuf};

use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};

use crate::ketcd::ketcd;
use crate::kubectl;
use crate::server::{Server, capture};

const STORY_CAPTURE: &str = "k136-story/snapshot.db.zst";

#[test]
fn every_path_needs_the_token_and_the_servers_own_name() {
    let server = Server::start(STORY_CAPTURE, &[]);
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
    for (host, code) in [
        (&*format!("localhost:{port}"), 200),
        // Some clients leave the port out.
        ("localhost", 200),
        ("127.0.0.1", 200),
        ("127.0.0.1:1", 403),
        ("evil.example", 403),
        (&format!("evil.example:{port}"), 403),
        ("127.0.0.1.evil.example", 403),
        ("127.0.0.2", 403),
    ] {
        assert_eq!(server.send("GET", "/version", &[("host", host)], "").0, code, "{host}");
    }
    // A page of another server on this machine is a page of another server.
    for origin in ["https://127.0.0.1", "https://localhost", "http://localhost", "null"] {
        assert_eq!(server.send("GET", "/version", &[("origin", origin)], "").0, 403, "{origin}");
    }
}

#[test]
fn nothing_can_be_changed_or_connected_to() {
    let server = Server::start(STORY_CAPTURE, &[]);
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
    let server = Server::start(STORY_CAPTURE, &[]);
    let review = |kind: &str, spec: Value| -> Value {
        let path = format!("/apis/authorization.k8s.io/v1/{}s", kind.to_lowercase());
        let body = json!({"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}).to_string();
        let (code, text) = server.send("POST", &path, &[("content-type", "application/json")], &body);
        assert_eq!(code, 201, "{text}");
        serde_json::from_str(&text).unwrap()
    };
    for (verb, allowed) in [("get", true), ("list", true), ("watch", true), ("delete", false), ("create", false), ("*", false)] {
        let answer = review("SelfSubjectAccessReview", json!({"resourceAttributes": {"verb": verb, "resource": "pods"}}));
        assert_eq!(answer["status"]["allowed"], allowed, "{verb}");
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
    let server = Server::start_with(STORY_CAPTURE, &[], &flags);
    let config = std::fs::read_to_string(server.kubeconfig()).unwrap();
    assert!(config.contains("tls-server-name: etcd-1.example"), "{config}");
    let output = kubectl::run(&server, &["get", "namespaces", "-o", "name"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 6);
    // One that is made for the run is for the machine's own addresses.
    let server = Server::start_with(STORY_CAPTURE, &[], &["--listen", "0.0.0.0:0"]);
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
        (&["--tls-cert", key, "--tls-key", key], "tls.key: it contains no certificate"),
        (&["--tls-cert", "/no/such/file", "--tls-key", key], "/no/such/file: "),
        (&["--tls-cert", certificate], "--tls-key"),
        (&["--listen", "203.0.113.7:0"], "cannot listen on 203.0.113.7:0"),
    ] {
        let output = ketcd().arg("-f").arg(capture(STORY_CAPTURE)).arg("serve").args(flags).args(["--", "true"]).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(wanted), "{flags:?}: {text}");
    }
}

/// Serves a source for a command that ends at once, with this kubeconfig.
fn written(source: &Path, kubeconfig: &Path) -> (Option<i32>, String) {
    let mut command = ketcd();
    command.arg("-f").arg(source).arg("serve").arg("--kubeconfig").arg(kubeconfig).args(["--", "true"]);
    let output = command.output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_kubeconfig_of_the_users_own_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    let story = capture(STORY_CAPTURE);
    assert_eq!(written(&story, &path).0, Some(0));
    let own = std::fs::read_to_string(&path).unwrap();
    // What an earlier run left is, also when kubectl wrote it again, and so is an empty file.
    std::fs::write(&path, own.replace("current-context: ketcd", "current-context: newest").replace("preferences: {}\n", "")).unwrap();
    assert_eq!(written(&story, &path).0, Some(0));
    std::fs::write(&path, "").unwrap();
    assert_eq!(written(&story, &path).0, Some(0));
    let user = "- name: prod\n  user:\n    token: PRODUCTION\n";
    let merged = own.replace("users:\n", &format!("users:\n{user}"));
    for (what, text) in [
        ("another context is the current one", "current-context: production\n".to_owned()),
        ("the name alone", "current-context: ketcd\n".to_owned()),
        ("a user beside ours", merged.clone()),
        ("the user's own at the end", format!("{own}{user}")),
        ("a context by our name", own.replace("user: ketcd", "user: prod")),
        ("a comment", format!("# mine\n{own}")),
        ("no YAML", "current-context: ketcd\n\t{".to_owned()),
        ("too much", format!("{own}{}", "\n".repeat(1 << 17))),
    ] {
        assert_ne!(text, own, "{what}");
        std::fs::write(&path, &text).unwrap();
        let (code, told) = written(&story, &path);
        assert_eq!(code, Some(2), "{what}: {told}");
        assert!(told.contains("exists and is not a kubeconfig that ketcd wrote"), "{what}: {told}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{what}");
    }
    // Nor by a link, though what it leads to may be.
    std::fs::write(&path, &own).unwrap();
    let link = folder.path().join("link");
    for to in [path.as_path(), Path::new("nowhere")] {
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(to, &link).unwrap();
        let (code, told) = written(&story, &link);
        assert!(code == Some(2) && told.contains("is a symbolic link"), "{told}");
        assert_eq!(std::fs::read_link(&link).unwrap(), to);
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), own);
}

#[test]
fn a_kubeconfig_is_no_source_and_no_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let story = capture(STORY_CAPTURE);
    let path = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(path("member/snap")).unwrap();
    ketcd_synthetic::write(10, 1, &path("member/snap/db")).unwrap();
    std::fs::create_dir(path("directory")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
    std::fs::hard_link(path("member/snap/db"), path("hard")).unwrap();
    for (source, kubeconfig, wanted) in [
        (&story, path("pipe"), "is not an ordinary file"),
        (&story, path("directory"), "is a directory"),
        (&story, path("none/config"), "there is no directory"),
        (&story, "/dev/null".into(), "is not an ordinary file"),
        (&path("member/snap/db"), path("member/snap/db"), "belongs to what -f"),
        (&path("member/snap/db"), path("hard"), "belongs to what -f"),
        (&path("member"), path("member/snap/new"), "belongs to what -f"),
        (&path("member"), path("member/config"), "belongs to what -f"),
        (&path("member"), path("directory/../member/config"), "belongs to what -f"),
    ] {
        let (code, told) = written(source, &kubeconfig);
        assert_eq!(code, Some(2), "{}: {told}", kubeconfig.display());
        assert!(told.contains(wanted), "{}: {told}", kubeconfig.display());
    }
    assert!(!path("member/config").exists() && !path("member/snap/new").exists());
}

/// A command has the user's environment but for the credentials of ketcd's own sources.
#[test]
fn a_command_gets_no_credentials() {
    let secrets = [
        "ETCDCTL_PASSWORD",
        "ETCDCTL_USER",
        "ETCDCTL_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_PROFILE",
        "AZURE_STORAGE_ACCOUNT_KEY",
        "AZURE_CLIENT_SECRET",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GOOGLE_SERVICE_ACCOUNT_KEY",
        "SERVICE_ACCOUNT",
        "IDENTITY_HEADER",
    ];
    let mut command = ketcd();
    command.envs(secrets.iter().map(|name| (name, "kept-secret"))).env("OF_THE_USER", "seen");
    let output = command.arg("-f").arg(capture(STORY_CAPTURE)).args(["serve", "--", "env"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("OF_THE_USER=seen") && text.contains("KUBECONFIG="), "{text}");
    assert!(!text.contains("kept-secret"), "{text}");
}

/// The kubeconfig of a command is its own, and its exit code is ketcd's.
#[test]
fn a_command_has_a_private_kubeconfig_and_its_exit_code_is_the_end() {
    let script = "stat -c %a \"$KUBECONFIG\"; echo \"$KUBECONFIG\"; grep -c 'current-context: ketcd' \"$KUBECONFIG\"; exit 7";
    let output = ketcd().arg("-f").arg(capture(STORY_CAPTURE)).args(["serve", "--", "sh", "-c", script]).output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0], lines[2]), ("600", "1"));
    assert!(!std::path::Path::new(lines[1]).exists(), "{} is still there", lines[1]);
    let output = ketcd().arg("-f").arg(capture(STORY_CAPTURE)).args(["serve", "--", "/no/such/program"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
