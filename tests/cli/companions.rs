//! Configuration that lies with a database in a folder or an archive is used where no flag names another.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(name)
}

fn run(file: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ketcd")).arg("-f").arg(file).args(arguments).env("NO_COLOR", "1").output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder as OpenShift's backups have them, with a sealed database and this configuration for each revision of the API server's static Pod.
fn backup(configurations: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(capture("k136-encrypted/snapshot.db.zst"), folder.path().join("snapshot_2026-11-24_010203.db")).unwrap();
    for (place, text) in configurations {
        let path = folder.path().join(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

const CONFIG_7: &str = "static-pod-resources/kube-apiserver-pod-7/secrets/encryption-config/encryption-config";
const CONFIG_10: &str = "static-pod-resources/kube-apiserver-pod-10/secrets/encryption-config/encryption-config";
const OTHER_CONFIG: &str = "{\"kind\":\"EncryptionConfiguration\",\"apiVersion\":\"apiserver.config.k8s.io/v1\",\"resources\":[]}";
const WANTED_ARGS: [&str; 6] = ["get", "configmaps", "-n", "vault", "-o", "json"];

#[test]
fn sealed_values_are_opened_with_the_configuration_of_the_newest_static_pod() {
    let keys = fs::read_to_string(capture("k136-encrypted/encryption-config.yaml")).unwrap();
    let file = capture("k136-encrypted/snapshot.db.zst");
    let flag = capture("k136-encrypted/encryption-config.yaml");
    let wanted = run(&file, &[&WANTED_ARGS[..], &["--encryption-config", flag.to_str().unwrap()]].concat());
    assert!(!wanted.stdout.is_empty(), "{}", said(&wanted));
    let folder = backup(&[(CONFIG_7, OTHER_CONFIG), (CONFIG_10, &keys)]);
    let found = run(folder.path(), &WANTED_ARGS);
    assert_eq!(String::from_utf8_lossy(&found.stdout), String::from_utf8_lossy(&wanted.stdout), "{}", said(&found));
    assert!(said(&found).contains("sealed values are opened with the keys in") && said(&found).contains(CONFIG_10), "{}", said(&found));
    // Where nothing sealed is opened nothing is said.
    let none = run(folder.path(), &["get", "namespaces"]);
    assert!(none.status.success() && !said(&none).contains("sealed values"), "{}", said(&none));
    // What a flag names wins.
    let own = tempfile::NamedTempFile::new().unwrap();
    fs::write(own.path(), OTHER_CONFIG).unwrap();
    let other = run(folder.path(), &[&WANTED_ARGS[..], &["--encryption-config", own.path().to_str().unwrap()]].concat());
    assert!(!said(&other).contains("sealed values are opened") && other.stdout != wanted.stdout, "{}", said(&other));
}

#[test]
fn of_two_configurations_that_differ_none_is_used() {
    let keys = fs::read_to_string(capture("k136-encrypted/encryption-config.yaml")).unwrap();
    let folder = backup(&[("pki/one.yaml", &keys), ("pki/other.yaml", OTHER_CONFIG)]);
    let found = run(folder.path(), &WANTED_ARGS);
    assert!(said(&found).contains("differ, so neither is used; name one with --encryption-config"), "{}", said(&found));
    assert!(said(&found).contains("pki/one.yaml") && said(&found).contains("pki/other.yaml"), "{}", said(&found));
}

#[test]
fn decisions_are_evaluated_with_the_configuration_next_to_the_database() {
    /// A decision that another configuration makes otherwise.
    const DECIDED_POD: &str = "pod/data/api-0056";
    let (folder, config) = (capture("custom-config"), capture("custom-config/scheduler-config.yaml"));
    let flag = ["--scheduler-config", config.to_str().unwrap()];
    let explain = ["explain", DECIDED_POD, "-o", "ndjson"];
    let wanted = run(&folder.join("snapshot.db.zst"), &[&explain[..], &flag].concat());
    let found = run(&folder, &explain);
    assert!(!wanted.stdout.is_empty(), "{}", said(&wanted));
    assert!(wanted.stdout == found.stdout, "{}", said(&found));
    let without = run(&folder.join("snapshot.db.zst"), &explain);
    assert!(!without.stdout.is_empty() && without.stdout != wanted.stdout, "{}", said(&without));
    let note = "decisions are evaluated with the scheduler's configuration in";
    assert!(said(&found).contains(note) && said(&found).contains("custom-config/scheduler-config.yaml"), "{}", said(&found));
    let given = run(&folder, &[&explain[..], &flag].concat());
    assert!(!said(&given).contains(note), "{}", said(&given));
    let page = tempfile::tempdir().unwrap().path().join("report.html");
    fs::create_dir(page.parent().unwrap()).unwrap();
    let report = run(&folder, &["report", DECIDED_POD, "--out", page.to_str().unwrap()]);
    assert!(said(&report).contains(note), "{}", said(&report));
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("with the configuration that was found for it") && !page.contains("default configuration of kube-scheduler"));
}
