//! Whether a pod or its claims were written after the pod's last refusal: the refusal then does not describe its present state.

use serde_json::Value;

use ketcd_history::trouble::driver_awaited;
use ketcd_kube::Object;
use ketcd_store::{At, KeyRange, KeyValue, Revision, Want};

use crate::cluster::Cluster;
use crate::error::Result;
use crate::rights::refused::unless_denied;

/// Where the scheduler writes the node for a volume to be made, and the controller who is to make it (k8s.io/component-helpers storage/volume).
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
const PROVISIONER_ANNOTATIONS: [&str; 2] = ["volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner"];

/// What was written about a waiting pod after its last refusal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SinceRefusal {
    /// What the pod waits for before it can be bound, as its claims say.
    pub awaited: Vec<Awaited>,
    /// The node the pod is nominated to: one that was made room on or, since 1.35, on which it is about to be bound; `None` if there is none.
    pub nominated_node: Option<String>,
    /// The revision of the refusal.
    pub refused_revision: i64,
    /// The newest revision that wrote the pod or a claim of it; not after the refusal where only other objects were written since.
    pub written_revision: i64,
}

/// Somebody who has to act before a pod can be bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Awaited {
    /// The claim to a volume or to devices.
    pub claim: String,
    /// The node for which it is; `None` where the claim names none.
    pub node: Option<String>,
    /// Who has to act: a storage provisioner or a device driver; `None` where the claim names none.
    pub waits_for: Option<String>,
}

/// Returns what was written after revision `shown`, which shows the refusal at `refused`; `None` where nothing was or the pod does not wait any more.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn since_refusal(
    cluster: &Cluster,
    (namespace, name): (&str, &str),
    (refused, shown, until): (Revision, Revision, Revision),
) -> Result<Option<SinceRefusal>> {
    let reader = SinceReader { cluster, namespace, until };
    let Some((pod, entry)) = reader.object("pods", name).await? else { return Ok(None) };
    if pod["spec"]["nodeName"].is_string() || pod["metadata"]["deletionTimestamp"].is_string() {
        return Ok(None);
    }
    let nominated = pod["status"]["nominatedNodeName"].as_str().filter(|node| !node.is_empty()).map(str::to_owned);
    let mut since = SinceRefusal {
        nominated_node: nominated,
        refused_revision: refused.0,
        written_revision: entry.mod_revision.0,
        ..SinceRefusal::default()
    };
    for claim in volume_claims(&pod, name) {
        let Some((object, entry)) = reader.object("persistentvolumeclaims", &claim).await? else { continue };
        since.written_revision = since.written_revision.max(entry.mod_revision.0);
        since.awaited.extend(awaited_volume(claim, &object));
    }
    for claim in device_claims(&pod) {
        let Some((object, entry)) = reader.object("resourceclaims", &claim).await? else { continue };
        since.written_revision = since.written_revision.max(entry.mod_revision.0);
        since.awaited.extend(awaited_device(claim, &object));
    }
    Ok((since.written_revision > shown.0).then_some(since))
}

struct SinceReader<'s> {
    cluster: &'s Cluster,
    namespace: &'s str,
    until: Revision,
}

impl SinceReader<'_> {
    /// An object of the pod's namespace; `None` where it is not there, cannot be decoded or may not be read.
    async fn object(&self, resource: &str, name: &str) -> Result<Option<(Object, KeyValue)>> {
        let key = KeyRange::key(format!("{}/{resource}/{}/{name}", self.cluster.prefix().await?, self.namespace));
        let found = unless_denied(self.cluster.source.first(key, At::Revision(self.until), Want::Values, 1).await)?;
        let Some(entry) = found.and_then(|mut found| found.pop()) else { return Ok(None) };
        let decoded = self.cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0);
        Ok(decoded.object().cloned().map(|object| (Object::from(object), entry)))
    }
}

fn volume_claims(pod: &Value, name: &str) -> Vec<String> {
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    let claim = |volume: &Value| match volume["persistentVolumeClaim"]["claimName"].as_str() {
        Some(claim) => Some(claim.to_owned()),
        None => volume["ephemeral"].is_object().then(|| format!("{name}-{}", volume["name"].as_str().unwrap_or_default())),
    };
    volumes.filter_map(claim).collect()
}

fn device_claims(pod: &Value) -> Vec<String> {
    let statuses = pod["status"]["resourceClaimStatuses"].as_array().into_iter().flatten();
    let claims = pod["spec"]["resourceClaims"].as_array().into_iter().flatten().chain(statuses);
    claims.filter_map(|claim| claim["resourceClaimName"].as_str()).map(str::to_owned).collect()
}

/// A volume that is to be made for a node.
fn awaited_volume(claim: String, object: &Value) -> Option<Awaited> {
    let annotation = |name: &str| object["metadata"]["annotations"][name].as_str().map(str::to_owned);
    let node = annotation(SELECTED_NODE).filter(|_| object["spec"]["volumeName"].is_null())?;
    Some(Awaited { claim, node: Some(node), waits_for: PROVISIONER_ANNOTATIONS.iter().find_map(|name| annotation(name)) })
}

/// Devices that were allocated and whose driver has to prepare them before the pod is bound.
fn awaited_device(claim: String, object: &Value) -> Option<Awaited> {
    Some(Awaited { claim, node: None, waits_for: Some(driver_awaited(object)?) })
}
