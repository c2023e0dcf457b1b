//! What the strings of objects are, by the names of their fields.
//!
//! A field is known by its own name and that of the field around it, so that the rules hold for custom kinds too, whose authors follow the conventions of
//! Kubernetes' API. Names and places are those of `k8s.io/api` v0.37.

/// What a string is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// Part of the API: kinds, groups, enumerations, times, uids. Stays.
    Api,
    /// Text in which anything may stand.
    Text,
    /// A name of an object or of part of one.
    Name,
    /// The name of a namespace.
    Namespace,
    /// A host.
    Host,
    /// A value.
    Value,
    /// A reference to an image.
    Image,
    /// A user, a group or a manager.
    Identity,
    /// An id of a machine.
    Identifier,
    /// A volume as a driver calls it.
    Volume,
    /// The key of a label.
    LabelKey,
    /// A certificate, or a request for one, in base64.
    Certificate,
}

/// What stays. A uid is random and names nobody; remapped, it would no longer say which object of two of one name is meant, and traces and audit logs
/// could not be joined to the objects.
const API: &[&str] = &[
    "accessModes",
    "addressType",
    "apiGroup",
    "apiGroups",
    "apiVersion",
    "apiVersions",
    "architecture",
    "claimUID",
    "concurrencyPolicy",
    "containerID",
    "containerRuntimeVersion",
    "controllerKind",
    "counterSet",
    // Its name stays, as its driver's does.
    "deviceClassName",
    "dnsPolicy",
    "driver",
    "driverName",
    "effect",
    "externalTrafficPolicy",
    "fieldsType",
    "fsType",
    "group",
    "imagePullPolicy",
    "ipFamilies",
    "ipFamilyPolicy",
    "kernelVersion",
    "kind",
    "kubeProxyVersion",
    "kubeletVersion",
    "operatingSystem",
    "operation",
    "operator",
    "osImage",
    "pathType",
    "phase",
    "podUID",
    "policyTypes",
    "preemptionPolicy",
    "protocol",
    "provisioner",
    "qosClass",
    "reclaimPolicy",
    "resourceVersion",
    "restartPolicy",
    "scopeName",
    "sessionAffinity",
    "signerName",
    "storedVersions",
    "terminationMessagePolicy",
    "uid",
    "updatePolicy",
    "usages",
    "verbs",
    "volumeBindingMode",
    "volumeMode",
    "whenUnsatisfiable",
    "resourceName",
    "extendedResourceName",
    "attacher",
    "metricName",
    "handler",
    "runtimeHandler",
];

/// Names beyond the fields that end in `Name`.
const NAMES: &[&str] = &[
    "container",
    "currentRevision",
    "generateName",
    "holderIdentity",
    "hostnameOverride",
    "name",
    "nodeID",
    "pool",
    "preferredHolder",
    "region",
    "port",
    "reportingInstance",
    "servicePort",
    "targetPort",
    "resourceNames",
    "serviceAccount",
    "subdomain",
    "updateRevision",
    "zone",
    "hostname",
    "volumeID",
    "requests",
];

/// Fields that end in `Name` and hold something else.
const NOT_NAMES: &[&str] = &["interfaceName", "singularName", "runAsUserName", "initiatorName", "datasetName"];

const HOSTS: &[&str] = &["externalName", "host", "hostnames", "hosts", "searches", "address"];
const LABEL_KEYS: &[&str] = &["topologyKey", "topologyKeys", "matchLabelKeys", "mismatchLabelKeys", "finalizers"];
const VALUES: &[&str] = &["args", "command"];
const IDENTITIES: &[&str] =
    &["username", "reportingComponent", "reportingController", "component", "user", "groups", "manager", "fieldManager", "runAsUserName"];
const IDENTIFIERS: &[&str] = &["machineID", "systemUUID", "bootID", "iqn", "initiatorName", "wwids", "targetWWNs"];
const VOLUMES: &[&str] = &["volumeHandle", "volumesInUse", "providerID", "diskURI", "pdID", "externalID", "hardwareAddress"];
const CERTIFICATES: &[&str] = &[
    "caBundle",
    "certificate",
    "certificateChain",
    "pkixPublicKey",
    "proofOfPossession",
    "stubPKCS10Request",
    "trustBundle",
    "certificate-authority-data",
    "client-certificate-data",
    "client-key-data",
];

/// Names of things that are not objects: the field around `name`.
const NAMES_OF_API: &[&str] = &[
    "additionalPrinterColumns",
    "containerResource",
    "drivers",
    "httpHeaders",
    "metric",
    "os",
    "options",
    "resource",
    "sysctls",
    "variables",
    "versions",
    "matchConditions",
    "attributes",
    "driver",
];

