//! The legacy Policy file (1.9 to 1.22): predicates, priorities with weights and arguments, extenders.
//! Upstream: `factory/factory.go` CreateFromConfig, `factory/plugins.go`, `api/validation/validation.go`; from 1.17 on each entry is a plugin.

mod context;
mod extenders;
mod predicates;
mod priorities;
mod refusals;
mod registry;
mod shape;

use serde_json::Value;

use context::PolicyContext;

use crate::release::PolicyRules;
use crate::validation::Document;
use crate::{Arguments, FilterMode, Gates, PodTopologySpreadDefaults, Profile, Release};

pub(super) fn is_policy(value: &Value) -> bool {
    let kind = value["kind"].as_str().unwrap_or_default();
    let other = value["apiVersion"].as_str().is_some_and(|version| version.starts_with("kubescheduler."));
    kind == "Policy" || kind.is_empty() && !other && ["predicates", "priorities", "extenders"].iter().any(|field| !value[*field].is_null())
}

/// Reads a Policy for a scheduler of this release. Unknown fields are ignored, as upstream does.
pub(super) fn read(value: &Value, release: Release, gates: &Gates) -> Result<Profile, Vec<String>> {
    let document = Document::new(value);
    let context = PolicyContext { release, gates };
    let rules = context.rules();
    if !rules.reads_policy() {
        return Err(vec![format!("kube-scheduler {release} reads no Policy: its last release is {}", PolicyRules::LAST)]);
    }
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
    // An absent list is an empty one, or the default.
    if !listed.is_absent() || rules.absent_lists_are_empty() {
        match predicates::read(&listed, &context, &mut profile.unverifiable) {
            Ok(filters) => profile.filters = filters,
            Err(reasons) => wrong.extend(reasons),
        }
    }
    if !scored.is_absent() || rules.absent_lists_are_empty() {
        match priorities::read(&scored, &context, extended, &mut profile.arguments) {
            Ok(scores) => profile.scores = scores,
            Err(reasons) => wrong.extend(reasons),
        }
    }
    if rules.selector_spread_sets_defaults() && !spreads(&scored) {
        profile.arguments.spread_defaults = PodTopologySpreadDefaults::List(Vec::new());
    }
    wrong.extend(refusals::label_conflicts(&listed, &scored, &context));
    profile.preempts = profile.preempts && rules.has_post_filter(gates.patch());
    profile.scoring = extended || !profile.scores.is_empty();
    wrong.extend(symmetric_weight(&document, &mut profile.arguments, rules));
    if document.field("alwaysCheckAllPredicates").truth() == Some(true) && rules.checks_all_predicates() {
        profile.filter_mode = FilterMode::All;
    }
    if wrong.is_empty() { Ok(profile) } else { Err(wrong) }
}

/// Whether pods without constraints are spread, which may be done only for SelectorSpreadPriority.
fn spreads(priorities: &Document<'_>) -> bool {
    priorities.elements().iter().any(|entry| matches!(entry.field("name").text(), "SelectorSpreadPriority" | "ServiceSpreadingPriority"))
}

/// Reads the weight of a required affinity term of an existing pod; 0 is the default. Returns the error.
fn symmetric_weight(document: &Document<'_>, arguments: &mut Arguments, rules: PolicyRules) -> Option<String> {
    let weight = document.field("hardPodAffinitySymmetricWeight").whole().filter(|weight| *weight != 0)?;
    if !(1..=100).contains(&weight) {
        return Some(document.field("hardPodAffinitySymmetricWeight").wrong(format!("{weight} is not between 1 and 100")));
    }
    if rules.counts_symmetric_weight() {
        arguments.hard_pod_affinity_weight = weight;
    }
    None
}
