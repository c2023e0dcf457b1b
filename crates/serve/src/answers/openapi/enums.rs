//! Which values a text field may have, where upstream's types name them all.
//!
//! Source: `pkg/generated/openapi/zz_generated.openapi.go` of Kubernetes 1.36.3 and 1.37.2, for the versions that descriptions are known of.

/// Schema, property, the first release with these values, the values with `|` between them.
#[rustfmt::skip]
const ENUM_VALUES: &[(&str, &str, u8, &str)] = &[
    ("io.k8s.api.admissionregistration.v1.MatchResources", "matchPolicy", 0, "Equivalent|Exact"),
    ("io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicySpec", "failurePolicy", 0, "Fail|Ignore"),
    ("io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicySpec", "reinvocationPolicy", 0, "IfNeeded|Never"),
    ("io.k8s.api.admissionregistration.v1.MutatingWebhook", "failurePolicy", 0, "Fail|Ignore"),
    ("io.k8s.api.admissionregistration.v1.MutatingWebhook", "matchPolicy", 0, "Equivalent|Exact"),
    ("io.k8s.api.admissionregistration.v1.MutatingWebhook", "reinvocationPolicy", 0, "IfNeeded|Never"),
    ("io.k8s.api.admissionregistration.v1.MutatingWebhook", "sideEffects", 0, "None|NoneOnDryRun|Some|Unknown"),
    ("io.k8s.api.admissionregistration.v1.Mutation", "patchType", 0, "ApplyConfiguration|JSONPatch"),
    ("io.k8s.api.admissionregistration.v1.NamedRuleWithOperations", "operations", 0, "*|CONNECT|CREATE|DELETE|UPDATE"),
    ("io.k8s.api.admissionregistration.v1.NamedRuleWithOperations", "scope", 0, "*|Cluster|Namespaced"),
    ("io.k8s.api.admissionregistration.v1.Rule", "scope", 0, "*|Cluster|Namespaced"),
    ("io.k8s.api.admissionregistration.v1.RuleWithOperations", "operations", 0, "*|CONNECT|CREATE|DELETE|UPDATE"),
    ("io.k8s.api.admissionregistration.v1.RuleWithOperations", "scope", 0, "*|Cluster|Namespaced"),
    ("io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec", "validationActions", 0, "Audit|Deny|Warn"),
    ("io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicySpec", "failurePolicy", 0, "Fail|Ignore"),
    ("io.k8s.api.admissionregistration.v1.ValidatingWebhook", "failurePolicy", 0, "Fail|Ignore"),
    ("io.k8s.api.admissionregistration.v1.ValidatingWebhook", "matchPolicy", 0, "Equivalent|Exact"),
    ("io.k8s.api.admissionregistration.v1.ValidatingWebhook", "sideEffects", 0, "None|NoneOnDryRun|Some|Unknown"),
    ("io.k8s.api.apps.v1.DaemonSetUpdateStrategy", "type", 0, "OnDelete|RollingUpdate"),
    ("io.k8s.api.apps.v1.DeploymentStrategy", "type", 0, "Recreate|RollingUpdate"),
    ("io.k8s.api.apps.v1.StatefulSetSpec", "podManagementPolicy", 0, "OrderedReady|Parallel"),
    ("io.k8s.api.apps.v1.StatefulSetUpdateStrategy", "type", 0, "OnDelete|RollingUpdate"),
    ("io.k8s.api.apps.v1.StatefulSetUpdateStrategy", "type", 37, "OnDelete|Recreate|RollingUpdate"),
    ("io.k8s.api.autoscaling.v1.MetricSpec", "type", 0, "ContainerResource|External|Object|Pods|Resource"),
    ("io.k8s.api.autoscaling.v1.MetricStatus", "type", 0, "ContainerResource|External|Object|Pods|Resource"),
    ("io.k8s.api.batch.v1.CronJobSpec", "concurrencyPolicy", 0, "Allow|Forbid|Replace"),
    ("io.k8s.api.batch.v1.JobSpec", "completionMode", 0, "Indexed|NonIndexed"),
    ("io.k8s.api.batch.v1.JobSpec", "podReplacementPolicy", 0, "Failed|TerminatingOrFailed"),
    ("io.k8s.api.batch.v1.PodFailurePolicyOnExitCodesRequirement", "operator", 0, "In|NotIn"),
    ("io.k8s.api.batch.v1.PodFailurePolicyRule", "action", 0, "Count|FailIndex|FailJob|Ignore"),
    ("io.k8s.api.certificates.v1.CertificateSigningRequestSpec", "usages", 0, "any|cert sign|client auth|code signing|content commitment|crl sign|data encipherment|decipher only|digital signature|email protection|encipher only|ipsec end system|ipsec tunnel|ipsec user|key agreement|key encipherment|microsoft sgc|netscape sgc|ocsp signing|s/mime|server auth|signing|timestamping"),
    ("io.k8s.api.core.v1.AppArmorProfile", "type", 0, "Localhost|RuntimeDefault|Unconfined"),
    ("io.k8s.api.core.v1.AzureDiskVolumeSource", "cachingMode", 0, "None|ReadOnly|ReadWrite"),
    ("io.k8s.api.core.v1.AzureDiskVolumeSource", "kind", 0, "Dedicated|Managed|Shared"),
    ("io.k8s.api.core.v1.Container", "imagePullPolicy", 0, "Always|IfNotPresent|Never"),
    ("io.k8s.api.core.v1.Container", "terminationMessagePolicy", 0, "FallbackToLogsOnError|File"),
    ("io.k8s.api.core.v1.ContainerPort", "protocol", 0, "SCTP|TCP|UDP"),
    ("io.k8s.api.core.v1.ContainerStatus", "stopSignal", 0, "SIGABRT|SIGALRM|SIGBUS|SIGCHLD|SIGCLD|SIGCONT|SIGFPE|SIGHUP|SIGILL|SIGINT|SIGIO|SIGIOT|SIGKILL|SIGPIPE|SIGPOLL|SIGPROF|SIGPWR|SIGQUIT|SIGRTMAX|SIGRTMAX-1|SIGRTMAX-10|SIGRTMAX-11|SIGRTMAX-12|SIGRTMAX-13|SIGRTMAX-14|SIGRTMAX-2|SIGRTMAX-3|SIGRTMAX-4|SIGRTMAX-5|SIGRTMAX-6|SIGRTMAX-7|SIGRTMAX-8|SIGRTMAX-9|SIGRTMIN|SIGRTMIN+1|SIGRTMIN+10|SIGRTMIN+11|SIGRTMIN+12|SIGRTMIN+13|SIGRTMIN+14|SIGRTMIN+15|SIGRTMIN+2|SIGRTMIN+3|SIGRTMIN+4|SIGRTMIN+5|SIGRTMIN+6|SIGRTMIN+7|SIGRTMIN+8|SIGRTMIN+9|SIGSEGV|SIGSTKFLT|SIGSTOP|SIGSYS|SIGTERM|SIGTRAP|SIGTSTP|SIGTTIN|SIGTTOU|SIGURG|SIGUSR1|SIGUSR2|SIGVTALRM|SIGWINCH|SIGXCPU|SIGXFSZ"),
    ("io.k8s.api.core.v1.EndpointPort", "protocol", 0, "SCTP|TCP|UDP"),
    ("io.k8s.api.core.v1.EphemeralContainer", "imagePullPolicy", 0, "Always|IfNotPresent|Never"),
    ("io.k8s.api.core.v1.EphemeralContainer", "terminationMessagePolicy", 0, "FallbackToLogsOnError|File"),
    ("io.k8s.api.core.v1.EphemeralContainerCommon", "imagePullPolicy", 0, "Always|IfNotPresent|Never"),
    ("io.k8s.api.core.v1.EphemeralContainerCommon", "terminationMessagePolicy", 0, "FallbackToLogsOnError|File"),
    ("io.k8s.api.core.v1.GRPCAction", "mode", 37, "Plaintext|TLS"),
    ("io.k8s.api.core.v1.HTTPGetAction", "protocol", 37, "HTTP1|HTTP2"),
    ("io.k8s.api.core.v1.HTTPGetAction", "scheme", 0, "HTTP|HTTPS"),
    ("io.k8s.api.core.v1.HostPathVolumeSource", "type", 0, "|BlockDevice|CharDevice|Directory|DirectoryOrCreate|File|FileOrCreate|Socket"),
    ("io.k8s.api.core.v1.ImageVolumeSource", "pullPolicy", 0, "Always|IfNotPresent|Never"),
    ("io.k8s.api.core.v1.Lifecycle", "stopSignal", 0, "SIGABRT|SIGALRM|SIGBUS|SIGCHLD|SIGCLD|SIGCONT|SIGFPE|SIGHUP|SIGILL|SIGINT|SIGIO|SIGIOT|SIGKILL|SIGPIPE|SIGPOLL|SIGPROF|SIGPWR|SIGQUIT|SIGRTMAX|SIGRTMAX-1|SIGRTMAX-10|SIGRTMAX-11|SIGRTMAX-12|SIGRTMAX-13|SIGRTMAX-14|SIGRTMAX-2|SIGRTMAX-3|SIGRTMAX-4|SIGRTMAX-5|SIGRTMAX-6|SIGRTMAX-7|SIGRTMAX-8|SIGRTMAX-9|SIGRTMIN|SIGRTMIN+1|SIGRTMIN+10|SIGRTMIN+11|SIGRTMIN+12|SIGRTMIN+13|SIGRTMIN+14|SIGRTMIN+15|SIGRTMIN+2|SIGRTMIN+3|SIGRTMIN+4|SIGRTMIN+5|SIGRTMIN+6|SIGRTMIN+7|SIGRTMIN+8|SIGRTMIN+9|SIGSEGV|SIGSTKFLT|SIGSTOP|SIGSYS|SIGTERM|SIGTRAP|SIGTSTP|SIGTTIN|SIGTTOU|SIGURG|SIGUSR1|SIGUSR2|SIGVTALRM|SIGWINCH|SIGXCPU|SIGXFSZ"),
    ("io.k8s.api.core.v1.ModifyVolumeStatus", "status", 0, "InProgress|Infeasible|Pending"),
    ("io.k8s.api.core.v1.NamespaceStatus", "phase", 0, "Active|Terminating"),
    ("io.k8s.api.core.v1.NodeSelectorRequirement", "operator", 0, "DoesNotExist|Exists|Gt|In|Lt|NotIn"),
    ("io.k8s.api.core.v1.NodeStatus", "phase", 0, "Pending|Running|Terminated"),
    ("io.k8s.api.core.v1.PersistentVolumeClaimSpec", "accessModes", 0, "ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod"),
    ("io.k8s.api.core.v1.PersistentVolumeClaimSpec", "volumeMode", 0, "Block|Filesystem"),
    ("io.k8s.api.core.v1.PersistentVolumeClaimStatus", "accessModes", 0, "ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod"),
    ("io.k8s.api.core.v1.PersistentVolumeClaimStatus", "allocatedResourceStatuses", 0, "ControllerResizeInProgress|ControllerResizeInfeasible|NodeResizeInProgress|NodeResizeInfeasible|NodeResizePending"),
    ("io.k8s.api.core.v1.PersistentVolumeClaimStatus", "phase", 0, "Bound|Lost|Pending"),
    ("io.k8s.api.core.v1.PersistentVolumeSpec", "accessModes", 0, "ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod"),
    ("io.k8s.api.core.v1.PersistentVolumeSpec", "persistentVolumeReclaimPolicy", 0, "Delete|Recycle|Retain"),
    ("io.k8s.api.core.v1.PersistentVolumeSpec", "volumeMode", 0, "Block|Filesystem"),
    ("io.k8s.api.core.v1.PersistentVolumeStatus", "phase", 0, "Available|Bound|Failed|Pending|Released"),
    ("io.k8s.api.core.v1.PodSecurityContext", "fsGroupChangePolicy", 0, "Always|OnRootMismatch"),
    ("io.k8s.api.core.v1.PodSecurityContext", "supplementalGroupsPolicy", 0, "Merge|Strict"),
    ("io.k8s.api.core.v1.PodSpec", "dnsPolicy", 0, "ClusterFirst|ClusterFirstWithHostNet|Default|None"),
    ("io.k8s.api.core.v1.PodSpec", "preemptionPolicy", 0, "Never|PreemptLowerPriority"),
    ("io.k8s.api.core.v1.PodSpec", "restartPolicy", 0, "Always|Never|OnFailure"),
    ("io.k8s.api.core.v1.PodStatus", "phase", 0, "Failed|Pending|Running|Succeeded|Unknown"),
    ("io.k8s.api.core.v1.PodStatus", "qosClass", 0, "BestEffort|Burstable|Guaranteed"),
    ("io.k8s.api.core.v1.PortStatus", "protocol", 0, "SCTP|TCP|UDP"),
    ("io.k8s.api.core.v1.ResourceQuotaSpec", "scopes", 0, "BestEffort|CrossNamespacePodAffinity|NotBestEffort|NotTerminating|PriorityClass|Terminating|VolumeAttributesClass"),
    ("io.k8s.api.core.v1.ScopedResourceSelectorRequirement", "operator", 0, "DoesNotExist|Exists|In|NotIn"),
    ("io.k8s.api.core.v1.ScopedResourceSelectorRequirement", "scopeName", 0, "BestEffort|CrossNamespacePodAffinity|NotBestEffort|NotTerminating|PriorityClass|Terminating|VolumeAttributesClass"),
    ("io.k8s.api.core.v1.SeccompProfile", "type", 0, "Localhost|RuntimeDefault|Unconfined"),
    ("io.k8s.api.core.v1.SecurityContext", "procMount", 0, "Default|Unmasked"),
    ("io.k8s.api.core.v1.ServicePort", "protocol", 0, "SCTP|TCP|UDP"),
    ("io.k8s.api.core.v1.ServiceSpec", "externalTrafficPolicy", 0, "Cluster|Local"),
    ("io.k8s.api.core.v1.ServiceSpec", "internalTrafficPolicy", 0, "Cluster|Local"),
    ("io.k8s.api.core.v1.ServiceSpec", "ipFamilies", 0, "|IPv4|IPv6"),
    ("io.k8s.api.core.v1.ServiceSpec", "ipFamilyPolicy", 0, "PreferDualStack|RequireDualStack|SingleStack"),
    ("io.k8s.api.core.v1.ServiceSpec", "sessionAffinity", 0, "ClientIP|None"),
    ("io.k8s.api.core.v1.ServiceSpec", "type", 0, "ClusterIP|ExternalName|LoadBalancer|NodePort"),
    ("io.k8s.api.core.v1.Taint", "effect", 0, "NoExecute|NoSchedule|PreferNoSchedule"),
    ("io.k8s.api.core.v1.Toleration", "effect", 0, "NoExecute|NoSchedule|PreferNoSchedule"),
    ("io.k8s.api.core.v1.Toleration", "operator", 0, "Equal|Exists|Gt|Lt"),
    ("io.k8s.api.core.v1.TopologySpreadConstraint", "nodeAffinityPolicy", 0, "Honor|Ignore"),
    ("io.k8s.api.core.v1.TopologySpreadConstraint", "nodeTaintsPolicy", 0, "Honor|Ignore"),
    ("io.k8s.api.core.v1.TopologySpreadConstraint", "whenUnsatisfiable", 0, "DoNotSchedule|ScheduleAnyway"),
    ("io.k8s.api.core.v1.VolumeHealthCondition", "status", 37, "DataLoss|Degraded|Inaccessible"),
    ("io.k8s.api.core.v1.VolumeMount", "mountPropagation", 0, "Bidirectional|HostToContainer|None"),
    ("io.k8s.api.discovery.v1.EndpointPort", "protocol", 0, "SCTP|TCP|UDP"),
    ("io.k8s.api.discovery.v1.EndpointSlice", "addressType", 0, "FQDN|IPv4|IPv6"),
    ("io.k8s.api.networking.v1.HTTPIngressPath", "pathType", 0, "Exact|ImplementationSpecific|Prefix"),
    ("io.k8s.api.networking.v1.IngressPortStatus", "protocol", 0, "SCTP|TCP|UDP"),
    ("io.k8s.api.networking.v1.NetworkPolicyPort", "protocol", 0, "SCTP|TCP|UDP"),
    ("io.k8s.api.networking.v1.NetworkPolicySpec", "policyTypes", 0, "Egress|Ingress"),
    ("io.k8s.api.policy.v1.PodDisruptionBudgetSpec", "unhealthyPodEvictionPolicy", 0, "AlwaysAllow|IfHealthyBudget"),
    ("io.k8s.api.resource.v1.DeviceAllocationConfiguration", "source", 0, "FromClaim|FromClass"),
    ("io.k8s.api.resource.v1.DeviceRequestAllocationResult", "skipNodeOperations", 37, "*|NodePrepareResources|NodeUnprepareResources"),
    ("io.k8s.api.resource.v1.DeviceSubRequest", "allocationMode", 0, "All|ExactCount"),
    ("io.k8s.api.resource.v1.DeviceTaint", "effect", 0, "NoExecute|NoSchedule|None"),
    ("io.k8s.api.resource.v1.DeviceToleration", "effect", 0, "NoExecute|NoSchedule|None"),
    ("io.k8s.api.resource.v1.DeviceToleration", "operator", 0, "Equal|Exists"),
    ("io.k8s.api.resource.v1.ExactDeviceRequest", "allocationMode", 0, "All|ExactCount"),
    ("io.k8s.api.resource.v1.ResourceSliceSpec", "skipNodeOperations", 37, "*|NodePrepareResources|NodeUnprepareResources"),
    ("io.k8s.api.scheduling.v1.PriorityClass", "preemptionPolicy", 0, "Never|PreemptLowerPriority"),
    ("io.k8s.api.storage.v1.StorageClass", "reclaimPolicy", 0, "Delete|Recycle|Retain"),
    ("io.k8s.api.storage.v1.StorageClass", "volumeBindingMode", 0, "Immediate|WaitForFirstConsumer"),
    ("io.k8s.api.storage.v1.StorageHealthCondition", "accessMode", 37, "ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod"),
    ("io.k8s.api.storage.v1.StorageHealthCondition", "status", 37, "StorageDegraded|StorageUnreachable"),
    ("io.k8s.api.storage.v1.StorageHealthCondition", "volumeMode", 37, "Block|Filesystem"),
];

/// Returns the values of a property in release 1.`minor`; `None` where it may have any.
pub(super) fn of(schema: &str, property: &str, minor: u8) -> Option<Vec<&'static str>> {
    let row = ENUM_VALUES.iter().rfind(|row| (row.0, row.1) == (schema, property) && row.2 <= minor)?;
    Some(row.3.split('|').collect())
}

/// Returns what a description says of them.
pub(super) fn described(values: &[&str]) -> String {
    values.iter().fold("\n\nPossible enum values:".to_owned(), |text, value| format!("{text}\n - `{value:?}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_release() {
        let policy = |minor| of("io.k8s.api.apps.v1.StatefulSetUpdateStrategy", "type", minor).unwrap();
        assert_eq!((policy(36), policy(37)), (vec!["OnDelete", "RollingUpdate"], vec!["OnDelete", "Recreate", "RollingUpdate"]));
        assert_eq!(of("io.k8s.api.core.v1.Container", "image", 36), None);
    }
}
