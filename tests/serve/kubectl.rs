//! The real kubectl. Without one the tests fail and say how to get it.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::ketcd::ketcd;
use crate::server::{Server, capture};

const STORY: &str = "k136-story/snapshot.db.zst";

fn kubectl() -> String {
    std::env::var("KETCD_TEST_KUBECTL").unwrap_or_else(|_| "kubectl".to_owned())
}

/// Runs it with the server's kubeconfig.
pub(crate) fn run(server: &Server, arguments: &[&str]) -> Output {
    let kubectl = kubectl();
    let output = Command::new(&kubectl).arg("--kubeconfig").arg(server.kubeconfig()).args(arguments).output();
    output.unwrap_or_else(|error| panic!("{kubectl}: {error}; tools/test installs it, or name one in KETCD_TEST_KUBECTL"))
}

/// What kubectl prints of the server is what `ketcd get` prints of the file.
#[test]
fn kubectl_prints_what_get_prints() {
    let server = Server::start(STORY, &[]);
    for arguments in [
        &["get", "pods", "-A"][..],
        &["get", "nodes", "-o", "wide"],
        &["get", "deploy,svc", "-n", "web"],
        &["get", "gadgets", "-A"],
        &["get", "flowschemas"],
        &["get", "pods", "-n", "lab", "-l", "app", "-L", "app"],
        &["get", "events", "-n", "web"],
    ] {
        let (found, wanted) = (run(&server, arguments), ketcd().arg("-f").arg(capture(STORY)).args(arguments).output().unwrap());
        assert!(found.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&found.stderr));
        assert_eq!(String::from_utf8_lossy(&found.stdout), String::from_utf8_lossy(&wanted.stdout), "{arguments:?}");
    }
}

/// `extract --against` reads a cluster by kubectl, and finds there what it finds in the file that is served.
#[test]
fn extract_compares_with_a_cluster_by_kubectl() {
    let server = Server::start(STORY, &[]);
    // It runs the kubectl of the PATH.
    let folder = Path::new(&kubectl()).parent().map(Path::to_owned).unwrap_or_default();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let plan = |against: &OsStr| {
        let mut command = ketcd();
        command.env("PATH", &path).arg("-f").arg(capture(STORY)).args(["--rev", "1500", "extract", "ns/web", "-o", "json", "--against"]);
        let output = command.arg(against).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let (cluster, file) = (plan(server.kubeconfig().as_os_str()), plan(capture(STORY).as_os_str()));
    assert!(file["changes"].as_array().unwrap().len() > 1, "{file:#}");
    assert_eq!(cluster, file);
}

#[test]
fn kubectl_explains() {
    let server = Server::start(STORY, &[]);
    for (arguments, wanted) in [
        (
            &["explain", "pod.spec.containers"][..],
            &["KIND:       Pod\n", "FIELD: containers <[]Container>", "  imagePullPolicy\t<string>", "  name\t<string> -required-"][..],
        ),
        (&["explain", "gadgets.spec"], &["GROUP:      example.com\n", "FIELD: spec <Object>", "  replicas\t<integer>"]),
        (&["explain", "events", "--api-version=events.k8s.io/v1"], &["GROUP:      events.k8s.io", "  note\t<string>"]),
        (&["explain", "hpa.spec.metrics.resource", "--recursive"], &["VERSION:    v2\n", "    averageUtilization\t<integer>"]),
    ] {
        let output = run(&server, arguments);
        let text = String::from_utf8_lossy(&output.stdout);
        for wanted in wanted {
            assert!(text.contains(wanted), "{arguments:?}: no {wanted:?} in {text}{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

#[test]
fn kubectl_describes_asks_and_is_refused() {
    let server = Server::start(STORY, &[]);
    let text = |arguments: &[&str]| {
        let output = run(&server, arguments);
        (output.status.code(), format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
    };
    let (code, page) = text(&["describe", "node/node1"]);
    assert!(code == Some(0) && page.contains("Non-terminated Pods:") && page.contains("Allocated resources:"), "{page}");
    assert_eq!(text(&["auth", "can-i", "list", "pods"]), (Some(0), "yes\n".to_owned()));
    assert_eq!(text(&["auth", "can-i", "delete", "pods"]).0, Some(1));
    let (code, refusal) = text(&["delete", "pod/db-0", "-n", "web", "--wait=false"]);
    assert!(code == Some(1) && refusal.contains("MethodNotAllowed") && refusal.contains("recording"), "{refusal}");
    assert_eq!(text(&["get", "pod", "nobody"]), (Some(1), "Error from server (NotFound): pods \"nobody\" not found\n".to_owned()));
}
