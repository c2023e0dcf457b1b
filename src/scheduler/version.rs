//! Which release's scheduler was at work, by what the data holds.

use std::collections::BTreeMap;

use crate::cluster::{ClusterState, NodeInfo, PodInfo};

use super::{NEWEST_SCHEDULER, Release, VersionFrom, scheduler_release};

/// Finds the scheduler's release: its own image, else the kubelets (the control plane's first), else the words of recorded refusals; the newest known if nothing says.
pub fn detect(state: &ClusterState) -> VersionFrom {
    scheduler_image(state)
        .or_else(|| kubelets(state))
        .or_else(|| recorded(state))
        .unwrap_or_else(|| VersionFrom { release: NEWEST_SCHEDULER, evidence: "assumed: nothing in the data tells the version".to_owned() })
}

fn scheduler_image(state: &ClusterState) -> Option<VersionFrom> {
    let mut pods: Vec<_> = state.pods().filter(|pod| &*pod.namespace == "kube-system" && is_scheduler(pod) && !pod.finished).collect();
    pods.sort_by(|a, b| a.name.cmp(&b.name));
    pods.iter().find_map(|pod| {
        let image = pod.spec.images.first()?;
        let release = scheduler_release(image.rsplit_once(':')?.1).ok()?;
        Some(VersionFrom { release, evidence: format!("image {image} of pod kube-system/{}", pod.name) })
    })
}

fn is_scheduler(pod: &PodInfo) -> bool {
    pod.labels.get("component") == Some("kube-scheduler") || pod.labels.get("k8s-app") == Some("kube-scheduler")
}

fn kubelets(state: &ClusterState) -> Option<VersionFrom> {
    let is_control_plane = |node: &NodeInfo| {
        ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"].iter().any(|label| node.labels.has(label))
    };
    let newest = |nodes: &dyn Fn(&NodeInfo) -> bool| {
        let mut versions: BTreeMap<(Release, &str), usize> = BTreeMap::new();
        for node in state.nodes().filter(|node| nodes(node)) {
            if let Ok(release) = scheduler_release(&node.kubelet_version) {
                *versions.entry((release, &node.node.kubelet_version)).or_default() += 1;
            }
        }
        versions.into_iter().next_back()
    };
    let (which, ((release, version), count)) =
        newest(&is_control_plane).map(|found| ("control-plane node", found)).or_else(|| Some(("node", newest(&|_| true)?)))?;
    let plural = if count == 1 { "" } else { "s" };
    Some(VersionFrom { release, evidence: format!("{which} kubeletVersion ({version} on {count} node{plural})") })
}

/// Words that only some releases use, with the newest release that does.
const WORDS: &[(&str, Release)] = &[
    ("had untolerated taint(s)", Release(36)),
    ("no new claims to deallocate", Release(36)),
    ("had untolerated taint {", Release(34)),
    ("for incoming pod..", Release(28)),
    ("that the pod didn't tolerate", Release(23)),
];

fn recorded(state: &ClusterState) -> Option<VersionFrom> {
    let messages: Vec<_> = state.pods().filter_map(|pod| pod.scheduled.as_ref()).filter(|condition| !condition.status).collect();
    let (words, release) = WORDS.iter().find(|(words, _)| messages.iter().any(|condition| condition.message.contains(words)))?;
    Some(VersionFrom { release: *release, evidence: format!("words of recorded refusals (\"{words}\")") })
}
