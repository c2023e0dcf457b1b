//! Adds a plugin to those of kube-scheduler 1.34, in one file and one row of the profile, and explains where a pod would go with it.

mod retiring_nodes;

use std::error::Error;

use ketcd_scheduler::cluster::ObjectKey;
use ketcd_scheduler::{Depth, Explanation, FilterEntry, Release, Replay, Scheduler, VersionEvidence, VersionFrom};
use serde_json::json;

use retiring_nodes::RetiringNodes;

/// Explains a pod in a cluster whose only node is to be retired.
pub(crate) fn explain() -> Result<Explanation, Box<dyn Error>> {
    let mut scheduler = Scheduler::with_defaults(VersionFrom { release: Release(34), patch: None, evidence: VersionEvidence::Given });
    scheduler.profiles[0].filters.push(FilterEntry { name: "RetiringNodes", plugin: &RetiringNodes });
    let mut replay = Replay::new(scheduler, true).with_depth(Depth::Refusals).with_remedies(true);
    let node = json!({"kind": "Node", "apiVersion": "v1", "metadata": {"name": "old", "labels": {"example.com/retiring": "soon"}},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}});
    let pod = json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "c"}]}});
    for object in [node, pod] {
        let key = ObjectKey::of(&object).ok_or("an object of a kind the scheduler does not watch")?;
        replay.seed(&key, object.to_string().as_bytes(), 1);
    }
    let pod = replay.state().pod("default", "web").ok_or("no such pod")?.clone();
    Ok(replay.explain_waiting(&pod, 1))
}

#[allow(clippy::print_stdout, reason = "an example prints")]
fn main() -> Result<(), Box<dyn Error>> {
    let explanation = explain()?;
    println!("{}", explanation.judgement.message.unwrap_or_default());
    for evidence in &explanation.evidence {
        println!("{} on {}: {:?}", evidence.plugin, evidence.node, evidence.facts);
    }
    for remedy in &explanation.help.remedies {
        println!("{} fits after {:?}", remedy.node, remedy.fixes);
    }
    Ok(())
}
