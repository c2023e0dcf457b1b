//! Which stored objects are left out of what is restored: one row a reason.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use crate::identity::is_token_secret;
use crate::identity::{group, is};

/// A reason to leave an object out.
pub struct Exclusion {
    /// Its name, which switches it off.
    pub name: &'static str,
    /// What it leaves out.
    pub leaves_out: &'static str,
    /// Why it is not restored.
    pub reason: &'static str,
    applies: fn(&Value, &Surroundings) -> bool,
}

impl fmt::Debug for Exclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// What other objects say of an object.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Namespaces and names of Services with a selector, whose addresses a controller keeps.
    pub selecting_services: BTreeSet<(String, String)>,
}

impl Surroundings {
    /// Notes what an object says of others.
    pub fn note(&mut self, object: &Value) {
        if is(object, "", "Service") && object["spec"]["selector"].as_object().is_some_and(|selector| !selector.is_empty()) {
            self.selecting_services.insert(place(object));
        }
    }
}

fn place(object: &Value) -> (String, String) {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    (text("namespace"), text("name"))
}

/// The exclusion that leaves out objects with a controller.
pub const OWNED_EXCLUSION: &str = "owned";

/// Every exclusion, in the order in which they are asked: the first that applies is reported.
pub const ALL_EXCLUSIONS: &[Exclusion] = &[
    Exclusion {
        name: "events",
        leaves_out: "Events",
        reason: "they report what happened; ketcd events shows them",
        applies: |object, _| object["kind"] == "Event" && ["", "events.k8s.io"].contains(&group(object)),
    },
    Exclusion {
        name: "terminating",
        leaves_out: "objects that were being deleted",
        reason: "their deletion had begun; an earlier --rev has them whole",
        applies: |object, _| object["metadata"]["deletionTimestamp"].is_string(),
    },
    Exclusion {
        name: "leases",
        leaves_out: "Leases, and other objects that only hold a leader election",
        reason: "their holders renew them",
        applies: is_lease,
    },
    Exclusion {
        name: "endpoints",
        leaves_out: "Endpoints and EndpointSlices of Services with a selector",
        reason: "controllers fill them from the pods",
        applies: are_endpoints,
    },
    Exclusion {
        name: "mirror-pods",
        leaves_out: "mirror Pods",
        reason: "the kubelet makes them from files on the node",
        applies: |object, _| is(object, "", "Pod") && !object["metadata"]["annotations"]["kubernetes.io/config.mirror"].is_null(),
    },
    Exclusion {
        name: OWNED_EXCLUSION,
        leaves_out: "objects of a controller, by their ownerReferences",
        reason: "their controllers make them; --with owned adds them",
        applies: |object, _| controller(object).is_some(),
    },
    Exclusion {
        name: "finished",
        leaves_out: "Pods and Jobs that have ended",
        reason: "they would run again",
        applies: |object, _| is_finished(object),
    },
    Exclusion {
        name: "root-ca",
        leaves_out: "ConfigMaps kube-root-ca.crt",
        reason: "a controller writes one into each namespace",
        applies: |object, _| {
            is(object, "", "ConfigMap")
                && ["kube-root-ca.crt", "openshift-service-ca.crt"].iter().any(|name| object["metadata"]["name"] == *name)
        },
    },
    Exclusion {
        name: "default-accounts",
        leaves_out: "ServiceAccounts default without content of their own",
        reason: "a controller makes one in each namespace",
        applies: is_plain_default_account,
    },
    Exclusion {
        name: "controller-accounts",
        leaves_out: "ServiceAccounts of kube-system that belong to controllers of Kubernetes, without content of their own",
        reason: "kube-controller-manager makes them",
        applies: is_plain_controller_account,
    },
    Exclusion {
        name: "generated-tokens",
        leaves_out: "Secrets of ServiceAccounts that a controller generated (ACCOUNT-token-xxxxx)",
        reason: "the tokens were for accounts with other uids; later releases do not need them",
        applies: is_generated_token,
    },
    Exclusion {
        name: "node-reports",
        leaves_out: "CSINodes, CSIStorageCapacities, ResourceSlices, VolumeAttachments",
        reason: "kubelets, drivers and the attach controller write them",
        applies: |object, _| {
            ["CSINode", "CSIStorageCapacity", "VolumeAttachment"].iter().any(|kind| is(object, "storage.k8s.io", kind))
                || is(object, "resource.k8s.io", "ResourceSlice")
        },
    },
    Exclusion {
        name: "server-objects",
        leaves_out: "what API servers make themselves: default RBAC, flow control, APIServices of their own, IPAddresses, the Service kubernetes",
        reason: "API servers keep them as their release has them",
        applies: |object, _| is_of_api_server(object),
    },
];

