//! What a pod takes on a node besides the node's own resources: volumes for its claims, and devices.
//! Upstream: Reserve of VolumeBinding (`AssumePodVolumes`) and of DynamicResources.

use std::sync::Arc;

use super::cluster::{CachedObject, PodKey};
use super::devices::{NodeDevices, chosen_on};
use super::plugins::volume_binding::reserved;
use super::{Cycle, Judgement};

/// What a pod takes on a node.
#[derive(Clone, Debug, Default)]
pub struct Reservation {
    /// The volumes that exist and get bound, each with its claim.
    pub volumes: Vec<(Arc<str>, PodKey)>,
    /// Whether it would be exactly these volumes; otherwise upstream's order is random.
    pub is_certain: bool,
    /// The devices of its claims.
    pub devices: Option<NodeDevices>,
}

/// Returns what a pod takes on a node that fits.
pub fn reservation(cycle: &Cycle, judgement: &Judgement, node: &str) -> Reservation {
    let Some(info) = cycle.state.node(node) else { return Reservation::default() };
    let (found, drawn) = reserved(cycle, info);
    let volume = |object: &CachedObject| match object {
        CachedObject::PersistentVolume(volume) => {
            let claim = volume.spec.as_ref()?.claim_ref.as_ref()?;
            let text = |text: &Option<String>| Arc::from(text.as_deref().unwrap_or_default());
            Some((text(&volume.metadata.name), (text(&claim.namespace), text(&claim.name))))
        }
        _ => None,
    };
    let volumes = found.iter().filter_map(|(_, object)| volume(object)).collect();
    Reservation { volumes, is_certain: !drawn, devices: chosen_on(cycle, judgement, node) }
}
