//! Affinity terms that upstream does not parse: a selector names a value that no label can have, which the API server takes.
//! Sources: `framework/types.go` PodInfo.Update, getAffinityTerms, newAffinityTerm (1.19–); `plugins/interpodaffinity/filtering.go` PreFilter;
//! `apimachinery/pkg/apis/meta/v1/helpers.go` LabelSelectorAsSelector; `apimachinery/pkg/labels/selector.go` NewRequirement.

use crate::cluster::{AffinityTerm, NamespaceSelectors, Requirement, Selector};
use crate::release::{Rules, UnparsedAffinity};
use crate::validation::label_name;
use crate::{Cycle, PreFilter, Refusal, Verdict};

/// Why terms do not parse, in upstream's words.
enum TermFault {
    Said(String),
    /// Upstream takes a map's entries in any order and reports the first that does not parse.
    OneOf(Vec<String>),
}

/// What upstream's PreFilter answers where the pod's terms do not parse; `None`: they do.
pub(super) fn refusal<'a>(cycle: &Cycle) -> Option<PreFilter<'a>> {
    let rule = cycle.profile.rules.unparsed_affinity();
    let faults = match rule {
        UnparsedAffinity::LastListRefuses | UnparsedAffinity::Refuse => pod_faults(cycle),
        UnparsedAffinity::RequiredFail => pod_faults(cycle).into_iter().filter(|(list, _)| list.starts_with("required")).take(1).collect(),
        UnparsedAffinity::Ignored => return None,
    };
    let said = faults.iter().map(|(list, fault)| match fault {
        TermFault::Said(why) => Ok(format!("{list}: {why}")),
        TermFault::OneOf(which) => Err(which.join("; or: ")),
    });
    let said: Result<Vec<String>, String> = said.collect();
    Some(match (said, rule) {
        (Ok(said), _) if said.is_empty() => return None,
        (Err(which), _) => {
            let missing = format!("the affinity terms do not parse, and which of several reasons is reported is left to chance: {which}");
            PreFilter::Filter(Box::new(move |_| Verdict::Unknown { missing: missing.clone().into() }))
        }
        (Ok(said), UnparsedAffinity::RequiredFail) => {
            let why = said[0].split_once(": ").map_or("", |(_, why)| why);
            PreFilter::Error(format!("calculating preFilterState: {why}"))
        }
        (Ok(mut said), UnparsedAffinity::LastListRefuses) => {
            PreFilter::Refuse(Refusal::unresolvable(format!("parsing pod: {}", said.pop().unwrap_or_default())))
        }
        (Ok(said), _) => PreFilter::Refuse(Refusal::unresolvable(format!("parsing pod: {}", aggregate(said)))),
    })
}

/// By the name of each list of terms that does not parse its first fault.
fn pod_faults(cycle: &Cycle) -> Vec<(&'static str, TermFault)> {
    let (near, apart) = (&cycle.pod.spec.pod_affinity, &cycle.pod.spec.pod_anti_affinity);
    let lists: [(&str, Vec<&AffinityTerm>); 4] = [
        ("requiredAffinityTerms", near.required.iter().map(|term| &**term).collect()),
        ("requiredAntiAffinityTerms", apart.required.iter().map(|term| &**term).collect()),
        ("preferredAffinityTerms", near.preferred.iter().map(|(_, term)| &**term).collect()),
        ("preferredAntiAffinityTerms", apart.preferred.iter().map(|(_, term)| &**term).collect()),
    ];
    let rules = &cycle.profile.rules;
    let first = |(list, terms): (&'static str, Vec<&AffinityTerm>)| {
        terms.into_iter().find_map(|term| term_fault(term, rules)).map(|fault| (list, fault))
    };
    lists.into_iter().filter_map(first).collect()
}

/// A term's selectors are parsed in turn.
fn term_fault(term: &AffinityTerm, rules: &Rules) -> Option<TermFault> {
    let namespaces = term.namespace_selector.as_ref().filter(|_| rules.namespace_selector != NamespaceSelectors::Unknown);
    let of_labels = term.selector.as_ref().and_then(|selector| selector_fault(selector, term.match_labels, rules));
    of_labels.or_else(|| namespaces.and_then(|selector| selector_fault(selector, term.match_namespace_labels, rules)))
}

/// The first `equalities` requirements stand in a map.
fn selector_fault(selector: &Selector, equalities: usize, rules: &Rules) -> Option<TermFault> {
    let (pairs, expressions) = selector.requirements.split_at(equalities.min(selector.requirements.len()));
    let mut of_pairs: Vec<String> = pairs.iter().filter_map(|requirement| requirement_fault(requirement, rules)).collect();
    match of_pairs.len() {
        0 => expressions.iter().find_map(|requirement| requirement_fault(requirement, rules)).map(TermFault::Said),
        1 => of_pairs.pop().map(TermFault::Said),
        _ => Some(TermFault::OneOf(of_pairs)),
    }
}

/// `NewRequirement`: what is wrong with the values.
fn requirement_fault(requirement: &Requirement, rules: &Rules) -> Option<String> {
    let key = &requirement.key;
    let wrong = requirement.values.iter().enumerate().filter_map(|(at, value)| {
        let why = label_name::of_value(value, rules.release).join("; ");
        (!why.is_empty()).then(|| match rules.reports_every_value() {
            true => format!("values[{at}][{key}]: Invalid value: {value:?}: {why}"),
            false => format!("invalid label value: {value:?}: at key: {key:?}: {why}"),
        })
    });
    let wrong: Vec<String> = wrong.take(if rules.reports_every_value() { usize::MAX } else { 1 }).collect();
    (!wrong.is_empty()).then(|| aggregate(wrong))
}

/// `utilerrors.Aggregate`: one as it is, several in brackets, the same once.
fn aggregate(mut errors: Vec<String>) -> String {
    let mut known: Vec<String> = Vec::new();
    errors.retain(|error| {
        !known.contains(error) && {
            known.push(error.clone());
            true
        }
    });
    match errors.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}