/// Returns what a string is. `parent` is the field around it; items of a list stand for the list.
pub(crate) fn of_string(parent: &str, member: &str) -> Treatment {
    let is_one_of = |list: &[&str]| list.contains(&member);
    if let Some(treatment) = of_place(parent, member) {
        return treatment;
    }
    if is_one_of(API) || ["Time", "Timestamp"].iter().any(|end| member.ends_with(end)) {
        return Treatment::Api;
    }
    match () {
        () if is_one_of(IDENTITIES) => Treatment::Identity,
        () if is_one_of(HOSTS) => Treatment::Host,
        () if is_one_of(LABEL_KEYS) => Treatment::LabelKey,
        () if is_one_of(VALUES) => Treatment::Value,
        () if is_one_of(IDENTIFIERS) => Treatment::Identifier,
        () if is_one_of(VOLUMES) => Treatment::Volume,
        () if is_one_of(CERTIFICATES) => Treatment::Certificate,
        () if matches!(member, "image" | "imageID" | "imageRef") => Treatment::Image,
        () if matches!(member, "namespace" | "namespaces") || member.ends_with("Namespace") => Treatment::Namespace,
        () if is_one_of(NAMES) || member.ends_with("Name") && !is_one_of(NOT_NAMES) => Treatment::Name,
        () => Treatment::Text,
    }
}

/// What a string is where the field around it says so.
fn of_place(parent: &str, member: &str) -> Option<Treatment> {
    Some(match (parent, member) {
        ("env", "name") => Treatment::Text,
        ("env" | "httpHeaders", "value") => Treatment::Value,
        ("spec", "request") => Treatment::Certificate,
        ("images", "names") | ("volumes", "reference") => Treatment::Image,
        ("image", "reference") => Treatment::Image,
        ("volumesAttached", "name") => Treatment::Volume,
        ("matchExpressions" | "matchLabelExpressions", "values") => Treatment::Name,
        ("matchFields", "key") => Treatment::Api,
        ("matchFields", "values") => Treatment::Name,
        ("results" | "devices" | "allocation", "device") => Treatment::Api,
        // As claims call them.
        ("devices" | "sharedCounters", "name") => Treatment::Api,
        (_, "name") if NAMES_OF_API.contains(&parent) => Treatment::Api,
        ("subjects", "kind") => Treatment::Api,
        ("resourceClaims" | "results", "request") => Treatment::Name,
        ("status", "hostIP" | "podIP") => Treatment::Text,
        ("uncountedTerminatedPods", _) => Treatment::Api,
        ("resource" | "resourceFieldRef", "resource") => Treatment::Api,
        _ => return None,
    })
}

/// What the members of an object are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MapTreatment {
    /// Labels, or what selects by them.
    Labels,
    /// Annotations.
    Annotations,
    /// Values under keys that their author chose.
    Values,
    /// Fields that a manager owns, as keys.
    ManagedFields,
    /// A label's key with a value or several: a taint, a toleration, a requirement.
    Requirement,
    /// The fields of the API.
    Fields,
}

/// Returns what the members of an object in a field are.
pub(crate) fn of_map(parent: &str, member: &str, is_of_strings: bool) -> MapTreatment {
    match member {
        "labels" | "matchLabels" | "nodeSelector" | "selector" if is_of_strings => MapTreatment::Labels,
        "annotations" if is_of_strings => MapTreatment::Annotations,
        "fieldsV1" => MapTreatment::ManagedFields,
        "matchExpressions" | "matchLabelExpressions" | "taints" | "tolerations" if parent != "scopeSelector" => MapTreatment::Requirement,
        "parameters" | "volumeAttributes" | "publishContext" | "attachmentMetadata" if is_of_strings => MapTreatment::Values,
        "options" if is_of_strings => MapTreatment::Values,
        _ => MapTreatment::Fields,
    }
}

/// Labels whose values are the same in every cluster.
pub(crate) fn has_public_values(key: &str) -> bool {
    const KEYS: &[&str] = &[
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "node.kubernetes.io/instance-type",
        "beta.kubernetes.io/instance-type",
        "app.kubernetes.io/version",
        "app.kubernetes.io/managed-by",
        "pod-template-generation",
        "controller-uid",
        "batch.kubernetes.io/controller-uid",
        "pod-security.kubernetes.io/enforce",
        "kubernetes.io/bootstrapping",
    ];
    KEYS.contains(&key) || key.starts_with("pod-security.kubernetes.io/")
}

