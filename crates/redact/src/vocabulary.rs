//! Words that identify nobody: those of Kubernetes itself and of software that everybody runs.

use std::collections::HashSet;
use std::sync::LazyLock;

use ketcd_kube::proto::kinds::KINDS;
use ketcd_kube::proto::kubernetes::MESSAGES;

/// Names, or parts of names between separators, that stay wherever they stand.
pub(crate) const KEPT_NAMES: &[&str] = &[
    "cloud-controller-manager",
    "cluster-admin",
    "cluster-info",
    "cluster.local",
    "coredns",
    "default",
    "default-scheduler",
    "etcd",
    "extension-apiserver-authentication",
    "extension-apiserver-authentication-reader",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-dns",
    "kube-node-lease",
    "kube-proxy",
    "kube-public",
    "kube-root-ca.crt",
    "kube-scheduler",
    "kube-system",
    "kubeadm",
    "kubeadm-config",
    "kubelet",
    "kubelet-config",
    "kubernetes",
    "kubernetes.io",
    "k8s.io",
    "openshift-service-ca.crt",
    "svc",
    "system-cluster-critical",
    "system-node-critical",
];

/// Whole values that stay: what they name is not an object of anybody's.
const KEPT_VALUES: &[&str] = &[
    "",
    "*",
    "-",
    ".",
    "Helm",
    "None",
    "admin",
    "all",
    "amd64",
    "arm64",
    "catch-all",
    "cpu",
    "edit",
    "ephemeral-storage",
    "exempt",
    "false",
    "global-default",
    "leader-election",
    "linux",
    "memory",
    "node-high",
    "pods",
    "ppc64le",
    "probes",
    "requests.cpu",
    "requests.memory",
    "s390x",
    "service-accounts",
    "system-leader-election",
    "system-nodes",
    "true",
    "view",
    "windows",
    "workload-high",
    "workload-leader-election",
    "workload-low",
    "kube-system-service-accounts",
    "endpoint-controller",
    "system-node-high",
    "system",
];

/// Domains of labels, annotations, finalizers and drivers that are public, with all below them.
const PUBLIC_DOMAINS: &[&str] = &[
    "kubernetes.io",
    "k8s.io",
    "openshift.io",
    "helm.sh",
    "istio.io",
    "argoproj.io",
    "fluxcd.io",
    "cert-manager.io",
    "prometheus.io",
    "karpenter.sh",
    "amazonaws.com",
    "cloud.google.com",
    "gke.io",
    "kubernetes.azure.com",
    "nvidia.com",
    "intel.com",
    "amd.com",
    "projectcalico.org",
    "cilium.io",
    "rancher.io",
    "cattle.io",
    "k3s.io",
    "rke2.io",
    "kubevirt.io",
    "knative.dev",
    "crossplane.io",
    "velero.io",
    "longhorn.io",
    "rook.io",
    "tekton.dev",
    "coreos.com",
    "linkerd.io",
    "kyverno.io",
    "gatekeeper.sh",
    "external-secrets.io",
    "keda.sh",
    "metallb.io",
    "traefik.io",
    "ceph.com",
];

/// Keys of labels without a domain that charts and controllers set everywhere.
const PUBLIC_KEYS: &[&str] = &[
    "app",
    "chart",
    "component",
    "controller-revision-hash",
    "controller-uid",
    "env",
    "environment",
    "heritage",
    "io",
    "job-name",
    "k8s-app",
    "kubernetes",
    "name",
    "plane",
    "pod-template-generation",
    "pod-template-hash",
    "provider",
    "release",
    "role",
    "run",
    "tier",
    "track",
    "type",
    "version",
    "zone",
    "batch",
    "metadata.name",
    "metadata.namespace",
    "orphan",
    "foregroundDeletion",
];

/// Registries that everybody pulls from, and the folders of them that hold what a cluster is made of.
const PUBLIC_REGISTRIES: &[&str] =
    &["registry.k8s.io", "k8s.gcr.io", "gcr.io/google-containers", "gcr.io/google_containers", "mcr.microsoft.com/oss/kubernetes"];

/// Registries whose host says nothing; the folders below are somebody's.
const PUBLIC_HOSTS: &[&str] =
    &["docker.io", "index.docker.io", "quay.io", "ghcr.io", "gcr.io", "mcr.microsoft.com", "public.ecr.aws", "registry.gitlab.com"];

