//! Why a predicate refuses a node: one row per upstream error, with its texts and whether preemption could help.
//! Sources: `algorithm/predicates/error.go` (texts), `core/generic_scheduler.go` `nodesWherePreemptionMightHelp` (1.9–1.16) and
//! `unresolvablePredicateFailureErrors` (1.17).

use std::borrow::Cow;
use std::sync::Arc;

use crate::{Refusal, Verdict};

/// One reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "upstream's own names, without their Err prefix")]
pub(super) enum Reason {
    DiskConflict,
    VolumeZoneConflict,
    NodeSelectorNotMatch,
    PodAffinityNotMatch,
    PodAffinityRulesNotMatch,
    PodAntiAffinityRulesNotMatch,
    ExistingPodsAntiAffinityRulesNotMatch,
    TaintsTolerationsNotMatch,
    PodNotMatchHostName,
    PodNotFitsHostPorts,
    NodeLabelPresenceViolated,
    ServiceAffinityViolated,
    MaxVolumeCountExceeded,
    NodeUnderMemoryPressure,
    NodeUnderDiskPressure,
    NodeUnderPidPressure,
    NodeOutOfDisk,
    NodeNotReady,
    NodeNetworkUnavailable,
    NodeUnschedulable,
    VolumeNodeConflict,
    VolumeBindConflict,
    /// Too little of a resource.
    Insufficient(Arc<str>),
}

/// The release from which a reason keeps preemption away from the node; this one: never.
const NEVER: u16 = u16::MAX;

impl Reason {
    /// `(text of 1.9, text from 1.10 on, unresolvable from)`.
    const fn row(&self) -> (&'static str, &'static str, u16) {
        match self {
            Self::DiskConflict => ("NoDiskConflict", "node(s) had no available disk", NEVER),
            Self::VolumeZoneConflict => ("NoVolumeZoneConflict", "node(s) had no available volume zone", 9),
            Self::NodeSelectorNotMatch => ("MatchNodeSelector", "node(s) didn't match node selector", 9),
            Self::PodAffinityNotMatch => ("MatchInterPodAffinity", "node(s) didn't match pod affinity/anti-affinity", NEVER),
            Self::PodAffinityRulesNotMatch => ("PodAffinityRulesNotMatch", "node(s) didn't match pod affinity rules", 12),
            Self::PodAntiAffinityRulesNotMatch => ("PodAntiAffinityRulesNotMatch", "node(s) didn't match pod anti-affinity rules", NEVER),
            Self::ExistingPodsAntiAffinityRulesNotMatch => {
                ("ExistingPodsAntiAffinityRulesNotMatch", "node(s) didn't satisfy existing pods anti-affinity rules", NEVER)
            }
            Self::TaintsTolerationsNotMatch => ("PodToleratesNodeTaints", "node(s) had taints that the pod didn't tolerate", 9),
            Self::PodNotMatchHostName => ("HostName", "node(s) didn't match the requested hostname", 9),
            Self::PodNotFitsHostPorts => ("PodFitsHostPorts", "node(s) didn't have free ports for the requested pod ports", NEVER),
            Self::NodeLabelPresenceViolated => ("CheckNodeLabelPresence", "node(s) didn't have the requested labels", 9),
            Self::ServiceAffinityViolated => ("CheckServiceAffinity", "node(s) didn't match service affinity", NEVER),
            Self::MaxVolumeCountExceeded => ("MaxVolumeCount", "node(s) exceed max volume count", NEVER),
            Self::NodeUnderMemoryPressure => ("NodeUnderMemoryPressure", "node(s) had memory pressure", 12),
            Self::NodeUnderDiskPressure => ("NodeUnderDiskPressure", "node(s) had disk pressure", 12),
            Self::NodeUnderPidPressure => ("NodeUnderPIDPressure", "node(s) had pid pressure", 12),
            Self::NodeOutOfDisk => ("NodeOutOfDisk", "node(s) were out of disk space", 12),
            Self::NodeNotReady => ("NodeNotReady", "node(s) were not ready", 9),
            Self::NodeNetworkUnavailable => ("NodeNetworkUnavailable", "node(s) had unavailable network", 9),
            Self::NodeUnschedulable => ("NodeUnschedulable", "node(s) were unschedulable", 9),
            Self::VolumeNodeConflict => ("VolumeNodeAffinityConflict", "node(s) had volume node affinity conflict", 9),
            Self::VolumeBindConflict => ("VolumeBindingNoMatch", "node(s) didn't find available persistent volumes to bind", 9),
            Self::Insufficient(_) => ("", "", NEVER),
        }
    }

