//! Does not compile: each `match` names all variants that there are today, and a release of Kubernetes or etcd may add one.

use ketcd_audit::Unexplained;
use ketcd_history::config::ConfigKind;
use ketcd_kube::rbac::PolicyKind;
use ketcd_restore::references::Related;
use ketcd_scheduler::ChangeOf;
use ketcd_store::EventKind;

fn main() {}

pub fn audit(why: Unexplained) {
    match why {
        Unexplained::NoRequest | Unexplained::NoRequests | Unexplained::SameBytes | Unexplained::Misplaced => {}
    }
}

pub fn history(kind: ConfigKind) {
    match kind {
        ConfigKind::ConfigMap | ConfigKind::Secret => {}
    }
}

pub fn kube(kind: PolicyKind) {
    match kind {
        PolicyKind::ClusterRole | PolicyKind::Role | PolicyKind::ClusterRoleBinding | PolicyKind::RoleBinding => {}
    }
}

pub fn restore(sort: Related) {
    match sort {
        Related::Config | Related::Storage => {}
    }
}

pub fn scheduler(of: ChangeOf) {
    match of {
        ChangeOf::Node | ChangeOf::Labels | ChangeOf::Volumes | ChangeOf::Pods => {}
    }
}

pub fn store(kind: EventKind) {
    match kind {
        EventKind::Put | EventKind::Delete => {}
    }
}
