//! Makes a manifest of an object in JSON: `kubectl get pod web-0 -o json | cargo run -p ketcd-restore --example manifest`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example is a program: it prints")]

use std::error::Error;

use ketcd_restore::{Switches, strip};
use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    let mut object: Value = serde_json::from_reader(std::io::stdin())?;
    for reason in manifest(&mut object) {
        eprintln!("{reason}");
    }
    println!("{object:#}");
    Ok(())
}

/// Strips what the cluster wrote into an object; returns a line for each rule that stripped something.
fn manifest(object: &mut Value) -> Vec<String> {
    let rules = strip(object, &Switches::default(), true);
    rules.iter().map(|rule| format!("{}: {}", rule.name, rule.reason)).collect()
}

#[test]
fn what_the_cluster_wrote_is_stripped() {
    let mut object = serde_json::json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "uid": "9d2f"},
        "spec": {"clusterIP": "10.96.0.7", "ports": [{"port": 80}]}, "status": {"loadBalancer": {}}});
    let lines = manifest(&mut object);
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!(object["spec"], serde_json::json!({"ports": [{"port": 80}]}));
}
