//! The legacy Policy file (1.9 to 1.22): predicates, priorities with weights and arguments, extenders.
//! Upstream: `factory/factory.go` CreateFromConfig, `factory/plugins.go`, `api/validation/validation.go`; from 1.17 on each entry is a plugin.

mod extenders;
mod predicates;
mod priorities;
mod refusals;
mod registry;
mod shape;

use serde_json::Value;

use super::SchedulerConfiguration;
use crate::validation::Document;
use crate::{FilterMode, Gates, PodTopologySpreadDefaults, Profile, Release};

/// The last release that reads a Policy.
const LAST: u16 = 22;

/// What entries are read for.
pub(super) struct Context<'a> {
    /// The scheduler's release.
    pub release: Release,
    /// Its gates.
    pub gates: &'a Gates,
}

/// Whether a file is a Policy.
pub(super) fn is_policy(value: &Value) -> bool {
    let kind = value["kind"].as_str().unwrap_or_default();
    let other = value["apiVersion"].as_str().is_some_and(|version| version.starts_with("kubescheduler."));
    kind == "Policy" || kind.is_empty() && !other && ["predicates", "priorities", "extenders"].iter().any(|field| !value[*field].is_null())
}

/// Reads a Policy for a scheduler of this release. Unknown fields are passed over, as upstream passes them over.
pub(super) fn read(value: &Value, release: Release, gates: &Gates) -> Result<SchedulerConfiguration, Vec<String>> {
    let document = Document::new(value);
    if release.0 > LAST {
        return Err(vec![format!("kube-scheduler {release} reads no Policy: its last release is 1.{LAST}")]);
    }
    let context = Context { release, gates };
    let mut profile = Profile::new(release, gates.clone());
    let wrong = refusals::check(&document, &context);
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let extended = extenders::read(&document, &mut profile);
    let mut wrong = Vec::new();
    let defaults = registry::defaults(&context);
    let defaults = Document::new(&defaults);
    let list = |name: &str| Some(document.field(name)).filter(|list| !list.is_absent()).unwrap_or_else(|| defaults.field(name));
    let (listed, scored) = (list("predicates"), list("priorities"));
    // 1.9 takes a list that is absent for an empty one; from 1.10 on it stands for the default.
    if !listed.is_absent() || release.0 == 9 {
        match predicates::read(&listed, &context, &mut profile.unverifiable) {
            Ok(filters) => profile.filters = filters,
            Err(reasons) => wrong.extend(reasons),
        }
    }
    if !scored.is_absent() || release.0 == 9 {
        match priorities::read(&scored, &context, extended, &mut profile.arguments) {
            Ok(scores) => profile.scores = scores,
            Err(reasons) => wrong.extend(reasons),
        }
    }
    if release.0 >= 20 && !spreads(&scored) {
        profile.arguments.spread_defaults = PodTopologySpreadDefaults::List(Vec::new());
    }
    wrong.extend(refusals::label_conflicts(&listed, &scored, &context));
    // A Policy brought no PostFilter up to 1.19.4 (`factory.go` createFromConfig, kubernetes#96472).
    profile.preempts = profile.preempts && !(release.0 == 19 && gates.patch() <= 4);
    profile.scoring = extended || !profile.scores.is_empty();
    symmetric_weight(&document, &mut profile, &mut wrong);
    if document.field("alwaysCheckAllPredicates").truth() == Some(true) && release.0 >= 10 && release.0 != 17 {
        profile.filter_mode = FilterMode::All;
    }
    if wrong.is_empty() { Ok(SchedulerConfiguration { profiles: vec![profile], notes: Vec::new() }) } else { Err(wrong) }
}

/// Whether pods without constraints are spread, which is done for SelectorSpreadPriority alone (`plugins/legacy_registry.go`, since 1.20).
fn spreads(priorities: &Document<'_>) -> bool {
    priorities.elements().iter().any(|entry| matches!(entry.field("name").text(), "SelectorSpreadPriority" | "ServiceSpreadingPriority"))
}

/// What a required affinity term of an existing pod counts; 0 stands for the default. 1.17 checks it and goes by its configuration's
/// own (`factory.go` CreateFromConfig, `algorithm_factory.go`).
fn symmetric_weight(document: &Document<'_>, profile: &mut Profile, wrong: &mut Vec<String>) {
    match document.field("hardPodAffinitySymmetricWeight").whole() {
        None | Some(0) => {}
        Some(weight) if (1..=100).contains(&weight) && profile.release.0 == 17 => {}
        Some(weight) if (1..=100).contains(&weight) => profile.arguments.hard_pod_affinity_weight = weight,
        Some(weight) => wrong.push(format!("invalid hardPodAffinitySymmetricWeight: {weight}, must be in the range 1-100")),
    }
}

/// A configuration lives as long as the program: what it names is kept for good.
fn kept(name: &str) -> &'static str {
    Box::leak(name.to_owned().into_boxed_str())
}
