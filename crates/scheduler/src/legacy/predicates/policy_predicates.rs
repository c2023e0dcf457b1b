//! Predicates that a Policy makes of an argument.

use std::sync::Arc;

use super::node_label_presence::check_node_label_presence;
use super::service_affinity::{ServiceAffinity, check_service_affinity};
use super::{pages, prefilter};
use crate::cluster::{Operator, Requirement};
use crate::framework::{Fix, Need, Obstacle, WithoutState, is_free_label};
use crate::release::Rules;
use crate::{Candidate, Cycle, Fact, Plugin, PreFilter, Verdict};

/// A predicate with its argument.
pub(crate) struct PolicyPredicate {
    name: &'static str,
    argument: Argument,
}

enum Argument {
    Labels(Vec<(Arc<str>, bool)>),
    ServiceLabels(Vec<Arc<str>>),
}

impl PolicyPredicate {
    /// CheckNodeLabelPresence under a name: labels, each with whether it must be there.
    pub(crate) const fn label_presence(name: &'static str, labels: Vec<(Arc<str>, bool)>) -> Self {
        Self { name, argument: Argument::Labels(labels) }
    }

    /// CheckServiceAffinity under a name: labels in which a Service's nodes are alike.
    pub(crate) const fn service_affinity(name: &'static str, labels: Vec<Arc<str>>) -> Self {
        Self { name, argument: Argument::ServiceLabels(labels) }
    }
}

impl Plugin for PolicyPredicate {
    fn name(&self) -> &'static str {
        self.name
    }

    fn doc(&self) -> &'static str {
        match &self.argument {
            Argument::Labels(_) => pages::CHECK_NODE_LABEL_PRESENCE,
            Argument::ServiceLabels(_) => pages::CHECK_SERVICE_AFFINITY,
        }
    }

    fn filter<'a>(&self, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        prefilter(
            cycle,
            match &self.argument {
                Argument::Labels(labels) => check_node_label_presence(cycle, labels.clone()),
                Argument::ServiceLabels(labels) => check_service_affinity(cycle, labels.clone()),
            },
        )
    }

    fn compared(&self, cycle: &Cycle, node: &Candidate, _verdict: &Verdict) -> Vec<Fact> {
        let label = |(key, wanted): &(Arc<str>, bool)| {
            let operator = if *wanted { Operator::Exists } else { Operator::DoesNotExist };
            Fact::label(Requirement { key: key.clone(), operator, values: Vec::new() }, &node.labels)
        };
        match &self.argument {
            Argument::Labels(labels) => labels.iter().map(label).collect(),
            Argument::ServiceLabels(labels) => ServiceAffinity::new(cycle, labels.clone()).compared(node),
        }
    }

    fn needs(&self, cycle: &Cycle, node: &Candidate) -> Vec<Need> {
        let wanted: Vec<(Arc<str>, Option<Arc<str>>)> = match &self.argument {
            Argument::Labels(labels) => labels
                .iter()
                .filter(|(label, wanted)| node.labels.has(label) != *wanted)
                .map(|(label, wanted)| (label.clone(), wanted.then(|| "".into())))
                .collect(),
            Argument::ServiceLabels(labels) => ServiceAffinity::new(cycle, labels.clone()).wanted(node),
        };
        wanted.into_iter().map(|(key, wanted)| label_need(key, wanted, node)).collect()
    }

    fn looks_at_pods(&self) -> bool {
        matches!(self.argument, Argument::ServiceLabels(_))
    }

    fn without_prefilter(&self, _rules: &Rules) -> WithoutState {
        match &self.argument {
            Argument::Labels(_) => WithoutState::Unknown,
            Argument::ServiceLabels(_) => WithoutState::fails("error reading", "PreFilter", self.name),
        }
    }
}

/// A label to be set or, without a value, removed. The value of a label that is there is not changed: others rely on it.
fn label_need(key: Arc<str>, wanted: Option<Arc<str>>, node: &Candidate) -> Need {
    let value = node.labels.get(&key);
    let overwrites = value.is_some() && wanted.is_some();
    if is_free_label(&key) && !overwrites {
        return Need::one_of(vec![Fix::label(key, wanted)]);
    }
    Need::hopeless(Obstacle::PolicyLabel { value: value.map(Arc::from), key, wanted })
}
