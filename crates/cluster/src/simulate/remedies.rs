//! The remedies of an explanation, tried out: each is played as a what-if of the cluster as it is, and left out where the pod still finds no place.
//!
//! The scheduler's crate looks for them by its filters alone. What it does not know decides here: a pod that is deleted is made again by its controller
//! and may take its room back, DaemonSets come to a node that loses a taint, and other pods that wait may be tried first.

use std::sync::Arc;

use ketcd_scheduler::cluster::ClusterState;
use ketcd_scheduler::{Explanation, Fix, Remedy, Scheduler};
use ketcd_store::Revision;
use serde_json::Value;

use super::choice::Choices;
use super::controllers::node_lifecycle;
use super::model::Id;
use super::read;
use super::remedied_claims as claims;
use super::remedied_pod;
use super::settle::{settle, settle_for_long};
use super::world::World;
use crate::cluster::Cluster;
use crate::error::Result;

/// Leaves out the remedies after which the pod finds no place, where the cluster may be read for that. `state`: the cluster at that revision, in which the pod waits.
///
/// # Errors
/// The source cannot be read.
pub(crate) async fn play(
    cluster: &Cluster,
    (state, at): (&ClusterState, Revision),
    scheduler: &Scheduler,
    explanation: &mut Explanation,
) -> Result<()> {
    if !read::is_free_to_read(cluster).await? {
        return Ok(());
    }
    let pod = &explanation.attempt.pod;
    let id = Id::pod(&pod.namespace, &pod.name);
    let mut world = read::around(cluster, state.clone(), scheduler.clone(), at).await?;
    settle(&mut world, &mut Choices::default());
    let help = &mut explanation.help;
    let found = help.remedies.len();
    help.remedies.retain(|remedy| helps(&mut world, &id, remedy));
    help.refuted = found - help.remedies.len();
    help.is_played = true;
    Ok(())
}

/// Whether a pod finds a place after a remedy; the cluster is as before afterwards.
fn helps(world: &mut World<'_>, id: &Id, remedy: &Remedy) -> bool {
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
fn do_to_cluster(world: &mut World<'_>, node: &str, pod: &Arc<Value>, fix: &Fix) {
    match fix {
        Fix::Uncordon => node_lifecycle::cordon(world, node, false),
        Fix::RemoveTaint(taint) => node_lifecycle::untaint(world, node, &taint.key, Some(&taint.effect)),
        Fix::AddLabel { key, value } => node_lifecycle::label(world, node, key, Some(value)),
        Fix::RemoveLabel { key } => node_lifecycle::label(world, node, key, None),
        Fix::DeletePod(gone) | Fix::ReleaseDevices { pod: gone, .. } => world.terminate(&Id::pod(&gone.0, &gone.1), |_| {}),
        fix => claims::change(world, node, pod, fix),
    }
}
