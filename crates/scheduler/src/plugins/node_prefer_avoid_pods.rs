//! NodePreferAvoidPods: a node may ask, by an annotation, to be spared the pods of a controller.

use serde_json::Value;

use crate::cluster::NodeInfo;
use crate::{Cycle, Feasible, Plugin, PreScore};

/// Upstream: `plugins/nodepreferavoidpods/node_prefer_avoid_pods.go`; up to 1.16 NodePreferAvoidPodsPriority.
pub(super) struct NodePreferAvoidPods;

const AVOID_PODS_ANNOTATION: &str = "scheduler.alpha.kubernetes.io/preferAvoidPods";

impl Plugin for NodePreferAvoidPods {
    fn name(&self) -> &'static str {
        "NodePreferAvoidPods"
    }

    fn doc(&self) -> &'static str {
        "A node may ask, by an annotation, to be spared the pods of a controller.

Checks
  Score: 0 if the node's annotation scheduler.alpha.kubernetes.io/preferAvoidPods lists the pod's ReplicationController or
  ReplicaSet (kind and uid), else full; with a weight of 10000 it outweighs everything.
Reads
  node annotations; pod ownerReferences
History
  1.18–1.21; removed in 1.23
Differs from upstream
  nowhere"
    }

    fn looks_at_pods(&self) -> bool {
        false
    }

    fn score<'a>(&self, cycle: &'a Cycle<'a>, _feasible: &'a Feasible<'a>) -> PreScore<'a> {
        let max = cycle.profile.rules.max_score;
        let owner = cycle.pod.spec.controller.as_ref().filter(|owner| matches!(&*owner.kind, "ReplicationController" | "ReplicaSet"));
        PreScore::plain(move |node| match owner {
            Some(owner) if avoids(node, &owner.kind, &owner.uid) => 0,
            _ => max,
        })
    }
}

/// Whether the node's annotation lists the controller.
pub(super) fn avoids(node: &NodeInfo, kind: &str, uid: &str) -> bool {
    let Some(list) = node.annotations.get(AVOID_PODS_ANNOTATION).and_then(|text| serde_json::from_str::<Value>(text).ok()) else {
        return false;
    };
    let entries = list["preferAvoidPods"].as_array().into_iter().flatten();
    entries.map(|entry| &entry["podSignature"]["podController"]).any(|controller| controller["kind"] == *kind && controller["uid"] == *uid)
}