/// The first reason to leave an object out that is not switched off (`is_off` by name).
pub fn exclusion(object: &Value, around: &Surroundings, is_off: impl Fn(&str) -> bool) -> Option<&'static Exclusion> {
    ALL_EXCLUSIONS.iter().find(|exclusion| (exclusion.applies)(object, around) && !is_off(exclusion.name))
}

/// The ownerReference of an object's controller. A StatefulSet owns its claims only so that they are deleted with it: what is on their volumes is not made
/// again, so of a claim only a Pod counts, whose ephemeral volume it is.
pub fn controller(object: &Value) -> Option<&Value> {
    let references = object["metadata"]["ownerReferences"].as_array()?;
    let is_claim = is(object, "", "PersistentVolumeClaim");
    references.iter().find(|reference| reference["controller"] == true && (!is_claim || reference["kind"] == "Pod"))
}

fn is_lease(object: &Value, _: &Surroundings) -> bool {
    let holds_election = !object["metadata"]["annotations"]["control-plane.alpha.kubernetes.io/leader"].is_null();
    group(object) == "coordination.k8s.io"
        || (holds_election && (is(object, "", "Endpoints") || is(object, "", "ConfigMap") && object["data"].is_null()))
}

fn are_endpoints(object: &Value, around: &Surroundings) -> bool {
    let metadata = &object["metadata"];
    if is(object, "discovery.k8s.io", "EndpointSlice") {
        let by = metadata["labels"]["endpointslice.kubernetes.io/managed-by"].as_str().unwrap_or_default();
        return [
            "endpointslice-controller.k8s.io",
            "endpointslicemirroring-controller.k8s.io",
            "endpointslice-controller",
            "control-plane",
        ]
        .contains(&by)
            || place(object) == ("default".to_owned(), "kubernetes".to_owned());
    }
    is(object, "", "Endpoints")
        && (metadata["labels"]["endpoints.kubernetes.io/managed-by"] == "endpoint-controller"
            || around.selecting_services.contains(&place(object))
            || place(object) == ("default".to_owned(), "kubernetes".to_owned()))
}

/// Whether a Pod has ended, or a Job has nothing left to do.
pub fn is_finished(object: &Value) -> bool {
    let has_ended =
        |condition: &Value| ["Complete", "Failed"].iter().any(|ended| condition["type"] == *ended) && condition["status"] == "True";
    if is(object, "batch", "Job") {
        return object["status"]["conditions"].as_array().is_some_and(|conditions| conditions.iter().any(has_ended));
    }
    is(object, "", "Pod") && ["Succeeded", "Failed"].iter().any(|phase| object["status"]["phase"] == *phase)
}

fn is_plain_default_account(object: &Value, _: &Surroundings) -> bool {
    object["metadata"]["name"] == "default" && is_plain_account(object, "default")
}

fn is_plain_controller_account(object: &Value, _: &Surroundings) -> bool {
    let (namespace, name) = place(object);
    namespace == "kube-system" && CONTROLLER_ACCOUNTS.contains(&&*name) && is_plain_account(object, &name)
}

/// Whether an object is a ServiceAccount that somebody only named: it has nothing but what controllers add.
fn is_plain_account(object: &Value, account: &str) -> bool {
    let is_empty = |value: &Value| value.as_object().is_none_or(|map| map.is_empty());
    let metadata = &object["metadata"];
    let are_generated = |list: &Value| {
        list.as_array().into_iter().flatten().all(|reference| reference["name"].as_str().is_some_and(|name| is_token_secret(name, account)))
    };
    is(object, "", "ServiceAccount")
        && is_empty(&metadata["labels"])
        && is_empty(&metadata["annotations"])
        && are_generated(&object["imagePullSecrets"])
        && are_generated(&object["secrets"])
        && object["automountServiceAccountToken"].is_null()
}

fn is_generated_token(object: &Value, _: &Surroundings) -> bool {
    const GENERATED_SECRET_TYPES: [&str; 3] =
        ["kubernetes.io/service-account-token", "kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson"];
    let metadata = &object["metadata"];
    let annotation = |name: &str| metadata["annotations"][name].as_str();
    let account =
        annotation("kubernetes.io/service-account.name").or(annotation("openshift.io/internal-registry-auth-token.service-account"));
    is(object, "", "Secret")
        && object["type"].as_str().is_some_and(|of| GENERATED_SECRET_TYPES.contains(&of))
        && account.zip(metadata["name"].as_str()).is_some_and(|(account, name)| is_token_secret(name, account))
}