/// Words of messages, beyond those of fields and kinds.
const MESSAGE_WORDS: &str = "a added affinity after against all allowed already an and any are as assigned assuming at attach attached available back backoff \
be been before being binding bound but by can cannot check claim combined complete completed connect connection controller could couldn create created daemon \
deadline delete deleted deleting dial did didn directory do does doesn domain due error evicted evicting exceeded exceed exist exists exit exited expired fail failed failing \
fit for found free from get gone had has have healthy in insufficient into io is it job kill killing left lookup made match matching minimum missing more mount mounted \
name namespace need nodes no not now of off on one only operation or other out over pending pod pods policy port ports preempted preemption present probe pull \
pulled pulling quota reached ready refused removed removing replica replicas request requested required restarting running saw scale scaled schedule scheduled scheduling \
server set settle shutdown since skip some spec started starting state status stop stopped stopping succeeded success successful successfully such synced taint taints \
tcp template that the there timed timeout to too tolerate toleration topology unable unavailable unbound unhealthy unknown unschedulable until untolerated up updated \
use used user using valid value volume volumes waiting was were will with without would your http https grpc metrics tls yaml json crt key conf log sock var lib run etc \
ketcd reduced bin usr tmp dev proc sys root home opt local internal com net org go http1 http2 udp sctp ip ipv4 ipv6 config data cache token webhook operator agent proxy main sidecar init";

/// Words of Kubernetes: parts of the names of fields, kinds and resources, and words of messages.
static WORDS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let fields = MESSAGES.iter().flat_map(|message| message.rows.iter().map(|row| row.name));
    let messages = MESSAGES.iter().filter_map(|message| message.name.rsplit('.').next());
    let kinds = KINDS.iter().flat_map(|row| [row.kind, row.plural, row.singular].into_iter().chain(row.group.split('.')));
    let mut words: HashSet<String> = HashSet::new();
    for name in fields.chain(messages).chain(kinds) {
        words.insert(name.to_lowercase());
        words.extend(camel_words(name));
    }
    words.extend(MESSAGE_WORDS.split_whitespace().map(str::to_owned));
    let listed = KEPT_NAMES.iter().chain(KEPT_VALUES).chain(PUBLIC_DOMAINS).chain(PUBLIC_KEYS).chain(PUBLIC_HOSTS).chain(PUBLIC_REGISTRIES);
    words.extend(listed.flat_map(|name| name.split(|c: char| !c.is_ascii_alphanumeric())).map(str::to_lowercase));
    words
});

/// The words of a name in camel case, in lower case.
fn camel_words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut was_upper = true;
    for c in name.chars().filter(char::is_ascii_alphanumeric) {
        if words.is_empty() || c.is_ascii_uppercase() && !was_upper {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(c.to_ascii_lowercase());
        }
        was_upper = c.is_ascii_uppercase();
    }
    words
}

/// Whether a single word, without separators, is one of Kubernetes' own, or too short to be anybody's.
pub(crate) fn is_common(word: &str) -> bool {
    let is_number = || word.bytes().all(|byte| byte.is_ascii_digit());
    word.len() < 3 || is_number() || is_version(word) || WORDS.contains(word) || WORDS.contains(&word.to_lowercase())
}

/// Whether a word is a version of an API: `v1`, `v2beta1`.
fn is_version(word: &str) -> bool {
    let Some(rest) = word.strip_prefix('v') else { return false };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = rest.strip_prefix("alpha").or_else(|| rest.strip_prefix("beta")).unwrap_or(rest);
    word.len() > 1 + rest.len() && rest.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a value stays as a whole.
pub(crate) fn is_kept_value(value: &str) -> bool {
    KEPT_VALUES.contains(&value)
}

/// Whether a domain is public: one of those above, or below one.
pub(crate) fn is_public_domain(domain: &str) -> bool {
    PUBLIC_DOMAINS.iter().any(|public| domain.strip_suffix(public).is_some_and(|below| below.is_empty() || below.ends_with('.')))
}

/// Whether the key of a label, an annotation or a finalizer is public.
pub(crate) fn is_public_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((domain, _)) => is_public_domain(domain) && !domain.ends_with("node-restriction.kubernetes.io"),
        None => PUBLIC_KEYS.contains(&key) || is_public_domain(key),
    }
}

