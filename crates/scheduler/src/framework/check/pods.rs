//! What filters check about other pods: affinity, anti-affinity, spread, nominations.

use std::sync::Arc;

use crate::cluster::{PodKey, Requirement};

/// A check on other pods.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum PodCheck {
    /// Pods nominated to the node, which are counted as if they ran there.
    Nominated(Vec<PodKey>),
    /// A term of the pod's required affinity.
    Affinity {
        /// The pods it selects.
        selected: SelectedPods,
        /// Where it looks for them.
        domain: TopologyDomain,
        /// The pods found, by name.
        found: Vec<FoundPod>,
    },
    /// No pod matches the pod's required affinity, but the pod itself does.
    FirstOfItsKind,
    /// A term of the pod's required anti-affinity, or all of them where one pod must match all (up to 1.11).
    AntiAffinity {
        /// The pods each term selects.
        selected: Vec<SelectedPods>,
        /// Where they are looked for.
        domain: TopologyDomain,
        /// The pods found, by name.
        found: Vec<FoundPod>,
    },
    /// The node lacks the topology key of a term of anti-affinity, so no pod is in a domain with it.
    OutsideTopology {
        /// The key.
        key: Arc<str>,
    },
    /// Pods whose own required anti-affinity selects this pod.
    ExistingAntiAffinity {
        /// Where they are.
        domain: TopologyDomain,
        /// The pods, by name.
        found: Vec<FoundPod>,
    },
    /// There are none in any of the node's domains.
    NoExistingAntiAffinity,
    /// A topology spread constraint with `DoNotSchedule`.
    Spread(SpreadCheck),
    /// The pod has none.
    NoSpreadConstraints,
}

/// A pod that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPod {
    /// The pod.
    pub pod: PodKey,
    /// Its node, if that is not the node checked.
    pub node: Option<Arc<str>>,
}

/// The pods a term of pod affinity selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectedPods {
    /// The requirements of its `labelSelector`, all of which must hold; `None`: it has no selector and selects nothing.
    pub labels: Option<Vec<Requirement>>,
    /// The namespaces it searches.
    pub namespaces: SelectedNamespaces,
}

/// The namespaces that a term of pod affinity searches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectedNamespaces {
    /// The pod's own.
    Own,
    /// Those listed.
    Listed(Vec<Arc<str>>),
    /// Those its `namespaceSelector` selects, and those listed.
    BySelector,
}

/// Where pods are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopologyDomain {
    /// On the nodes that share a label with the node, which are several.
    Label {
        /// The topology key.
        key: Arc<str>,
        /// The node's value.
        value: Arc<str>,
    },
    /// On the node, which is alone in its domain.
    Node,
    /// On the nodes that are in the node's domain of every term.
    EveryTerm,
    /// On nodes that no longer exist.
    AbsentNodes,
}

/// What a spread constraint compares on a node that has its label.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpreadCheck {
    /// The topology key.
    pub key: Arc<str>,
    /// The node's value.
    pub value: Arc<str>,
    /// Matching pods in the node's domain.
    pub count: i64,
    /// 1 where the pod itself matches, else 0.
    pub own: i64,
    /// Matching pods in the emptiest domain; 0 while there are fewer domains than minDomains.
    pub least: i64,
    /// How much more than the least there may be.
    pub max_skew: i64,
    /// Whether there are fewer domains than minDomains.
    pub few: bool,
    /// How many domains there should be.
    pub min_domains: i64,
    /// Every domain with its count, the emptiest first; only if requested.
    pub domains: Vec<(Arc<str>, i64)>,
}

impl SpreadCheck {
    /// How many more than the emptiest domain the node's would hold with the pod.
    pub fn skew(&self) -> i64 {
        self.count + self.own - self.least
    }

    /// Whether the node's domain would hold too many.
    pub(crate) fn is_skewed(&self) -> bool {
        self.skew() > self.max_skew
    }
}
