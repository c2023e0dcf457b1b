//! The real kubectl. Without one the tests fail and say how to get it.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::ketcd::ketcd;
use crate::server::{Server, capture};

const STORY_CAPTURE: &str = "k136-story/snapshot.db.zst";

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
    let server = Server::start(STORY_CAPTURE, &[]);
    for arguments in [
        &["get", "pods", "-A"][..],
        &["get", "nodes", "-o", "wide"],
        &["get", "deploy,svc", "-n", "web"],
        &["get", "gadgets", "-A"],
        &["get", "flowschemas"],
        &["get", "pods", "-n", "lab", "-l", "app", "-L", "app"],
        &["get", "events", "-n", "web"],
        &[
            "get",
            "deploy",
            "-A",
            "-o",
            "go-template={{range .items}}{{.metadata.name}} {{.spec.replicas}} {{.metadata.labels}}{{\"\\n\"}}{{end}}",
        ],
        &["get", "pod/db-0", "-n", "web", "-o", "go-template={{.kind}} {{exists . \"spec\" \"nodeName\"}} {{.spec.tolerations}} {{.nope}}"],
        &[
            "get",
            "nodes",
            "-o",
            "template={{range $i, $n := .items}}{{if $i}}, {{end}}{{printf \"%-8s|%v\" $n.metadata.name $n.status.capacity}}{{end}}",
        ],
    ] {
        let (found, wanted) = (run(&server, arguments), ketcd().arg("-f").arg(capture(STORY_CAPTURE)).args(arguments).output().unwrap());
        assert!(found.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&found.stderr));
        assert_eq!(String::from_utf8_lossy(&found.stdout), String::from_utf8_lossy(&wanted.stdout), "{arguments:?}");
    }
}