/// Whether an image, without its tag, is part of Kubernetes itself.
pub(crate) fn is_public_repository(repository: &str) -> bool {
    PUBLIC_REGISTRIES.iter().any(|public| repository.strip_prefix(public).is_some_and(|below| below.starts_with('/')))
}

/// Whether a host is that of a registry that everybody pulls from: it says nothing of anybody and stays wherever it stands, in an image or in a text.
pub(crate) fn is_public_registry(host: &str) -> bool {
    let of_kubernetes = PUBLIC_REGISTRIES.iter().map(|registry| registry.split('/').next().unwrap_or(registry));
    PUBLIC_HOSTS.iter().copied().chain(of_kubernetes).any(|public| host.eq_ignore_ascii_case(public))
}

/// Field managers and users that are Kubernetes' own or those of its common tools; what a user named is not one.
pub(crate) fn is_public_manager(name: &str) -> bool {
    const TOOLS: &[&str] =
        &["kubectl", "kube-", "kubelet", "kubeadm", "helm", "argocd", "Go-http-client", "k3s", "rke2", "apiserver", "system:"];
    /// Components by the names in their Events (kubernetes v1.37 `pkg/controller`, `pkg/scheduler`).
    const COMPONENTS: &[&str] = &[
        "attachdetach-controller",
        "before-first-apply",
        "cloud-controller-manager",
        "cloud-node-controller",
        "cluster-autoscaler",
        "controllermanager",
        "cronjob-controller",
        "daemonset-controller",
        "default-scheduler",
        "deployment-controller",
        "descheduler",
        "device-taint-eviction",
        "disruption-controller",
        "endpoint-controller",
        "endpoint-slice-controller",
        "horizontal-pod-autoscaler",
        "job-controller",
        "kustomize-controller",
        "ipallocator-repair-controller",
        "karpenter",
        "namespace-controller",
        "node-controller",
        "node-lifecycle-controller",
        "persistentvolume-controller",
        "pod-garbage-collector",
        "pv-protection-controller",
        "pvc-protection-controller",
        "replicaset-controller",
        "replication-controller",
        "resource_claim",
        "resource-claim-controller",
        "resourcequota-controller",
        "serviceaccount-controller",
        "service-controller",
        "statefulset-controller",
        "taint-eviction-controller",
        "ttl-after-finished-controller",
        "volume_expand",
    ];
    name.is_empty() || COMPONENTS.contains(&name) || TOOLS.iter().any(|tool| name.starts_with(tool))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_kubernetes_are_common_and_others_are_not() {
        for word in ["container", "pod", "Successfully", "configmap", "ReplicaSet", "nodes", "443", "db"] {
            assert!(is_common(word), "{word}");
        }
        for word in ["payments", "shop", "acme", "worker", "checkout"] {
            assert!(!is_common(word), "{word}");
        }
    }

    #[test]
    fn public_keys_are_known_by_their_domain() {
        for key in ["app", "kubernetes.io/hostname", "topology.kubernetes.io/zone", "helm.sh/chart", "foregroundDeletion.k8s.io"] {
            assert!(is_public_key(key), "{key}");
        }
        for key in ["acme.com/team", "cost-center", "evilkubernetes.io/x", "acme.node-restriction.kubernetes.io/x"] {
            assert!(!is_public_key(key), "{key}");
        }
    }

    #[test]
    fn public_registries_are_known_by_their_host() {
        for host in ["quay.io", "docker.io", "ghcr.io", "GCR.io", "registry.k8s.io", "k8s.gcr.io", "mcr.microsoft.com"] {
            assert!(is_public_registry(host), "{host}");
        }
        for host in ["acme.io", "registry.acme.com", "quay.io.acme.com", "acme.gcr.io", "quay.io/acme"] {
            assert!(!is_public_registry(host), "{host}");
        }
    }

    #[test]
    fn camel_case_is_split() {
        assert_eq!(camel_words("imagePullPolicy"), ["image", "pull", "policy"]);
        assert_eq!(camel_words("CSINode"), ["csinode"]);
    }
}
