//! What filters check on a node's labels: node selectors, node affinity, topology keys, the labels of a Service's nodes.

use std::sync::Arc;

use crate::cluster::{Labels, Requirement};

/// A check on the node's labels.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum LabelCheck {
    /// A requirement on one label.
    Wanted(WantedLabel),
    /// The pod requires no labels.
    NoneWanted,
    /// The node lacks the label that it would be counted by (a topology key).
    Missing {
        /// The label's key.
        key: Arc<str>,
    },
    /// Part of a term of the required node affinity.
    Term {
        /// Whether the term is of `addedAffinity` in the scheduler's configuration, and not the pod's own.
        added: bool,
        /// Its number, from 1.
        number: usize,
        /// How many terms there are.
        terms: usize,
        /// What the term checks.
        check: TermCheck,
    },
    /// The required node affinity has no terms, so it matches no node.
    NoTerms {
        /// Whether it is `addedAffinity` of the scheduler's configuration.
        added: bool,
    },
    /// A label of CheckServiceAffinity that the pod's nodeSelector decides.
    ServiceSelected {
        /// The label's key.
        key: Arc<str>,
        /// The nodeSelector's value.
        wanted: Arc<str>,
        /// The node's value.
        value: Option<Arc<str>>,
    },
    /// A label of CheckServiceAffinity that the nodes of the Service's pods decide.
    ServiceNodes {
        /// The label's key.
        key: Arc<str>,
        /// The values those nodes have.
        wanted: Vec<Arc<str>>,
        /// The node's value.
        value: Option<Arc<str>>,
    },
}

/// A requirement on a label, and the node's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedLabel {
    /// The requirement.
    pub wanted: Requirement,
    /// The node's value.
    pub value: Option<Arc<str>>,
}

impl WantedLabel {
    pub(crate) fn of(wanted: Requirement, labels: &Labels) -> Self {
        let value = labels.shared(&wanted.key).cloned();
        Self { wanted, value }
    }

    /// Whether the node's value satisfies the requirement.
    pub fn holds(&self) -> bool {
        self.wanted.matches(self.value.as_deref())
    }
}

/// What a term of node affinity checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TermCheck {
    /// A requirement on a label (`matchExpressions`).
    Label(WantedLabel),
    /// A requirement on the node's name (`matchFields`).
    Name {
        /// The requirement.
        wanted: Requirement,
        /// The node's name.
        name: Arc<str>,
    },
    /// The term does not parse, for this reason.
    Unparsed(Arc<str>),
    /// The term is empty, so it matches no node.
    Empty,
}

impl TermCheck {
    /// Whether the node satisfies it.
    pub fn holds(&self) -> bool {
        match self {
            Self::Label(label) => label.holds(),
            Self::Name { wanted, name } => wanted.matches(Some(name)),
            Self::Unparsed(_) | Self::Empty => false,
        }
    }
}
