//! How a pod is now, after the decision about it: what was written since it was refused, and which of its volumes are attached to another node.

use schemars::JsonSchema;
use serde::Serialize;

use ketcd_history::trouble::triage::Finding;

use super::since::SinceRefusal;
use crate::contract::common::ObjectName;
use crate::words::{name, trouble};

/// What the data says of a pod apart from the decision about it.
#[derive(Clone, Copy, Debug, Default)]
pub struct PodNow<'a> {
    /// What was written about the waiting pod after its last refusal.
    pub since: Option<&'a SinceRefusal>,
    /// What holds its volumes on another node, as `triage` finds it.
    pub held: &'a [Finding],
}

/// A volume of a pod whose containers were not started, attached to another node than the pod's.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct HeldVolume<'a> {
    /// The PersistentVolume.
    volume: &'a str,
    /// The VolumeAttachment that holds it.
    attachment: &'a str,
    /// The node to which it is attached.
    node: &'a str,
    /// Whether that node is gone: nodes are in the data, and it is not among them.
    node_missing: bool,
    /// A pod on that node that uses the volume; absent where none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    used_by: Option<ObjectName<'a>>,
    /// Who has to detach it: the driver.
    attacher: &'a str,
    /// Why it is not detached, as the driver says; absent where it says nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

impl<'a> PodNow<'a> {
    pub(super) fn held_volumes(&self) -> Vec<HeldVolume<'a>> {
        self.held.iter().filter_map(HeldVolume::of).collect()
    }

    /// Returns what holds them in words, a sentence each, of a pod that has a node (`is_bound`) or none.
    pub(super) fn held_words(&self, is_bound: bool) -> impl Iterator<Item = String> + use<'a> {
        self.held.iter().filter_map(move |finding| words(finding, is_bound))
    }
}

impl<'a> HeldVolume<'a> {
    /// The parts of a finding, in the order in which the rule in `ketcd-cluster` (`triage/rules/volume_held.rs`) gives them.
    fn of(finding: &'a Finding) -> Option<Self> {
        let [volume, node, state, user, _, attacher] = finding.trouble.about.as_slice() else { return None };
        let used_by = user.split_once('/').map(|(namespace, name)| ObjectName::pod(namespace, name));
        let message = finding.trouble.message.as_deref();
        let attachment = finding.subjects.first()?.name.as_str();
        Some(Self { volume, attachment, node, node_missing: state == "missing", used_by, attacher, message })
    }
}

fn words(finding: &Finding, is_bound: bool) -> Option<String> {
    let mut shown = finding.trouble.clone();
    // Which pod waits is clear.
    shown.about.get_mut(4)?.clear();
    let [_, node, state, ..] = shown.about.as_slice() else { return None };
    let holds = format!("{} {}: {}", name(finding.subjects.first()?), trouble::what(&shown), trouble::detail(&shown));
    Some(match is_bound || state == "missing" {
        true => format!("waits: {holds}; {}", trouble::remedy(finding)),
        // A scheduler may still choose the node where the volume is.
        false => format!("it would wait on every node but {node}: {holds}"),
    })
}
