//! What differs between releases in the plugins that look at other pods. The fields of [`Rules`] have the rest.

use super::rules::Rules;

/// How pods are siblings to SelectorSpread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SiblingRule {
    /// Any selector of the pod's Services and controllers selects them.
    AnySelector,
    /// All of them do.
    AllSelectors,
    /// One selector made of all does, unless it is empty.
    OneSelector,
}

/// How the error of preferred node affinity that does not parse is put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnparsedTerms {
    /// The first term's, once a node, in brackets.
    FirstPerNode,
    /// The first term's.
    First,
    /// The first term's, as RunScorePlugins wraps it.
    FirstWrapped,
    /// Those of all terms, by Score.
    AllByScore,
    /// Those of all terms with their places, by PreScore.
    AllByPreScore,
}

/// What pod affinity terms that do not parse come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnparsedAffinity {
    /// They match nothing.
    Ignored,
    /// The first required one ends the attempt.
    RequiredFail,
    /// They refuse the pod; the last list's fault is reported.
    LastListRefuses,
    /// They refuse the pod; each list's fault is reported.
    Refuse,
}

impl Rules {
    /// Whether the incoming pod's namespace selector is asked again with no labels at all, after it was resolved to names
    /// (`plugins/interpodaffinity/plugin.go`, 1.34–1.36).
    pub(crate) fn namespace_selector_asked_twice(&self) -> bool {
        (34..=36).contains(&self.release.0)
    }

    /// What terms that do not parse come to (`framework/types.go` PodInfo.Update since 1.19; `plugins/interpodaffinity/filtering.go`, 1.18).
    pub(crate) fn unparsed_affinity(&self) -> UnparsedAffinity {
        match self.release.0 {
            ..=17 => UnparsedAffinity::Ignored,
            18 => UnparsedAffinity::RequiredFail,
            19 | 20 => UnparsedAffinity::LastListRefuses,
            _ => UnparsedAffinity::Refuse,
        }
    }

    /// Whether all values that do not parse are reported, with their places, not the first alone (`apimachinery/pkg/labels/selector.go`
    /// NewRequirement, since 1.21).
    pub(crate) fn reports_every_value(&self) -> bool {
        self.release.0 >= 21
    }

    /// Whether the error of a value names its key (NewRequirement, since 1.15).
    pub(crate) fn value_errors_name_the_key(&self) -> bool {
        self.release.0 >= 15
    }

    /// Whether matchFields that do not parse are reported (`component-helpers/scheduling/corev1/nodeaffinity`, since 1.20).
    pub(crate) fn unparsed_fields_reported(&self) -> bool {
        self.release.0 >= 20
    }

    /// How the error of preferred terms that do not parse is put together (`nodeaffinity.go` since 1.20; `core/generic_scheduler.go` PrioritizeNodes).
    pub(crate) fn unparsed_terms(&self) -> UnparsedTerms {
        match self.release.0 {
            ..=13 => UnparsedTerms::FirstPerNode,
            14..=16 => UnparsedTerms::First,
            17..=19 => UnparsedTerms::FirstWrapped,
            20 => UnparsedTerms::AllByScore,
            _ => UnparsedTerms::AllByPreScore,
        }
    }

    /// Whether the score of spread constraints counts pods of every namespace, and terminating pods (`podtopologyspread`, up to 1.17).
    pub(crate) fn spread_counts_loosely(&self) -> bool {
        self.release.0 <= 17
    }

    /// Whether a constraint with an empty selector counts no pod (`podtopologyspread/common.go` countPodsMatchSelector, since 1.27).
    pub(crate) fn empty_spread_selector_counts_none(&self) -> bool {
        self.release.0 >= 27
    }

    /// Whether nodes that take no part in the spread get their zero before the spread is looked at (`priorities/even_pods_spread.go`, 1.16).
    pub(crate) fn spread_zeroes_others_first(&self) -> bool {
        self.release.0 <= 16
    }

    /// Whether pods with spread constraints of their own are left out of SelectorSpread (since 1.18).
    pub(crate) fn selector_spread_leaves_constraints(&self) -> bool {
        self.release.0 >= 18
    }

    /// Which pods are siblings (`priorities/selector_spreading.go`, `plugins/selectorspread/selector_spread.go`).
    pub(crate) fn siblings(&self) -> SiblingRule {
        match self.release.0 {
            ..=13 => SiblingRule::AnySelector,
            14..=16 => SiblingRule::AllSelectors,
            _ => SiblingRule::OneSelector,
        }
    }

    /// Whether zones are read from the labels `topology.kubernetes.io/…` as well (`util/node`, since 1.17).
    pub(crate) fn stable_zone_labels(&self) -> bool {
        self.release.0 >= 17
    }

    /// The gate of gang scheduling (`plugins/gangscheduling/gangscheduling.go`; since 1.37 one gate stands for all of groups).
    pub(crate) fn gang_gate(&self) -> &'static str {
        if self.release.0 >= 37 { "GenericWorkload" } else { "GangScheduling" }
    }

    /// Whether a pod names its PodGroup, not its Workload (since 1.36).
    pub(crate) fn pods_name_pod_groups(&self) -> bool {
        self.release.0 >= 36
    }

    /// What a pod of a gang waits for at Permit.
    pub(crate) fn waits_for_gang(&self) -> &'static str {
        match self.release.0 {
            ..=35 => "waiting for minCount pods from a gang to be waiting on permit",
            _ => "waiting for minCount pods from a gang to be scheduled",
        }
    }
}
