//! What node affinity compares: each label the node selector wants, the term that holds, or what each term lacks.

use crate::cluster::{NodeSelectorTerm, Operator, Requirement};
use crate::framework::Fact;
use crate::{Candidate, Cycle};

use super::term_matches;

/// Each label the pod's node selector wants, and the term of its node affinity that holds; where none does, what each term lacks.
pub(super) fn affinity(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    let spec = &cycle.pod.spec;
    let mut facts: Vec<Fact> = spec.node_selector.requirements.iter().map(|wanted| label(wanted, node.labels.get(&wanted.key))).collect();
    facts.extend(spec.node_affinity.required.iter().flat_map(|terms| of_terms(terms, cycle, node, "")));
    let added = cycle.profile.arguments.added_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
    facts.extend(added.into_iter().flat_map(|terms| of_terms(terms, cycle, node, "the scheduler's configuration: ")));
    if facts.is_empty() { vec![Fact::holding("the pod asks for no labels".to_owned())] } else { facts }
}

fn of_terms(terms: &[NodeSelectorTerm], cycle: &Cycle, node: &Candidate, whose: &str) -> Vec<Fact> {
    let fields = cycle.profile.rules.match_fields;
    let place = |at: usize| if terms.len() > 1 { format!("{whose}term {} of {}: ", at + 1, terms.len()) } else { whose.to_owned() };
    let each = |term: &NodeSelectorTerm| -> Vec<Fact> {
        let labels = term.expressions.iter().map(|wanted| label(wanted, node.labels.get(&wanted.key)));
        labels.chain(term.fields.iter().filter(|_| fields).map(|wanted| field(wanted, &node.name))).collect()
    };
    let within = |at: usize, fact: Fact| Fact { text: format!("{}{}", place(at), fact.text), ..fact };
    if let Some(at) = terms.iter().position(|term| term_matches(term, node, fields)) {
        return each(&terms[at]).into_iter().map(|fact| within(at, fact)).collect();
    }
    let lacks = |(at, term): (usize, &NodeSelectorTerm)| {
        let unmet = each(term).into_iter().find(|fact| !fact.holds);
        let why = || match &term.error {
            Some(error) => format!("it cannot be read: {error}"),
            None => "it asks for nothing, so it matches no node".to_owned(),
        };
        within(at, unmet.unwrap_or_else(|| Fact::refusing(why())))
    };
    let told: Vec<Fact> = terms.iter().enumerate().map(lacks).collect();
    if told.is_empty() { vec![Fact::refusing(format!("{whose}required node affinity without terms matches no node"))] } else { told }
}

fn field(wanted: &Requirement, name: &str) -> Fact {
    let not = if wanted.operator == Operator::NotIn { "any but " } else { "" };
    Fact::new(wanted.matches(Some(name)), format!("{not}the node {} wanted, it is {name}", wanted.values.join(" or ")))
}

/// What a requirement wants of a label, and what is there.
pub(crate) fn label(wanted: &Requirement, value: Option<&str>) -> Fact {
    let values = wanted.values.join(", ");
    let is = value.map_or_else(|| "is absent".to_owned(), |value| format!("is {value}"));
    let key = &wanted.key;
    let text = match wanted.operator {
        Operator::In if wanted.values.len() == 1 => format!("label {key}={values} wanted, {is}"),
        Operator::In => format!("label {key} in ({values}) wanted, {is}"),
        Operator::NotIn => format!("label {key} not in ({values}) wanted, {is}"),
        Operator::Exists => format!("label {key} wanted, {is}"),
        Operator::DoesNotExist => format!("no label {key} wanted, {is}"),
        Operator::Gt => format!("label {key} above {values} wanted, {is}"),
        Operator::Lt => format!("label {key} below {values} wanted, {is}"),
    };
    Fact::new(wanted.matches(value), text)
}
