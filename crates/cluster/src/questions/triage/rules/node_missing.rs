//! Pods that are bound to a node that is not there.
//!
//! Kubernetes 1.36: pkg/controller/podgc/gc_controller.go, `gcOrphaned`: kube-controller-manager deletes such pods, 40 seconds after it first missed the node
//! (`quarantineTime`).

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::{Trouble, TroubleKind};

use super::facts::{Facts, Kind};
use super::object::{is_over, named, text};
use super::rule_finding::RuleFinding;
use crate::error::Result;

/// The leases of nodes, which go with their nodes.
const LEASES_KIND: &Kind = &Kind { path: "leases", namespaced: true, fields: Some(&["kind", "metadata.name", "metadata.namespace"]) };

pub(super) async fn find(facts: &mut Facts<'_>) -> Result<Vec<RuleFinding>> {
    if facts.absent_nodes.is_empty() {
        return Ok(Vec::new());
    }
    let nodes = facts.nodes().await?;
    let leases = facts.within(LEASES_KIND, "kube-node-lease").await?;
    let has_lease = |node: &str| leases.iter().any(|lease| text(lease, "/metadata/name") == node);
    let gone: Vec<String> = facts.absent_nodes.iter().filter(|node| !nodes.contains(*node) && !has_lease(node)).cloned().collect();
    // Somebody may have printed some nodes only; the leases of all show which there are.
    if facts.may_be_part() && leases.is_empty() && gone.len() >= nodes.len() {
        return Ok(Vec::new());
    }
    let pods = facts.all_pods().await?;
    let mut found = Vec::new();
    for node in gone {
        let lost: Vec<_> = pods.iter().filter(|pod| text(pod, "/spec/nodeName") == node.as_str() && !is_over(pod)).collect();
        if lost.is_empty() {
            continue;
        }
        let trouble = Trouble { about: vec![node], ..Trouble::new(TroubleKind::NodeMissing) };
        let found_one = RuleFinding::new(Subject::default(), trouble).explaining(lost.iter().map(|pod| named(pod)));
        found.push(RuleFinding { subjects: lost.iter().map(|pod| Subject::of(pod)).collect(), pods: lost.len(), ..found_one });
    }
    Ok(found)
}
