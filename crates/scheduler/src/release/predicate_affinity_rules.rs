//! What differs between releases in MatchInterPodAffinity (1.9–1.17). Upstream: `algorithm/predicates/{predicates,metadata}.go`.

use super::rules::Rules;

/// Which of a pod's affinity terms are evaluated together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TermGrouping {
    /// Each term for itself, and pods matching that term.
    Separate,
    /// One domain made of all keys, and pods matching all terms.
    OneDomain,
    /// Each term's key for itself, but only pods matching all terms.
    ByKey,
}

rules_of! {
    Rules, self, minor = self.release.0;

    affinity_grouping: TermGrouping = match minor {
        ..=10 => TermGrouping::Separate,
        11 => TermGrouping::OneDomain,
        _ => TermGrouping::ByKey,
    };
    /// How its anti-affinity terms are: 1.11 alone wants a pod to match all terms, in all their domains, before it refuses.
    anti_affinity_grouping: TermGrouping = if minor == 11 { TermGrouping::OneDomain } else { TermGrouping::Separate };
    /// Whether pods are counted beforehand, but each check walks through all of them where pods run on a node that is gone (1.11–1.13).
    absent_nodes_make_affinity_walk: bool = (11..=13).contains(&minor);
    /// Whether each check walks through all pods (up to 1.10).
    affinity_walks_all_pods: bool = minor <= 10;
    /// Whether a term whose key is the hostname sees only the pods of the node (1.10).
    hostname_terms_see_own_pods: bool = minor == 10;
    /// Whether a pod counts as the first of its kind only where no pod matches anywhere, on nodes without the term's key too (up to 1.11).
    first_pod_looks_everywhere: bool = minor <= 11;
    /// Whether a pod that a simulation puts back counts where it matches one of the anti-affinity terms (`metadata.go` AddPod, since 1.12).
    returned_pods_match_any_term: bool = minor >= 12;
    /// Whether pods that are only nominated to a node count (up to 1.10).
    nominated_pods_count_for_affinity: bool = minor <= 10;
    /// Whether the error about a pod whose node is gone has the term, as Go prints it (up to 1.10).
    affinity_errors_name_term: bool = minor <= 10;
    /// Whether an anti-affinity term of an existing pod closes the domain of that pod's last term: a term that matches is kept by a pointer to the
    /// loop's variable (getMatchingAntiAffinityTermsOfExistingPod, up to 1.11).
    existing_pods_close_last_terms: bool = minor <= 11;
}
