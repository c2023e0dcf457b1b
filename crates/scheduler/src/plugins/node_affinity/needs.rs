//! What would satisfy node affinity: labels that people may set, or fewer requirements of the pod.

use std::sync::Arc;

use crate::cluster::{NodeTerm, Operator, Requirement};
use crate::framework::{Fix, Need, Obstacle};
use crate::{Candidate, Cycle};

use super::term_matches;

/// The needs for each label of the node selector, for one of the required terms, and for one of those in the scheduler's configuration.
pub(super) fn of_node(cycle: &Cycle<'_>, node: &Candidate) -> Vec<Need> {
    let spec = &cycle.pod.spec;
    if cycle.pod.is_of_daemon_set() {
        return vec![Need::hopeless(Obstacle::OtherDaemonSetNode)];
    }
    let unmet = |wanted: &&Requirement| !wanted.matches(node.labels.get(&wanted.key));
    let of_label = |wanted: &Requirement| {
        let drop = Fix::DropNodeSelector { key: wanted.key.clone() };
        Need::one_of(label(wanted, node).into_iter().chain([drop]).collect())
    };
    let mut needs: Vec<Need> = spec.node_selector.requirements.iter().filter(unmet).map(of_label).collect();
    let fields = cycle.profile.rules.match_fields;
    let open = |terms: &[NodeTerm]| !terms.iter().any(|term| term_matches(term, node, fields));
    if let Some(terms) = spec.node_affinity.required.as_deref().filter(|terms| open(terms)) {
        needs.push(Need::one_of(labels(terms, node).into_iter().chain([Fix::DropNodeAffinity]).collect()));
    }
    let added = cycle.profile.arguments.added_affinity.as_ref().and_then(|added| added.required.as_deref());
    if let Some(terms) = added.filter(|terms| open(terms)) {
        needs.push(Need::one_of_or(labels(terms, node), Obstacle::AddedAffinity));
    }
    needs
}

/// The labels that terms lack, of each term that labels alone can make hold.
fn labels(terms: &[NodeTerm], node: &Candidate) -> Vec<Fix> {
    let unmet = |wanted: &&Requirement| !wanted.matches(node.labels.get(&wanted.key));
    let usable =
        |term: &&NodeTerm| term.error.is_none() && !term.is_empty() && term.fields.iter().all(|field| field.matches(Some(&node.name)));
    let of_term = |term: &NodeTerm| term.expressions.iter().filter(unmet).map(|wanted| label(wanted, node)).collect::<Option<Vec<Fix>>>();
    terms.iter().filter(usable).filter_map(of_term).flatten().collect()
}

/// The label that meets a requirement, if people may set it. Existing labels are not changed: others rely on them.
pub(in crate::plugins) fn label(wanted: &Requirement, node: &Candidate) -> Option<Fix> {
    let number =
        |by: i64| wanted.values.first().and_then(|bound| bound.parse::<i64>().ok()?.checked_add(by)).map(|bound| bound.to_string().into());
    let changed = match wanted.operator {
        Operator::In => Some(wanted.values.first()?.clone()),
        Operator::Exists => Some(Arc::from("")),
        Operator::NotIn | Operator::DoesNotExist => None,
        Operator::Gt => Some(number(1)?),
        Operator::Lt => Some(number(-1)?),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    };
    let overwrites = changed.is_some() && node.labels.has(&wanted.key);
    (crate::framework::is_free_label(&wanted.key) && !overwrites).then(|| Fix::label(wanted.key.clone(), changed))
}
