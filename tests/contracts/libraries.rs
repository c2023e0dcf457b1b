//! What the library crates promise to a crate that depends on them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::root;

/// The crates that others may depend on.
const LIBRARY_CRATES: &[&str] = &[
    "ketcd-api-server",
    "ketcd-audit",
    "ketcd-cluster",
    "ketcd-history",
    "ketcd-kube",
    "ketcd-mcp",
    "ketcd-render",
    "ketcd-redact",
    "ketcd-restore",
    "ketcd-scheduler",
    "ketcd-serve",
    "ketcd-store",
    "ketcd-testing",
    "ketcd-what-if",
];

/// Those whose versions follow Semantic Versioning.
const VERSIONED_CRATES: [&str; 6] = ["ketcd-audit", "ketcd-history", "ketcd-kube", "ketcd-restore", "ketcd-scheduler", "ketcd-store"];

/// The manifests of the libraries, as Cargo reads them.
fn libraries() -> Vec<Value> {
    let arguments = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let libraries: Vec<Value> = packages.filter(|package| LIBRARY_CRATES.iter().any(|name| package["name"] == *name)).cloned().collect();
    assert_eq!(libraries.len(), LIBRARY_CRATES.len());
    libraries
}

/// k8s-openapi takes exactly one feature `v1_*` in a whole build and leaves the choice to the binary: a library that chose one could not be built
/// by a crate that chooses another.
#[test]
fn no_library_chooses_a_release_of_k8s_openapi() {
    for library in libraries() {
        let normal = library["dependencies"].as_array().unwrap().iter().filter(|own| own["name"] == "k8s-openapi" && own["kind"].is_null());
        let mut features = normal.flat_map(|own| own["features"].as_array().unwrap()).filter_map(Value::as_str);
        let chosen = features.find(|feature| feature.starts_with("v1_"));
        assert_eq!(chosen, None, "{} chooses a release of k8s-openapi", library["name"]);
    }
}

/// The names of the crates that the command is built of, their build scripts' among them.
fn built_for_the_command() -> BTreeSet<String> {
    let arguments = ["tree", "--offline", "--locked", "--package", "ketcd", "--features", "parquet", "--edges", "normal,build"];
    let output =
        Command::new(env!("CARGO")).args(arguments).args(["--prefix", "none", "--format", "{p}"]).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// Their build scripts run `protoc`. Whoever types `cargo install` has none, and cargo reads no `.cargo/config.toml` there, which gives us one.
#[test]
fn nothing_is_built_with_protoc_but_tests() {
    let crates = built_for_the_command();
    assert!(["ketcd-store", "ketcd-serve", "tonic"].iter().all(|name| crates.contains(*name)), "{crates:?}");
    let found: Vec<&String> =
        crates.iter().filter(|name| ["etcd-client", "prost-build", "tonic-prost-build"].contains(&name.as_str())).collect();
    assert!(found.is_empty(), "{found:?}");
}

/// Whose versions mean something, and whose do not. A feature that takes `non_exhaustive` off would do it for everybody: cargo unites features.
#[test]
fn each_library_says_what_its_versions_promise() {
    for library in libraries() {
        let name = library["name"].as_str().unwrap();
        let page = fs::read_to_string(Path::new(library["manifest_path"].as_str().unwrap()).with_file_name("README.md")).unwrap();
        let promises = VERSIONED_CRATES.contains(&name);
        assert_eq!(page.contains("Versions follow Semantic Versioning"), promises, "{name}");
        assert_eq!(page.contains("keeps no promise of versions"), !promises, "{name}");
        assert!(library["features"].get("exhaustive").is_none(), "{name} has a feature that shows all variants");
    }
    let compared = fs::read_to_string(root().join("tools/semver")).unwrap();
    assert!(compared.contains(&format!("for library in {};", VERSIONED_CRATES.map(|name| name.trim_start_matches("ketcd-")).join(" "))));
}

/// The repository is the one thing that `tools/package` adds: it is known where the workflow runs.
#[test]
fn each_library_says_what_a_registry_shows_and_has_an_example() {
    for library in libraries() {
        let name = library["name"].as_str().unwrap();
        for field in ["description", "license", "rust_version"] {
            assert!(library[field].is_string(), "{name} has no {field}");
        }
        assert_eq!(library["documentation"], format!("https://docs.rs/{name}"), "{name}");
        for field in ["keywords", "categories"] {
            assert!(library[field].as_array().is_some_and(|words| !words.is_empty()), "{name} has no {field}");
        }
        let targets = library["targets"].as_array().unwrap();
        assert!(targets.iter().any(|target| target["kind"][0] == "example"), "{name} has no example");
        let folder = Path::new(library["manifest_path"].as_str().unwrap()).parent().unwrap();
        assert!(folder.join("LICENSE").is_file(), "{name} has no LICENSE");
        let page = fs::read_to_string(folder.join(library["readme"].as_str().unwrap())).unwrap();
        let root = fs::read_to_string(folder.join("src/lib.rs")).unwrap();
        assert!(page.lines().any(|line| line.starts_with("```")), "the README of {name} has no example");
        assert!(root.starts_with("#![doc = include_str!(\"../README.md\")]"), "no test compiles the README of {name}");
    }
}
