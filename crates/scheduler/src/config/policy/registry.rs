//! The predicates and priorities a Policy may name, and the order predicates run in.
//! Sources: `algorithmprovider/defaults/register_predicates.go`, `register_priorities.go`, `defaults.go` (up to 1.13 all in the last), since 1.18
//! `framework/plugins/legacy_registry.go`.

use serde_json::{Value, json};

use super::context::PolicyContext;
use crate::release::{Span, between, since};

/// In which releases a name is registered, and while which gate is on (or off).
struct Registered {
    name: &'static str,
    releases: Span,
    gate: Option<(&'static str, bool)>,
}

const fn ungated(name: &'static str, releases: Span) -> Registered {
    Registered { name, releases, gate: None }
}

const fn gated(name: &'static str, releases: Span, gate: &'static str, on: bool) -> Registered {
    Registered { name, releases, gate: Some((gate, on)) }
}

const POLICY_PREDICATES: &[Registered] = &[
    ungated("PodFitsPorts", since(9)),
    ungated("PodFitsHostPorts", since(9)),
    ungated("PodFitsResources", since(9)),
    ungated("HostName", since(9)),
    ungated("MatchNodeSelector", since(9)),
    ungated("NoVolumeZoneConflict", since(9)),
    ungated("MaxEBSVolumeCount", since(9)),
    ungated("MaxGCEPDVolumeCount", since(9)),
    ungated("MaxAzureDiskVolumeCount", since(9)),
    ungated("MaxCSIVolumeCountPred", since(12)),
    ungated("MaxCinderVolumeCount", since(14)),
    ungated("MatchInterPodAffinity", since(9)),
    ungated("NoDiskConflict", since(9)),
    ungated("GeneralPredicates", since(9)),
    ungated("CheckNodeMemoryPressure", between(9, 10)),
    ungated("CheckNodeDiskPressure", between(9, 10)),
    gated("CheckNodeMemoryPressure", between(11, 16), "TaintNodesByCondition", false),
    gated("CheckNodeDiskPressure", between(11, 16), "TaintNodesByCondition", false),
    gated("CheckNodePIDPressure", between(11, 16), "TaintNodesByCondition", false),
    gated("CheckNodeCondition", between(9, 16), "TaintNodesByCondition", false),
    gated("CheckNodeUnschedulable", between(12, 16), "TaintNodesByCondition", true),
    ungated("CheckNodeUnschedulable", since(17)),
    ungated("PodToleratesNodeTaints", since(9)),
    ungated("CheckVolumeBinding", since(9)),
    gated("EvenPodsSpread", since(16), "EvenPodsSpread", true),
    ungated("CheckNodeLabelPresence", since(18)),
    ungated("CheckServiceAffinity", since(18)),
];

const POLICY_PRIORITIES: &[Registered] = &[
    ungated("ServiceSpreadingPriority", since(9)),
    ungated("EqualPriority", between(9, 16)),
    ungated("ImageLocalityPriority", since(9)),
    ungated("MostRequestedPriority", since(9)),
    ungated("RequestedToCapacityRatioPriority", between(11, 17)),
    ungated("RequestedToCapacityRatio", since(18)),
    ungated("NodeLabel", since(18)),
    ungated("ServiceAffinity", since(18)),
    ungated("SelectorSpreadPriority", since(9)),
    ungated("InterPodAffinityPriority", since(9)),
    ungated("LeastRequestedPriority", since(9)),
    ungated("BalancedResourceAllocation", since(9)),
    ungated("NodePreferAvoidPodsPriority", since(9)),
    ungated("NodeAffinityPriority", since(9)),
    ungated("TaintTolerationPriority", since(9)),
    gated("ResourceLimitsPriority", between(9, 18), "ResourceLimitsPriorityFunction", true),
    gated("EvenPodsSpreadPriority", since(16), "EvenPodsSpread", true),
];

/// Predicates that run whatever a Policy lists.
const MANDATORY_PREDICATES: &[Registered] = &[
    gated("CheckNodeCondition", between(9, 16), "TaintNodesByCondition", false),
    gated("PodToleratesNodeTaints", between(9, 16), "TaintNodesByCondition", true),
    gated("CheckNodeUnschedulable", between(12, 16), "TaintNodesByCondition", true),
    ungated("PodToleratesNodeTaints", since(17)),
    ungated("CheckNodeUnschedulable", since(17)),
];

/// The order of predicates from 1.10 on; one that is not listed here never runs (`predicates.go` predicatesOrdering).
pub(super) const PREDICATE_ORDER: &[&str] = &[
    "CheckNodeCondition",
    "CheckNodeUnschedulable",
    "GeneralPredicates",
    "HostName",
    "PodFitsHostPorts",
    "MatchNodeSelector",
    "PodFitsResources",
    "NoDiskConflict",
    "PodToleratesNodeTaints",
    "PodToleratesNodeNoExecuteTaints",
    "CheckNodeLabelPresence",
    "CheckServiceAffinity",
    "MaxEBSVolumeCount",
    "MaxGCEPDVolumeCount",
    "MaxCSIVolumeCountPred",
    "MaxAzureDiskVolumeCount",
    "MaxCinderVolumeCount",
    "CheckVolumeBinding",
    "NoVolumeZoneConflict",
    "CheckNodeMemoryPressure",
    "CheckNodePIDPressure",
    "CheckNodeDiskPressure",
    "EvenPodsSpread",
    "MatchInterPodAffinity",
];

/// The defaults of lists that a Policy omits (`plugins/legacy_registry.go`); before there was a registry, they were those of the default profile.
pub(super) fn defaults(context: &PolicyContext<'_>) -> Value {
    let rules = context.rules();
    let spreads = rules.spreads_by_default() || context.gates.on("EvenPodsSpread");
    if !rules.has_legacy_registry() {
        return Value::Null;
    }
    let predicates = [
        "NoVolumeZoneConflict",
        "MaxEBSVolumeCount",
        "MaxGCEPDVolumeCount",
        "MaxAzureDiskVolumeCount",
        "MaxCSIVolumeCountPred",
        "MatchInterPodAffinity",
        "NoDiskConflict",
        "GeneralPredicates",
        "CheckVolumeBinding",
    ];
    let predicates = predicates.into_iter().chain(spreads.then_some("EvenPodsSpread"));
    let even = if rules.spreads_by_default() { 2 } else { 1 };
    let priorities = [
        ("SelectorSpreadPriority", 1),
        ("InterPodAffinityPriority", 1),
        ("LeastRequestedPriority", 1),
        ("BalancedResourceAllocation", 1),
        ("NodePreferAvoidPodsPriority", 10000),
        ("NodeAffinityPriority", 1),
        ("TaintTolerationPriority", 1),
        ("ImageLocalityPriority", 1),
    ];
    let priorities = priorities.into_iter().chain(spreads.then_some(("EvenPodsSpreadPriority", even)));
    let named: Vec<Value> = predicates.map(|name| json!({"name": name})).collect();
    let weighted: Vec<Value> = priorities.map(|(name, weight)| json!({"name": name, "weight": weight})).collect();
    json!({"predicates": named, "priorities": weighted})
}

pub(super) fn is_predicate(name: &str, context: &PolicyContext<'_>) -> bool {
    holds(POLICY_PREDICATES, name, context)
}

pub(super) fn is_priority(name: &str, context: &PolicyContext<'_>) -> bool {
    holds(POLICY_PRIORITIES, name, context)
}

pub(super) fn mandatory(context: &PolicyContext<'_>) -> impl Iterator<Item = &'static str> {
    MANDATORY_PREDICATES.iter().filter(|entry| applies(entry, context)).map(|entry| entry.name)
}

fn holds(table: &[Registered], name: &str, context: &PolicyContext<'_>) -> bool {
    table.iter().any(|entry| entry.name == name && applies(entry, context))
}

fn applies(entry: &Registered, context: &PolicyContext<'_>) -> bool {
    entry.releases.contains(context.release) && entry.gate.is_none_or(|(gate, on)| context.gates.on(gate) == on)
}