/// What the value of an annotation is.
pub(crate) fn of_annotation(key: &str) -> Treatment {
    const NAMES: &[&str] = &[
        "volume.kubernetes.io/selected-node",
        "volume.beta.kubernetes.io/storage-class",
        "kubectl.kubernetes.io/default-container",
        "kubectl.kubernetes.io/default-logs-container",
        "meta.helm.sh/release-name",
        "kubernetes.io/service-account.name",
        "kubernetes.io/ingress.class",
        "cluster.x-k8s.io/cluster-name",
        "cluster.x-k8s.io/machine",
    ];
    /// What controllers of Kubernetes write and read: revisions, flags, times, hashes, states as JSON.
    const OF_CONTROLLERS: &[&str] = &[
        "apf.kubernetes.io/",
        "authorization.k8s.io/",
        "autoscaling.alpha.kubernetes.io/",
        "batch.kubernetes.io/",
        "control-plane.alpha.kubernetes.io/",
        "controller.kubernetes.io/",
        "deployment.kubernetes.io/",
        "deprecated.daemonset.template.generation",
        "endpoints.kubernetes.io/",
        "ingressclass.kubernetes.io/",
        "kubectl.kubernetes.io/restartedAt",
        "kubernetes.io/config.",
        "kubernetes.io/description",
        "node.alpha.kubernetes.io/",
        "pv.kubernetes.io/",
        "rbac.authorization.kubernetes.io/",
        "scheduler.alpha.kubernetes.io/",
        "service.kubernetes.io/",
        "storageclass.",
        "volume.beta.kubernetes.io/storage-provisioner",
        "volume.kubernetes.io/",
    ];
    match key {
        _ if NAMES.contains(&key) => Treatment::Name,
        "meta.helm.sh/release-namespace" => Treatment::Namespace,
        _ if OF_CONTROLLERS.iter().any(|start| key.starts_with(start)) || key.ends_with("/safe-to-evict") => Treatment::Text,
        _ => Treatment::Value,
    }
}

/// Whether the objects of a kind are called as the API or software names them, so that their names stay.
pub(crate) fn has_public_names(kind: &str) -> bool {
    const KINDS: &[&str] = &[
        "APIService",
        "apiservices",
        "CSIDriver",
        "csidrivers",
        "ComponentStatus",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "DeviceClass",
        "deviceclasses",
        "StorageVersion",
        "storageversions",
        "StorageVersionMigration",
    ];
    KINDS.contains(&kind)
}

/// Flags of Kubernetes' own programs whose values say how the cluster behaves.
pub(crate) fn is_public_flag(flag: &str) -> bool {
    const FLAGS: &[&str] = &[
        "allow-privileged",
        "allocate-node-cidrs",
        "authorization-mode",
        "cgroup-driver",
        "cluster-signing-duration",
        "controllers",
        "enable-admission-plugins",
        "enable-bootstrap-token-auth",
        "encryption-provider-config",
        "etcd-prefix",
        "feature-gates",
        "leader-elect",
        "policy-config-file",
        "profiling",
        "quota-backend-bytes",
        "runtime-config",
        "secure-port",
        "snapshot-count",
        "storage-media-type",
        "v",
        "config",
    ];
    FLAGS.contains(&flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_known_by_their_fields() {
        for (parent, member, wanted) in [
            ("metadata", "name", Treatment::Name),
            ("metadata", "namespace", Treatment::Namespace),
            ("metadata", "creationTimestamp", Treatment::Api),
            ("env", "value", Treatment::Value),
            ("containers", "image", Treatment::Image),
            ("containers", "command", Treatment::Value),
            ("spec", "storageClassName", Treatment::Name),
            ("exactly", "deviceClassName", Treatment::Api),
            ("devices", "name", Treatment::Api),
            ("results", "device", Treatment::Api),
            ("nodeInfo", "machineID", Treatment::Identifier),
            ("csi", "volumeHandle", Treatment::Volume),
            ("rules", "host", Treatment::Host),
            ("rules", "resourceNames", Treatment::Name),
            ("rules", "resources", Treatment::Text),
            ("managedFields", "manager", Treatment::Identity),
            ("clientConfig", "caBundle", Treatment::Certificate),
            ("conditions", "message", Treatment::Text),
            ("metric", "name", Treatment::Api),
            ("spec", "parentNamespace", Treatment::Namespace),
        ] {
            assert_eq!(of_string(parent, member), wanted, "{parent}.{member}");
        }
        assert_eq!(of_annotation("deployment.kubernetes.io/revision"), Treatment::Text);
        assert_eq!(of_annotation("acme.com/owner"), Treatment::Value);
    }
}
