//! What filters check on a node, as data: by subject, an enum each. `render` has the words.

mod devices;
mod labels;
mod node;
mod pods;
mod resources;
mod volumes;

use std::borrow::Cow;

pub use devices::{AllocatedDevice, ClassRequest, DeviceCheck};
pub use labels::{LabelCheck, TermCheck, WantedLabel};
pub use node::NodeCheck;
pub use pods::{FoundPod, PodCheck, SelectedNamespaces, SelectedPods, SpreadCheck, TopologyDomain};
pub use resources::ResourceCheck;
pub use volumes::{CountedVolume, VolumeCheck};

/// What a filter checked. Where a variant does not say what the check found, the fact's `holds` does.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum FilterCheck {
    /// The node itself.
    Node(NodeCheck),
    /// Its labels.
    Labels(LabelCheck),
    /// Its resources.
    Resources(ResourceCheck),
    /// Other pods.
    Pods(PodCheck),
    /// Volumes and their claims.
    Volumes(VolumeCheck),
    /// Devices and their claims.
    Devices(DeviceCheck),
    /// Upstream's own reasons.
    Upstream(Vec<Cow<'static, str>>),
}

impl From<NodeCheck> for FilterCheck {
    fn from(check: NodeCheck) -> Self {
        Self::Node(check)
    }
}

impl From<LabelCheck> for FilterCheck {
    fn from(check: LabelCheck) -> Self {
        Self::Labels(check)
    }
}

impl From<ResourceCheck> for FilterCheck {
    fn from(check: ResourceCheck) -> Self {
        Self::Resources(check)
    }
}

impl From<PodCheck> for FilterCheck {
    fn from(check: PodCheck) -> Self {
        Self::Pods(check)
    }
}

impl From<VolumeCheck> for FilterCheck {
    fn from(check: VolumeCheck) -> Self {
        Self::Volumes(check)
    }
}

impl From<DeviceCheck> for FilterCheck {
    fn from(check: DeviceCheck) -> Self {
        Self::Devices(check)
    }
}
