//! What is wrong with volumes, namespaces, quotas, certificates, webhooks and aggregated APIs.

use std::collections::BTreeSet;

use serde_json::Value;

use ketcd_kube::{Quantity, condition};

use super::{Trouble, TroubleKind, asked_to_end, holds, text, time};

pub(super) fn volume(object: &Value) -> Option<Trouble> {
    let status = &object["status"];
    let kind = match (object["kind"].as_str()?, status["phase"].as_str()?) {
        ("PersistentVolumeClaim", "Pending") => TroubleKind::ClaimPending,
        ("PersistentVolumeClaim", "Lost") => TroubleKind::ClaimLost,
        ("PersistentVolume", "Failed") => TroubleKind::VolumeFailed,
        _ => return None,
    };
    let since = (kind == TroubleKind::ClaimPending).then(|| time(&object["metadata"]["creationTimestamp"])).flatten();
    let since = since.or_else(|| time(&status["lastPhaseTransitionTime"]));
    // The annotation of before there was a member counts first (k8s.io/component-helpers storage/volume/helpers.go, `GetPersistentVolumeClaimClass`).
    let annotated = text(&object["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"]);
    let class = annotated.or_else(|| text(&object["spec"]["storageClassName"]));
    let is_pending = kind == TroubleKind::ClaimPending;
    let about = match (selected(object).filter(|_| is_pending), named(object).filter(|_| is_pending)) {
        (Some([node, provisioner]), _) => vec![class.unwrap_or_default(), node, provisioner],
        (None, Some(volume)) => vec![class.unwrap_or_default(), volume],
        (None, None) => class.into_iter().collect(),
    };
    Some(Trouble::new(kind).said_by(status).since(since).about(about))
}

/// The node for which a claim's volume is to be made, and by whom, once a pod was given one (k8s.io/component-helpers storage/volume/helpers.go).
fn selected(claim: &Value) -> Option<[String; 2]> {
    let annotations = &claim["metadata"]["annotations"];
    let provisioner = ["volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner"];
    let provisioner = provisioner.iter().find_map(|name| text(&annotations[*name])).unwrap_or_default();
    Some([text(&annotations["volume.kubernetes.io/selected-node"])?, provisioner])
}

/// The volume that somebody named in a claim (k8s.io/component-helpers storage/volume/pv_helpers.go, `AnnBindCompleted`: a controller that names it says so).
fn named(claim: &Value) -> Option<String> {
    let is_bound = !claim["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"].is_null();
    text(&claim["spec"]["volumeName"]).filter(|_| !is_bound)
}

/// Whether a claim only waits for a pod: its class makes no volume before, it names none, and none of its pods has been given a node. That is nobody's
/// trouble. One that names a volume waits for no pod (kubernetes 1.36, pkg/controller/volume/persistentvolume/pv_controller.go, `syncUnboundClaim`).
pub fn waits_for_pod(trouble: &Trouble, patient_classes: &BTreeSet<String>) -> bool {
    trouble.kind == TroubleKind::ClaimPending && matches!(&trouble.about[..], [class] if patient_classes.contains(class))
}

/// Conditions that say why a namespace is not removed (k8s.io/api core/v1, NamespaceConditionType); the first one that is true counts.
pub(super) fn namespace(namespace: &Value) -> Option<Trouble> {
    let metadata = &namespace["metadata"];
    let end = time(&metadata["deletionTimestamp"])?;
    let ways = [
        "NamespaceDeletionDiscoveryFailure",
        "NamespaceDeletionGroupVersionParsingFailure",
        "NamespaceDeletionContentFailure",
        "NamespaceFinalizersRemaining",
        "NamespaceContentRemaining",
    ];
    let says = ways.iter().find_map(|way| holds(namespace, way, "True"));
    // `kubernetes` goes when nothing is left in it (FinalizerKubernetes there); another one is taken off by what put it on.
    let finalizers = [&metadata["finalizers"], &namespace["spec"]["finalizers"]].into_iter().filter_map(Value::as_array).flatten();
    let held_by: Vec<String> = finalizers.filter_map(text).filter(|name| name != "kubernetes").collect();
    let trouble = Trouble::new(TroubleKind::NamespaceStuck).said_by(says.unwrap_or(&Value::Null)).about(held_by);
    Some(Trouble { counts_from: Some(end), ..trouble.since(asked_to_end(metadata)) })
}

pub(super) fn api_service(service: &Value) -> Option<Trouble> {
    let unavailable = holds(service, "Available", "False")?;
    Some(Trouble::new(TroubleKind::ApiUnavailable).said_by(unavailable))
}

pub(super) fn signing_request(request: &Value) -> Option<Trouble> {
    let signer = text(&request["spec"]["signerName"]);
    let refused = condition(request, "Denied").or_else(|| condition(request, "Failed"));
    let trouble = match refused {
        Some(refused) => {
            let since = time(&refused["lastUpdateTime"]);
            let said = Trouble::new(TroubleKind::RequestRefused).said_by(refused);
            let since = said.since.or(since);
            said.since(since)
        }
        None if condition(request, "Approved").is_some() => return None,
        None => Trouble::new(TroubleKind::RequestPending).since(time(&request["metadata"]["creationTimestamp"])),
    };
    Some(trouble.about(signer))
}

/// The resources whose quota is used up. A limit of zero is a ban, not a shortage.
pub(super) fn quota(quota: &Value) -> Vec<Trouble> {
    let (hard, used) = (&quota["status"]["hard"], &quota["status"]["used"]);
    let quantity = |value: &Value| value.as_str().and_then(|text| text.parse::<Quantity>().ok());
    let zero: Option<Quantity> = "0".parse().ok();
    let exhausted = hard.as_object().into_iter().flatten().filter_map(|(resource, hard)| {
        let (hard, used) = (quantity(hard)?, quantity(&used[resource])?);
        (Some(&hard) > zero.as_ref() && used >= hard).then(|| format!("{resource} {used} of {hard}"))
    });
    let exhausted: Vec<String> = exhausted.collect();
    if exhausted.is_empty() { Vec::new() } else { vec![Trouble::new(TroubleKind::QuotaExhausted).about(exhausted)] }
}

/// A webhook whose service has no endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BrokenHook {
    /// The webhook's own name, which messages about it have.
    pub name: String,
    /// Namespace and name of the service.
    pub service: (String, String),
    /// Whether requests fail with it.
    pub refuses: bool,
}

/// Returns the services that the webhooks of a configuration call, as namespace and name.
pub fn services_called(configuration: &Value) -> impl Iterator<Item = (String, String)> + '_ {
    configuration["webhooks"].as_array().into_iter().flatten().filter_map(service_of)
}

fn service_of(hook: &Value) -> Option<(String, String)> {
    let service = &hook["clientConfig"]["service"];
    Some((text(&service["namespace"])?, text(&service["name"])?))
}

/// Returns the webhooks of a configuration whose services are not in `answer`. The default failure policy is to refuse the request.
pub fn broken_hooks(configuration: &Value, answer: &BTreeSet<(String, String)>) -> Vec<BrokenHook> {
    let hooks = configuration["webhooks"].as_array().into_iter().flatten();
    let broken = hooks.filter_map(|hook| {
        let service = service_of(hook).filter(|service| !answer.contains(service))?;
        Some(BrokenHook { name: text(&hook["name"])?, service, refuses: hook["failurePolicy"] != "Ignore" })
    });
    broken.collect()
}
