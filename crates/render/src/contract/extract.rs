//! The JSON of `extract`.

use std::borrow::Cow;

use json_patch::Patch;
use schemars::JsonSchema;
use serde::Serialize;

use ketcd_restore::ObjectId;
use ketcd_restore::obstacles;

use super::change::ChangeType;
use super::common::{KubernetesObject, PatchOperation};
use super::listing::List;

/// What `extract` prints.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Extract<'a> {
    /// `-o json`: a list of manifests, in the order in which they are to be applied.
    List(List<'a>),
    /// Each line of `-o ndjson`: a manifest.
    Object(KubernetesObject<'a>),
    /// `--against -o json`: what an apply would do.
    Plan(Plan<'a>),
}

/// What applying the manifests would change, and what would prevent it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Plan<'a> {
    /// `Plan`.
    #[schemars(extend("const" = "Plan"))]
    pub kind: &'static str,
    /// Objects that it would make or change, in the order of the apply.
    pub changes: Vec<PlannedChange<'a>>,
    /// What stands in the way.
    pub obstacles: Vec<Obstacle<'a>>,
    /// How many objects it would leave as they are.
    pub unchanged: usize,
}

/// An object that an apply would make or change.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlannedChange<'a> {
    /// `ADDED` or `MODIFIED`.
    #[serde(rename = "type")]
    pub kind: ChangeType,
    /// The object's address, such as `deployment.apps/web/tomcat`.
    pub address: Cow<'a, str>,
    /// The object's kind, such as `Deployment`.
    #[serde(rename = "kind")]
    pub object_kind: &'a str,
    /// The object's namespace; empty where the kind has none.
    pub namespace: &'a str,
    /// The object's name.
    pub name: &'a str,
    /// The object as it would be.
    pub object: Option<KubernetesObject<'a>>,
    /// A JSON Patch (RFC 6902) from the object as it is; null where it is new.
    #[schemars(with = "Option<Vec<PatchOperation>>")]
    pub patch: Option<Patch>,
}

/// What would prevent an apply.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Obstacle<'a> {
    /// What it does.
    pub effect: Effect,
    /// What it is. For people: the words are not part of the contract.
    pub message: String,
    /// The manifests that it is about.
    pub objects: Vec<PlanObject<'a>>,
    /// The other object: the one that is missing, has the port or the address, or sets the limit; null if there is none.
    pub other: Option<PlanObject<'a>>,
    /// What it is.
    pub problem: Problem,
}

/// An object of a plan.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlanObject<'a> {
    /// The API group; empty for the core group.
    pub group: &'a str,
    /// The kind, such as `Deployment`.
    pub kind: &'a str,
    /// The namespace; empty where the kind has none.
    pub namespace: &'a str,
    /// The name.
    pub name: &'a str,
}

impl<'a> From<&'a ObjectId> for PlanObject<'a> {
    fn from(id: &'a ObjectId) -> Self {
        Self { group: &id.group, kind: &id.kind, namespace: id.namespace.as_deref().unwrap_or_default(), name: &id.name }
    }
}

/// What an obstacle does.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub enum Effect {
    /// The API server refuses the objects.
    Refused,
    /// A webhook, a policy or a limit may refuse them.
    MayBeRefused,
    /// They are taken, and do not do what they should.
    Waits,
}

/// The sort of an obstacle.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub enum Problem {
    /// The kind is not served in this version.
    NotServed,
    /// The namespace is not there.
    NamespaceMissing,
    /// The namespace is being deleted.
    NamespaceTerminating,
    /// Fields would change that may not.
    Immutable,
    /// What a Pod needs to be admitted is not there.
    Needed,
    /// Another Service has the node port.
    NodePortTaken,
    /// Another Service has the address.
    ClusterIpTaken,
    /// A ResourceQuota would be exceeded.
    QuotaExceeded,
    /// A webhook that must answer has no Service.
    WebhookUnreachable,
    /// A webhook is asked.
    Webhook,
    /// An admission policy is evaluated.
    Policy,
    /// A LimitRange is held against it.
    LimitRange,
    /// The object is being deleted.
    Terminating,
    /// The volume is reserved for a claim that is gone.
    VolumeReserved,
    /// What pods use is not there.
    Missing,
}

mirrored!(obstacles::Effect => Effect: Refused, MayBeRefused, Waits);

impl From<&obstacles::ApplyObstacle> for Problem {
    fn from(problem: &obstacles::ApplyObstacle) -> Self {
        use obstacles::ApplyObstacle as Of;
        match problem {
            Of::NotServed { .. } => Self::NotServed,
            Of::NamespaceMissing { .. } => Self::NamespaceMissing,
            Of::NamespaceTerminating { .. } => Self::NamespaceTerminating,
            Of::Immutable { .. } => Self::Immutable,
            Of::Needed { .. } => Self::Needed,
            Of::NodePortTaken { .. } => Self::NodePortTaken,
            Of::ClusterIpTaken { .. } => Self::ClusterIpTaken,
            Of::QuotaExceeded { .. } => Self::QuotaExceeded,
            Of::WebhookUnreachable { .. } => Self::WebhookUnreachable,
            Of::Webhook { .. } => Self::Webhook,
            Of::Policy { .. } => Self::Policy,
            Of::LimitRange { .. } => Self::LimitRange,
            Of::Terminating => Self::Terminating,
            Of::VolumeReserved { .. } => Self::VolumeReserved,
            Of::Missing { .. } => Self::Missing,
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        }
    }
}
