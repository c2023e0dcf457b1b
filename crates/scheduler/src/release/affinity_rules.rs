//! What differs between releases in the plugins that look at other pods. The fields of [`Rules`] have the rest.

use super::rules::Rules;

/// Which pods SelectorSpread counts as siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SiblingRule {
    /// Any selector of the pod's Services and controllers selects them.
    AnySelector,
    AllSelectors,
    /// One selector merged from all selects them, unless it is empty.
    OneSelector,
}

/// How the error of preferred node affinity that does not parse is worded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnparsedTerms {
    /// The first term's error, once a node, in brackets.
    FirstPerNode,
    First,
    /// The first term's error, as RunScorePlugins wraps it.
    FirstWrapped,
    /// The errors of all terms, in Score.
    AllByScore,
    /// The errors of all terms with their positions, in PreScore.
    AllByPreScore,
}

/// The effect of pod affinity terms that do not parse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnparsedAffinity {
    /// They match nothing.
    Ignored,
    /// The first required one ends the attempt.
    RequiredFail,
    /// They reject the pod; the error of the last list is reported.
    LastListRefuses,
    /// They reject the pod; the error of each list is reported.
    Refuse,
}

rules_of! {
    Rules, self, minor = self.release.0;

    /// Whether the incoming pod's namespace selector is evaluated again without any labels, after it was resolved to names
    /// (`plugins/interpodaffinity/plugin.go`, 1.34–1.36).
    namespace_selector_asked_twice: bool = (34..=36).contains(&minor);
    /// The effect of terms that do not parse (`framework/types.go` PodInfo.Update since 1.19; `plugins/interpodaffinity/filtering.go`, 1.18).
    unparsed_affinity: UnparsedAffinity = match minor {
        ..=17 => UnparsedAffinity::Ignored,
        18 => UnparsedAffinity::RequiredFail,
        19 | 20 => UnparsedAffinity::LastListRefuses,
        _ => UnparsedAffinity::Refuse,
    };
    /// Whether all values that do not parse are reported, with their positions, not only the first (`apimachinery/pkg/labels/selector.go`
    /// NewRequirement, since 1.21).
    reports_every_value: bool = minor >= 21;
    /// Whether the error of a value names its key (NewRequirement, since 1.15).
    value_errors_name_the_key: bool = minor >= 15;
    /// Whether matchFields that do not parse are reported (`component-helpers/scheduling/corev1/nodeaffinity`, since 1.20).
    unparsed_fields_reported: bool = minor >= 20;
    /// How the error of preferred terms that do not parse is worded (`nodeaffinity.go` since 1.20; `core/generic_scheduler.go` PrioritizeNodes).
    unparsed_terms: UnparsedTerms = match minor {
        ..=13 => UnparsedTerms::FirstPerNode,
        14..=16 => UnparsedTerms::First,
        17..=19 => UnparsedTerms::FirstWrapped,
        20 => UnparsedTerms::AllByScore,
        _ => UnparsedTerms::AllByPreScore,
    };
    /// Whether the score of spread constraints counts pods of every namespace, and terminating pods (`podtopologyspread`, up to 1.17).
    spread_counts_loosely: bool = minor <= 17;
    /// Whether a constraint with an empty selector counts no pod (`podtopologyspread/common.go` countPodsMatchSelector, since 1.27).
    empty_spread_selector_counts_none: bool = minor >= 27;
    /// Whether nodes that are not part of the spread get zero before the others are scored (`priorities/even_pods_spread.go`, 1.16).
    spread_zeroes_others_first: bool = minor <= 16;
    /// Whether SelectorSpread skips pods that have spread constraints (since 1.18).
    selector_spread_leaves_constraints: bool = minor >= 18;
    /// Which pods are siblings (`priorities/selector_spreading.go`, `plugins/selectorspread/selector_spread.go`).
    siblings: SiblingRule = match minor {
        ..=13 => SiblingRule::AnySelector,
        14..=16 => SiblingRule::AllSelectors,
        _ => SiblingRule::OneSelector,
    };
    /// Whether zones are read from the labels `topology.kubernetes.io/…` as well (`util/node`, since 1.17).
    stable_zone_labels: bool = minor >= 17;
    /// The gate of gang scheduling (`plugins/gangscheduling/gangscheduling.go`; since 1.37 one gate covers all of pod groups).
    gang_gate: &'static str = if minor >= 37 { "GenericWorkload" } else { "GangScheduling" };
    /// Whether a pod names its PodGroup, not its Workload (since 1.36).
    pods_name_pod_groups: bool = minor >= 36;
    /// What Permit reports for a pod that waits for its gang.
    waits_for_gang: &'static str = match minor {
        ..=35 => "waiting for minCount pods from a gang to be waiting on permit",
        _ => "waiting for minCount pods from a gang to be scheduled",
    };
}
