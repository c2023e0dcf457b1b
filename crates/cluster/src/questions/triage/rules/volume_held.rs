//! A VolumeAttachment that holds a volume on one node while a pod on another one waits for it, or that is of a node that is gone.
//!
//! Kubernetes 1.36: pkg/controller/volume/attachdetach/reconciler/reconciler.go and pkg/volume/util/util.go, `IsMultiAttachAllowed`: a volume whose
//! access modes are known, and neither ReadWriteMany nor ReadOnlyMany, is attached to one node at a time. The Event is `FailedAttachVolume`.
//! From a node with the taint `node.kubernetes.io/out-of-service` it is detached at once (`hasOutOfServiceTaint`; by default since 1.26).

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::{Trouble, TroubleKind};

use super::attach_error::detach_error;
use super::facts::{Facts, Kind};
use super::object::{claims, is_over, items, named, place, text, time};
use super::rule_finding::RuleFinding;
use crate::error::Result;

const ATTACHMENTS_KIND: &Kind = &Kind { path: "volumeattachments", namespaced: false, fields: None };
const VOLUMES_KIND: &Kind = &Kind {
    path: "persistentvolumes",
    namespaced: false,
    fields: Some(&["kind", "metadata.name", "spec.accessModes", "spec.claimRef", "status.phase"]),
};

const PODS_KIND: &Kind = &Kind { path: "pods", namespaced: true, fields: None };

/// A namespace and a name.
type ClaimName = (String, String);

/// A VolumeAttachment that is in the way, or may be.
struct Attachment {
    found: RuleFinding,
    /// Whether it keeps pods from their volume; not where only its node is gone.
    is_held: bool,
}

pub(super) async fn find(facts: &mut Facts<'_>) -> Result<Vec<RuleFinding>> {
    let troubled = facts.troubled(TroubleKind::NotStarting);
    let waiting = troubled.iter().flat_map(|finding| &finding.subjects).map(|subject| (subject.namespace.clone(), subject.name.clone()));
    let waiting: BTreeSet<ClaimName> = waiting.collect();
    Ok(attachments(facts, &waiting).await?.into_iter().map(|attachment| attachment.found).collect())
}

/// Finds what holds a volume of one pod whose containers have not been started, whether it has a node or not.
pub(super) async fn from_pod(facts: &mut Facts<'_>, (namespace, name, uid): (&str, &str, &str)) -> Result<Vec<RuleFinding>> {
    let Some(pod) = facts.object(PODS_KIND, namespace, name).await? else { return Ok(Vec::new()) };
    let is_waiting = text(&pod, "/metadata/uid") == uid && matches!(text(&pod, "/status/phase"), "" | "Pending");
    let may_have_claims =
        items(&pod, "/spec/volumes").any(|volume| volume["persistentVolumeClaim"].is_object() || volume["ephemeral"].is_object());
    if !is_waiting || !may_have_claims {
        return Ok(Vec::new());
    }
    let waiting = BTreeSet::from([(namespace.to_owned(), name.to_owned())]);
    let held = attachments(facts, &waiting).await?.into_iter().filter(|attachment| attachment.is_held);
    Ok(held.map(|attachment| attachment.found).collect())
}

/// The pods of a namespace that have not ended, by the claims that they mount: a cluster may have as many attachments as pods.
struct Users {
    pods: Arc<Vec<Value>>,
    places: HashMap<String, Vec<usize>>,
}

impl Users {
    fn of(pods: Arc<Vec<Value>>) -> Self {
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for (place, pod) in pods.iter().enumerate().filter(|(_, pod)| !is_over(pod)) {
            let used: BTreeSet<_> = claims(pod).collect();
            used.into_iter().for_each(|claim| places.entry(claim.into_owned()).or_default().push(place));
        }
        Self { pods, places }
    }

    fn of_claim(&self, claim: &str) -> impl Iterator<Item = &Value> {
        self.places.get(claim).into_iter().flatten().map(|&place| &self.pods[place])
    }
}

/// The VolumeAttachments that hold a volume on another node than that of a waiting pod, or whose node is gone.
async fn attachments(facts: &mut Facts<'_>, waiting: &BTreeSet<ClaimName>) -> Result<Vec<Attachment>> {
    let (attachments, volumes) = (facts.all(ATTACHMENTS_KIND).await?, facts.all(VOLUMES_KIND).await?);
    if attachments.is_empty() || volumes.is_empty() {
        return Ok(Vec::new());
    }
    let nodes = facts.nodes().await?;
    let by_name: HashMap<&str, &Value> = volumes.iter().map(|volume| (text(volume, "/metadata/name"), volume)).collect();
    let namespaces: BTreeSet<&str> = waiting.iter().map(|(namespace, _)| namespace.as_str()).collect();
    let (mut found, mut users): (_, HashMap<&str, Users>) = (Vec::new(), HashMap::new());
    for attachment in attachments.iter() {
        let volume = text(attachment, "/spec/source/persistentVolumeName");
        let Some(&volume) = by_name.get(volume) else { continue };
        let node = text(attachment, "/spec/nodeName");
        let claim = (text(volume, "/spec/claimRef/namespace"), text(volume, "/spec/claimRef/name"));
        if namespaces.contains(claim.0) && !users.contains_key(claim.0) {
            users.insert(claim.0, Users::of(facts.pods(claim.0).await?));
        }
        let of_claim = || users.get(claim.0).into_iter().flat_map(|users| users.of_claim(claim.1));
        let is_waiting = |pod: &&Value| {
            let place = (claim.0.to_owned(), text(pod, "/metadata/name").to_owned());
            text(pod, "/spec/nodeName") != node && waiting.contains(&place)
        };
        let waits: Vec<&Value> = of_claim().filter(is_waiting).collect();
        let is_held = attachment["status"]["attached"] == true && is_for_one_node(volume) && !waits.is_empty();
        let is_node_gone = !facts.may_be_part() && !nodes.is_empty() && !nodes.contains(node);
        if !is_held && !is_node_gone {
            continue;
        }
        let user = of_claim().find(|pod| text(pod, "/spec/nodeName") == node).map(place).unwrap_or_default();
        let state = if !nodes.is_empty() && !nodes.contains(node) {
            "missing"
        } else if user.is_empty() {
            "unused"
        } else {
            "used"
        };
        let waiting_one = waits.first().map(|pod| place(pod)).unwrap_or_default();
        let driver = text(attachment, "/spec/attacher");
        let mut about = [text(volume, "/metadata/name"), node, state, &user, &waiting_one, driver].map(str::to_owned).to_vec();
        if !attachment["metadata"]["deletionTimestamp"].is_null() {
            about.push("deleting".to_owned());
        }
        let since = waits.iter().filter_map(|pod| time(pod, "/metadata/creationTimestamp")).min();
        let message = detach_error(attachment);
        let trouble = Trouble { since, about, message, ..Trouble::new(TroubleKind::VolumeHeld) };
        let affected = RuleFinding { pods: waits.len(), ..RuleFinding::new(Subject::of(attachment), trouble) };
        found.push(Attachment { found: affected.explaining(waits.into_iter().map(named)), is_held });
    }
    Ok(found)
}

/// Whether a volume may be attached to one node only, as far as its access modes say.
fn is_for_one_node(volume: &Value) -> bool {
    let mut modes = items(volume, "/spec/accessModes").peekable();
    modes.peek().is_some() && modes.all(|mode| mode != "ReadWriteMany" && mode != "ReadOnlyMany")
}
