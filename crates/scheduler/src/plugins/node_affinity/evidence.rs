//! What node affinity compares: each label the node selector wants, the term that holds, or what each term lacks.

use crate::cluster::{NodeTerm, Requirement};
use crate::framework::{Fact, LabelCheck, TermCheck, WantedLabel};
use crate::{Candidate, Cycle};

use super::term_matches;

/// Each label the pod's node selector wants, and the term of its node affinity that holds; where none does, what each term lacks.
pub(super) fn affinity(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    let spec = &cycle.pod.spec;
    let mut facts: Vec<Fact> = spec.node_selector.requirements.iter().map(|wanted| Fact::label(wanted.clone(), &node.labels)).collect();
    facts.extend(spec.node_affinity.required.iter().flat_map(|terms| of_terms(terms, cycle, node, false)));
    let added = cycle.profile.arguments.added_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
    facts.extend(added.into_iter().flat_map(|terms| of_terms(terms, cycle, node, true)));
    if facts.is_empty() { vec![Fact::holding(LabelCheck::NoneWanted)] } else { facts }
}

fn of_terms(terms: &[NodeTerm], cycle: &Cycle, node: &Candidate, added: bool) -> Vec<Fact> {
    let fields = cycle.profile.rules.match_fields;
    let label = |wanted: &Requirement| TermCheck::Label(WantedLabel::of(wanted.clone(), &node.labels));
    let name = |wanted: &Requirement| TermCheck::Name { wanted: wanted.clone(), name: node.name.clone() };
    let each = |term: &NodeTerm| -> Vec<TermCheck> {
        term.expressions.iter().map(label).chain(term.fields.iter().filter(|_| fields).map(name)).collect()
    };
    let fact =
        |at: usize, check: TermCheck| Fact::new(check.holds(), LabelCheck::Term { added, number: at + 1, terms: terms.len(), check });
    if let Some(at) = terms.iter().position(|term| term_matches(term, node, fields)) {
        return each(&terms[at]).into_iter().map(|check| fact(at, check)).collect();
    }
    let lacks = |(at, term): (usize, &NodeTerm)| {
        let unmet = each(term).into_iter().find(|check| !check.holds());
        fact(at, unmet.unwrap_or_else(|| term.error.clone().map_or(TermCheck::Empty, TermCheck::Unparsed)))
    };
    let facts: Vec<Fact> = terms.iter().enumerate().map(lacks).collect();
    if facts.is_empty() { vec![Fact::refusing(LabelCheck::NoTerms { added })] } else { facts }
}
