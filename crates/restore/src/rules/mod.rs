//! What a manifest leaves out of a stored object: one row a rule.

mod edit;
mod metadata;
mod network;
mod pods;
mod storage;
mod workloads;

use std::fmt;

use serde_json::Value;

pub(crate) use metadata::LAST_APPLIED;

/// What is left out of an object before it is applied.
pub struct Rule {
    /// Its name, which switches it off.
    pub name: &'static str,
    /// What it strips: kinds and fields.
    pub strips: &'static str,
    /// Why an apply is better without it.
    pub reason: &'static str,
    /// Strips it; returns whether there was anything.
    strip: fn(&mut Value) -> bool,
}

impl Rule {
    /// Strips what the rule is about; returns whether there was anything.
    pub fn strip(&self, object: &mut Value) -> bool {
        (self.strip)(object)
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// The rule that strips `status`. A custom resource keeps it unless its definition has a status subresource.
pub const STATUS_RULE: &str = "status";
/// The rule that lets a claim find a volume anew.
pub const VOLUME_NAME: &str = "volume-name";
/// The rule that frees a volume for any claim.
pub const CLAIM_REF: &str = "claim-ref";

/// Every rule, in the order in which they are applied.
///
/// Sources: the `Strategy` of each kind in k8s.io/kubernetes `pkg/registry` (v1.36.3), which of its fields `PrepareForCreate` and the admission
/// plugins in `plugin/pkg/admission` set, and what `pkg/apis/core/validation` refuses on a create.
pub const ALL_RULES: &[Rule] = &[
    Rule { name: STATUS_RULE, strips: "status", reason: "controllers write it; an apply leaves it alone", strip: metadata::status },
    Rule {
        name: "uid",
        strips: "metadata.uid, selfLink",
        reason: "each object that is made gets its own; an apply with another one is refused",
        strip: metadata::uid,
    },
    Rule {
        name: "resource-version",
        strips: "metadata.resourceVersion, generation",
        reason: "they count writes; an apply with an old one is refused as a conflict",
        strip: metadata::resource_version,
    },
    Rule {
        name: "timestamps",
        strips: "metadata.creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds, also in templates",
        reason: "the API server sets them",
        strip: metadata::timestamps,
    },
    Rule {
        name: "managed-fields",
        strips: "metadata.managedFields",
        reason: "the API server records there who applied what",
        strip: metadata::managed_fields,
    },
    Rule {
        name: "last-applied",
        strips: "the annotation kubectl.kubernetes.io/last-applied-configuration",
        reason: "kubectl apply writes it anew",
        strip: metadata::last_applied,
    },
    Rule {
        name: "controller-annotations",
        strips: "annotations in which controllers keep their state, such as deployment.kubernetes.io/revision",
        reason: "their controllers write them anew",
        strip: metadata::controller_annotations,
    },
    Rule {
        name: "finalizers",
        strips: "metadata.finalizers, a Namespace's spec.finalizers",
        reason: "controllers add their own again; one whose controller is gone makes a deletion hang",
        strip: metadata::finalizers,
    },
    Rule {
        name: "owner-references",
        strips: "metadata.ownerReferences",
        reason: "they name owners by uid: the garbage collector deletes an object whose owner has another one by now",
        strip: metadata::owner_references,
    },
    Rule {
        name: "pod-cidr",
        strips: "a Node's spec.podCIDR and podCIDRs",
        reason: "the cluster's allocator assigns them, and they cannot be changed afterwards",
        strip: network::pod_cidr,
    },
    Rule {
        name: "node-name",
        strips: "a Pod's spec.nodeName",
        reason: "the node may be full or gone; the scheduler chooses again",
        strip: pods::node_name,
    },
    Rule {
        name: "token-volumes",
        strips: "a Pod's volumes of its ServiceAccount's token that admission added",
        reason: "admission adds them again; of old releases they name a generated Secret that is not restored",
        strip: pods::token_volumes,
    },
    Rule {
        name: "priority",
        strips: "a Pod's spec.priority, and the preemptionPolicy of a Pod with a priorityClassName",
        reason: "admission sets them by the class, and refuses a Pod with others",
        strip: pods::priority,
    },
    Rule {
        name: "overhead",
        strips: "the spec.overhead of a Pod with a runtimeClassName",
        reason: "admission sets it by the class, and refuses a Pod with another",
        strip: pods::overhead,
    },
    Rule {
        name: "ephemeral-containers",
        strips: "a Pod's spec.ephemeralContainers",
        reason: "the API server refuses to create a Pod with them; kubectl debug adds them",
        strip: pods::ephemeral_containers,
    },
    Rule {
        name: "job-selector",
        strips: "a Job's spec.selector, and its labels controller-uid and job-name, unless spec.manualSelector is true",
        reason: "they hold the Job's old uid, which the API server refuses",
        strip: workloads::job_selector,
    },
    Rule {
        name: "cluster-ip",
        strips: "a Service's spec.clusterIP and clusterIPs, unless None",
        reason: "another Service may have the address by now, or the cluster another range",
        strip: network::cluster_ip,
    },
    Rule {
        name: "node-port",
        strips: "a Service's spec.ports[].nodePort and healthCheckNodePort",
        reason: "another Service may have the port by now",
        strip: network::node_port,
    },
    Rule {
        name: "token-references",
        strips: "a ServiceAccount's references to generated token Secrets, named as ACCOUNT-token-xxxxx and ACCOUNT-dockercfg-xxxxx",
        reason: "those Secrets are not restored; controllers make others where they are used",
        strip: workloads::token_references,
    },
    Rule {
        name: "token-data",
        strips: "the data and the ServiceAccount's uid of a Secret of type kubernetes.io/service-account-token",
        reason: "the token was for an account with another uid; the token controller fills the Secret",
        strip: workloads::token_data,
    },
    Rule {
        name: "aggregated-rules",
        strips: "the rules of a ClusterRole with an aggregationRule",
        reason: "a controller fills them from other ClusterRoles",
        strip: workloads::aggregated_rules,
    },
    Rule {
        name: "requester",
        strips: "a CertificateSigningRequest's spec.username, uid, groups, extra",
        reason: "the API server sets them by who applies it",
        strip: workloads::requester,
    },
    Rule {
        name: "volume-binding",
        strips: "the annotations of a claim or volume that record its binding, and its provisioner and node",
        reason: "a claim that says it is bound, but is not, is Lost; a node that is gone leaves it Pending",
        strip: storage::binding_annotations,
    },
    Rule {
        name: VOLUME_NAME,
        strips: "a claim's spec.volumeName (kept by --with storage)",
        reason: "without that volume the claim would be Lost or Pending",
        strip: storage::volume_name,
    },
    Rule {
        name: CLAIM_REF,
        strips: "a volume's spec.claimRef (kept without the uid by --with storage)",
        reason: "a volume stays reserved for the claim that it names",
        strip: storage::claim_ref,
    },
    Rule {
        name: "claim-uid",
        strips: "the uid and resourceVersion in a volume's spec.claimRef",
        reason: "the claim gets another uid when it is made; a volume that names the old one is Released, not Bound",
        strip: storage::claim_uid,
    },
];

#[cfg(test)]
mod tests;