/// `extract --against` reads a cluster by kubectl, and finds there what it finds in the file that is served.
#[test]
fn extract_compares_with_a_cluster_by_kubectl() {
    let server = Server::start(STORY_CAPTURE, &[]);
    // It runs the kubectl of the PATH.
    let folder = Path::new(&kubectl()).parent().map(Path::to_owned).unwrap_or_default();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let plan = |against: &OsStr| {
        let mut command = ketcd();
        command.env("PATH", &path).arg("-f").arg(capture(STORY_CAPTURE)).args([
            "--rev",
            "1500",
            "extract",
            "ns/web",
            "-o",
            "json",
            "--against",
        ]);
        let output = command.arg(against).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let (cluster, file) = (plan(server.kubeconfig().as_os_str()), plan(capture(STORY_CAPTURE).as_os_str()));
    assert!(file["changes"].as_array().unwrap().len() > 1, "{file:#}");
    assert_eq!(cluster, file);
}

#[test]
fn kubectl_explain_describes_served_types() {
    let server = Server::start(STORY_CAPTURE, &[]);
    for (arguments, wanted) in [
        (
            &["explain", "pod.spec.containers"][..],
            &[
                "KIND:       Pod\n",
                "FIELD: containers <[]Container>",
                "  imagePullPolicy\t<string>\n  enum: Always, IfNotPresent, Never\n",
                "    Possible enum values:\n     - `\"Always\"`",
                "  name\t<string> -required-",
            ][..],
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

/// What `extract` prints can be held against the server: a dry run on the client sends nothing but reads.
#[test]
fn dry_runs_on_the_client_work_and_on_the_server_are_refused() {
    let server = Server::start(STORY_CAPTURE, &[]);
    let manifests = tempfile::tempdir().unwrap();
    let file = manifests.path().join("web.yaml");
    let extracted = ketcd().arg("-f").arg(capture(STORY_CAPTURE)).args(["extract", "-n", "web", "--all"]).output().unwrap();
    std::fs::write(&file, extracted.stdout).unwrap();
    let file = file.to_str().unwrap();
    for arguments in [&["apply", "--dry-run=client", "-f", file][..], &["create", "configmap", "made", "--dry-run=client", "-n", "web"]] {
        let output = run(&server, arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let review = manifests.path().join("review.yaml");
    let text = "apiVersion: authorization.k8s.io/v1\nkind: SubjectAccessReview\nspec:\n  user: nobody\n  resourceAttributes: {verb: get, resource: pods}\n";
    std::fs::write(&review, text).unwrap();
    let output = run(&server, &["create", "-f", review.to_str().unwrap(), "-o", "jsonpath={.status.allowed}"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "false", "{}", String::from_utf8_lossy(&output.stderr));
    let output = run(&server, &["apply", "--server-side", "--dry-run=server", "-f", file]);
    let refusal = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && refusal.contains("--dry-run=client"), "{refusal}");
}

#[test]
fn kubectl_describes_asks_and_is_refused() {
    let server = Server::start(STORY_CAPTURE, &[]);
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

/// The manifests that `extract` writes and the YAML that `get` writes are read by kubectl as they were stored, whatever text is in them.
#[test]
fn kubectl_reads_yaml_with_any_text() {
    let folder = tempfile::tempdir().unwrap();
    let texts = [
        "\tgo build ./...\n\tgo test ./...\n",
        "12e4567",
        "0644",
        "a\u{2028}    b",
        "\u{85}\n\ta",
        "  first\nlast\n",
        "\n\n",
        "a \n",
        "1:30",
        "y",
        "~",
    ];
    let items: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(number, text)| {
            serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("c{number}"), "namespace": "x"}, "data": {"k": text}})
        })
        .collect();
    let objects = folder.path().join("objects.json");
    std::fs::write(&objects, serde_json::json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()).unwrap();
    let server = Server::start(objects.to_str().unwrap(), &[]);
    for arguments in [&["extract", "-A", "--all"][..], &["ls", "cm", "-A", "-o", "yaml"]] {
        let written = ketcd().arg("-f").arg(&objects).args(arguments).output().unwrap();
        let path = folder.path().join("written.yaml");
        std::fs::write(&path, &written.stdout).unwrap();
        let read = run(&server, &["create", "--dry-run=client", "--validate=false", "-o", "json", "-f", path.to_str().unwrap()]);
        assert!(read.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&read.stderr));
        // kubectl prints one object after the other.
        let found: Vec<String> = serde_json::Deserializer::from_slice(&read.stdout)
            .into_iter::<Value>()
            .map(|item| item.unwrap()["data"]["k"].as_str().unwrap().to_owned())
            .collect();
        assert!(texts.iter().all(|text| found.iter().any(|found| found == text)) && found.len() == texts.len(), "{arguments:?}: {found:?}");
    }
    // And what kubectl writes is read as it was stored.
    let printed = run(&server, &["get", "cm", "-A", "-o", "yaml"]);
    let path = folder.path().join("printed.yaml");
    std::fs::write(&path, &printed.stdout).unwrap();
    let texts_of = |file: &Path| {
        let output =
            ketcd().arg("-f").arg(file).args(["ls", "cm", "-A", "-o", "jsonpath={range .items[*]}{.data.k}|{end}"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    // kubectl makes YAML of JSON by reading it as YAML, to which U+0085 is a line's end.
    assert_eq!(texts_of(&path), texts_of(&objects).replace('\u{85}', " "));
}

/// kubectl parses what it applied last: its mask is JSON.
#[test]
fn kubectl_applies_masked_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let (objects, manifest) = (folder.path().join("objects.json"), folder.path().join("manifest.json"));
    let last = r#"{"apiVersion":"v1","data":{"p":"aHVudGVyMg=="},"kind":"Secret","metadata":{"name":"s","namespace":"x"},"type":"Opaque"}"#;
    let mut secret: Value = serde_json::from_str(last).unwrap();
    std::fs::write(&manifest, last).unwrap();
    secret["metadata"]["annotations"] = serde_json::json!({"kubectl.kubernetes.io/last-applied-configuration": last});
    std::fs::write(&objects, secret.to_string()).unwrap();
    let server = Server::start(objects.to_str().unwrap(), &[]);
    let output = run(&server, &["apply", "--dry-run=client", "--validate=false", "-f", manifest.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let shown = run(&server, &["get", "secret", "s", "-n", "x", "-o", "yaml"]);
    assert!(!String::from_utf8_lossy(&shown.stdout).contains("aHVudGVyMg"), "{}", String::from_utf8_lossy(&shown.stdout));
}
