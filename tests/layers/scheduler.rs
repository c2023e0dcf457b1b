//! Holds the crate's modules to their order: each may use only those listed before it.

use std::path::Path;

use ketcd_testing::layers::Crate;

/// The layers, from the ground up.
const LAYERS: &[&str] = &[
    "api",
    "cluster",
    "release",
    "framework",
    "validation",
    "cel",
    "pod_groups",
    "volumes",
    "dra",
    "plugins",
    "legacy",
    "registry",
    "profile",
    "config",
    "cycle",
    "preemption",
    "groups",
    "devices",
    "evidence",
    "explanation",
    "replay",
    "remedies",
    "explain",
    "fuzz",
];

#[test]
fn every_layer_uses_only_those_below_it() {
    let this = Crate::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(this.files() > 200, "only {} files were found", this.files());
    let faults = this.faults(LAYERS);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
