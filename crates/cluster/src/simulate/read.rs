//! Reads a cluster for a simulation: its objects at the revision looked at, and which pods wait for how long.

use futures_util::TryStreamExt;
use ketcd_kube::{Kinds, RegistryKey};
use ketcd_scheduler::Scheduler;
use ketcd_scheduler::cluster::{ObjectKey, PodInfo, WatchedKind};
use ketcd_store::{At, KeyRange, KeyValue, Revision, Want};

use super::answer::Unmodelled;
use super::json::list;
use super::model::{Id, Model};
use super::scheduling;
use super::world::World;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::replay::Feed;

/// What controllers and admission look at.
const RESOURCES: [&str; 18] = [
    "pods",
    "nodes",
    "deployments.apps",
    "replicasets.apps",
    "statefulsets.apps",
    "daemonsets.apps",
    "jobs.batch",
    "replicationcontrollers",
    "poddisruptionbudgets.policy",
    "priorityclasses.scheduling.k8s.io",
    "runtimeclasses.node.k8s.io",
    "limitranges",
    "resourcequotas",
    "namespaces",
    "persistentvolumeclaims",
    "persistentvolumes",
    "storageclasses.storage.k8s.io",
    "horizontalpodautoscalers.autoscaling",
];

/// Pods that waited for longer than this were not refused so lately that they still back off, in milliseconds.
const LONGEST_BACKOFF: i64 = 10_000;
/// Where more pods wait, or the history is too long to look for each, they are taken to have waited for long.
const MOST_DATED: usize = 200;

/// The cluster at the revision looked at, as a scheduler's rules see it.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn world<'c>(cluster: &'c Cluster, feed: &mut Feed<'c>, scheduler: Scheduler, at: Revision) -> Result<World<'c>> {
    let mut model = Model::new(feed.state(at, &scheduler).await?, &cluster.decoder, at.0);
    let prefix = cluster.prefix().await?;
    let kinds = Kinds::builtin();
    for resource in RESOURCES {
        let kind = kinds.find(resource)?;
        let range = KeyRange::prefix(kind.key_prefix(prefix, None));
        let Some(listing) = cluster.range_or_miss(range, At::Revision(at), Want::Values).await? else { continue };
        let entries: Vec<KeyValue> = listing.entries.try_collect().await?;
        for entry in entries {
            let Some(object) = RegistryKey::parse(prefix, &entry.key, &kinds).object() else { continue };
            let id = Id::new(&kind.kind, object.namespace.unwrap_or_default(), object.name);
            model.add_stored(id, entry);
        }
    }
    let now = cluster.moment().await?.map_or(0, |moment| moment.as_millisecond());
    let mut world = World::new(model, scheduler, now);
    note_unknown(cluster, &mut world, at).await?;
    wait(cluster, feed, &mut world, at).await?;
    Ok(world)
}

/// Notes what changes pods or their number without being asked here.
async fn note_unknown(cluster: &Cluster, world: &mut World<'_>, at: Revision) -> Result<()> {
    let prefix = cluster.prefix().await?;
    let mut configurations = 0;
    for kind in ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] {
        let range = KeyRange::prefix(format!("{prefix}/admissionregistration.k8s.io/{kind}/"));
        let Some(listing) = cluster.range_or_miss(range, At::Revision(at), Want::Values).await? else { continue };
        let entries: Vec<KeyValue> = listing.entries.try_collect().await?;
        let decoded = entries.iter().map(|entry| cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0));
        let of_pods = |object: &serde_json::Value| {
            let rules = list(object, "/webhooks").iter().flat_map(|webhook| list(webhook, "/rules"));
            rules.flat_map(|rule| list(rule, "/resources")).any(|resource| resource == "pods" || resource == "*" || resource == "*/*")
        };
        configurations += decoded.filter(|decoded| decoded.object().is_some_and(|object| of_pods(object))).count();
    }
    if configurations > 0 {
        world.caveats.insert(Unmodelled::Webhooks { configurations });
    }
    Ok(())
}

/// Puts the pods that wait into the queue, in the order in which they were refused last.
async fn wait<'c>(cluster: &'c Cluster, feed: &mut Feed<'c>, world: &mut World<'c>, at: Revision) -> Result<()> {
    let mut waiting: Vec<std::sync::Arc<PodInfo>> = world.model.state.pods().filter(|pod| waits(world, pod)).cloned().collect();
    waiting.sort_by_key(|pod| (pod.mod_revision, pod.key()));
    let few = waiting.len() <= MOST_DATED && !cluster.is_long().await?;
    for pod in waiting {
        let judgement = scheduling::evaluate(world, &pod);
        let is_refused = judgement.whole_pod.is_some() || !judgement.nodes.iter().any(|node| node.fits());
        let last = if few { last_refusal(cluster, feed, world, &pod, at).await? } else { None };
        let created = pod.created.map_or(world.began, |seconds| seconds * 1_000);
        match last {
            Some((time, refusals)) if is_refused => world.queue.add_refused(&pod, (time, refusals), &judgement),
            None if is_refused => {
                let before = created.min(world.began - LONGEST_BACKOFF);
                world.queue.add_refused(&pod, (before, 1), &judgement);
            }
            _ => world.queue.add(&pod, created),
        }
    }
    Ok(())
}

/// Whether a pod waits for this scheduler.
fn waits(world: &World<'_>, pod: &PodInfo) -> bool {
    let (profile, is_own) = world.scheduler.profile_for(pod);
    pod.node_name.is_none() && !pod.finished && !pod.terminating && is_own && !profile.waits_at_gates(pod)
}

/// When a pod was refused last, in milliseconds since 1970, and how often so far, as the history shows it.
async fn last_refusal<'c>(
    cluster: &'c Cluster,
    feed: &mut Feed<'c>,
    world: &World<'_>,
    pod: &PodInfo,
    at: Revision,
) -> Result<Option<(i64, u32)>> {
    let written = Revision(pod.mod_revision);
    let clock = cluster.clock_around(&[written], &[]).await?;
    let Some(time) = clock.date(written).map(|dated| dated.time.as_millisecond()) else { return Ok(None) };
    let key = ObjectKey { kind: WatchedKind::Pod, namespace: pod.namespace.clone(), name: pod.name.clone() };
    let oldest = cluster.source.span().await?.oldest;
    let attempts = feed.attempts(&key, &world.scheduler, oldest, at).await?;
    Ok(Some((time, u32::try_from(attempts.len()).unwrap_or(u32::MAX).max(1))))
}
