//! The remedies of an explanation, tried out: each is played as a what-if of the cluster as it is, and left out where the pod still finds no place.
//!
//! The scheduler's crate looks for them by its filters alone. What it does not know decides here: a pod that is deleted is made again by its controller
//! and may take its room back, DaemonSets come to a node that loses a taint, and other pods that wait may be tried first.

use std::sync::Arc;

use ketcd_cluster::Result;
use ketcd_cluster::explain::{Explained, Explainer};
use ketcd_scheduler::{Fix, Remedy};
use serde_json::Value;

use super::control_loop::{settle, settle_for_long};
use super::controllers::node_lifecycle;
use super::model::Id;
use super::read;
use super::remedied_claims as claims;
use super::remedied_pod;
use super::seed::Choices;
use super::simulated_cluster::SimulatedCluster;

/// Explains a pod, without the remedies after which it finds no place, where the cluster may be read for that.
///
/// # Errors
/// The source cannot be read, or the pod is not there.
pub async fn explain_pod(explainer: &mut Explainer<'_>, namespace: &str, name: &str) -> Result<Explained> {
    let mut explained = explainer.pod(namespace, name).await?;
    let cluster = explainer.cluster();
    if !explained.waits_now() || explained.explanation.help.remedies.is_empty() || !read::is_free_to_read(cluster).await? {
        return Ok(explained);
    }
    let id = Id::pod(namespace, name);
    let mut world = read::around(cluster, explained.replay.state().clone(), explainer.scheduler().clone(), explainer.until()).await?;
    settle(&mut world, &mut Choices::default());
    let help = &mut explained.explanation.help;
    let found = help.remedies.len();
    help.remedies.retain(|remedy| helps(&mut world, &id, remedy));
    help.refuted = found - help.remedies.len();
    help.is_played = true;
    Ok(explained)
}

/// Whether a pod finds a place after a remedy; the cluster is as before afterwards.
fn helps(world: &mut SimulatedCluster<'_>, id: &Id, remedy: &Remedy) -> bool {
    let mark = world.mark();
    let mut choices = Choices::default();
    let Some(pod) = world.model.get(id) else { return true };
    let mut changed = (*pod).clone();
    for fix in &remedy.fixes {
        if remedied_pod::change(&mut changed, fix) {
            continue;
        }
        do_to_cluster(world, &remedy.node, &pod, fix);
        settle(world, &mut choices);
    }
    if changed != *pod {
        world.replace_waiting(changed);
    }
    settle_for_long(world, &mut choices);
    let is_placed = world.model.pod(id).is_some_and(|pod| pod.node_name.is_some());
    world.back(mark);
    is_placed
}

/// Does a change of a node, of another pod or of volumes.
fn do_to_cluster(world: &mut SimulatedCluster<'_>, node: &str, pod: &Arc<Value>, fix: &Fix) {
    match fix {
        Fix::Uncordon => node_lifecycle::cordon(world, node, false),
        Fix::RemoveTaint(taint) => node_lifecycle::untaint(world, node, &taint.key, Some(&taint.effect)),
        Fix::AddLabel { key, value } => node_lifecycle::label(world, node, key, Some(value)),
        Fix::RemoveLabel { key } => node_lifecycle::label(world, node, key, None),
        Fix::DeletePod(gone) | Fix::ReleaseDevices { pod: gone, .. } => world.terminate(&Id::pod(&gone.0, &gone.1), |_| {}),
        fix => claims::change(world, node, pod, fix),
    }
}
