//! All objects at one revision, as a scheduler sees them: compiled once, indexed, changed key by key.

mod cached_object;
mod census;
pub mod device;
mod labels;
mod listers;
mod node;
mod pod;
mod prefetch;
mod raw_object;
mod resource;
mod selector;
mod state;
mod text;
pub mod unreadable;
mod volume;
mod watched_kind;

pub use cached_object::CachedObject;
pub use census::Census;
pub use device::additions::{
    Claim, DerivedAttribute, DeviceAdditions, NodeAllocatableResource, RequestAdditions, ResultAdditions, Slice, With,
};
pub use device::device_taint_rule::DeviceTaintRule;
pub use device::node_allocatable_claim::NodeAllocatableClaim;
pub use labels::{Interner, Labels};
pub use listers::{Lister, Listers, Owner};
pub use node::fields::NodeFields;
pub use node::images::ImageState;
pub use node::info::{Condition, Node, NodeId, NodeInfo, Taint, host_ports};
pub use pod::affinity::{AffinityTerm, NamespaceSelectors, PodAffinity};
pub use pod::fields::PodFields;
pub use pod::index::{LabelGroup, NodeCounts, TermKind, WeightedTerm};
pub use pod::info::{ClaimStatus, PodInfo, PodKey, ScheduledCondition};
pub use pod::pod_group::{GroupPolicy, PodGroup, PodGroupSpec, Workload};
pub use pod::request_rules::{RequestRules, is_pod_level};
pub use pod::requests::{ContainerRequests, PodRequests, PodResource};
pub use pod::spec::{ControllerRef, HostPort, NodeAffinity, PodSpec, SpreadConstraint, Toleration, WhenUnsatisfiable};
pub use prefetch::prefetch;
pub use raw_object::{ParseError, ParsedObject, RawObject};
pub use resource::amount::Amount;
pub use resource::list::ResourceList;
pub use resource::resources::{Resources, is_extended};
pub use selector::{NodeSelectorTerm, Operator, Requirement, Selector};
pub use state::{ClusterState, ObjectChange};
pub use text::{Pairs, Text};
pub use unreadable::{Problem, Unreadable};
pub use volume::pod_volume::{PodVolume, VolumeSource};
pub use watched_kind::{ObjectKey, WatchedKind};
