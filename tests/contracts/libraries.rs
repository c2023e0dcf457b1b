//! What the library crates promise to a crate that depends on them.

use std::process::Command;

use serde_json::Value;

use super::root;

/// The crates that others may depend on.
const LIBRARIES: &[&str] =
    &["ketcd-cluster", "ketcd-history", "ketcd-kube", "ketcd-render", "ketcd-restore", "ketcd-scheduler", "ketcd-serve", "ketcd-store"];

/// k8s-openapi takes exactly one feature `v1_*` in a whole build and leaves the choice to the binary: a library that chose one could not be built
/// by a crate that chooses another.
#[test]
fn no_library_chooses_a_release_of_k8s_openapi() {
    let arguments = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let libraries: Vec<&Value> = packages.filter(|package| LIBRARIES.iter().any(|name| package["name"] == *name)).collect();
    assert_eq!(libraries.len(), LIBRARIES.len());
    for library in libraries {
        let normal = library["dependencies"].as_array().unwrap().iter().filter(|own| own["name"] == "k8s-openapi" && own["kind"].is_null());
        let mut features = normal.flat_map(|own| own["features"].as_array().unwrap()).filter_map(Value::as_str);
        let chosen = features.find(|feature| feature.starts_with("v1_"));
        assert_eq!(chosen, None, "{} chooses a release of k8s-openapi", library["name"]);
    }
}
