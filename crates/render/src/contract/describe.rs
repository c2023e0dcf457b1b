//! The JSON of `describe`.

use json_patch::Patch;
use schemars::JsonSchema;
use serde::Serialize;

use super::change::ChangeType;
use super::common::{ActorFrom, KubernetesObject, PatchOperation, Time};

/// What `describe` prints.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Descriptions<'a> {
    /// `describe` of one object, and each line of `-o ndjson`: an object with what belongs to it.
    Description(Description<'a>),
    /// `describe` of several objects.
    List(DescriptionList<'a>),
}

/// Descriptions, in the order of the objects asked for.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DescriptionList<'a> {
    /// The descriptions.
    pub items: Vec<Description<'a>>,
    /// `List`.
    #[schemars(extend("const" = "List"))]
    pub kind: &'static str,
}

/// An object with its owners, its Events and its last changes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Description<'a> {
    /// Its last changes, oldest first.
    pub changes: Vec<LastChange>,
    /// The Kubernetes Events about it that are stored, oldest first.
    pub events: Vec<KubernetesObject<'a>>,
    /// Whether the object had versions before `changes`; they may not be readable any more.
    pub has_earlier_changes: bool,
    /// The object.
    pub object: KubernetesObject<'a>,
    /// Its owners, the nearest first: each object's controller or, where it has none, its first owner.
    pub owners: Vec<OwnerReference<'a>>,
    /// The pods that are bound to a node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<NodePods>,
}

/// The pods of a node that have not ended.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct NodePods {
    /// How many there are.
    pub count: usize,
    /// What they request together, by resource, as quantities. Requests of init containers and overhead are not counted.
    pub requests: std::collections::BTreeMap<String, String>,
}

impl From<&ketcd_cluster::describe::NodePods> for NodePods {
    fn from(pods: &ketcd_cluster::describe::NodePods) -> Self {
        Self { count: pods.count, requests: pods.requests.clone() }
    }
}

/// An owner, as an ownerReference names it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OwnerReference<'a> {
    /// Its API version.
    pub api_version: &'a str,
    /// Whether an object of that uid is stored under its name.
    pub found: bool,
    /// Its kind.
    pub kind: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its namespace; empty where its kind has none, null where its kind is not known.
    pub namespace: Option<&'a str>,
    /// Its uid.
    pub uid: &'a str,
}

/// A change of the object described.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastChange {
    /// Who made it; null where the data does not show it.
    pub by: Option<String>,
    /// How that is known; null where the data does not show who made it.
    pub by_from: Option<ActorFrom>,
    /// A JSON Patch (RFC 6902) from the version before to this one; null for `ADDED`, and where either version is not readable.
    #[schemars(with = "Option<Vec<PatchOperation>>")]
    pub patch: Option<Patch>,
    /// The revision that made it.
    pub revision: i64,
    /// When it was made, as `history` dates it; null where nothing dates it.
    pub time: Option<Time>,
    /// How far `time` may be off, in seconds; null where it is.
    pub time_error_seconds: Option<f64>,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: ChangeType,
}
