//! The columns of Kubernetes' own kinds as the API server heads them.
//!
//! Source: Kubernetes 1.37 `pkg/printers/internalversion/printers.go`, kube-aggregator `pkg/registry/apiservice/etcd`.

use ketcd_kube::Release;

/// Group, kind, columns with `|` between them. After the name of a column stand `=` where it has the format `name`, `:i`, `:b` or `:d` where its type
/// is integer, boolean or date and not string, `#` where its cells are numbers all the same, and `+` where only `-o wide` shows it.
#[rustfmt::skip]
const TABLE_COLUMNS: &[(&str, &str, &str)] = &[
    ("", "ComponentStatus", "Name=|Status|Message|Error"),
    ("", "ConfigMap", "Name=|Data#|Age"),
    ("", "Endpoints", "Name=|Endpoints|Age"),
    ("", "Event", "Last Seen|Type|Reason|Object|Subobject+|Source+|Message|First Seen+|Count#+|Name=+"),
    ("", "Namespace", "Name=|Status|Age"),
    ("", "Node", "Name=|Status|Roles|Age|Version|Internal-IP+|External-IP+|OS-Image+|Kernel-Version+|Container-Runtime+"),
    ("", "PersistentVolume", "Name=|Capacity|Access Modes|Reclaim Policy|Status|Claim|StorageClass|VolumeAttributesClass|Reason|Age|VolumeMode+"),
    ("", "PersistentVolumeClaim", "Name=|Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age|VolumeMode+"),
    ("", "Pod", "Name=|Ready|Status|Restarts|Age|IP+|Node+|Nominated Node+|Readiness Gates+"),
    ("", "PodTemplate", "Name=|Containers|Images|Pod Labels"),
    ("", "ReplicationController", "Name=|Desired:i|Current:i|Ready:i|Age|Containers+|Images+|Selector+"),
    ("", "ResourceQuota", "Name=|Request|Limit|Age"),
    ("", "Secret", "Name=|Type|Data#|Age"),
    ("", "Service", "Name=|Type|Cluster-IP|External-IP|Port(s)|Age|Selector+"),
    ("", "ServiceAccount", "Name=|Age"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy", "Name=|Mutations:i|ParamKind|Age"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding", "Name=|PolicyName|ParamRef|Age"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration", "Name=|Webhooks:i|Age"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", "Name=|Validations:i|ParamKind|Age"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", "Name=|PolicyName|ParamRef|Age"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "Name=|Webhooks:i|Age"),
    ("apiregistration.k8s.io", "APIService", "Name=|Service|Available|Age"),
    ("apps", "ControllerRevision", "Name=|Controller|Revision#|Age"),
    ("apps", "DaemonSet", "Name=|Desired:i|Current:i|Ready:i|Up-to-date:i|Available:i|Node Selector|Age|Containers+|Images+|Selector+"),
    ("apps", "Deployment", "Name=|Ready|Up-to-date#|Available#|Age|Containers+|Images+|Selector+"),
    ("apps", "ReplicaSet", "Name=|Desired:i|Current:i|Ready:i|Age|Containers+|Images+|Selector+"),
    ("apps", "StatefulSet", "Name=|Ready|Age|Containers+|Images+"),
    ("autoscaling", "HorizontalPodAutoscaler", "Name=|Reference|Targets|MinPods|MaxPods#|Replicas#|Age"),
    ("batch", "CronJob", "Name=|Schedule|Timezone|Suspend:b|Active:i|Last Schedule|Age|Containers+|Images+|Selector+"),
    ("batch", "Job", "Name=|Status|Completions|Duration|Age|Containers+|Images+|Selector+"),
    ("certificates.k8s.io", "CertificateSigningRequest", "Name=|Age|SignerName|Requestor|RequestedDuration|Condition"),
    ("certificates.k8s.io", "ClusterTrustBundle", "Name=|SignerName"),
    ("certificates.k8s.io", "PodCertificateRequest", "Name=|PodName|ServiceAccountName|NodeName|SignerName|State|UnverifiedUserAnnotations"),
    ("coordination.k8s.io", "Lease", "Name=|Holder|Age"),
    ("coordination.k8s.io", "LeaseCandidate", "Name=|LeaseName|BinaryVersion|EmulationVersion|Age"),
    ("discovery.k8s.io", "EndpointSlice", "Name=|AddressType|Ports|Endpoints|Age"),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema", "Name=|PriorityLevel|MatchingPrecedence#|DistinguisherMethod|Age|MissingPL"),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", "Name=|Type|NominalConcurrencyShares#|Queues#|HandSize#|QueueLengthLimit#|Age"),
    ("internal.apiserver.k8s.io", "StorageVersion", "Name=|CommonEncodingVersion|StorageVersions|Age"),
    ("lifecycle.k8s.io", "Eviction", "Name=|Target|Target Type|Status|Active Responder|Responder Status|Responder Expected Finish|Requesters|Age|Responder Heartbeat+|Responder Status Message+"),
    ("lifecycle.k8s.io", "EvictionRequest", "Name=|Target|Target Type|Status|Requester|Intent|Age"),
    ("networking.k8s.io", "IPAddress", "Name=|ParentRef"),
    ("networking.k8s.io", "Ingress", "Name=|Class|Hosts|Address|Ports|Age"),
    ("networking.k8s.io", "IngressClass", "Name=|Controller|Parameters|Age"),
    ("networking.k8s.io", "NetworkPolicy", "Name=|Pod-Selector|Age"),
    ("networking.k8s.io", "ServiceCIDR", "Name=|CIDRs|Age"),
    ("node.k8s.io", "RuntimeClass", "Name=|Handler|Age"),
    ("policy", "PodDisruptionBudget", "Name=|Min Available|Max Unavailable|Allowed Disruptions:i|Age"),
    ("policy", "PodSecurityPolicy", "Name=|Priv|Caps|SELinux|RunAsUser|FSGroup|SupGroup|ReadOnlyRootFs|Volumes"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", "Name=|Role|Age|Users+|Groups+|ServiceAccounts+"),
    ("rbac.authorization.k8s.io", "RoleBinding", "Name=|Role|Age|Users+|Groups+|ServiceAccounts+"),
    ("resource.k8s.io", "DeviceClass", "Name=|Age"),
    ("resource.k8s.io", "DeviceTaintRule", "Name=|Key|Value|Effect|TimeAdded|Age"),
    ("resource.k8s.io", "ResourceClaim", "Name=|State|Age"),
    ("resource.k8s.io", "ResourceClaimTemplate", "Name=|Age"),
    ("resource.k8s.io", "ResourcePoolStatusRequest", "Name=|Driver|Total|Available|Allocated|Unavailable|Errors|Pools:i|Status|Completed"),
    ("resource.k8s.io", "ResourceSlice", "Name=|Node|Driver|Pool|Age"),
    ("scheduling.k8s.io", "CompositePodGroup", "Name=|Policy|Workload|Age"),
    ("scheduling.k8s.io", "PodGroup", "Name=|Policy|Workload|Status|Age"),
    ("scheduling.k8s.io", "PriorityClass", "Name=|Value:i|Global-Default:b|Age|PreemptionPolicy"),
    ("scheduling.k8s.io", "Workload", "Name=|Age"),
    ("storage.k8s.io", "CSIDriver", "Name=|AttachRequired:b|PodInfoOnMount:b|StorageCapacity:b|TokenRequests|RequiresRepublish:b|Modes|Age"),
    ("storage.k8s.io", "CSINode", "Name=|Drivers:i|Age"),
    ("storage.k8s.io", "StorageClass", "Name=|Provisioner|ReclaimPolicy|VolumeBindingMode|AllowVolumeExpansion|Age"),
    ("storage.k8s.io", "VolumeAttachment", "Name=|Attacher=|PV|Node|Attached:b|Age"),
    ("storage.k8s.io", "VolumeAttributesClass", "Name=|DriverName|Age"),
    ("storagemigration.k8s.io", "StorageVersionMigration", "Name|Resource|Status"),
];

/// Kinds without columns of their own (apiserver `pkg/registry/rest/table.go`).
const DEFAULT_COLUMNS: &str = "Name=|Created At:d";

/// CustomResourceDefinitions since 1.37 (apiextensions-apiserver v0.37 `pkg/registry/customresourcedefinition/tableconvertor`).
const DEFINITION_COLUMNS: &str = "Name=|Scope|Versions|Created At:d|Group+|Kind+|ShortNames+|Established:b+";

/// Returns the columns of a kind in a release.
pub(super) fn of(group: &str, kind: &str, release: Release) -> &'static str {
    if (group, kind) == ("apiextensions.k8s.io", "CustomResourceDefinition") && release >= Release(37) {
        return DEFINITION_COLUMNS;
    }
    TABLE_COLUMNS.iter().find(|row| (row.0, row.1) == (group, kind)).map_or(DEFAULT_COLUMNS, |row| row.2)
}
