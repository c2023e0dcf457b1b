//! Numbers of objects in words: `3 namespaces, 41 Deployments (12 by people), 2 CRDs`.

use std::cmp::Reverse;

use super::tally::LossCounts;
use crate::numbers::grouped;
use crate::writers::WriterKind;

pub(super) const MAX_KINDS_NAMED: usize = 6;

/// How many kinds the decision names.
pub(super) const MAX_KINDS_IN_HEADLINE: usize = 3;

/// Counts objects by kind, namespaces first, then what people wrote most of; no more kinds than these are named.
pub(super) fn counted(counts: &LossCounts, max_kinds_named: usize) -> String {
    let mut kinds: Vec<(&String, usize, usize, usize)> =
        counts.iter().map(|(kind, of)| (kind, of.iter().sum(), of[WriterKind::Person as usize], of[WriterKind::GitOps as usize])).collect();
    kinds.sort_by_key(|&(kind, all, people, gitops)| (kind != "Namespace", Reverse((people, gitops, all))));
    let mut words: Vec<String> =
        kinds.iter().take(max_kinds_named).map(|&(kind, all, people, gitops)| of_kind(kind, all, people, gitops)).collect();
    let rest = kinds.get(max_kinds_named..).unwrap_or_default();
    let others: usize = rest.iter().map(|(_, all, ..)| all).sum();
    match rest.len() {
        0 => {}
        1 => words.push(amount(others, rest[0].0)),
        kinds => words.push(format!("{} objects of {kinds} other kinds", grouped(others))),
    }
    words.join(", ")
}

fn of_kind(kind: &str, all: usize, people: usize, gitops: usize) -> String {
    let amount = amount(all, kind);
    match (people, gitops) {
        (0, 0) => amount,
        (people, 0) => format!("{amount} ({} by people)", grouped(people)),
        (0, gitops) => format!("{amount} ({} by GitOps)", grouped(gitops)),
        (people, gitops) => format!("{amount} ({} by people, {} by GitOps)", grouped(people), grouped(gitops)),
    }
}

fn amount(count: usize, kind: &str) -> String {
    let kind = match kind {
        "Namespace" => "namespace",
        "CustomResourceDefinition" => "CRD",
        kind => kind,
    };
    if count == 1 { format!("1 {kind}") } else { format!("{} {}", grouped(count), plural(kind)) }
}

/// A kind in the plural; a resource is in it already.
fn plural(kind: &str) -> String {
    let is_resource = kind != "namespace" && kind.starts_with(|first: char| first.is_ascii_lowercase());
    match kind.strip_suffix('y').filter(|rest| !rest.ends_with(['a', 'e', 'o'])) {
        _ if is_resource || kind == "Endpoints" => kind.to_owned(),
        Some(rest) => format!("{rest}ies"),
        None if kind.ends_with(['s', 'x']) => format!("{kind}es"),
        None => format!("{kind}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(of: &[(&str, [usize; 5])]) -> LossCounts {
        of.iter().map(|(kind, counts)| ((*kind).to_owned(), *counts)).collect()
    }

    #[test]
    fn namespaces_come_first_then_what_people_wrote() {
        let all = counts(&[
            ("ConfigMap", [0, 0, 90, 0, 0]),
            ("CustomResourceDefinition", [0, 2, 0, 0, 0]),
            ("Deployment", [12, 0, 29, 0, 0]),
            ("Namespace", [0, 0, 3, 0, 0]),
        ]);
        assert_eq!(counted(&all, MAX_KINDS_NAMED), "3 namespaces, 41 Deployments (12 by people), 2 CRDs (2 by GitOps), 90 ConfigMaps");
        let many = counts(&[("ConfigMap", [0, 1_200, 90_000, 0, 0])]);
        assert_eq!(counted(&many, MAX_KINDS_NAMED), "91,200 ConfigMaps (1,200 by GitOps)");
    }

    #[test]
    fn many_kinds_are_summed() {
        let kinds = ["A", "B", "C", "D", "E", "F", "G", "H"].map(|kind| (kind, [0, 0, 1, 0, 0]));
        assert!(counted(&counts(&kinds), MAX_KINDS_NAMED).ends_with("1 F, 2 objects of 2 other kinds"));
        assert!(counted(&counts(&kinds[..7]), MAX_KINDS_NAMED).ends_with("1 F, 1 G"));
        assert_eq!(counted(&counts(&kinds), MAX_KINDS_IN_HEADLINE), "1 A, 1 B, 1 C, 5 objects of 5 other kinds");
    }

    #[test]
    fn kinds_have_a_plural() {
        for (kind, many) in [
            ("NetworkPolicy", "NetworkPolicies"),
            ("Ingress", "Ingresses"),
            ("Endpoints", "Endpoints"),
            ("crontabs.example.com", "crontabs.example.com"),
        ] {
            assert_eq!(plural(kind), many);
        }
    }
}
