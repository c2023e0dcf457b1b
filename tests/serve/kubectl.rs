//! The real kubectl. Without one the tests fail and say how to get it.

use std::process::{Command, Output};

use crate::ketcd::ketcd;
use crate::server::{Server, capture};

const STORY: &str = "k136-story/snapshot.db.zst";

/// Runs it with the server's kubeconfig.
pub(crate) fn run(server: &Server, arguments: &[&str]) -> Output {
    let kubectl = std::env::var("KETCD_TEST_KUBECTL").unwrap_or_else(|_| "kubectl".to_owned());
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
