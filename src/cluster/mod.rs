//! All objects at one revision, as a scheduler sees them: compiled once, indexed, changed key by key.

mod affinity;
mod ahead;
mod alpha;
mod census;
mod device_additions;
mod device_versions;
pub mod driver_devices;
mod encoded;
mod images;
mod index;
mod labels;
mod listers;
mod node_fields;
mod node_info;
mod pod_fields;
mod pod_info;
mod pod_spec;
mod quantity;
mod request_rules;
mod requests;
mod resize;
mod resource_list;
mod resources;
mod selector;
mod state;
mod stored;
mod text;
mod volumes;

pub use affinity::{AffinityTerm, NamespaceSelectors, PodAffinity};
pub use ahead::read_ahead;
pub use alpha::{DeviceTaintRule, GroupPolicy, PodGroup, PodGroupSpec, Workload};
pub use census::Census;
pub use device_additions::{
    Claim, DerivedAttribute, DeviceAdditions, NodeAllocatableMapping, NodeAllocatableOverhead, RequestAdditions, ResultAdditions, Slice,
    With,
};
pub use encoded::{Encoded, Read};
pub use images::ImageState;
pub use index::{LabelGroup, NodeCounts, TermKind, WeightedTerm};
pub use labels::{Interner, Labels};
pub use listers::{Lister, Listers, Owner};
pub use node_fields::NodeFields;
pub use node_info::{Condition, Node, NodeId, NodeInfo, Taint, host_ports};
pub use pod_fields::PodFields;
pub use pod_info::{ClaimStatus, PodInfo, PodKey, ScheduledCondition};
pub use pod_spec::{ControllerRef, HostPort, NodeAffinity, PodSpec, SpreadConstraint, Toleration, WhenUnsatisfiable};
pub use quantity::Amount;
pub use request_rules::RequestRules;
pub use requests::{ContainerRequests, PodRequests, Taken};
pub use resource_list::ResourceList;
pub use resources::{Resources, is_extended};
pub use selector::{NodeSelectorTerm, Operator, Requirement, Selector};
pub use state::{Change, ClusterState, Problem};
pub use stored::{ObjectKey, Stored, Watched};
pub use text::{Pairs, Text};
pub use volumes::{PodVolume, VolumeSource};
