//! The actions of a what-if, as they are written.

use std::fmt;

use ketcd_cluster::{Error, Result};
use serde_json::{Value, json};

/// Something that is done to the cluster.
#[derive(Clone, Debug, PartialEq)]
pub enum WhatIfAction {
    /// Cordon a node and evict its pods.
    Drain(String),
    /// A node, or all nodes with a label, do not answer any more.
    Fail(NodeChoice),
    /// Cordon a node.
    Cordon(String),
    /// Take a node's cordon off.
    Uncordon(String),
    /// Taint a node, or take a taint off.
    Taint {
        /// The node.
        node: String,
        /// The taint; without an effect every one of its key is taken off.
        taint: Value,
        /// Whether it is taken off.
        is_removed: bool,
    },
    /// Set a node's label, or remove it.
    Label {
        /// The node.
        node: String,
        /// The label.
        key: String,
        /// Its value; `None` removes it.
        value: Option<String>,
    },
    /// Add so many nodes like one that is there.
    AddLike {
        /// How many.
        count: usize,
        /// The node.
        node: String,
    },
    /// Add the nodes of a file.
    AddNodes(Vec<Value>),
    /// Delete an object.
    Delete(String),
    /// Set how many replicas a workload has.
    Scale {
        /// The workload.
        address: String,
        /// How many.
        replicas: i64,
    },
    /// Restart a workload, by its strategy.
    Restart(String),
    /// Write objects, as the API server would admit them.
    Apply(Vec<Value>),
}

/// One node, or all nodes with a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeChoice {
    /// The node of that name.
    Named(String),
    /// The nodes whose label has that value.
    Labelled(String, String),
}

impl fmt::Display for NodeChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::Labelled(key, value) => write!(f, "{key}={value}"),
        }
    }
}

impl NodeChoice {
    /// Reads `NODE` or `LABEL=VALUE`.
    pub fn parse(text: &str) -> Self {
        match text.split_once('=') {
            Some((key, value)) => Self::Labelled(key.to_owned(), value.to_owned()),
            None => Self::Named(text.to_owned()),
        }
    }
}

impl WhatIfAction {
    /// Reads `NODE=KEY[=VALUE]:EFFECT`, or `NODE=KEY[:EFFECT]-`, as kubectl taints.
    ///
    /// # Errors
    /// The text is not of that form.
    pub fn taint(text: &str) -> Result<Self> {
        let invalid = || Error::invalid(format!("invalid --taint {text:?}: expected NODE=KEY[=VALUE]:EFFECT or NODE=KEY[:EFFECT]-"));
        let (node, rest) = text.split_once('=').ok_or_else(invalid)?;
        let (rest, is_removed) = rest.strip_suffix('-').map_or((rest, false), |rest| (rest, true));
        let (pair, effect) = rest.split_once(':').map_or((rest, None), |(pair, effect)| (pair, Some(effect)));
        let (key, value) = pair.split_once('=').map_or((pair, None), |(key, value)| (key, Some(value)));
        let is_effect = effect.is_some_and(|effect| ["NoSchedule", "PreferNoSchedule", "NoExecute"].contains(&effect));
        if node.is_empty() || key.is_empty() || !(is_effect || is_removed && effect.is_none()) {
            return Err(invalid());
        }
        let mut taint = json!({"key": key});
        for (field, text) in [("value", value), ("effect", effect)] {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                taint[field] = json!(text);
            }
        }
        Ok(Self::Taint { node: node.to_owned(), taint, is_removed })
    }

    /// Reads `NODE:KEY=VALUE` or `NODE:KEY-`.
    ///
    /// # Errors
    /// The text is not of that form.
    pub fn label(text: &str) -> Result<Self> {
        let invalid = || Error::invalid(format!("invalid --label {text:?}: expected NODE:KEY=VALUE or NODE:KEY-"));
        let (node, rest) = text.split_once(':').ok_or_else(invalid)?;
        let (key, value) = match rest.split_once('=') {
            Some((key, value)) => (key, Some(value.to_owned())),
            None => (rest.strip_suffix('-').ok_or_else(invalid)?, None),
        };
        if node.is_empty() || !ketcd_kube::is_label_key(key) {
            return Err(invalid());
        }
        Ok(Self::Label { node: node.to_owned(), key: key.to_owned(), value })
    }

    /// Reads `N*NODE`, or `NODE=N`, which no shell takes for a pattern; `None` where the text is something else, so that it names a file.
    pub fn add_like(text: &str) -> Option<Self> {
        let (count, node) = text.split_once('*').or_else(|| text.split_once('=').map(|(node, count)| (count, node)))?;
        Some(Self::AddLike { count: count.parse().ok().filter(|count| *count > 0)?, node: node.to_owned() })
    }

    /// Reads `ADDRESS=N`.
    ///
    /// # Errors
    /// The text is not of that form.
    pub fn scale(text: &str) -> Result<Self> {
        let invalid = || Error::invalid(format!("invalid --scale {text:?}: expected ADDRESS=N, N up to 1000000"));
        let (address, replicas) = text.rsplit_once('=').ok_or_else(invalid)?;
        let replicas = replicas.parse().ok().filter(|replicas| (0..=1_000_000).contains(replicas)).ok_or_else(invalid)?;
        Ok(Self::Scale { address: address.to_owned(), replicas })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taints_are_read_as_kubectl_writes_them() {
        let read = |text: &str| match WhatIfAction::taint(text) {
            Ok(WhatIfAction::Taint { node, taint, is_removed }) => Some((node, taint, is_removed)),
            _ => None,
        };
        assert_eq!(read("n=k:NoSchedule"), Some(("n".into(), json!({"key": "k", "effect": "NoSchedule"}), false)));
        assert_eq!(read("n=a/k=v:NoExecute"), Some(("n".into(), json!({"key": "a/k", "value": "v", "effect": "NoExecute"}), false)));
        assert_eq!(read("n=k-"), Some(("n".into(), json!({"key": "k"}), true)));
        assert_eq!(read("n=k:NoSchedule-"), Some(("n".into(), json!({"key": "k", "effect": "NoSchedule"}), true)));
        for wrong in ["n", "n=k", "n=k:Never", "=k:NoSchedule", "n=:NoSchedule"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn labels_numbers_and_nodes() {
        assert_eq!(WhatIfAction::label("n:disk-").ok(), Some(WhatIfAction::Label { node: "n".into(), key: "disk".into(), value: None }));
        let zone = WhatIfAction::Label { node: "n".into(), key: "a/zone".into(), value: Some("b".into()) };
        assert_eq!(WhatIfAction::label("n:a/zone=b").ok(), Some(zone));
        assert!(WhatIfAction::label("n:disk").is_err() && WhatIfAction::label("disk=b").is_err());
        assert_eq!(WhatIfAction::add_like("3*n1"), Some(WhatIfAction::AddLike { count: 3, node: "n1".into() }));
        assert_eq!(WhatIfAction::add_like("n1=3"), WhatIfAction::add_like("3*n1"));
        assert!(["node.yaml", "n1=", "n1=x", "n1=0", "3xn1"].iter().all(|text| WhatIfAction::add_like(text).is_none()));
        assert_eq!(WhatIfAction::scale("deploy/a/b=3").ok(), Some(WhatIfAction::Scale { address: "deploy/a/b".into(), replicas: 3 }));
        assert!(WhatIfAction::scale("deploy/a/b").is_err() && WhatIfAction::scale("deploy/a/b=-1").is_err());
        assert_eq!(NodeChoice::parse("zone=a"), NodeChoice::Labelled("zone".into(), "a".into()));
    }
}
