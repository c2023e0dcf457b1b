//! Which objects a comparison by spec leaves out: one row a reason.

use serde_json::Value;

use ketcd_restore::exclusions::{Surroundings, exclusion};

use super::owners::{Owners, controller, group, text};

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

/// Keys that belong to no object.
pub(super) const OTHER_KEYS: Reason =
    Reason { name: "other-keys", what: "keys of the API server that are not objects", why: "it keeps its own state there" };
/// What its owner brings with it.
pub(super) const OWNED: Reason =
    Reason { name: "owned", what: "objects whose owner only one state has", why: "they come and go with their owners, which are reported" };
/// What follows from the owner's difference.
pub(super) const FOLLOWS: Reason = Reason {
    name: "follows",
    what: "objects that differ as their owners do",
    why: "they were made from a template or a number that is reported",
};
/// What an autoscaler decides.
pub(super) const AUTOSCALED: Reason =
    Reason { name: "autoscaled", what: "numbers of replicas that an autoscaler of both states sets", why: "they follow the load" };

/// Messages of components.
pub(super) const EVENTS: Reason = Reason { name: "events", what: "Events", why: "they report what happened" };
const LEASES: Reason = Reason { name: "leases", what: "Leases and elections", why: "their holders renew them" };
const ENDPOINTS: Reason = Reason {
    name: "endpoints",
    what: "Endpoints and EndpointSlices of Services with a selector",
    why: "controllers fill them from the pods",
};
const CLUSTER_CA: Reason =
    Reason { name: "cluster-ca", what: "ConfigMaps and bundles with the cluster's certificates", why: "each cluster has its own" };
const ACCOUNTS: Reason = Reason {
    name: "made-accounts",
    what: "ServiceAccounts default and of controllers, without content of their own",
    why: "controllers make them",
};
const TOKENS: Reason =
    Reason { name: "generated-tokens", what: "Secrets with generated tokens of ServiceAccounts", why: "each cluster has its own" };
const NODE_REPORTS: Reason = Reason {
    name: "node-reports",
    what: "CSINodes, CSIStorageCapacities, ResourceSlices and VolumeAttachments",
    why: "kubelets, drivers and the attach controller write them",
};
const SERVER_STATE: Reason = Reason {
    name: "server-state",
    what: "what API servers keep for themselves: IPAddresses, the Service kubernetes, allocations, their own ConfigMaps",
    why: "each cluster has its own",
};
const SERVER_OBJECTS: Reason = Reason {
    name: "server-objects",
    what: "default RBAC, flow control, APIServices and priority classes",
    why: "API servers keep them as their release has them, and the two are not of one release as far as the data show",
};
const REVISIONS: Reason =
    Reason { name: "revisions", what: "ControllerRevisions, and ReplicaSets scaled to 0", why: "they are kept to undo rollouts" };
const RUNS: Reason =
    Reason { name: "runs", what: "Jobs of CronJobs and their pods", why: "each run makes others; the CronJobs are compared" };
const ENDED: Reason = Reason { name: "ended", what: "pods of controllers that have ended", why: "others take their place" };
const VOLUMES: Reason = Reason {
    name: "provisioned-volumes",
    what: "PersistentVolumes that were provisioned",
    why: "they were made for claims, which are compared",
};
const REQUESTS: Reason =
    Reason { name: "requests", what: "requests for certificates", why: "each has a key of its own, and is needed once" };
const HELM: Reason = Reason { name: "helm-releases", what: "Helm's records of releases", why: "what was released is compared" };

/// What a state says of others, as far as it decides what is left out.
pub(super) struct Context<'c> {
    /// Who made which object.
    pub owners: &'c Owners,
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
            return Some(&SERVER_STATE);
        }
        ("", "Service") if (namespace, name) == ("default", "kubernetes") => return Some(&SERVER_STATE),
        ("", "ConfigMap") if namespace == "kube-system" && SERVER_CONFIG_MAPS.contains(&name) => return Some(&SERVER_STATE),
        ("certificates.k8s.io", "CertificateSigningRequest" | "PodCertificateRequest") => return Some(&REQUESTS),
        ("certificates.k8s.io", "ClusterTrustBundle") if name.starts_with("kubernetes.io:") => return Some(&CLUSTER_CA),
        ("apps", "ControllerRevision") => return Some(&REVISIONS),
        ("apps" | "extensions", "ReplicaSet") if owner == Some("Deployment") && object["spec"]["replicas"] == 0 => return Some(&REVISIONS),
        ("", "PersistentVolume") if metadata["annotations"]["pv.kubernetes.io/provisioned-by"].is_string() => return Some(&VOLUMES),
        ("", "Secret") if object["type"] == "helm.sh/release.v1" => return Some(&HELM),
        ("batch", "Job") if owner == Some("CronJob") => return Some(&RUNS),
        ("", "Pod") if context.owners.root(object).is_some_and(|(kind, _)| kind == "CronJob") => return Some(&RUNS),
        ("", "Pod") if owner.is_some() && ["Succeeded", "Failed"].iter().any(|phase| object["status"]["phase"] == *phase) => {
            return Some(&ENDED);
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
        ("events", &EVENTS),
        ("leases", &LEASES),
        ("endpoints", &ENDPOINTS),
        ("root-ca", &CLUSTER_CA),
        ("default-accounts", &ACCOUNTS),
        ("controller-accounts", &ACCOUNTS),
        ("generated-tokens", &TOKENS),
        ("node-reports", &NODE_REPORTS),
        ("server-objects", &SERVER_OBJECTS),
    ];
    let found = exclusion(object, context.around, |name| SHARED.iter().all(|(shared, _)| *shared != name))?;
    let reason = SHARED.iter().find(|(shared, _)| *shared == found.name).map(|(_, reason)| *reason)?;
    (reason != &SERVER_OBJECTS || !context.is_one_release).then_some(reason)
}
