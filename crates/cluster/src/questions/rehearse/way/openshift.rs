//! The steps of OpenShift, whose own scripts restore etcd on one control-plane host; its operator adds the others again.
//!
//! openshift/cluster-etcd-operator (main, 2025), `bindata/etcd/cluster-restore.sh` (wants a folder with `snapshot*.db` and `static_kuberesources*.tar.gz`, and
//! raises no revisions where ETCD_ETCDCTL_RESTORE is set), `bindata/etcd/quorum-restore.sh` (starts a raised etcd on the host's own data),
//! `bindata/etcd/disable-etcd.sh`.

use ketcd_store::shell::quoted;

use super::facts::WayFacts;
use super::step::Step;

pub(super) fn steps(facts: &WayFacts) -> Vec<Step> {
    let folder = match facts.backup.rsplit_once('/') {
        _ if !facts.backup.ends_with(".db") => facts.backup.as_str(),
        Some((folder, _)) if !folder.is_empty() => folder,
        _ => ".",
    };
    vec![
        Step::new(
            "on each control-plane host but the one to recover on",
            "Stop etcd there, so that the old members cannot form a quorum",
            ["sudo -E /usr/local/bin/disable-etcd.sh".to_owned()],
        ),
        Step::new(
            "on the host to recover on",
            "If its own data is whole and newer than the backup, start etcd on that instead, and leave out the next step",
            ["sudo -E /usr/local/bin/quorum-restore.sh".to_owned()],
        ),
        Step::new(
            "on the host to recover on",
            "Restore the backup: the folder holds the snapshot and the static pods' resources of the same release",
            [format!("sudo -E /usr/local/bin/cluster-restore.sh {}", quoted(folder.as_bytes()))],
        ),
        Step::new(
            "on each host",
            "Restart the kubelets, so that they list their pods anew",
            ["sudo systemctl restart kubelet.service".to_owned()],
        ),
        Step::new(
            "",
            "Wait until the operator has added the other members and nothing changes any more",
            ["oc get etcd -o yaml".to_owned(), "oc adm wait-for-stable-cluster".to_owned()],
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_given_the_folder() {
        let of = |backup: &str| steps(&WayFacts { backup: backup.to_owned(), ..WayFacts::default() })[2].commands[0].clone();
        assert!(of("/home/core/my assets/snapshot_1.db").ends_with("cluster-restore.sh '/home/core/my assets'"));
        assert!(of("/home/core/assets").ends_with("cluster-restore.sh /home/core/assets"));
        assert!(of("snapshot.db").ends_with("cluster-restore.sh ."));
    }
}
