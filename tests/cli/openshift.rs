//! OpenShift's etcd: objects below /kubernetes.io and /openshift.io, as openshift/api's own types wrote them.

use std::process::{Command, Output};

use base64::Engine;
use ketcd_testing::testdata;
use ketcd_testing::written::Written;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

/// An object that openshift/api wrote: its bytes and its JSON.
fn pair(id: &str) -> (Vec<u8>, Value) {
    let pairs = testdata::read("values/openshift-pairs.jsonl.zst");
    let mut pairs = serde_json::Deserializer::from_slice(&pairs).into_iter::<Value>().map(Result::unwrap);
    let pair = pairs.find(|pair| pair["id"] == id).unwrap();
    let bytes = base64::engine::general_purpose::STANDARD.decode(pair["pb"].as_str().unwrap()).unwrap();
    (bytes, serde_json::from_str(pair["json"].as_str().unwrap()).unwrap())
}

const OBJECTS: [(&str, &str); 4] = [
    ("/openshift.io/routes/namespaceValue/nameValue", "route.openshift.io.v1.Route"),
    ("/openshift.io/deploymentconfigs/namespaceValue/nameValue", "apps.openshift.io.v1.DeploymentConfig"),
    ("/openshift.io/oauth/clients/nameValue", "oauth.openshift.io.v1.OAuthClient"),
    ("/openshift.io/oauth/accesstokens/nameValue", "oauth.openshift.io.v1.OAuthAccessToken"),
];

/// A database of an OpenShift cluster.
fn database() -> NamedTempFile {
    let mut written = Written::default();
    written.put(
        "/kubernetes.io/namespaces/default",
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}).to_string(),
    );
    written.put(
        "/kubernetes.io/configmaps/namespaceValue/plain",
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plain", "namespace": "namespaceValue"}}).to_string(),
    );
    for (key, id) in OBJECTS {
        written.put(key, pair(id).0);
    }
    for (name, time) in [("a-2", "2026-01-02T00:00:00Z"), ("b-1", "2026-01-01T00:00:00Z"), ("c-3", "2026-01-03T00:00:00Z")] {
        let build = json!({"apiVersion": "build.openshift.io/v1", "kind": "Build", "metadata": {"name": name, "namespace": "x", "creationTimestamp": time}});
        written.put(&format!("/openshift.io/builds/x/{name}"), build.to_string());
    }
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), written.finish()).unwrap();
    file
}

fn run(file: &NamedTempFile, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ketcd")).arg("-f").arg(file.path()).args(arguments).env("NO_COLOR", "1").output().unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn objects_are_read_and_their_credentials_masked_unless_asked_for() {
    let file = database();
    for ((_, id), (address, secrets)) in OBJECTS.iter().zip([
        ("routes/namespaceValue/nameValue", &["/spec/tls/key"][..]),
        ("deploymentconfigs/namespaceValue/nameValue", &[]),
        ("oauthclients/nameValue", &["/secret", "/additionalSecrets/0"]),
        ("oauthaccesstokens/nameValue", &["/authorizeToken", "/refreshToken"]),
    ]) {
        let get = |flags: &[&str]| -> Value {
            serde_json::from_str(&text(&run(&file, &[&["get", address, "-o", "json", "--show-managed-fields"], flags].concat()))).unwrap()
        };
        let mut wanted = pair(id).1;
        let (mut shown, mut masked) = (get(&["--show-secrets"]), get(&[]));
        for object in [&mut wanted, &mut shown, &mut masked] {
            object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        }
        assert_eq!(shown, wanted, "{id}");
        for place in secrets {
            assert_eq!(masked.pointer(place).unwrap(), "***", "{id}{place}");
            *wanted.pointer_mut(place).unwrap() = "***".into();
        }
        assert_eq!(masked, wanted, "{id}");
    }
}

#[test]
fn objects_below_both_prefixes_are_listed_described_and_extracted() {
    let file = database();
    let kinds = text(&run(&file, &["ls"]));
    for kind in ["routes.route.openshift.io", "configmaps", "oauthclients.oauth.openshift.io"] {
        assert!(kinds.contains(kind), "{kind}: {kinds}");
    }
    let described = text(&run(&file, &["describe", "routes/namespaceValue/nameValue"]));
    assert!(described.contains("hostValue") && !described.contains("keyValue"), "{described}");
    let names = text(&run(&file, &["get", "routes,configmaps", "-n", "namespaceValue", "-o", "name"]));
    assert_eq!(names, "route.route.openshift.io/nameValue\nconfigmap/plain\n");
    let wanted = ["extract", "routes/namespaceValue/nameValue", "configmaps/namespaceValue/plain"];
    let masked = run(&file, &wanted);
    let (manifests, said) = (String::from_utf8_lossy(&masked.stdout), String::from_utf8_lossy(&masked.stderr));
    assert!(manifests.contains("kind: ConfigMap") && !manifests.contains("keyValue"), "{manifests}");
    assert!(
        said.contains("their values are masked; --show-secrets extracts them: route.route.openshift.io/namespaceValue/nameValue"),
        "{said}"
    );
    let manifests = text(&run(&file, &[&["--show-secrets"], &wanted[..]].concat()));
    assert!(manifests.contains("kind: Route") && manifests.contains("key: keyValue"), "{manifests}");
}

/// By creation, as the API server's own table has them.
#[test]
fn builds_are_sorted_by_their_creation() {
    let table = text(&run(&database(), &["get", "builds", "-n", "x"]));
    let names: Vec<&str> = table.lines().skip(1).filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["b-1", "a-2", "c-3"], "{table}");
}
