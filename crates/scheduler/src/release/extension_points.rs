//! The extension points of the scheduling framework, and which in-tree plugins extend them in which releases.
//! Sources: `framework/interface.go` and each plugin's file below `framework/plugins/`.

use crate::Release;

use super::span::{Span, between, since};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, clippy::enum_variant_names, reason = "upstream's names")]
pub(crate) enum Point {
    MultiPoint,
    PreEnqueue,
    QueueSort,
    PreFilter,
    Filter,
    PostFilter,
    PreScore,
    Score,
    Reserve,
    Permit,
    PreBind,
    Bind,
    PostBind,
    PlacementGenerate,
    PlacementScore,
    PodGroupPostFilter,
    Unreserve,
}

impl Point {
    /// Every point with its field's name.
    pub(crate) const ALL: [(Self, &'static str); 17] = [
        (Self::MultiPoint, "multiPoint"),
        (Self::PreEnqueue, "preEnqueue"),
        (Self::QueueSort, "queueSort"),
        (Self::PreFilter, "preFilter"),
        (Self::Filter, "filter"),
        (Self::PostFilter, "postFilter"),
        (Self::PreScore, "preScore"),
        (Self::Score, "score"),
        (Self::Reserve, "reserve"),
        (Self::Permit, "permit"),
        (Self::PreBind, "preBind"),
        (Self::Bind, "bind"),
        (Self::PostBind, "postBind"),
        (Self::PlacementGenerate, "placementGenerate"),
        (Self::PlacementScore, "placementScore"),
        (Self::PodGroupPostFilter, "podGroupPostFilter"),
        (Self::Unreserve, "unreserve"),
    ];

    /// The point as a configuration names it: `filter`.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(point, _)| *point == self).map_or("", |(_, name)| name)
    }
}

