//! Names of field managers and users, and which sort of writer has them. What is not here is unknown.
//!
//! A field manager is what the request names, else the first part of its user agent up to the slash (apiserver v0.37,
//! `pkg/endpoints/handlers/create.go`, `managerOrUserAgent`), which client-go makes of the program's file name (client-go v0.37, `rest/config.go`,
//! `DefaultKubernetesUserAgent`).

use super::kind::WriterKind;
use WriterKind::{Controller, GitOps, Kubelet, Person};

#[derive(Clone, Copy)]
enum NamePattern {
    Is(&'static str),
    Begins(&'static str),
    Ends(&'static str),
}

use NamePattern::{Begins, Ends, Is};

impl NamePattern {
    fn fits(self, name: &str) -> bool {
        match self {
            Is(one) => name == one,
            Begins(start) => name.starts_with(start),
            Ends(end) => name.ends_with(end),
        }
    }
}

/// Field managers; the first row that fits decides.
const MANAGER_KINDS: &[(NamePattern, WriterKind)] = &[
    // kubectl v0.37, `pkg/cmd/apply/apply.go` (kubectl, kubectl-client-side-apply) and the defaults of `--field-manager` in `pkg/cmd/*`.
    (Begins("kubectl"), Person),
    // The file names of tools that people call: OpenShift's oc, kubeadm, istioctl, calicoctl, eksctl, k9s, curl.
    (Is("oc"), Person),
    (Is("kubeadm"), Person),
    (Is("istioctl"), Person),
    (Is("calicoctl"), Person),
    (Is("eksctl"), Person),
    (Is("k9s"), Person),
    (Is("curl"), Person),
    // Browsers, through consoles and dashboards that pass their user agent on.
    (Is("Mozilla"), Person),
    // argo-cd v3, `common/common.go` (ArgoCDSSAManager, argocd-controller); its programs are called argocd-….
    (Begins("argocd"), GitOps),
    // helm v3, `pkg/kube/client.go` (getManagedFieldsManager: the file name of the program, unless one is set).
    (Is("helm"), GitOps),
    // fluxcd: the controllers' names are their `fieldManager` (kustomize-controller and helm-controller v1, `main.go`, controllerName); flux is the tool.
    (Is("kustomize-controller"), GitOps),
    (Is("helm-controller"), GitOps),
    (Is("source-controller"), GitOps),
    (Is("notification-controller"), GitOps),
    (Is("image-automation-controller"), GitOps),
    (Is("image-reflector-controller"), GitOps),
    (Is("flux"), GitOps),
    (Is("flux-operator"), GitOps),
    // rancher/fleet, `cmd/fleetagent`; carvel-dev/kapp and kapp-controller, by their file names; kluctl likewise.
    (Is("fleetagent"), GitOps),
    (Is("kapp"), GitOps),
    (Is("kapp-controller"), GitOps),
    (Is("kluctl"), GitOps),
    // terraform-provider-kubernetes, `manifest/provider/apply.go` (Terraform), `kubernetes/provider.go` (user agent HashiCorp/1.0).
    (Is("Terraform"), GitOps),
    (Is("HashiCorp"), GitOps),
    // pulumi-kubernetes, `provider/pkg/ssa` (pulumi-kubernetes-…).
    (Begins("pulumi"), GitOps),
    // kubernetes v1.37, `cmd/`: the file names of its programs.
    (Is("kubelet"), Kubelet),
    (Is("kube-controller-manager"), Controller),
    (Is("kube-scheduler"), Controller),
    (Is("kube-apiserver"), Controller),
    (Is("cloud-controller-manager"), Controller),
    (Is("kube-proxy"), Controller),
    // kubernetes v1.37, `pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go`.
    (Is("clusterrole-aggregation-controller"), Controller),
    // k3s v1.37, `pkg/deploy/controller.go` (deploy@NODE); k3s, rke2 and k0s run the programs of Kubernetes under their own names.
    (Begins("deploy@"), Controller),
    (Is("k3s"), Controller),
    (Is("rke2"), Controller),
    (Is("k0s"), Controller),
    // kubernetes/autoscaler, coredns/coredns and kubernetes-csi's sidecars (csi-provisioner, csi-attacher, …), by their file names.
    (Is("cluster-autoscaler"), Controller),
    (Is("coredns"), Controller),
    (Begins("csi-"), Controller),
    // kubebuilder v4's scaffold builds /manager; the other endings are how controllers are called.
    (Is("manager"), Controller),
    (Ends("-controller"), Controller),
    (Ends("-controller-manager"), Controller),
    (Ends("-operator"), Controller),
];

/// Users of requests; the first row that fits decides.
const USER_KINDS: &[(NamePattern, WriterKind)] = &[
    // kubernetes v1.37, `plugin/pkg/auth/authorizer/node` (system:node:NAME).
    (Begins("system:node:"), Kubelet),
    // The namespaces that the tools are installed into: argo-cd and its OpenShift operator, flux, fleet.
    (Begins("system:serviceaccount:argocd:"), GitOps),
    (Begins("system:serviceaccount:openshift-gitops:"), GitOps),
    (Begins("system:serviceaccount:flux-system:"), GitOps),
    (Begins("system:serviceaccount:cattle-fleet-system:"), GitOps),
    // apiserver v0.37, `pkg/authentication/serviceaccount/util.go`: the controllers' own accounts; in the others people's pipelines log in, too.
    (Begins("system:serviceaccount:kube-system:"), Controller),
    (Begins("system:serviceaccount:"), WriterKind::Unknown),
    // The certificates of administrators: k3s and OpenShift (system:admin), OpenShift (kube:admin).
    (Is("system:admin"), Person),
    (Is("kube:admin"), Person),
    // apiserver v0.37, `pkg/authentication/user/user.go` (Anonymous).
    (Is("system:anonymous"), WriterKind::Unknown),
    // Users of components: kubernetes v1.37, `plugin/pkg/auth/authorizer/rbac/bootstrappolicy`; EKS' own have the prefix eks:.
    (Begins("system:"), Controller),
    (Begins("eks:"), Controller),
];

/// Which sort of writer a field manager is.
pub(super) fn kind_of_manager(name: &str) -> WriterKind {
    find(MANAGER_KINDS, name).unwrap_or(WriterKind::Unknown)
}

/// Which sort of writer a user is. A name that Kubernetes does not reserve is a person's.
pub(super) fn kind_of_user(name: &str) -> WriterKind {
    find(USER_KINDS, name).unwrap_or(if name.is_empty() { WriterKind::Unknown } else { Person })
}

fn find(rows: &[(NamePattern, WriterKind)], name: &str) -> Option<WriterKind> {
    rows.iter().find(|(named, _)| named.fits(name)).map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn managers_are_told_by_their_names() {
        for (name, kind) in [
            ("kubectl", Person),
            ("kubectl-client-side-apply", Person),
            ("argocd-controller", GitOps),
            ("helm", GitOps),
            ("helm-controller", GitOps),
            ("kustomize-controller", GitOps),
            ("kube-controller-manager", Controller),
            ("cert-manager-controller", Controller),
            ("kubelet", Kubelet),
            ("OpenAPI-Generator", WriterKind::Unknown),
            ("", WriterKind::Unknown),
        ] {
            assert_eq!(kind_of_manager(name), kind, "{name}");
        }
    }

    #[test]
    fn users_are_told_by_their_names() {
        for (name, kind) in [
            ("anna@example.com", Person),
            ("kubernetes-admin", Person),
            ("system:admin", Person),
            ("system:node:n1", Kubelet),
            ("system:serviceaccount:kube-system:replicaset-controller", Controller),
            ("system:serviceaccount:flux-system:kustomize-controller", GitOps),
            ("system:serviceaccount:ci:deployer", WriterKind::Unknown),
            ("system:kube-scheduler", Controller),
            ("", WriterKind::Unknown),
        ] {
            assert_eq!(kind_of_user(name), kind, "{name}");
        }
    }
}
