//! All objects at one revision, as a scheduler sees them: compiled once, indexed, changed key by key.

mod affinity;
mod census;
mod encoded;
mod images;
mod index;
mod labels;
mod listers;
mod node_info;
mod pod_info;
mod pod_spec;
mod quantity;
mod requests;
mod resources;
mod selector;
mod state;
mod volumes;

pub use affinity::{AffinityTerm, PodAffinity};
pub use census::Census;
pub use encoded::Encoded;
pub use images::ImageState;
pub use index::{LabelGroup, NodeCounts, TermKind, WeightedTerm};
pub use labels::{Interner, Labels};
pub use listers::{Lister, Listers, Owner};
pub use node_info::{Condition, Node, NodeId, NodeInfo, Taint};
pub use pod_info::{ClaimStatus, PodInfo, PodKey, ScheduledCondition};
pub use pod_spec::{ControllerRef, HostPort, NodeAffinity, PodSpec, SpreadConstraint, Toleration, WhenUnsatisfiable};
pub use quantity::Amount;
pub use requests::{ContainerRequests, PodRequests, RequestRules, ResourceList};
pub use resources::{Resources, is_extended};
pub use selector::{NodeSelectorTerm, Operator, Requirement, Selector};
pub use state::{Change, ClusterState, ObjectKey, Problem, Stored, Watched};
pub use volumes::{PodVolume, VolumeSource};
