//! What is compared with the node itself: cordon, name, taints, labels, host ports, features, conditions.

use crate::cluster::{NodeSelectorTerm, Operator, Requirement, Taint, Toleration};
use crate::framework::Fact;
use crate::plugins::{needed_features, node_ports, taint_toleration, term_matches};
use crate::{Candidate, Cycle};

/// Whether the node is cordoned.
pub(crate) fn cordon(node: &Candidate, passes: bool) -> Vec<Fact> {
    vec![match (node.unschedulable, passes) {
        (false, _) => Fact::holding("it is not cordoned".to_owned()),
        (true, true) => Fact::holding("it is cordoned, which the pod tolerates".to_owned()),
        (true, false) => Fact::refusing("it is cordoned (spec.unschedulable)".to_owned()),
    }]
}

/// The node the pod names, if it names one.
pub(crate) fn name(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    vec![match &cycle.pod.node_name {
        None => Fact::holding("the pod names no node".to_owned()),
        Some(wanted) => Fact::new(*wanted == node.name, format!("the pod names node {wanted}")),
    }]
}

/// Each taint of these effects, and what tolerates it.
pub(crate) fn taints(cycle: &Cycle, node: &Candidate, effects: &[&str]) -> Vec<Fact> {
    let comparisons = cycle.profile.rules.taint_comparisons;
    let told = node.taints.iter().filter(|taint| effects.contains(&&*taint.effect)).map(|taint| {
        let by = cycle.pod.spec.tolerations.iter().find(|toleration| taint_toleration::tolerates(toleration, taint, comparisons));
        match by {
            None => Fact::refusing(format!("taint {} is not tolerated", written(taint))),
            Some(toleration) => Fact::holding(format!("taint {} is tolerated by {}", written(taint), toleration_text(toleration))),
        }
    });
    let told: Vec<Fact> = told.collect();
    if told.is_empty() { vec![Fact::holding(format!("it has no {} taint", effects.join(" or ")))] } else { told }
}

fn written(taint: &Taint) -> String {
    match &*taint.value {
        "" => format!("{}:{}", taint.key, taint.effect),
        value => format!("{}={value}:{}", taint.key, taint.effect),
    }
}

fn toleration_text(toleration: &Toleration) -> String {
    let effect = if toleration.effect.is_empty() { String::new() } else { format!(":{}", toleration.effect) };
    match (&*toleration.operator, &*toleration.key) {
        ("Exists", "") => format!("a toleration of every key{effect}"),
        ("Exists", key) => format!("{key} Exists{effect}"),
        ("" | "Equal", key) => format!("{key}={}{effect}", toleration.value),
        (operator, key) => format!("{key} {operator} {}{effect}", toleration.value),
    }
}

/// Each label the pod's node selector wants, and the term of its node affinity that holds; where none does, what each term lacks.
pub(crate) fn affinity(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
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

/// Each host port the pod wants, and whose it is.
pub(crate) fn ports(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    let told = node_ports::wanted(cycle).into_iter().map(|wanted| {
        let address = if matches!(&*wanted.ip, "" | "0.0.0.0") { String::new() } else { format!(" of {}", wanted.ip) };
        let port = format!("port {}/{}{address}", wanted.port, wanted.protocol);
        let mut used = node.used_ports(cycle.profile.rules.sidecar_ports);
        match used.find(|(used, _)| node_ports::conflicts(wanted, used)) {
            Some((_, holder)) => Fact::refusing(format!("{port} is {}'s", holder.full_name())),
            None => Fact::holding(format!("{port} is free")),
        }
    });
    let told: Vec<Fact> = told.collect();
    if told.is_empty() { vec![Fact::holding("the pod wants no host port".to_owned())] } else { told }
}

/// Each feature the pod needs of its kubelet.
pub(crate) fn features(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    let told = needed_features(&cycle.pod.spec, cycle.profile.release).into_iter().map(|feature| {
        let declared = node.declared_features.iter().any(|declared| &**declared == feature);
        Fact::new(declared, format!("feature {feature} is {}", if declared { "declared" } else { "not declared" }))
    });
    told.collect()
}

/// The conditions up to 1.16 looked at.
pub(crate) fn conditions(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    let mut facts = cordon(node, !node.unschedulable);
    for condition in &node.conditions {
        let wanted = match &*condition.kind {
            "Ready" => "True",
            "NetworkUnavailable" => "False",
            "OutOfDisk" if cycle.profile.release.0 <= 13 => "False",
            _ => continue,
        };
        facts.push(Fact::new(&*condition.status == wanted, format!("condition {} is {}", condition.kind, condition.status)));
    }
    facts
}

/// One of the pressures up to 1.16 looked at.
pub(crate) fn pressure(node: &Candidate, kind: &str, passes: bool) -> Vec<Fact> {
    let status = node.conditions.iter().rev().find(|condition| &*condition.kind == kind).map(|condition| &*condition.status);
    let text = match status {
        None => format!("it has no condition {kind}"),
        Some("True") if passes => format!("condition {kind} is True, which keeps only pods away that ask for no cpu and memory"),
        Some(status) => format!("condition {kind} is {status}"),
    };
    vec![Fact::new(passes, text)]
}
