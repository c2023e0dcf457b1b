//! The fields of a Node that some plugin reads, borrowed from the bytes of the node: every node is written again and again.

use serde::Deserialize;

use crate::cluster::pod::fields::{ConditionFields, MetadataFields};
use crate::cluster::{Pairs, Text};

/// A Node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeFields<'a> {
    /// `kind`; empty where it is not said.
    #[serde(borrow)]
    pub kind: Text<'a>,
    /// `metadata`.
    #[serde(borrow)]
    pub metadata: Option<MetadataFields<'a>>,
    /// `spec`.
    #[serde(borrow)]
    pub spec: Option<NodeSpecFields<'a>>,
    /// `status`.
    #[serde(borrow)]
    pub status: Option<NodeStatusFields<'a>>,
}

/// A Node's `spec`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields' own names")]
pub struct NodeSpecFields<'a> {
    #[serde(borrow)]
    pub taints: Option<Vec<TaintFields<'a>>>,
    pub unschedulable: Option<bool>,
}

/// A taint.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields' own names")]
pub struct TaintFields<'a> {
    #[serde(borrow)]
    pub effect: Option<Text<'a>>,
    #[serde(borrow)]
    pub key: Option<Text<'a>>,
    #[serde(borrow)]
    pub value: Option<Text<'a>>,
}

/// A Node's `status`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields' own names")]
pub struct NodeStatusFields<'a> {
    #[serde(borrow)]
    pub allocatable: Option<Pairs<'a>>,
    #[serde(borrow)]
    pub conditions: Option<Vec<ConditionFields<'a>>>,
    #[serde(borrow)]
    pub declared_features: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    pub images: Option<Vec<ImageFields<'a>>>,
    #[serde(borrow)]
    pub node_info: Option<NodeInfoFields<'a>>,
}

/// An image that a node holds.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields' own names")]
pub struct ImageFields<'a> {
    #[serde(borrow)]
    pub names: Option<Vec<Text<'a>>>,
    pub size_bytes: Option<i64>,
}

/// A Node's `status.nodeInfo`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields' own names")]
pub struct NodeInfoFields<'a> {
    #[serde(borrow)]
    pub kubelet_version: Option<Text<'a>>,
}
