//! NodeDeclaredFeatures: a node has declared the features a pod needs of its kubelet.

use crate::cluster::PodSpec;
use crate::framework::WithoutState;
use crate::framework::{Candidate, Fact, Need, NodeCheck, Obstacle};
use crate::release::Rules;
use crate::{Cycle, Plugin, PreFilter, Verdict};

/// Upstream: `plugins/nodedeclaredfeatures/nodedeclaredfeatures.go`, `component-helpers/nodedeclaredfeatures`.
pub(super) struct NodeDeclaredFeatures;

impl Plugin for NodeDeclaredFeatures {
    fn name(&self) -> &'static str {
        "NodeDeclaredFeatures"
    }

    fn doc(&self) -> &'static str {
        "A node must have declared the features a pod needs of its kubelet.

Checks
  Each feature the pod needs is in status.declaredFeatures: RestartAllContainersOnContainerExits where a container has a restart
  rule with that action, UserNamespacesHostNetworkSupport for the host's network within an own user namespace, VolumeBindMountOptions
  where a container mounts a volume with bindMountOptions.
Reads
  node status.declaredFeatures; pod spec
History
  1.35 (off by default) node declared features check failed - unsatisfied requirements: <list>
  1.36– node(s) didn't match Pod's required features; not run for pods that need none; preemption cannot help
  1.37– VolumeBindMountOptions
Differs from upstream
  nowhere"
    }

    fn filter<'a>(&self, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        let needed = needed(&cycle.pod.spec, &cycle.profile.rules);
        if needed.is_empty() {
            return PreFilter::Skip;
        }
        PreFilter::Filter(Box::new(move |node| {
            let declared = |feature: &str| node.declared_features.iter().any(|declared| &**declared == feature);
            let missing: Vec<&str> = needed.iter().copied().filter(|feature| !declared(feature)).collect();
            if missing.is_empty() { Verdict::Pass } else { Verdict::unresolvable(cycle.profile.rules.features_missing(&missing)) }
        }))
    }

    fn without_prefilter(&self, _rules: &Rules) -> WithoutState {
        WithoutState::Fails("error reading \"PreFilterNodeDeclaredFeatures\" from cycle-state: not found".to_owned())
    }

    /// Without its gate it reads no state.
    fn filter_without_state<'a>(&self, cycle: &'a Cycle<'a>, _prefilter: PreFilter<'a>) -> PreFilter<'a> {
        let error = self.without_prefilter(&cycle.profile.rules).error().filter(|_| cycle.profile.gates.on("NodeDeclaredFeatures"));
        PreFilter::Filter(Box::new(move |_| error.clone().map_or(Verdict::Pass, Verdict::Error)))
    }

    fn compared(&self, cycle: &Cycle, node: &Candidate, _verdict: &Verdict) -> Vec<Fact> {
        let declared = |feature: &str| node.declared_features.iter().any(|declared| &**declared == feature);
        let needed = needed(&cycle.pod.spec, &cycle.profile.rules).into_iter();
        needed.map(|feature| Fact::new(declared(feature), NodeCheck::DeclaredFeature(feature))).collect()
    }

    fn needs(&self, _cycle: &Cycle, _node: &Candidate) -> Vec<Need> {
        vec![Need::hopeless(Obstacle::FeatureNotDeclared)]
    }

    fn looks_at_pods(&self) -> bool {
        false
    }
}

fn needed(spec: &PodSpec, rules: &Rules) -> Vec<&'static str> {
    let needs = [
        ("RestartAllContainersOnContainerExits", spec.restarts_all_containers),
        ("UserNamespacesHostNetworkSupport", spec.host_network_in_user_namespace),
        ("VolumeBindMountOptions", spec.bind_mount_options && rules.knows_bind_mount_options()),
    ];
    needs.into_iter().filter(|(_, needed)| *needed).map(|(feature, _)| feature).collect()
}
