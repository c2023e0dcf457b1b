//! Which objects a comparison by spec leaves out: one row a reason.

use serde_json::Value;

use ketcd_restore::exclusions::{Surroundings, exclusion};

use super::owners::{SpecOwners, controller, group, text};

/// A reason to leave objects out.
#[derive(Debug, PartialEq, Eq)]
pub struct Reason {
    /// Its name, for programs.
    pub name: &'static str,
    /// What is left out.
    pub what: &'static str,
    /// Why.
    pub why: &'static str,
}

/// Makes a constant of each row: its name for programs, what is left out, and why.
macro_rules! reasons {
    ($($reason:ident $name:literal: $what:literal, as $why:literal;)*) => {
        $(pub(super) const $reason: Reason = Reason { name: $name, what: $what, why: $why };)*
    };
}

reasons! {
    OTHER_KEYS_REASON "other-keys": "keys of the API server that are not objects", as "it keeps its own state there";
    OWNED_REASON "owned": "objects whose owner only one state has", as "they come and go with their owners, which are reported";
    FOLLOWS_REASON "follows": "objects that differ as their owners do", as "they were made from a template or a number that is reported";
    AUTOSCALED_REASON "autoscaled": "numbers of replicas that an autoscaler of both states sets", as "they follow the load";
    EVENTS_REASON "events": "Events", as "they report what happened";
    LEASES_REASON "leases": "Leases and elections", as "their holders renew them";
    ENDPOINTS_REASON "endpoints": "Endpoints and EndpointSlices of Services with a selector", as "controllers fill them from the pods";
    CLUSTER_CA_REASON "cluster-ca": "ConfigMaps and bundles with the cluster's certificates", as "each cluster has its own";
    ACCOUNTS_REASON "made-accounts": "ServiceAccounts default and of controllers, without content of their own", as "controllers make them";
    TOKENS_REASON "generated-tokens": "Secrets with generated tokens of ServiceAccounts", as "each cluster has its own";
    NODE_REPORTS_REASON "node-reports": "CSINodes, CSIStorageCapacities, ResourceSlices and VolumeAttachments",
        as "kubelets, drivers and the attach controller write them";
    SERVER_STATE_REASON "server-state": "what API servers keep for themselves: IPAddresses, the Service kubernetes, allocations, their own ConfigMaps",
        as "each cluster has its own";
    SERVER_OBJECTS_REASON "server-objects": "default RBAC, flow control, APIServices and priority classes",
        as "API servers keep them as their release has them, and the two are not of one release as far as the data show";
    REVISIONS_REASON "revisions": "ControllerRevisions, and ReplicaSets scaled to 0", as "they are kept to undo rollouts";
    RUNS_REASON "runs": "Jobs of CronJobs and their pods", as "each run makes others; the CronJobs are compared";
    ENDED_REASON "ended": "pods of controllers that have ended", as "others take their place";
    VOLUMES_REASON "provisioned-volumes": "PersistentVolumes that were provisioned", as "they were made for claims, which are compared";
    REQUESTS_REASON "requests": "requests for certificates", as "each has a key of its own, and is needed once";
    HELM_REASON "helm-releases": "Helm's records of releases", as "what was released is compared";
}

/// What a state says of others, as far as it decides what is left out.
pub(super) struct Context<'c> {
    /// Who made which object.
    pub owners: &'c SpecOwners,
    /// Which Services have a selector.
    pub around: &'c Surroundings,
    /// Whether both states are of API servers of one release.
    pub is_one_release: bool,
}

/// Returns why an object is left out; `None` for one that is compared.
pub(super) fn reason(object: &Value, context: &Context<'_>) -> Option<&'static Reason> {
    let metadata = &object["metadata"];
    let (kind, namespace, name) = (text(&object["kind"]), text(&metadata["namespace"]), text(&metadata["name"]));
    let owner = controller(object).map(|owner| text(&owner["kind"]));
    match (group(object), kind) {
        ("networking.k8s.io", "IPAddress") | ("", "ComponentStatus" | "RangeAllocation") | ("internal.apiserver.k8s.io", _) => {
            return Some(&SERVER_STATE_REASON);
        }
        ("", "Service") if (namespace, name) == ("default", "kubernetes") => return Some(&SERVER_STATE_REASON),
        ("", "ConfigMap") if namespace == "kube-system" && SERVER_CONFIG_MAPS.contains(&name) => return Some(&SERVER_STATE_REASON),
        ("certificates.k8s.io", "CertificateSigningRequest" | "PodCertificateRequest") => return Some(&REQUESTS_REASON),
        ("certificates.k8s.io", "ClusterTrustBundle") if name.starts_with("kubernetes.io:") => return Some(&CLUSTER_CA_REASON),
        ("apps", "ControllerRevision") => return Some(&REVISIONS_REASON),
        ("apps" | "extensions", "ReplicaSet") if owner == Some("Deployment") && object["spec"]["replicas"] == 0 => {
            return Some(&REVISIONS_REASON);
        }
        ("", "PersistentVolume") if metadata["annotations"]["pv.kubernetes.io/provisioned-by"].is_string() => return Some(&VOLUMES_REASON),
        ("", "Secret") if object["type"] == "helm.sh/release.v1" => return Some(&HELM_REASON),
        ("batch", "Job") if owner == Some("CronJob") => return Some(&RUNS_REASON),
        ("", "Pod") if context.owners.root(object).is_some_and(|(kind, _)| kind == "CronJob") => return Some(&RUNS_REASON),
        ("", "Pod") if owner.is_some() && ["Succeeded", "Failed"].iter().any(|phase| object["status"]["phase"] == *phase) => {
            return Some(&ENDED_REASON);
        }
        _ => {}
    }
    by_exclusion(object, context)
}

/// ConfigMaps of kube-system that API servers write: the certificates of clients, and since when old tokens are tracked.
const SERVER_CONFIG_MAPS: &[&str] = &["extension-apiserver-authentication", "kube-apiserver-legacy-service-account-token-tracking"];

/// The reasons that a comparison shares with what is not restored.
fn by_exclusion(object: &Value, context: &Context<'_>) -> Option<&'static Reason> {
    const SHARED: &[(&str, &Reason)] = &[
        ("events", &EVENTS_REASON),
        ("leases", &LEASES_REASON),
        ("endpoints", &ENDPOINTS_REASON),
        ("root-ca", &CLUSTER_CA_REASON),
        ("default-accounts", &ACCOUNTS_REASON),
        ("controller-accounts", &ACCOUNTS_REASON),
        ("generated-tokens", &TOKENS_REASON),
        ("node-reports", &NODE_REPORTS_REASON),
        ("server-objects", &SERVER_OBJECTS_REASON),
    ];
    let found = exclusion(object, context.around, |name| SHARED.iter().all(|(shared, _)| *shared != name))?;
    let reason = SHARED.iter().find(|(shared, _)| *shared == found.name).map(|(_, reason)| *reason)?;
    (reason != &SERVER_OBJECTS_REASON || !context.is_one_release).then_some(reason)
}
