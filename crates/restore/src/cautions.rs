//! What to know before applying manifests that the API server accepts.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::exclusions::is_finished;
use crate::identity::{ObjectId, is};
use crate::rules::Rule;
use crate::rules::VOLUME_NAME;

/// One thing to know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Caution {
    /// A claim that was bound gets another volume.
    OtherVolume {
        /// The claim.
        claim: ObjectId,
        /// The volume that it was bound to.
        volume: String,
    },
    /// The disk of a volume may be gone: its policy is to delete it with the claim.
    DiskDeleted {
        /// The volume.
        volume: ObjectId,
    },
    /// A Job that had not ended begins anew.
    RunsAgain {
        /// The Job.
        job: ObjectId,
    },
    /// kubectl looks up the kinds of all manifests before it applies the first one: custom resources that come with their definition fail the first
    /// time.
    ApplyTwice {
        /// The custom resources.
        resources: Vec<ObjectId>,
    },
}

/// Returns what to know about one object, given the rules that found something to strip from it.
pub fn of_object(object: &Value, stripped: &[&Rule]) -> Vec<Caution> {
    let id = ObjectId::of(object);
    let mut found = Vec::new();
    if stripped.iter().any(|rule| rule.name == VOLUME_NAME)
        && let Some(volume) = object["spec"]["volumeName"].as_str()
    {
        found.push(Caution::OtherVolume { claim: id.clone(), volume: volume.to_owned() });
    }
    if id.is("", "PersistentVolume") && object["spec"]["persistentVolumeReclaimPolicy"] == "Delete" {
        found.push(Caution::DiskDeleted { volume: id.clone() });
    }
    if id.is("batch", "Job") && !is_finished(object) && object["spec"]["suspend"] != true {
        found.push(Caution::RunsAgain { job: id });
    }
    found
}

/// Returns what to know about manifests that are applied together.
pub fn of_all(manifests: &[Value]) -> Option<Caution> {
    let definitions = manifests.iter().filter(|manifest| is(manifest, "apiextensions.k8s.io", "CustomResourceDefinition"));
    let kinds: BTreeSet<(&str, &str)> = definitions
        .filter_map(|definition| Some((definition["spec"]["group"].as_str()?, definition["spec"]["names"]["kind"].as_str()?)))
        .collect();
    let ids = manifests.iter().map(ObjectId::of);
    let resources: Vec<ObjectId> = ids.filter(|id| kinds.contains(&(&id.group[..], &id.kind[..]))).collect();
    (!resources.is_empty()).then_some(Caution::ApplyTwice { resources })
}
