//! The steps where static pods run etcd and the control plane, as kubeadm makes them.
//!
//! kubernetes v1.37, `cmd/kubeadm/app/constants/constants.go` (ManifestsSubDirName and the file names), `pkg/kubelet/config/file.go`: the kubelet ends a
//! static pod when its file is gone, and starts it when the file is back.

use ketcd_store::shell::quoted;

use super::facts::WayFacts;
use super::restore_command::{restore_command, says_of_revisions};
use super::step::Step;

const EACH_NODE: &str = "on each control-plane node";
const MANIFEST_PATH: &str = "/etc/kubernetes/manifests";
const STOPPED_PATH: &str = "/etc/kubernetes/manifests.stopped";

/// The steps, from what is stopped to what is started last.
pub(super) fn steps(facts: &WayFacts) -> Vec<Step> {
    let mut steps = vec![stop()];
    steps.extend(facts.unpack.clone().map(|unpack| Step::new("where the backup is", "Unpack the backup", [unpack])));
    steps.push(put_aside(facts));
    steps.extend(restore(facts));
    steps.push(start(&["etcd.yaml"], "Start etcd on all of them before anything asks it", ["crictl ps --name '^etcd$'".to_owned()]));
    steps.push(start(&["kube-apiserver.yaml"], "Start the API servers", ["kubectl get --raw '/readyz?verbose'".to_owned()]));
    steps.push(look());
    steps.push(start(&["kube-controller-manager.yaml", "kube-scheduler.yaml"], "Start controllers and schedulers", []));
    steps.push(Step::new(
        "on each node",
        "Restart the kubelet, so that it lists its pods anew and ends those that the API does not know",
        ["systemctl restart kubelet".to_owned()],
    ));
    steps
}

/// Nothing may write or watch while the past is put in place.
fn stop() -> Step {
    Step::new(
        EACH_NODE,
        "Stop schedulers, controllers, API servers and etcd: the kubelet ends static pods whose files are moved away; go on when nothing is listed",
        [
            format!("mkdir -p {STOPPED_PATH}"),
            format!("mv {MANIFEST_PATH}/kube-scheduler.yaml {MANIFEST_PATH}/kube-controller-manager.yaml {STOPPED_PATH}/"),
            format!("mv {MANIFEST_PATH}/kube-apiserver.yaml {MANIFEST_PATH}/etcd.yaml {STOPPED_PATH}/"),
            "crictl ps --name 'etcd|kube-apiserver|kube-controller-manager|kube-scheduler'".to_owned(),
        ],
    )
}

fn put_aside(facts: &WayFacts) -> Step {
    let moved =
        |dir: &str| format!("mv {} {}", quoted(dir.as_bytes()), quoted(format!("{}.before-restore", dir.trim_end_matches('/')).as_bytes()));
    Step::new(EACH_NODE, "Keep what is there: it is the newest state, and the way back", facts.data_dirs().into_iter().map(moved))
}

/// One step for each member, with its own command.
pub(super) fn restore(facts: &WayFacts) -> Vec<Step> {
    let says = format!("Make the member's data of the backup; {}", says_of_revisions(facts));
    let of = |member: &_| restore_command(facts, member);
    facts.members.iter().map(|member| Step::new(member.place(), says.clone(), [of(member)])).collect()
}

fn start<const N: usize>(files: &[&str], says: &str, then: [String; N]) -> Step {
    let moves = files.iter().map(|file| format!("mv {STOPPED_PATH}/{file} {MANIFEST_PATH}/"));
    Step::new(EACH_NODE, says, moves.chain(then))
}

/// While no controller runs, nothing acts on what came back.
pub(super) fn look() -> Step {
    Step::new(
        "",
        "Look at what came back before controllers act on it: nodes, and pods that are being deleted or are on nodes that are gone",
        ["kubectl get nodes".to_owned(), "kubectl get pods -A -o wide".to_owned()],
    )
}
