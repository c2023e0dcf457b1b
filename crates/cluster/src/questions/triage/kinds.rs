//! What `triage` reads: the kinds that can be broken, and those whose changes break others.

use ketcd_store::KeyRange;

/// Where the objects of a kind lie, and what of them is decoded.
pub(super) struct Path {
    /// Below the API server's prefix.
    pub path: &'static str,
    /// Whether they live in namespaces.
    pub namespaced: bool,
    /// All but templates of pods and the fields that managers own, where it is `None`.
    pub fields: Option<&'static [&'static str]>,
}

impl Path {
    /// Whether they are leases.
    pub(super) fn is_lease(&self) -> bool {
        self.path == "leases"
    }
}

const fn cluster(path: &'static str) -> Path {
    Path { path, namespaced: false, fields: None }
}

const fn namespaced(path: &'static str) -> Path {
    Path { path, namespaced: true, fields: None }
}

/// What of a pod says what is wrong with it.
pub(super) const POD_FIELDS: &[&str] = &[
    "apiVersion",
    "kind",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "metadata.creationTimestamp",
    "metadata.deletionTimestamp",
    "metadata.deletionGracePeriodSeconds",
    "metadata.finalizers",
    "metadata.ownerReferences",
    "spec.containers.ports",
    "spec.nodeName",
    "spec.schedulerName",
    "spec.schedulingGates",
    "spec.volumes.persistentVolumeClaim",
    "status",
];

const NODE_FIELDS: &[&str] = &["apiVersion", "kind", "metadata.name", "metadata.uid", "status.conditions"];

const CLAIM_FIELDS: &[&str] = &["apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid", "status"];

/// Pods, which are the most.
pub(super) const POD_PATH: &Path = &Path { path: "pods", namespaced: true, fields: Some(POD_FIELDS) };

/// Requests for certificates, which say by themselves until when they are valid.
pub(super) const CSR_PATH: &Path = &cluster("certificatesigningrequests");

/// ReplicaSets, which are read where pods name them.
pub(super) const REPLICA_SETS: &Path = &namespaced("replicasets");

/// The other kinds whose states are looked at. Leases are of nodes and components, whatever namespace is asked for.
pub(super) const STATE_PATHS: &[Path] = &[
    cluster("leases"),
    Path { path: "minions", namespaced: false, fields: Some(NODE_FIELDS) },
    namespaced("deployments"),
    namespaced("statefulsets"),
    namespaced("daemonsets"),
    namespaced("controllers"),
    namespaced("jobs"),
    cluster("storageclasses"),
    namespaced("persistentvolumeclaims"),
    Path { path: "resourceclaims", namespaced: true, fields: Some(CLAIM_FIELDS) },
    cluster("persistentvolumes"),
    cluster("namespaces"),
    namespaced("services/specs"),
    namespaced("resourcequotas"),
    cluster("apiregistration.k8s.io/apiservices"),
    cluster("apiextensions.k8s.io/customresourcedefinitions"),
];

/// Configurations of webhooks.
pub(super) const WEBHOOK_PATHS: &[Path] = &[cluster("mutatingwebhookconfigurations"), cluster("validatingwebhookconfigurations")];

/// The kinds whose changes break others: what runs, where it may run, who may do what, and what requests pass.
pub(super) const CHANGE_PATHS: &[Path] = &[
    namespaced("deployments"),
    namespaced("statefulsets"),
    namespaced("daemonsets"),
    namespaced("jobs"),
    namespaced("cronjobs"),
    namespaced("persistentvolumeclaims"),
    namespaced("resourceclaims"),
    namespaced("resourceclaimtemplates"),
    cluster("deviceclasses"),
    cluster("minions"),
    namespaced("configmaps"),
    namespaced("secrets"),
    namespaced("services/specs"),
    namespaced("networkpolicies"),
    namespaced("poddisruptionbudgets"),
    namespaced("horizontalpodautoscalers"),
    namespaced("resourcequotas"),
    namespaced("limitranges"),
    namespaced("roles"),
    namespaced("rolebindings"),
    cluster("clusterroles"),
    cluster("clusterrolebindings"),
    cluster("namespaces"),
    cluster("priorityclasses"),
    cluster("storageclasses"),
    cluster("mutatingwebhookconfigurations"),
    cluster("validatingwebhookconfigurations"),
    cluster("validatingadmissionpolicies"),
    cluster("validatingadmissionpolicybindings"),
    cluster("mutatingadmissionpolicies"),
    cluster("mutatingadmissionpolicybindings"),
    cluster("apiregistration.k8s.io/apiservices"),
    cluster("apiextensions.k8s.io/customresourcedefinitions"),
];

/// The keys that `triage` cannot do without.
pub(crate) fn reads(prefix: &str) -> Vec<KeyRange> {
    [POD_PATH.path, "minions"].iter().map(|path| KeyRange::prefix(format!("{prefix}/{path}/"))).collect()
}
