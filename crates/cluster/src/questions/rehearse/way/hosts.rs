//! The steps where etcd is run in another way: by services, by Gardener's sidecar, or as a database of kine.

use ketcd_store::shell::quoted;

use super::facts::WayFacts;
use super::static_pods::{look, restore};
use super::step::Step;

/// The steps where nothing shows how etcd is run: what to do is said, and the members' commands are whole.
pub(super) fn steps(facts: &WayFacts) -> Vec<Step> {
    let mut steps = vec![Step::new(
        "on each control-plane node",
        "Stop schedulers, controllers and API servers, then every member of etcd, and move the members' data dirs away",
        [],
    )];
    steps.extend(facts.unpack.clone().map(|unpack| Step::new("where the backup is", "Unpack the backup", [unpack])));
    steps.extend(restore(facts));
    steps.push(Step::new("on each control-plane node", "Start every member of etcd, then the API servers", []));
    steps.push(look());
    steps.push(Step::new("on each control-plane node", "Start controllers and schedulers", []));
    steps.push(Step::new("on each node", "Restart kubelet, kube-proxy and network plug-ins, so that they list anew", []));
    steps
}

/// Gardener's way (etcd-backup-restore v0.43, `docs/operations/manual_restoration.md`): the sidecar restores the newest full snapshot of the bucket and the
/// deltas behind it when the member's data is gone.
pub(super) fn gardener(facts: &WayFacts) -> Vec<Step> {
    let namespace = facts.shoot.clone().unwrap_or_else(|| "SHOOT_NAMESPACE".to_owned());
    let seed = format!("in the seed, namespace {namespace}");
    let namespace = quoted(namespace.as_bytes());
    let scale = |name: &str, to: u8| format!("kubectl -n {namespace} scale deployment {name} --replicas {to}");
    vec![
        Step::new(
            &*seed,
            "Stop what writes: the resource manager and controllers, then the API server",
            [scale("gardener-resource-manager", 0), scale("kube-controller-manager", 0), scale("kube-apiserver", 0)],
        ),
        Step::new(
            &*seed,
            "Make the sidecar restore: it takes the newest full snapshot of the bucket with all deltas behind it, so an older file comes back only from a \
             bucket or folder in which it is the newest",
            [format!(
                "kubectl -n {namespace} exec etcd-main-0 -c etcd -- mv /var/etcd/data/new.etcd/member /var/etcd/data/member.before-restore"
            )],
        ),
        Step::new(&*seed, "Wait until it has restored", [format!("kubectl -n {namespace} logs etcd-main-0 -c backup-restore -f")]),
        Step::new(
            &*seed,
            "Start the API server, then the controllers",
            [scale("kube-apiserver", 1), scale("kube-controller-manager", 1), scale("gardener-resource-manager", 1)],
        ),
        Step::new(
            "on each node",
            "Restart kubelets: nothing raised the revisions, so watchers may see them go back",
            ["systemctl restart kubelet".to_owned()],
        ),
    ]
}

/// The way of kine (kine v0.17, `pkg/drivers/sqlite`): the database is a file that is put back while nothing has it open. k3s v1.37 keeps it in
/// `server/db/state.db` below its data dir.
pub(super) fn kine(facts: &WayFacts) -> Vec<Step> {
    const K3S_DATABASE: &str = "/var/lib/rancher/k3s/server/db/state.db";
    let mut steps = vec![Step::new("on the server", "Stop the server: kine runs inside it", ["systemctl stop k3s".to_owned()])];
    steps.extend(facts.unpack.clone().map(|unpack| Step::new("where the backup is", "Unpack the backup", [unpack])));
    steps.push(Step::new(
        "on the server",
        "Put the file back, without the log of the database that was there; k0s keeps it in /var/lib/k0s/db/state.db",
        [
            "mkdir -p /var/lib/rancher/k3s/server/db/before-restore".to_owned(),
            format!("mv {K3S_DATABASE}* /var/lib/rancher/k3s/server/db/before-restore/"),
            format!("cp {} {K3S_DATABASE}", quoted(facts.file.as_bytes())),
        ],
    ));
    steps.push(Step::new("on the server", "Start the server", ["systemctl start k3s".to_owned()]));
    steps.push(Step::new(
        "on each agent",
        "Restart the agents: kine cannot raise revisions, so watchers would see them go back",
        ["systemctl restart k3s-agent".to_owned()],
    ));
    steps
}
