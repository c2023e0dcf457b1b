//! The predicates and priorities a Policy may name, and the order predicates run in.
//! Sources: `algorithmprovider/defaults/register_predicates.go`, `register_priorities.go`, `defaults.go` (up to 1.13 all in the last), since 1.18
//! `framework/plugins/legacy_registry.go`.

use serde_json::{Value, json};

use super::Context;

/// In which releases a name is registered, and while which gate is on (or off).
struct Registered {
    name: &'static str,
    first: u16,
    last: u16,
    gate: Option<(&'static str, bool)>,
}

const fn always(name: &'static str) -> Registered {
    Registered { name, first: 9, last: u16::MAX, gate: None }
}

const fn between(name: &'static str, first: u16, last: u16) -> Registered {
    Registered { name, first, last, gate: None }
}

const fn gated(name: &'static str, first: u16, last: u16, gate: &'static str, on: bool) -> Registered {
    Registered { name, first, last, gate: Some((gate, on)) }
}

const PREDICATES: &[Registered] = &[
    always("PodFitsPorts"),
    always("PodFitsHostPorts"),
    always("PodFitsResources"),
    always("HostName"),
    always("MatchNodeSelector"),
    always("NoVolumeZoneConflict"),
    always("MaxEBSVolumeCount"),
    always("MaxGCEPDVolumeCount"),
    always("MaxAzureDiskVolumeCount"),
    between("MaxCSIVolumeCountPred", 12, u16::MAX),
    between("MaxCinderVolumeCount", 14, u16::MAX),
    always("MatchInterPodAffinity"),
    always("NoDiskConflict"),
    always("GeneralPredicates"),
    between("CheckNodeMemoryPressure", 9, 10),
    between("CheckNodeDiskPressure", 9, 10),
    gated("CheckNodeMemoryPressure", 11, 16, "TaintNodesByCondition", false),
    gated("CheckNodeDiskPressure", 11, 16, "TaintNodesByCondition", false),
    gated("CheckNodePIDPressure", 11, 16, "TaintNodesByCondition", false),
    gated("CheckNodeCondition", 9, 16, "TaintNodesByCondition", false),
    gated("CheckNodeUnschedulable", 12, 16, "TaintNodesByCondition", true),
    between("CheckNodeUnschedulable", 17, u16::MAX),
    always("PodToleratesNodeTaints"),
    always("CheckVolumeBinding"),
    gated("EvenPodsSpread", 16, u16::MAX, "EvenPodsSpread", true),
    between("CheckNodeLabelPresence", 18, u16::MAX),
    between("CheckServiceAffinity", 18, u16::MAX),
];

const PRIORITIES: &[Registered] = &[
    always("ServiceSpreadingPriority"),
    between("EqualPriority", 9, 16),
    always("ImageLocalityPriority"),
    always("MostRequestedPriority"),
    between("RequestedToCapacityRatioPriority", 11, 17),
    between("RequestedToCapacityRatio", 18, u16::MAX),
    between("NodeLabel", 18, u16::MAX),
    between("ServiceAffinity", 18, u16::MAX),
    always("SelectorSpreadPriority"),
    always("InterPodAffinityPriority"),
    always("LeastRequestedPriority"),
    always("BalancedResourceAllocation"),
    always("NodePreferAvoidPodsPriority"),
    always("NodeAffinityPriority"),
    always("TaintTolerationPriority"),
    gated("ResourceLimitsPriority", 9, 18, "ResourceLimitsPriorityFunction", true),
    gated("EvenPodsSpreadPriority", 16, u16::MAX, "EvenPodsSpread", true),
];

/// Predicates that run whatever a Policy says.
const MANDATORY: &[Registered] = &[
    gated("CheckNodeCondition", 9, 16, "TaintNodesByCondition", false),
    gated("PodToleratesNodeTaints", 9, 16, "TaintNodesByCondition", true),
    gated("CheckNodeUnschedulable", 12, 16, "TaintNodesByCondition", true),
    between("PodToleratesNodeTaints", 17, u16::MAX),
    between("CheckNodeUnschedulable", 17, u16::MAX),
];

/// The order predicates run in from 1.10 on; one that is not named here never runs (`predicates.go` predicatesOrdering).
pub(super) const ORDER: &[&str] = &[
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

/// The lists that stand for those a Policy leaves out, since 1.18 (`plugins/legacy_registry.go`); before, they were those of the default profile.
pub(super) fn defaults(context: &Context<'_>) -> Value {
    let spreads = context.release.0 >= 19 || context.gates.on("EvenPodsSpread");
    if context.release.0 <= 17 {
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
    let even = if context.release.0 >= 19 { 2 } else { 1 };
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

/// Whether a predicate of that name is registered.
pub(super) fn is_predicate(name: &str, context: &Context<'_>) -> bool {
    holds(PREDICATES, name, context)
}

/// Whether a priority of that name is registered.
pub(super) fn is_priority(name: &str, context: &Context<'_>) -> bool {
    holds(PRIORITIES, name, context)
}

/// The predicates that are always there.
pub(super) fn mandatory(context: &Context<'_>) -> impl Iterator<Item = &'static str> {
    MANDATORY.iter().filter(|entry| applies(entry, context)).map(|entry| entry.name)
}

fn holds(table: &[Registered], name: &str, context: &Context<'_>) -> bool {
    table.iter().any(|entry| entry.name == name && applies(entry, context))
}

fn applies(entry: &Registered, context: &Context<'_>) -> bool {
    (entry.first..=entry.last).contains(&context.release.0) && entry.gate.is_none_or(|(gate, on)| context.gates.on(gate) == on)
}
