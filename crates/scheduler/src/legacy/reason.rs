//! Why a predicate refuses a node: one row per upstream error, with its texts and whether preemption could help.
//! Sources: `algorithm/predicates/error.go` (texts), `core/generic_scheduler.go` `nodesWherePreemptionMightHelp` (1.9–1.16) and
//! `unresolvablePredicateFailureErrors` (1.17).

use std::borrow::Cow;
use std::sync::Arc;

use crate::release::Rules;
use crate::{Candidate, Refusal, Verdict};

/// A predicate prepared for one pod: says of each node what is wrong with it, or a verdict of another kind.
pub(super) type PreparedPredicate<'a> = Box<dyn Fn(&Candidate) -> Result<Vec<Reason>, Verdict> + Sync + 'a>;

#[derive(Clone, Debug, PartialEq, Eq)]
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

/// Whether preempting pods could mend what a reason names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Preemption {
    MayHelp,
    CannotHelp,
    /// It cannot where the release holds it of affinity and pressure (see [`Rules::affinity_and_pressure_are_unresolvable`]).
    AffinityOrPressure,
}

impl Reason {
    /// The short text, the sentence, and whether preemption could help.
    const fn row(&self) -> (&'static str, &'static str, Preemption) {
        use Preemption::{AffinityOrPressure, CannotHelp, MayHelp};
        match self {
            Self::DiskConflict => ("NoDiskConflict", "node(s) had no available disk", MayHelp),
            Self::VolumeZoneConflict => ("NoVolumeZoneConflict", "node(s) had no available volume zone", CannotHelp),
            Self::NodeSelectorNotMatch => ("MatchNodeSelector", "node(s) didn't match node selector", CannotHelp),
            Self::PodAffinityNotMatch => ("MatchInterPodAffinity", "node(s) didn't match pod affinity/anti-affinity", MayHelp),
            Self::PodAffinityRulesNotMatch => ("PodAffinityRulesNotMatch", "node(s) didn't match pod affinity rules", AffinityOrPressure),
            Self::PodAntiAffinityRulesNotMatch => ("PodAntiAffinityRulesNotMatch", "node(s) didn't match pod anti-affinity rules", MayHelp),
            Self::ExistingPodsAntiAffinityRulesNotMatch => {
                ("ExistingPodsAntiAffinityRulesNotMatch", "node(s) didn't satisfy existing pods anti-affinity rules", MayHelp)
            }
            Self::TaintsTolerationsNotMatch => ("PodToleratesNodeTaints", "node(s) had taints that the pod didn't tolerate", CannotHelp),
            Self::PodNotMatchHostName => ("HostName", "node(s) didn't match the requested hostname", CannotHelp),
            Self::PodNotFitsHostPorts => ("PodFitsHostPorts", "node(s) didn't have free ports for the requested pod ports", MayHelp),
            Self::NodeLabelPresenceViolated => ("CheckNodeLabelPresence", "node(s) didn't have the requested labels", CannotHelp),
            Self::ServiceAffinityViolated => ("CheckServiceAffinity", "node(s) didn't match service affinity", MayHelp),
            Self::MaxVolumeCountExceeded => ("MaxVolumeCount", "node(s) exceed max volume count", MayHelp),
            Self::NodeUnderMemoryPressure => ("NodeUnderMemoryPressure", "node(s) had memory pressure", AffinityOrPressure),
            Self::NodeUnderDiskPressure => ("NodeUnderDiskPressure", "node(s) had disk pressure", AffinityOrPressure),
            Self::NodeUnderPidPressure => ("NodeUnderPIDPressure", "node(s) had pid pressure", AffinityOrPressure),
            Self::NodeOutOfDisk => ("NodeOutOfDisk", "node(s) were out of disk space", AffinityOrPressure),
            Self::NodeNotReady => ("NodeNotReady", "node(s) were not ready", CannotHelp),
            Self::NodeNetworkUnavailable => ("NodeNetworkUnavailable", "node(s) had unavailable network", CannotHelp),
            Self::NodeUnschedulable => ("NodeUnschedulable", "node(s) were unschedulable", CannotHelp),
            Self::VolumeNodeConflict => ("VolumeNodeAffinityConflict", "node(s) had volume node affinity conflict", CannotHelp),
            Self::VolumeBindConflict => ("VolumeBindingNoMatch", "node(s) didn't find available persistent volumes to bind", CannotHelp),
            Self::Insufficient(_) => ("", "", MayHelp),
        }
    }