/// The accounts that kube-controller-manager makes for its controllers, which use them with `--use-service-account-credentials`: the subjects of the
/// default bindings (plugin/pkg/auth/authorizer/rbac/bootstrappolicy, v1.20 to v1.37) and those that it was seen to make without one.
const CONTROLLER_ACCOUNTS: &[&str] = &[
    "attachdetach-controller",
    "bootstrap-signer",
    "certificate-controller",
    "clusterrole-aggregation-controller",
    "cronjob-controller",
    "daemon-set-controller",
    "deployment-controller",
    "device-taint-eviction-controller",
    "disruption-controller",
    "endpoint-controller",
    "endpointslice-controller",
    "endpointslicemirroring-controller",
    "ephemeral-volume-controller",
    "expand-controller",
    "generic-garbage-collector",
    "horizontal-pod-autoscaler",
    "job-controller",
    "kube-apiserver-serving-clustertrustbundle-publisher",
    "legacy-service-account-token-cleaner",
    "namespace-controller",
    "node-controller",
    "persistent-volume-binder",
    "pod-garbage-collector",
    "podcertificaterequestcleaner",
    "pv-protection-controller",
    "pvc-protection-controller",
    "replicaset-controller",
    "replication-controller",
    "resource-claim-controller",
    "resourcequota-controller",
    "root-ca-cert-publisher",
    "route-controller",
    "selinux-warning-controller",
    "service-account-controller",
    "service-cidrs-controller",
    "service-controller",
    "statefulset-controller",
    "storage-version-migrator-controller",
    "token-cleaner",
    "ttl-after-finished-controller",
    "ttl-controller",
    "validatingadmissionpolicy-status-controller",
    "volumeattributesclass-protection-controller",
];

fn is_of_api_server(object: &Value) -> bool {
    let metadata = &object["metadata"];
    match (group(object), object["kind"].as_str().unwrap_or_default()) {
        ("rbac.authorization.k8s.io", _) => metadata["labels"]["kubernetes.io/bootstrapping"] == "rbac-defaults",
        ("flowcontrol.apiserver.k8s.io", _) => match metadata["annotations"]["apf.kubernetes.io/autoupdate-spec"].as_str() {
            Some(is_updated) => is_updated == "true",
            None => is_first_flow_control(object),
        },
        ("apiregistration.k8s.io", "APIService") => !metadata["labels"]["kube-aggregator.kubernetes.io/automanaged"].is_null(),
        ("networking.k8s.io", "IPAddress") => true,
        ("networking.k8s.io", "ServiceCIDR") => metadata["name"] == "kubernetes",
        ("scheduling.k8s.io", "PriorityClass") => metadata["name"].as_str().is_some_and(|name| name.starts_with("system-")),
        ("", "Service") => place(object) == ("default".to_owned(), "kubernetes".to_owned()),
        ("", "ConfigMap") => place(object) == ("kube-system".to_owned(), "extension-apiserver-authentication".to_owned()),
        ("", "ComponentStatus") => true,
        _ => false,
    }
}

/// Whether an object is the flow control that API servers of 1.18 to 1.21 make and mark by no annotation, as they made it: named in apiserver's
/// pkg/apis/flowcontrol/bootstrap/default.go (v1.18, v1.20), and its spec never changed.
fn is_first_flow_control(object: &Value) -> bool {
    const FLOW_SCHEMAS: &[&str] = &[
        "catch-all",
        "exempt",
        "global-default",
        "kube-controller-manager",
        "kube-scheduler",
        "kube-system-service-accounts",
        "probes",
        "service-accounts",
        "system-leader-election",
        "system-nodes",
        "workload-leader-election",
    ];
    const PRIORITY_LEVELS: &[&str] =
        &["catch-all", "exempt", "global-default", "leader-election", "system", "workload-high", "workload-low"];
    let names = match object["kind"].as_str() {
        Some("FlowSchema") => FLOW_SCHEMAS,
        Some("PriorityLevelConfiguration") => PRIORITY_LEVELS,
        _ => return false,
    };
    let metadata = &object["metadata"];
    metadata["name"].as_str().is_some_and(|name| names.contains(&name))
        && metadata["generation"].as_i64().is_none_or(|generation| generation <= 1)
}
