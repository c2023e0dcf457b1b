//! Documents with `kind` and `apiVersion` that no API server stores: the configuration of a program, or what an API server answers. Where a file holds
//! nothing else, it is refused with what it is and where it goes.

use serde_json::Value;

const KUBECONFIG_ADVICE: &str =
    "is a kubeconfig, not data of a cluster; to read the API server that it names: KUBECONFIG=FILE ketcd -f kubeconfig: status";
const SCHEDULER_ADVICE: &str =
    "is the configuration of a kube-scheduler, not data of a cluster; give it next to the data: --scheduler-config FILE";
const ENCRYPTION_ADVICE: &str = "is an encryption configuration, not data of a cluster; give it next to the data: --encryption-config FILE";
const PROGRAM_ADVICE: &str = "is the configuration of a program (kubelet, kube-proxy, kubeadm, kustomize or kind), not data of a cluster";
const POLICY_ADVICE: &str = "is an audit policy, not an audit log or data of a cluster";
const STATUS_ADVICE: &str = "is an API server's answer to a request that failed, not an object; its message says why";
const TABLE_ADVICE: &str = "is a table as an API server makes it for kubectl, not the objects; print them with -o yaml or -o json";

/// What a document is, if it is known and no object: a fragment.
pub(super) fn said(document: &Value) -> Option<&'static str> {
    let text = |member: &str| document.get(member).and_then(Value::as_str).unwrap_or_default();
    let (group, _) = text("apiVersion").rsplit_once('/').unwrap_or_default();
    let has = |member: &str| document.get(member).is_some();
    match (group, text("kind")) {
        ("", "Config") if has("clusters") || has("contexts") || has("users") => Some(KUBECONFIG_ADVICE),
        ("kubescheduler.config.k8s.io" | "componentconfig", "KubeSchedulerConfiguration") => Some(SCHEDULER_ADVICE),
        ("apiserver.config.k8s.io", "EncryptionConfiguration") | ("", "EncryptionConfig") => Some(ENCRYPTION_ADVICE),
        ("audit.k8s.io", "Policy") => Some(POLICY_ADVICE),
        ("", "Status") if text("apiVersion") == "v1" => Some(STATUS_ADVICE),
        ("meta.k8s.io", "Table") => Some(TABLE_ADVICE),
        ("kubelet.config.k8s.io" | "kubeproxy.config.k8s.io" | "kubeadm.k8s.io" | "kustomize.config.k8s.io" | "kind.x-k8s.io", _) => {
            Some(PROGRAM_ADVICE)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn configuration_is_told_from_objects() {
        let of = |api_version: &str, kind: &str| said(&json!({"apiVersion": api_version, "kind": kind, "clusters": []}));
        assert_eq!(of("v1", "Config"), Some(KUBECONFIG_ADVICE));
        assert_eq!(of("kubescheduler.config.k8s.io/v1beta3", "KubeSchedulerConfiguration"), Some(SCHEDULER_ADVICE));
        assert_eq!(of("apiserver.config.k8s.io/v1", "EncryptionConfiguration"), Some(ENCRYPTION_ADVICE));
        assert_eq!(of("audit.k8s.io/v1", "Policy"), Some(POLICY_ADVICE));
        assert_eq!((of("v1", "Status"), of("example.com/v1", "Status")), (Some(STATUS_ADVICE), None));
        assert_eq!(of("meta.k8s.io/v1", "Table"), Some(TABLE_ADVICE));
        assert_eq!(of("kubelet.config.k8s.io/v1beta1", "KubeletConfiguration"), Some(PROGRAM_ADVICE));
        assert_eq!(of("kubeadm.k8s.io/v1beta3", "ClusterConfiguration"), Some(PROGRAM_ADVICE));
        assert_eq!(of("kustomize.config.k8s.io/v1beta1", "Kustomization"), Some(PROGRAM_ADVICE));
        // Flux has a kind of that name, which is stored.
        assert_eq!(of("kustomize.toolkit.fluxcd.io/v1", "Kustomization"), None);
        // OpenShift and Knative have kinds of these names, too.
        assert_eq!((of("imageregistry.operator.openshift.io/v1", "Config"), of("v1", "ConfigMap")), (None, None));
    }
}
