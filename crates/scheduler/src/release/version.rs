//! Detects the scheduler's release from the data.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cluster::{ClusterState, NodeInfo, PodInfo};

use super::rules::patches_differ;
use crate::{NEWEST_SCHEDULER, Release, UnknownRelease, scheduler_patch, scheduler_release};

/// The evidence for a scheduler's release.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum VersionEvidence {
    /// Given by the caller.
    Given,
    /// The release is given by the caller, and this shows its patch.
    PatchFrom(Box<Self>),
    /// The image of kube-scheduler's own pod in kube-system.
    SchedulerImage {
        /// The pod's name.
        pod: Arc<str>,
        /// The image, with its tag.
        image: Arc<str>,
    },
    /// The newest `kubeletVersion` of the nodes.
    Kubelets {
        /// Whether of nodes of the control plane alone.
        control_plane: bool,
        /// The version as the nodes have it.
        version: String,
        /// How many nodes have it.
        nodes: usize,
    },
    /// Messages of recorded rejections that only some releases write.
    RecordedMessages(&'static str),
    /// None; the release is assumed.
    Assumed,
    /// This shows the release; the newest of its patches is assumed.
    NewestPatchAssumed(Box<Self>),
}

/// A scheduler's release, and the evidence for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionFrom {
    /// The release.
    pub release: Release,
    /// Its patch, if known.
    pub patch: Option<u16>,
    /// The evidence.
    pub evidence: VersionEvidence,
}

/// Detects the scheduler's release: from its own image, else the kubelets (the control plane's first), else recorded messages; the newest known if
/// there is no evidence.
pub fn detect(state: &ClusterState) -> VersionFrom {
    scheduler_image(state).or_else(|| kubelets(state)).or_else(|| recorded(state)).unwrap_or(VersionFrom {
        release: NEWEST_SCHEDULER,
        patch: None,
        evidence: VersionEvidence::Assumed,
    })
}

impl VersionFrom {
    /// The version given by the user; the data (`found`) may supply the patch that was not given.
    ///
    /// # Errors
    /// `text` is not a version, or is older than the oldest whose rules are known.
    pub fn given(text: &str, found: &Self) -> Result<Self, UnknownRelease> {
        let release = scheduler_release(text)?;
        Ok(match scheduler_patch(text) {
            None if found.release == release && found.patch.is_some() && patches_differ(release) => {
                Self { release, patch: found.patch, evidence: VersionEvidence::PatchFrom(Box::new(found.evidence.clone())) }
            }
            patch => Self { release, patch, evidence: VersionEvidence::Given },
        })
    }

    /// The same, its evidence with what is assumed of the patch where patches have different rules.
    #[must_use]
    pub fn with_assumption(mut self) -> Self {
        if self.patch.is_none() && patches_differ(self.release) {
            self.evidence = VersionEvidence::NewestPatchAssumed(Box::new(self.evidence));
        }
        self
    }
}

fn scheduler_image(state: &ClusterState) -> Option<VersionFrom> {
    let mut pods: Vec<_> = state.pods().filter(|pod| &*pod.namespace == "kube-system" && is_scheduler(pod) && !pod.finished).collect();
    pods.sort_by(|a, b| a.name.cmp(&b.name));
    pods.iter().find_map(|pod| {
        let image = pod.spec.images.first()?;
        let version = image.rsplit_once(':')?.1;
        let release = scheduler_release(version).ok()?;
        let evidence = VersionEvidence::SchedulerImage { pod: pod.name.clone(), image: image.clone() };
        Some(VersionFrom { release, patch: scheduler_patch(version), evidence })
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
        let mut versions: BTreeMap<(Release, Option<u16>, &str), usize> = BTreeMap::new();
        for node in state.nodes().filter(|node| nodes(node)) {
            if let Ok(release) = scheduler_release(&node.kubelet_version) {
                *versions.entry((release, scheduler_patch(&node.kubelet_version), &node.node.kubelet_version)).or_default() += 1;
            }
        }
        versions.into_iter().next_back()
    };
    let (control_plane, ((release, patch, version), nodes)) =
        newest(&is_control_plane).map(|found| (true, found)).or_else(|| Some((false, newest(&|_| true)?)))?;
    Some(VersionFrom { release, patch, evidence: VersionEvidence::Kubelets { control_plane, version: version.to_owned(), nodes } })
}

/// Messages that only some releases write, with the newest release that does.
const RELEASE_MESSAGES: &[(&str, Release)] = &[
    ("had untolerated taint(s)", Release(37)),
    ("found a potential placement for pod on node", Release(37)),
    ("no new claims to deallocate", Release(36)),
    ("had untolerated taint {", Release(34)),
    ("for incoming pod..", Release(28)),
    ("that the pod didn't tolerate", Release(23)),
];

fn recorded(state: &ClusterState) -> Option<VersionFrom> {
    let messages: Vec<_> = state.pods().filter_map(|pod| pod.scheduled.as_ref()).filter(|condition| !condition.status).collect();
    let (words, release) = RELEASE_MESSAGES.iter().find(|(words, _)| messages.iter().any(|condition| condition.message.contains(words)))?;
    Some(VersionFrom { release: *release, patch: None, evidence: VersionEvidence::RecordedMessages(words) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_supplies_a_patch_that_is_not_given() {
        let kubelets = VersionEvidence::Kubelets { control_plane: false, version: "v1.20.2".to_owned(), nodes: 4 };
        let found = VersionFrom { release: Release(20), patch: Some(2), evidence: kubelets.clone() };
        let given = |text: &str| {
            let version = VersionFrom::given(text, &found).unwrap().with_assumption();
            (version.patch, version.evidence)
        };
        assert_eq!(given("1.20"), (Some(2), VersionEvidence::PatchFrom(Box::new(kubelets))));
        assert_eq!(given("v1.20.15"), (Some(15), VersionEvidence::Given));
        assert_eq!(given("1.21"), (None, VersionEvidence::NewestPatchAssumed(Box::new(VersionEvidence::Given))));
        assert_eq!(given("1.33"), (None, VersionEvidence::Given));
    }
}
