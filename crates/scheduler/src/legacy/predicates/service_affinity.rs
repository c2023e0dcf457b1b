//! CheckServiceAffinity: pods of one Service stay on nodes alike in some labels; only a Policy enables it.
//! Source: `algorithm/predicates/predicates.go` `ServiceAffinity`.

use std::collections::HashMap;
use std::sync::Arc;

use crate::cluster::{Labels, NodeId, NodeInfo};

use crate::framework::LabelCheck;
use crate::legacy::reason::PreparedPredicate;
use crate::legacy::reason::Reason;
use crate::{Candidate, Cycle, Fact, Verdict};

/// Why the answer can be unknown.
const ORDER_REASON: &str = "it depends on which pod the scheduler's list names first";

/// The values a node has for the labels asked about.
type Values = Vec<Option<Arc<str>>>;

/// CheckServiceAffinity for the labels of a Policy's argument.
pub(super) struct ServiceAffinity<'a> {
    cycle: &'a Cycle<'a>,
    labels: Vec<Arc<str>>,
    /// What the pod's own nodeSelector says of each label.
    own: Values,
    /// Whether some Service selects the pod.
    has_service: bool,
    /// Nodes holding pods that carry all of the pod's labels, by their values; and which.
    siblings: HashMap<Values, usize>,
    sibling_nodes: Vec<NodeId>,
    /// Whether a sibling sits on a node that does not exist.
    astray: Option<Arc<str>>,
}

impl<'a> ServiceAffinity<'a> {
    /// Prepares for one pod.
    pub(super) fn new(cycle: &'a Cycle<'a>, labels: Vec<Arc<str>>) -> Self {
        let pod = cycle.pod;
        let selected = |label: &Arc<str>| {
            let requirement = pod.spec.node_selector.requirements.iter().find(|requirement| requirement.key == *label)?;
            requirement.values.first().cloned()
        };
        let own = labels.iter().map(selected).collect();
        let mut services = cycle.state.listers().services.in_namespace(&pod.namespace);
        let has_service = services.any(|(_, service)| service.selector.as_ref().is_some_and(|selector| selector.matches(&pod.labels)));
        let mut this = Self { cycle, labels, own, has_service, siblings: HashMap::new(), sibling_nodes: Vec::new(), astray: None };
        let groups = cycle.state.groups_in(&pod.namespace).filter(|group| carries(&group.labels, &pod.labels));
        let mut nodes: Vec<NodeId> = groups.flat_map(|group| group.nodes.keys().copied()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        for id in nodes {
            let node = cycle.state.node_by_id(id);
            if node.exists {
                *this.siblings.entry(this.values(node)).or_insert(0) += 1;
                this.sibling_nodes.push(id);
            } else {
                this.astray = Some(node.name.clone());
            }
        }
        this
    }

    /// Judges one node: the labels missing in the pod's nodeSelector are taken from the node of the first sibling in the scheduler's list, whose
    /// order is random; where siblings differ in what follows for this node the answer is unknown.
    pub(super) fn filter(&self, candidate: &Candidate) -> Result<Vec<Reason>, Verdict> {
        let answer = |fits: bool| Ok(if fits { Vec::new() } else { vec![Reason::ServiceAffinityViolated] });
        let complete = self.own.iter().all(Option::is_some);
        let examples = if complete || !self.has_service { Vec::new() } else { self.examples(candidate) };
        if let Some(node) = self.astray.as_ref().filter(|_| !complete && self.has_service) {
            return if examples.is_empty() { Err(Verdict::Error(format!("node \"{node}\" not found"))) } else { Err(unknown()) };
        }
        if examples.is_empty() {
            return answer(self.fits(candidate, &vec![None; self.labels.len()]));
        }
        let mut answers = examples.iter().map(|example| self.fits(candidate, example));
        let first = answers.next().unwrap_or(true);
        if answers.all(|other| other == first) { answer(first) } else { Err(unknown()) }
    }

    /// Each label: what is wanted, by the pod's nodeSelector or as the nodes of its Service's pods have it, and what the node has.
    pub(super) fn compared(&self, node: &Candidate) -> Vec<Fact> {
        let examples = if self.has_service { self.examples(node) } else { Vec::new() };
        let of_label = |(at, key): (usize, &Arc<str>)| {
            let (key, value) = (key.clone(), node.labels.shared(key).cloned());
            match self.own[at].clone() {
                Some(wanted) => Fact::new(value.as_ref() == Some(&wanted), LabelCheck::ServiceSelected { key, wanted, value }),
                None => {
                    let mut wanted: Vec<Arc<str>> = examples.iter().filter_map(|example| example[at].clone()).collect();
                    wanted.sort_unstable();
                    wanted.dedup();
                    let holds = wanted.is_empty() || value.as_ref().is_some_and(|value| wanted.contains(value));
                    Fact::new(holds, LabelCheck::ServiceNodes { key, wanted, value })
                }
            }
        };
        self.labels.iter().enumerate().map(of_label).collect()
    }

    /// The labels by which the node would be like those of the Service's other pods, as far as these are alike.
    pub(super) fn wanted(&self, node: &Candidate) -> Vec<(Arc<str>, Option<Arc<str>>)> {
        let examples = if self.has_service { self.examples(node) } else { Vec::new() };
        let of_label = |(at, label): (usize, &Arc<str>)| {
            let mut values: Vec<&Arc<str>> = match &self.own[at] {
                Some(own) => vec![own],
                None => examples.iter().filter_map(|example| example[at].as_ref()).collect(),
            };
            values.dedup();
            let [wanted] = values[..] else { return None };
            (node.labels.get(label) != Some(wanted)).then(|| (label.clone(), Some(wanted.clone())))
        };
        self.labels.iter().enumerate().filter_map(of_label).collect()
    }

    fn values(&self, node: &NodeInfo) -> Values {
        self.labels.iter().map(|label| node.labels.shared(label).cloned()).collect()
    }

    /// The values that siblings' nodes have, with the node under test as it stands in the simulation.
    fn examples(&self, candidate: &Candidate) -> Vec<Values> {
        let here = self.values(candidate.node);
        let counted_here = usize::from(self.sibling_nodes.binary_search(&candidate.id).is_ok());
        let others = self.siblings.iter().filter(|(values, count)| **count > if **values == here { counted_here } else { 0 });
        let mut examples: Vec<Values> = others.map(|(values, _)| values.clone()).collect();
        let sibling =
            |pod: &Arc<crate::cluster::PodInfo>| pod.namespace == self.cycle.pod.namespace && carries(&pod.labels, &self.cycle.pod.labels);
        if candidate.pods.iter().any(sibling) && !examples.contains(&here) {
            examples.push(here);
        }
        examples
    }

    fn fits(&self, candidate: &Candidate, example: &Values) -> bool {
        self.labels.iter().zip(&self.own).zip(example).all(|((label, own), example)| {
            let wanted = own.as_ref().or(example.as_ref());
            wanted.is_none_or(|wanted| candidate.labels.get(label) == Some(wanted))
        })
    }
}

fn unknown() -> Verdict {
    Verdict::Unknown { missing: ORDER_REASON.into() }
}

fn carries(labels: &Labels, wanted: &Labels) -> bool {
    wanted.iter().all(|(key, value)| labels.shared(key) == Some(value))
}

/// CheckServiceAffinity as a prepared predicate.
pub(super) fn check_service_affinity<'a>(cycle: &'a Cycle<'a>, labels: Vec<Arc<str>>) -> PreparedPredicate<'a> {
    let affinity = ServiceAffinity::new(cycle, labels);
    Box::new(move |candidate| affinity.filter(candidate))
}