    /// The words the scheduler of 1.`release` uses.
    pub(super) fn text(&self, release: u16) -> Cow<'static, str> {
        if let Self::Insufficient(resource) = self {
            return format!("Insufficient {resource}").into();
        }
        let (short, long, _) = self.row();
        if release == 9 { short.into() } else { long.into() }
    }

    /// Whether preempting pods cannot mend it, in the eyes of 1.`release`.
    pub(super) fn unresolvable(&self, release: u16) -> bool {
        self.row().2 <= release
    }
}

/// Turns a predicate's findings into a verdict; no reason means the pod fits. 1.17 ran predicates as Filter plugins through an adapter that
/// keeps one reason: the first unresolvable one, or else the first (`framework/plugins/migration/utils.go`).
pub(super) fn verdict(reasons: &[Reason], release: u16) -> Verdict {
    let Some(first) = reasons.first() else { return Verdict::Pass };
    let unresolvable = reasons.iter().find(|reason| reason.unresolvable(release));
    let reasons = match release {
        17 => vec![unresolvable.unwrap_or(first).text(release)],
        _ => reasons.iter().map(|reason| reason.text(release)).collect(),
    };
    Verdict::Reject(Refusal { reasons, preemption_may_help: unresolvable.is_none() })
}

/// A reason in the words 1.`release` has for it: 1.9 knew them by short names.
pub(super) fn in_words_of(text: Cow<'static, str>, release: u16) -> Cow<'static, str> {
    let known = RENAMED.iter().find(|reason| release == 9 && reason.text(10) == text);
    known.map_or(text, |reason| reason.text(release))
}

/// The reasons that framework plugins give for predicates.
const RENAMED: [Reason; 5] = [
    Reason::DiskConflict,
    Reason::VolumeZoneConflict,
    Reason::MaxVolumeCountExceeded,
    Reason::VolumeNodeConflict,
    Reason::VolumeBindConflict,
];

#[cfg(test)]
mod tests {
    use super::{Reason, verdict};
    use crate::{Refusal, Verdict};

    #[test]
    fn texts_changed_with_1_10() {
        assert_eq!(Reason::NodeSelectorNotMatch.text(9), "MatchNodeSelector");
        assert_eq!(Reason::NodeSelectorNotMatch.text(10), "node(s) didn't match node selector");
        assert_eq!(Reason::Insufficient("pods".into()).text(9), "Insufficient pods");
    }

    #[test]
    fn pod_affinity_and_pressure_became_unresolvable_with_1_12() {
        for reason in [Reason::PodAffinityRulesNotMatch, Reason::NodeUnderMemoryPressure, Reason::NodeUnderDiskPressure] {
            assert!(!reason.unresolvable(11), "{reason:?}");
            assert!(reason.unresolvable(12), "{reason:?}");
        }
        assert!(Reason::TaintsTolerationsNotMatch.unresolvable(9));
        assert!(!Reason::PodNotFitsHostPorts.unresolvable(17));
    }

    #[test]
    fn the_adapter_of_1_17_keeps_one_reason() {
        let both = [Reason::PodAffinityNotMatch, Reason::PodAffinityRulesNotMatch];
        let Verdict::Reject(Refusal { reasons, preemption_may_help }) = verdict(&both, 16) else { panic!() };
        assert_eq!((reasons.len(), preemption_may_help), (2, false));
        assert_eq!(verdict(&both, 17), Verdict::unresolvable("node(s) didn't match pod affinity rules"));
        let anti = [Reason::PodAffinityNotMatch, Reason::PodAntiAffinityRulesNotMatch];
        assert_eq!(verdict(&anti, 17), Verdict::unschedulable("node(s) didn't match pod affinity/anti-affinity"));
    }
}
