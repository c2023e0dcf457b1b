//! The fields of a Node that some plugin reads, borrowed from the stored bytes: nodes are written very often.

use serde::Deserialize;

use crate::cluster::pod::fields::{ConditionFields, MetadataFields};
use crate::cluster::raw_object::is_of_kind;
use crate::cluster::{Pairs, RawObject, Text};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeFields<'a> {
    /// `kind`; empty where it is absent.
    #[serde(borrow)]
    pub(crate) kind: Text<'a>,
    /// `metadata`.
    #[serde(borrow)]
    pub(crate) metadata: Option<MetadataFields<'a>>,
    /// `spec`.
    #[serde(borrow)]
    pub(crate) spec: Option<NodeSpecFields<'a>>,
    /// `status`.
    #[serde(borrow)]
    pub(crate) status: Option<NodeStatusFields<'a>>,
}

/// A Node's `spec`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeSpecFields<'a> {
    #[serde(borrow)]
    pub(crate) taints: Option<Vec<TaintFields<'a>>>,
    pub(crate) unschedulable: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TaintFields<'a> {
    #[serde(borrow)]
    pub(crate) effect: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) key: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) value: Option<Text<'a>>,
}

/// A Node's `status`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeStatusFields<'a> {
    #[serde(borrow)]
    pub(crate) allocatable: Option<Pairs<'a>>,
    #[serde(borrow)]
    pub(crate) conditions: Option<Vec<ConditionFields<'a>>>,
    #[serde(borrow)]
    pub(crate) declared_features: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    pub(crate) images: Option<Vec<ImageFields<'a>>>,
    #[serde(borrow)]
    pub(crate) node_info: Option<NodeInfoFields<'a>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ImageFields<'a> {
    #[serde(borrow)]
    pub(crate) names: Option<Vec<Text<'a>>>,
    pub(crate) size_bytes: Option<i64>,
}

/// A Node's `status.nodeInfo`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeInfoFields<'a> {
    #[serde(borrow)]
    pub(crate) kubelet_version: Option<Text<'a>>,
}

/// Reads a node.
///
/// # Errors
/// Why it cannot be read.
pub(in crate::cluster) fn parse_node(raw: RawObject<'_>) -> Result<NodeFields<'_>, String> {
    let node: NodeFields<'_> = raw.fields()?;
    is_of_kind("Node", &node.kind).map(|()| node)
}
