//! The steps of k3s and RKE2, whose servers restore the etcd that they embed.
//!
//! k3s v1.2x to v1.37, `pkg/etcd/etcd.go` (Restore: one member with the snapshot's data, revisions as they were; the data before it goes to `etcd-old-…`),
//! and the pages "k3s etcd-snapshot" (docs.k3s.io) and "Backup and Restore" (rancher/rke2-docs, `docs/datastore/backup_restore.md`). Both unpack `.zip`
//! themselves.

use ketcd_store::shell::quoted;

use super::facts::WayFacts;
use super::step::Step;

#[derive(Clone, Copy)]
pub(super) struct Program {
    name: &'static str,
    server: &'static str,
    agent: &'static str,
}

/// k3s.
pub(super) const K3S: Program = Program { name: "k3s", server: "k3s", agent: "k3s-agent" };

/// RKE2.
pub(super) const RKE2: Program = Program { name: "rke2", server: "rke2-server", agent: "rke2-agent" };

pub(super) fn steps(facts: &WayFacts, program: Program) -> Vec<Step> {
    let Program { name, server, agent } = program;
    let database = format!("/var/lib/rancher/{name}/server/db");
    let restart = |verb: &str, unit: &str| format!("systemctl {verb} {unit}");
    let mut steps = vec![Step::new("on each server", "Stop the servers", [restart("stop", server)])];
    steps.extend(facts.unpack.clone().map(|unpack| Step::new("where the backup is", "Unpack the backup", [unpack])));
    steps.push(Step::new(
        "on one server",
        "Restore: the server ends by itself when it is done, and what it had stays in etcd-old-…; it needs the token of the cluster that was backed up",
        [format!("{name} server --cluster-reset --cluster-reset-restore-path={}", quoted(facts.file.as_bytes()))],
    ));
    steps.push(Step::new("on that server", "Start it", [restart("start", server)]));
    steps.push(Step::new(
        "on each other server, one after the other",
        "Move the old data away, so that it joins the restored one, and start it",
        [format!("mv {database} {database}.before-restore"), restart("start", server)],
    ));
    steps.push(Step::new(
        "on each agent",
        "Restart the agents: the restore does not raise revisions, so watchers would see them go back",
        [restart("restart", agent)],
    ));
    steps
}
