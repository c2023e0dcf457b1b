//! OpportunisticBatching (on since 1.35): a pod may get the next best node of the previous pod's scoring without any other node being evaluated, if
//! both pods have the same signature and the previous pod's node has no room for it.
//! Source: `framework/runtime/batch.go` GetNodeHint, `SignPod` of the plugins (1.35–1.37).

use std::sync::Arc;

use crate::cluster::PodInfo;

use super::Cycle;

impl Cycle<'_> {
    /// Returns whether the pod may have got its node that way: neither the pod nor the profile forbids it, and a pod with the same signature is on a
    /// node. etcd does not show whether that pod was scheduled just before, less than half a second ago.
    pub fn may_be_batched(&self) -> bool {
        let (pod, profile) = (self.pod, self.profile);
        let on = profile.rules.batches() && profile.gates.on("OpportunisticBatching") && pod.nominated_node_name.is_none();
        let signed = profile
            .rows()
            .map(|entry| entry.plugin)
            .chain(profile.scores.iter().map(|entry| entry.plugin))
            .all(|plugin| plugin.signs(self));
        on && signed && self.state.pods().any(|other| other.is_on_node() && share_signature(pod, other))
    }
}

/// Whether two pods agree in the parts of the signature that are always compared.
fn share_signature(pod: &PodInfo, other: &Arc<PodInfo>) -> bool {
    let (own, of) = (&pod.spec, &other.spec);
    let itself = pod.namespace == other.namespace && pod.name == other.name;
    let placed = own.node_selector == of.node_selector && own.node_affinity == of.node_affinity && own.tolerations == of.tolerations;
    !itself && placed && own.requests == of.requests && own.host_ports == of.host_ports && pod.labels == other.labels
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::cluster::{ClusterState, ObjectKey, WatchedKind};
    use crate::{Cycle, Gates, Profile, Release, SchedulerConfiguration};

    /// Returns whether `pod` may be batched after `other` is bound to node `n`, with the system's default spread constraints or none.
    fn check(release: u16, gates: &str, defaulting: &str, pod: Value, other: Value) -> bool {
        let release = Release(release);
        let gates = Gates::new(release).parse(gates).unwrap();
        let args = json!([{"name": "PodTopologySpread", "args": {"defaultingType": defaulting}}]);
        let config = json!({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [{"pluginConfig": args}]});
        let profile: Profile = SchedulerConfiguration::read(&config, release, &gates).unwrap().profiles.remove(0);
        let mut state = ClusterState::new(profile.rules.requests);
        for (name, mut spec, node) in [("a", pod, None), ("b", other, Some("n"))] {
            spec["nodeName"] = json!(node);
            let object = json!({"metadata": {"name": name, "namespace": "d"}, "spec": spec});
            let key = ObjectKey { kind: WatchedKind::Pod, namespace: "d".into(), name: name.into() };
            state.apply(&key, Some(object.to_string().as_bytes()), 1);
        }
        let pod = state.pod("d", "a").unwrap().clone();
        Cycle::new(&pod, &state, &profile).may_be_batched()
    }

    #[test]
    fn pods_with_one_signature_may_be_batched() {
        let pod = |cpu: &str| json!({"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]});
        assert!(check(35, "", "List", pod("1"), pod("1")));
        assert!(!check(34, "", "List", pod("1"), pod("1")), "not before 1.35");
        assert!(!check(36, "OpportunisticBatching=false", "List", pod("1"), pod("1")), "switched off");
        assert!(!check(36, "", "System", pod("1"), pod("1")), "pods are spread by default");
        assert!(!check(36, "", "List", pod("1"), pod("2")), "none is like it");
        let apart = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}});
        let with = |mut pod: Value| {
            pod["affinity"] = apart.clone();
            pod
        };
        assert!(!check(36, "", "List", with(pod("1")), with(pod("1"))), "it has affinity");
    }
}
