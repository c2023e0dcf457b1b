//! Holds the modules of ketcd-scheduler to their order: each may use only those listed before it.

use ketcd_testing::layers::Crate;

use super::sources;

/// The layers, from the ground up.
const SCHEDULER_LAYERS: &[&str] = &[
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
    "queue",
    "groups",
    "devices",
    "reservation",
    "evidence",
    "suitability",
    "explanation",
    "replay",
    "remedies",
    "explain",
    "fuzz",
];

#[test]
fn every_layer_uses_only_those_below_it() {
    let found = sources("crates/scheduler/src");
    assert!(found.len() > 200, "only {} files were found", found.len());
    let faults = Crate::new(found).faults(SCHEDULER_LAYERS);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
