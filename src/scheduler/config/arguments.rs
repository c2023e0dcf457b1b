//! Arguments of plugins: read, defaulted and validated. Upstream: `apis/config/validation/validation_pluginargs.go`.

use serde_json::Value;

use crate::cluster::{Interner, NodeAffinity, NodeSelectorTerm, SpreadConstraint};
use crate::kube::api::core::v1 as core;
use crate::scheduler::{Arguments, Gates, PodTopologySpreadDefaults, Release, ScoringStrategy};

use super::ConfigVersion;
use super::document::Document;
use super::label_name;

/// What reading needs to know.
pub struct Context<'c> {
    /// The file's version.
    pub version: ConfigVersion,
    /// The scheduler's release.
    pub release: Release,
    /// Its gates.
    pub gates: &'c Gates,
}

/// Reads the arguments of one plugin into `arguments`; reasons against them go to `wrong`. Returns false for a plugin whose arguments are not known.
pub fn read(plugin: &str, args: &Document<'_>, context: &Context<'_>, arguments: &mut Arguments, wrong: &mut Vec<String>) -> bool {
    args.know(&["apiVersion", "kind"]);
    match plugin {
        "NodeResourcesFit" => fit(args, context, arguments, wrong),
        "NodeResourcesBalancedAllocation" => balanced(args, arguments, wrong),
        "NodeResourcesLeastAllocated" | "NodeResourcesMostAllocated" => {
            arguments.strategy_resources = resources(&args.field("resources"), 100, wrong);
        }
        "RequestedToCapacityRatio" => {
            arguments.strategy = ScoringStrategy::RequestedToCapacityRatio(shape(&args.field("shape"), wrong));
            arguments.strategy_resources = resources(&args.field("resources"), i64::MAX, wrong);
        }
        "InterPodAffinity" => inter_pod_affinity(args, context, arguments, wrong),
        "NodeAffinity" => node_affinity(args, arguments, wrong),
        "PodTopologySpread" => spread(args, context, arguments, wrong),
        "VolumeBinding" => volume_binding(args, context, arguments, wrong),
        "DefaultPreemption" => preemption(args, wrong),
        "DynamicResources" => {
            args.know(&["filterTimeout", "bindingTimeout"]);
            if args.field("bindingTimeout").text().starts_with('-') {
                wrong.push(args.field("bindingTimeout").invalid(args.field("bindingTimeout").text(), "must be at least 1 second"));
            }
        }
        _ => {
            args.know_all();
            return false;
        }
    }
    true
}