/// In-tree plugins, with the points they extend and the releases in which they do.
const PLUGIN_POINTS: &[(&str, &[(Point, Span)])] = &[
    ("SchedulingGates", &[(Point::PreEnqueue, since(26))]),
    ("PrioritySort", &[(Point::QueueSort, since(18))]),
    ("NodeUnschedulable", &[(Point::PreFilter, since(37)), (Point::Filter, since(18))]),
    ("NodeName", &[(Point::PreFilter, since(37)), (Point::Filter, since(18))]),
    (
        "TaintToleration",
        &[(Point::PreFilter, since(37)), (Point::Filter, since(18)), (Point::PreScore, since(18)), (Point::Score, since(18))],
    ),
    ("NodeAffinity", &[(Point::PreFilter, since(21)), (Point::Filter, since(18)), (Point::PreScore, since(21)), (Point::Score, since(18))]),
    ("NodePorts", &[(Point::PreFilter, since(18)), (Point::Filter, since(18))]),
    (
        "NodeResourcesFit",
        &[
            (Point::PreFilter, since(18)),
            (Point::Filter, since(18)),
            (Point::PreScore, since(27)),
            (Point::Score, since(22)),
            (Point::PlacementScore, since(36)),
        ],
    ),
    ("TopologyPlacementGenerator", &[(Point::PlacementGenerate, since(36))]),
    ("PodGroupPodsCount", &[(Point::PlacementScore, since(36))]),
    ("VolumeRestrictions", &[(Point::PreFilter, since(22)), (Point::Filter, since(18))]),
    ("EBSLimits", &[(Point::PreFilter, between(28, 31)), (Point::Filter, between(18, 31))]),
    ("GCEPDLimits", &[(Point::PreFilter, between(28, 31)), (Point::Filter, between(18, 31))]),
    ("AzureDiskLimits", &[(Point::PreFilter, between(28, 31)), (Point::Filter, between(18, 31))]),
    ("CinderLimits", &[(Point::PreFilter, between(28, 31)), (Point::Filter, between(18, 31))]),
    ("NodeVolumeLimits", &[(Point::PreFilter, since(28)), (Point::Filter, since(18))]),
    (
        "VolumeBinding",
        &[
            (Point::PreFilter, since(19)),
            (Point::Filter, since(18)),
            (Point::PreScore, since(30)),
            (Point::Score, since(21)),
            (Point::Reserve, since(19)),
            (Point::PreBind, since(19)),
        ],
    ),
    ("VolumeZone", &[(Point::PreFilter, since(27)), (Point::Filter, since(18))]),
    (
        "PodTopologySpread",
        &[(Point::PreFilter, since(18)), (Point::Filter, since(18)), (Point::PreScore, since(18)), (Point::Score, since(18))],
    ),
    (
        "InterPodAffinity",
        &[(Point::PreFilter, since(18)), (Point::Filter, since(18)), (Point::PreScore, since(18)), (Point::Score, since(18))],
    ),
    (
        "DynamicResources",
        &[
            (Point::PreEnqueue, since(28)),
            (Point::PreFilter, since(26)),
            (Point::Filter, since(26)),
            (Point::PostFilter, since(26)),
            (Point::PodGroupPostFilter, since(37)),
            (Point::PreScore, between(26, 31)),
            (Point::Score, since(35)),
            (Point::Reserve, since(26)),
            (Point::PreBind, since(30)),
            (Point::PostBind, between(26, 31)),
        ],
    ),
    ("DeferredPodScheduling", &[(Point::PreFilter, since(37)), (Point::Filter, since(37)), (Point::Permit, since(37))]),
    ("NodeDeclaredFeatures", &[(Point::PreFilter, since(35)), (Point::Filter, since(35))]),
    ("GangScheduling", &[(Point::PreEnqueue, since(35)), (Point::Reserve, between(35, 35)), (Point::Permit, since(35))]),
    ("DefaultPreemption", &[(Point::PreEnqueue, since(32)), (Point::PostFilter, since(19)), (Point::PodGroupPostFilter, since(37))]),
    ("NodeResourcesBalancedAllocation", &[(Point::PreScore, since(27)), (Point::Score, since(18))]),
    ("ImageLocality", &[(Point::Score, since(18))]),
    ("DefaultBinder", &[(Point::Bind, since(18))]),
    ("NodeResourcesLeastAllocated", &[(Point::Score, between(18, 22))]),
    ("NodeResourcesMostAllocated", &[(Point::Score, between(18, 22))]),
    ("RequestedToCapacityRatio", &[(Point::Score, between(18, 22))]),
    ("NodePreferAvoidPods", &[(Point::Score, between(18, 22))]),
    ("SelectorSpread", &[(Point::PreScore, between(19, 28)), (Point::Score, between(19, 28))]),
    ("DefaultPodTopologySpread", &[(Point::PreScore, between(18, 18)), (Point::Score, between(18, 18))]),
    ("NodeLabel", &[(Point::Filter, between(18, 22)), (Point::Score, between(18, 22))]),
    ("ServiceAffinity", &[(Point::PreFilter, between(18, 22)), (Point::Filter, between(18, 22)), (Point::Score, between(18, 22))]),
    ("NodeResourceLimits", &[(Point::PreScore, between(18, 18)), (Point::Score, between(18, 18))]),
];

pub(crate) fn is_in_tree(name: &str, release: Release) -> bool {
    extends_of(name).iter().any(|(_, releases)| releases.contains(release))
}

pub(crate) fn was_in_tree(name: &str) -> bool {
    !extends_of(name).is_empty()
}

pub(crate) fn extends(name: &str, point: Point, release: Release) -> bool {
    extends_of(name).iter().any(|(extended, releases)| *extended == point && releases.contains(release))
}

fn extends_of(name: &str) -> &'static [(Point, Span)] {
    PLUGIN_POINTS.iter().find(|(known, _)| *known == name).map_or(&[], |(_, points)| points)
}
