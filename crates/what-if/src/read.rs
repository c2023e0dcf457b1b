//! Reads a cluster for a simulation: its objects at the revision looked at, and which pods wait for how long.

use futures_util::TryStreamExt;
use ketcd_cluster::replay::Feed;
use ketcd_cluster::{Cluster, Result};
use ketcd_kube::{Kinds, RegistryKey};
use ketcd_scheduler::Scheduler;
use ketcd_scheduler::cluster::ClusterState;
use ketcd_store::{At, KeyRange, KeyValue, Revision, Want};

use super::answer::Unmodelled;
use super::json::list;
use super::model::{Id, Model};
use super::simulated_cluster::SimulatedCluster;
use super::waiting_pods;

/// What controllers and admission look at.
const READ_RESOURCES: [&str; 22] = [
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
    "resourceclaims.resource.k8s.io",
    "resourceclaimtemplates.resource.k8s.io",
    "podgroups.scheduling.k8s.io",
    "compositepodgroups.scheduling.k8s.io",
    "horizontalpodautoscalers.autoscaling",
];

/// The cluster at the revision looked at, as a scheduler's rules see it.
pub(super) async fn world<'c>(
    cluster: &'c Cluster,
    feed: &mut Feed<'c>,
    scheduler: Scheduler,
    at: Revision,
) -> Result<SimulatedCluster<'c>> {
    let mut world = listed(cluster, feed.state(at, &scheduler).await?, scheduler, at).await?;
    note_unknown(cluster, &mut world, at).await?;
    waiting_pods::fill(cluster, feed, &mut world, at).await?;
    Ok(world)
}

/// The cluster around a state that was read; pods that wait are taken to have waited for long.
pub(super) async fn around(cluster: &Cluster, state: ClusterState, scheduler: Scheduler, at: Revision) -> Result<SimulatedCluster<'_>> {
    let mut world = listed(cluster, state, scheduler, at).await?;
    waiting_pods::fill_at_once(&mut world);
    Ok(world)
}

/// Whether all that is read may be read at little cost to others: of a live etcd with a long history, or by a user of few rights, it is not.
pub(super) async fn is_free_to_read(cluster: &Cluster) -> Result<bool> {
    if !cluster.source.is_shared() {
        return Ok(true);
    }
    let (prefix, kinds) = (cluster.prefix().await?, Kinds::builtin());
    let mut is_free = !cluster.is_long().await?;
    for resource in READ_RESOURCES {
        is_free = is_free && cluster.may_read(&KeyRange::prefix(kinds.find(resource)?.key_prefix(prefix, None))).await?;
    }
    Ok(is_free)
}

/// The cluster with the objects that controllers and admission look at.
async fn listed(cluster: &Cluster, state: ClusterState, scheduler: Scheduler, at: Revision) -> Result<SimulatedCluster<'_>> {
    let mut model = Model::new(state, &cluster.decoder, at.0);
    let prefix = cluster.prefix().await?;
    let kinds = Kinds::builtin();
    for resource in READ_RESOURCES {
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
    Ok(SimulatedCluster::new(model, scheduler, now))
}

/// Notes what changes pods or their number without being asked here.
async fn note_unknown(cluster: &Cluster, world: &mut SimulatedCluster<'_>, at: Revision) -> Result<()> {
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
        configurations += decoded.filter(|decoded| decoded.object().is_some_and(&of_pods)).count();
    }
    if configurations > 0 {
        world.caveats.insert(Unmodelled::Webhooks { configurations });
    }
    for (key, by) in [
        (format!("{prefix}/karpenter.sh/nodepools/"), "Karpenter"),
        (format!("{prefix}/karpenter.sh/provisioners/"), "Karpenter"),
        (format!("{prefix}/configmaps/kube-system/cluster-autoscaler-status"), "the cluster autoscaler"),
    ] {
        let Some(listing) = cluster.range_or_miss(KeyRange::prefix(key), At::Revision(at), Want::Keys).await? else { continue };
        let entries: Vec<KeyValue> = listing.entries.try_collect().await?;
        if !entries.is_empty() {
            world.node_autoscalers.insert(by.to_owned());
        }
    }
    Ok(())
}