    /// The words a release uses.
    pub(super) fn text(&self, rules: &Rules) -> Cow<'static, str> {
        if let Self::Insufficient(resource) = self {
            return format!("Insufficient {resource}").into();
        }
        let (short, long, _) = self.row();
        if rules.reasons_are_short() { short.into() } else { long.into() }
    }

    /// Whether preempting pods cannot mend it, in the eyes of a release.
    pub(super) fn unresolvable(&self, rules: &Rules) -> bool {
        match self.row().2 {
            Preemption::MayHelp => false,
            Preemption::CannotHelp => true,
            Preemption::AffinityOrPressure => rules.affinity_and_pressure_are_unresolvable(),
        }
    }
}

/// Turns a predicate's findings into a verdict; no reason means the pod fits. 1.17 ran predicates as Filter plugins through an adapter that
/// keeps one reason: the first unresolvable one, or else the first (`framework/plugins/migration/utils.go`).
pub(super) fn verdict(reasons: &[Reason], rules: &Rules) -> Verdict {
    let Some(first) = reasons.first() else { return Verdict::Pass };
    let unresolvable = reasons.iter().find(|reason| reason.unresolvable(rules));
    let reasons = match rules.one_reason_a_node() {
        true => vec![unresolvable.unwrap_or(first).text(rules)],
        false => reasons.iter().map(|reason| reason.text(rules)).collect(),
    };
    Verdict::Reject(Refusal { reasons, preemption_may_help: unresolvable.is_none() })
}

/// A framework plugin's reason in the words a release has for it.
pub(super) fn in_words_of(text: Cow<'static, str>, rules: &Rules) -> Cow<'static, str> {
    let known = RENAMED_REASONS.iter().find(|reason| rules.reasons_are_short() && reason.row().1 == text);
    known.map_or(text, |reason| reason.text(rules))
}

/// The reasons that framework plugins give for predicates.
const RENAMED_REASONS: [Reason; 5] = [
    Reason::DiskConflict,
    Reason::VolumeZoneConflict,
    Reason::MaxVolumeCountExceeded,
    Reason::VolumeNodeConflict,
    Reason::VolumeBindConflict,
];

#[cfg(test)]
mod tests {
    use super::{Reason, verdict};
    use crate::{Gates, Refusal, Release, Rules, Verdict};

    fn of(minor: u16) -> Rules {
        Rules::new(Release(minor), &Gates::new(Release(minor)))
    }

    #[test]
    fn texts_changed_with_1_10() {
        assert_eq!(Reason::NodeSelectorNotMatch.text(&of(9)), "MatchNodeSelector");
        assert_eq!(Reason::NodeSelectorNotMatch.text(&of(10)), "node(s) didn't match node selector");
        assert_eq!(Reason::Insufficient("pods".into()).text(&of(9)), "Insufficient pods");
    }

    #[test]
    fn pod_affinity_and_pressure_became_unresolvable_with_1_12() {
        for reason in [Reason::PodAffinityRulesNotMatch, Reason::NodeUnderMemoryPressure, Reason::NodeUnderDiskPressure] {
            assert!(!reason.unresolvable(&of(11)), "{reason:?}");
            assert!(reason.unresolvable(&of(12)), "{reason:?}");
        }
        assert!(Reason::TaintsTolerationsNotMatch.unresolvable(&of(9)));
        assert!(!Reason::PodNotFitsHostPorts.unresolvable(&of(17)));
    }

    #[test]
    fn the_adapter_of_1_17_keeps_one_reason() {
        let both = [Reason::PodAffinityNotMatch, Reason::PodAffinityRulesNotMatch];
        let Verdict::Reject(Refusal { reasons, preemption_may_help }) = verdict(&both, &of(16)) else { panic!() };
        assert_eq!((reasons.len(), preemption_may_help), (2, false));
        assert_eq!(verdict(&both, &of(17)), Verdict::unresolvable("node(s) didn't match pod affinity rules"));
        let anti = [Reason::PodAffinityNotMatch, Reason::PodAntiAffinityRulesNotMatch];
        assert_eq!(verdict(&anti, &of(17)), Verdict::unschedulable("node(s) didn't match pod affinity/anti-affinity"));
    }
}
