//! StatefulSets: pods with numbers, made one after the other and again under their names, each with its claims.
//! Source: `pkg/controller/statefulset/stateful_set_control.go`, `stateful_set_utils.go` (1.37).

use serde_json::{Value, json};

use super::replica_set::delete;
use super::template;
use crate::json::{is_condition_true, is_terminating, list, member, number, text};
use crate::model::Id;
use crate::seed::Choices;
use crate::simulated_cluster::SimulatedCluster;

/// The label that says of which template a pod is.
const REVISION_POINTER: &str = "/metadata/labels/controller-revision-hash";

/// Takes the next step: a pod that is missing, one too many, or one of an older template.
pub(super) fn sync(world: &mut SimulatedCluster<'_>, id: &Id, choices: &mut Choices) {
    let Some(set) = world.model.get(id).filter(|set| !is_terminating(set)) else { return };
    let wanted = number(&set, "/spec/replicas").unwrap_or(1);
    let first = number(&set, "/spec/ordinals/start").unwrap_or(0).max(0);
    let one_by_one = text(&set, "/spec/podManagementPolicy") != "Parallel";
    let end = first.saturating_add(wanted);
    for ordinal in first..end {
        let pod = Id::pod(&id.namespace, &format!("{}-{ordinal}", id.name));
        match world.model.pod_state(&pod) {
            None => {
                if !world.grant_pod(id) || !create(world, &set, &pod, ordinal) || one_by_one {
                    return;
                }
                if choices.is_seeded() {
                    world.dirty.insert(id.clone());
                    return;
                }
            }
            Some(there) if there.is_finished => return world.terminate(&pod, |_| {}),
            Some(there) if one_by_one && !there.is_healthy() => return,
            Some(_) => {}
        }
    }
    if !scale_down(world, &set, (first, end), one_by_one) {
        update(world, &set, (first, end));
    }
}

fn is_ready(pod: &Value) -> bool {
    is_condition_true(pod, "Ready") && !is_terminating(pod)
}

/// Makes a pod, and its claims where they are missing (`newStatefulSetPod`, `getPersistentVolumeClaims`).
fn create(world: &mut SimulatedCluster<'_>, set: &Value, id: &Id, ordinal: i64) -> bool {
    let mut pod = template::pod(world, set, &id.name);
    let labels = member(&mut pod["metadata"], "labels");
    labels.insert("statefulset.kubernetes.io/pod-name".to_owned(), json!(id.name));
    labels.insert("apps.kubernetes.io/pod-index".to_owned(), json!(ordinal.to_string()));
    labels.insert("controller-revision-hash".to_owned(), set["status"]["updateRevision"].clone());
    let mut volumes = list(&pod, "/spec/volumes").to_vec();
    for claim in list(set, "/spec/volumeClaimTemplates") {
        let volume = text(claim, "/metadata/name");
        let name = format!("{volume}-{}", id.name);
        volumes.retain(|known| known["name"] != volume);
        volumes.push(json!({"name": volume, "persistentVolumeClaim": {"claimName": name}}));
        if !world.model.has(&Id::new("PersistentVolumeClaim", &id.namespace, &name)) {
            let mut claim = claim.clone();
            claim["apiVersion"] = json!("v1");
            claim["kind"] = json!("PersistentVolumeClaim");
            let metadata = member(&mut claim, "metadata");
            metadata.insert("name".to_owned(), json!(name));
            metadata.insert("namespace".to_owned(), json!(id.namespace));
            member(&mut claim, "status").insert("phase".to_owned(), json!("Pending"));
            world.write(claim);
        }
    }
    let spec = member(&mut pod, "spec");
    spec.insert("volumes".to_owned(), json!(volumes));
    spec.insert("hostname".to_owned(), json!(id.name));
    template::create(world, set, pod)
}

/// Deletes the pods whose numbers are not wanted, the highest first; returns whether there are some.
fn scale_down(world: &mut SimulatedCluster<'_>, set: &Value, (first, end): (i64, i64), one_by_one: bool) -> bool {
    let mut beyond = numbered(world, set);
    beyond.retain(|(ordinal, _)| *ordinal < first || *ordinal >= end);
    let is_some = !beyond.is_empty();
    if one_by_one {
        // One that is not ready goes only if it is the first such (`processCondemned`).
        let Some((_, highest)) = beyond.pop() else { return false };
        let is_ready = |id: &Id, world: &mut SimulatedCluster<'_>| world.model.get(id).is_some_and(|pod| is_ready(&pod));
        if is_ready(&highest, world) || beyond.iter().all(|(_, lower)| is_ready(lower, world)) {
            delete(world, &highest);
        }
        return true;
    }
    beyond.into_iter().rev().for_each(|(_, pod)| delete(world, &pod));
    is_some
}

/// Deletes a pod of an older template, the highest first, each once those above it are ready (`updateStatefulSetAfterInvariantEstablished`).
fn update(world: &mut SimulatedCluster<'_>, set: &Value, (first, end): (i64, i64)) {
    if text(set, "/spec/updateStrategy/type") == "OnDelete" || !world.changed.contains(&Id::of(set)) {
        return;
    }
    let from = first.max(number(set, "/spec/updateStrategy/rollingUpdate/partition").unwrap_or(0));
    for (_, id) in numbered(world, set).into_iter().rev().filter(|(ordinal, _)| *ordinal >= from && *ordinal < end) {
        let Some(pod) = world.model.get(&id) else { continue };
        if text(&pod, REVISION_POINTER) != text(set, "/status/updateRevision") {
            return delete(world, &id);
        }
        if !is_ready(&pod) {
            return;
        }
    }
}

/// The pods of a set by their numbers.
fn numbered(world: &SimulatedCluster<'_>, set: &Value) -> Vec<(i64, Id)> {
    let pods = world.model.owned_by(text(set, "/metadata/uid"));
    let mut found: Vec<(i64, Id)> = pods.into_iter().filter_map(|id| Some((id.name.rsplit_once('-')?.1.parse().ok()?, id))).collect();
    found.sort();
    found
}