fn fit(args: &Document<'_>, context: &Context<'_>, arguments: &mut Arguments, wrong: &mut Vec<String>) {
    // The plugin itself checks these when it is made, so their paths begin below its arguments.
    let mut found = Vec::new();
    let texts = |field: &str| args.field(field).elements().iter().map(|entry| entry.text().into()).collect();
    arguments.ignored_resources = texts("ignoredResources");
    arguments.ignored_resource_groups = texts("ignoredResourceGroups");
    for resource in args.field("ignoredResources").elements() {
        found.extend(label_name::check(&resource));
    }
    for group in args.field("ignoredResourceGroups").elements() {
        if group.text().contains('/') {
            found.push(group.invalid(format!("{:?}", group.text()), "resource group name can't contain '/'"));
        }
        found.extend(label_name::check(&group));
    }
    let strategy = args.field("scoringStrategy");
    if context.version >= ConfigVersion::V1Beta2 && !strategy.is_absent() {
        let (kind, ratio) = (strategy.field("type"), strategy.field("requestedToCapacityRatio"));
        arguments.strategy_resources = resources(&strategy.field("resources"), 100, &mut found);
        let points = ratio.field("shape");
        arguments.strategy = match kind.text() {
            "LeastAllocated" => ScoringStrategy::LeastAllocated,
            "MostAllocated" => ScoringStrategy::MostAllocated,
            "RequestedToCapacityRatio" if ratio.is_absent() => {
                found.push(ratio.required("must be specified when type is RequestedToCapacityRatio"));
                ScoringStrategy::LeastAllocated
            }
            "RequestedToCapacityRatio" => ScoringStrategy::RequestedToCapacityRatio(shape(&points, &mut found)),
            _ => {
                found.push(kind.unsupported(&["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]));
                ScoringStrategy::LeastAllocated
            }
        };
        if kind.text() != "RequestedToCapacityRatio" && !ratio.is_absent() {
            found.push(ratio.forbidden("must be nil when type is not RequestedToCapacityRatio"));
        }
    }
    let above = format!("{}.", args.path());
    wrong.extend(found.into_iter().map(|reason| {
        // The shape's path skips the field it lies in.
        let reason = reason.replacen(&above, "", 1).replacen("requestedToCapacityRatio.shape", "shape", 1);
        format!("initializing plugin \"NodeResourcesFit\": {reason}")
    }));
}

/// A list of resources with weights; cpu and memory where none is given, 1 where a weight is not.
fn resources(list: &Document<'_>, most: i64, wrong: &mut Vec<String>) -> Vec<(std::sync::Arc<str>, i64)> {
    let elements = list.elements();
    if elements.is_empty() {
        return vec![("cpu".into(), 1), ("memory".into(), 1)];
    }
    let mut found = Vec::new();
    for entry in &elements {
        let (name, weight) = (entry.field("name").text(), entry.field("weight"));
        let value = weight.whole().filter(|weight| *weight != 0).unwrap_or(1);
        if value < 0 || value > most {
            wrong.push(weight.invalid(value, format!("resource weight of {name} not in valid range (0, 100]")));
        }
        found.push((name.into(), value));
    }
    found
}

/// A shape's points, utilisation and score.
fn shape(points: &Document<'_>, wrong: &mut Vec<String>) -> Vec<(i64, i64)> {
    let elements = points.elements();
    if elements.is_empty() {
        wrong.push(points.required("at least one point must be specified"));
    }
    let mut found: Vec<(i64, i64)> = Vec::new();
    let (mut unsorted, mut out_of_range) = (None, Vec::new());
    for point in &elements {
        let (utilization, score) = (point.field("utilization"), point.field("score"));
        let (used, points) = (utilization.whole().unwrap_or(0), score.whole().unwrap_or(0));
        if unsorted.is_none() && found.last().is_some_and(|(before, _)| *before >= used) {
            unsorted = Some(utilization.invalid(used, "utilization values must be sorted in increasing order"));
        }
        if !(0..=100).contains(&used) {
            out_of_range.push(utilization.invalid(used, "not in valid range [0, 100]"));
        }
        if !(0..=10).contains(&points) {
            out_of_range.push(score.invalid(points, "not in valid range [0, 10]"));
        }
        found.push((used, points));
    }
    // Upstream looks at their order before their ranges.
    wrong.extend(unsorted);
    wrong.append(&mut out_of_range);
    found
}

fn balanced(args: &Document<'_>, arguments: &mut Arguments, wrong: &mut Vec<String>) {
    let list = args.field("resources").elements();
    let mut names: Vec<std::sync::Arc<str>> = Vec::new();
    for entry in &list {
        let (name, weight) = (entry.field("name"), entry.field("weight"));
        if names.iter().any(|known| **known == *name.text()) {
            wrong.push(name.duplicate(name.text()));
        }
        let value = weight.whole().filter(|weight| *weight != 0).unwrap_or(1);
        if value != 1 {
            wrong.push(weight.invalid(value, "must be 1"));
        }
        names.push(name.text().into());
    }
    if !names.is_empty() {
        arguments.balanced_resources = names;
    }
}

fn inter_pod_affinity(args: &Document<'_>, context: &Context<'_>, arguments: &mut Arguments, wrong: &mut Vec<String>) {
    let weight = args.field("hardPodAffinityWeight");
    if let Some(value) = weight.whole() {
        if !(0..=100).contains(&value) {
            wrong.push(
                weight.invalid(value, if context.release.0 <= 21 { "not in valid range [0-100]" } else { "not in valid range [0, 100]" }),
            );
        }
        arguments.hard_pod_affinity_weight = value;
    }
    if context.release.0 >= 27 {
        arguments.ignore_preferred_terms_of_existing_pods = args.field("ignorePreferredTermsOfExistingPods").truth().unwrap_or(false);
    }
}

fn node_affinity(args: &Document<'_>, arguments: &mut Arguments, wrong: &mut Vec<String>) {
    let added = args.field("addedAffinity");
    if added.is_absent() {
        return;
    }
    added.know_all();
    let affinity: core::NodeAffinity = match serde_json::from_value(added.value().clone()) {
        Ok(affinity) => affinity,
        Err(error) => return wrong.push(format!("{}: {error}", added.path())),
    };
    let compiled = NodeAffinity::compile(&affinity, &mut Interner::default());
    let mut check = |place: &str, term: &NodeSelectorTerm| {
        if let Some(error) = &term.error {
            wrong.push(format!("{}.{place}: Invalid value: {error}", added.path()));
        }
    };
    for (at, term) in compiled.required.iter().flatten().enumerate() {
        check(&format!("requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[{at}]"), term);
    }
    for (at, (_, term)) in compiled.preferred.iter().enumerate() {
        check(&format!("preferredDuringSchedulingIgnoredDuringExecution[{at}]"), term);
    }
    arguments.added_affinity = Some(compiled);
}

fn spread(args: &Document<'_>, context: &Context<'_>, arguments: &mut Arguments, wrong: &mut Vec<String>) {
    let (list, kind) = (args.field("defaultConstraints"), args.field("defaultingType"));
    let constraints = list.elements();
    let system = context.gates.on("DefaultPodTopologySpread");
    // Up to v1beta1 a list alone was enough to say that it is the list that counts.
    let by_itself = if system && (constraints.is_empty() || context.version >= ConfigVersion::V1Beta2) { "System" } else { "List" };
    let defaulting = if kind.text().is_empty() { by_itself } else { kind.text() };
    match defaulting {
        "System" if !constraints.is_empty() => wrong.push(kind.invalid("\"System\"", "when .defaultConstraints are not empty")),
        "System" | "List" => {}
        _ => wrong.push(kind.unsupported(&["System", "List"])),
    }
    let mut interner = Interner::default();
    let mut compiled: Vec<SpreadConstraint> = Vec::new();
    for constraint in &constraints {
        constraint.know(&["minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy", "matchLabelKeys"]);
        let (skew, key, action) = (constraint.field("maxSkew"), constraint.field("topologyKey"), constraint.field("whenUnsatisfiable"));
        if skew.whole().unwrap_or(0) <= 0 {
            wrong.push(skew.invalid(skew.whole().unwrap_or(0), "not in valid range (0, inf)"));
        }
        if key.text().is_empty() {
            wrong.push(key.required("can not be empty"));
        } else {
            wrong.extend(label_name::check(&key));
        }
        match action.text() {
            "DoNotSchedule" | "ScheduleAnyway" => {}
            "" => wrong.push(action.required("can not be empty")),
            _ => wrong.push(action.unsupported(&["DoNotSchedule", "ScheduleAnyway"])),
        }
        let selector = constraint.field("labelSelector");
        selector.know_all();
        if !selector.is_absent() {
            wrong.push(selector.forbidden("constraint must not define a selector, as they deduced for each pod"));
        }
        let Ok(typed) = serde_json::from_value::<core::TopologySpreadConstraint>(constraint.value().clone()) else { continue };
        let new = SpreadConstraint::compile(&typed, &mut interner);
        if compiled.iter().any(|known| known.topology_key == new.topology_key && known.when_unsatisfiable == new.when_unsatisfiable) {
            wrong.push(constraint.duplicate(&format!("{{{}, {}}}", key.text(), action.text())));
        }
        compiled.push(new);
    }
    arguments.spread_defaults =
        if defaulting == "System" { PodTopologySpreadDefaults::System } else { PodTopologySpreadDefaults::List(compiled) };
}

fn volume_binding(args: &Document<'_>, context: &Context<'_>, arguments: &mut Arguments, wrong: &mut Vec<String>) {
    let (timeout, points) = (args.field("bindTimeoutSeconds"), args.field("shape"));
    if let Some(value) = timeout.whole().filter(|value| *value < 0) {
        wrong.push(timeout.invalid(value, "invalid BindTimeoutSeconds, should not be a negative value"));
    }
    points.know_all();
    if points.is_absent() {
        return;
    }
    let gate = if context.release.0 >= 33 { "StorageCapacityScoring" } else { "VolumeCapacityPriority" };
    if context.gates.on(gate) {
        arguments.volume_shape = shape(&points, wrong);
    } else {
        let what = format!("unexpected field `shape`, remove it or turn on the feature gate {gate}");
        wrong.push(points.invalid(points.value(), what));
    }
}

fn preemption(args: &Document<'_>, wrong: &mut Vec<String>) {
    let (percentage, absolute) = (args.field("minCandidateNodesPercentage"), args.field("minCandidateNodesAbsolute"));
    let (percent, count) = (percentage.whole().unwrap_or(10), absolute.whole().unwrap_or(100));
    if !(0..=100).contains(&percent) {
        wrong.push(percentage.invalid(percent, "not in valid range [0, 100]"));
    }
    if count < 0 {
        wrong.push(absolute.invalid(count, "not in valid range [0, inf)"));
    }
    if percent == 0 && count == 0 {
        wrong.push(percentage.invalid(0, "cannot be zero at the same time as minCandidateNodesAbsolute"));
        wrong.push(absolute.invalid(0, "cannot be zero at the same time as minCandidateNodesPercentage"));
    }
}

/// The text of a value, for messages.
pub fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), |text| format!("{text:?}"))
}
