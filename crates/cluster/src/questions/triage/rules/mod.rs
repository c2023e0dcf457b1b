//! What is wrong that no object says of itself: each rule compares objects, or reads Events beside them, as a component of Kubernetes does.
//!
//! A rule is a file with one function, `find`, and a row below; its doc comment cites the source that it follows. It returns what it found as data: words
//! and remedies are in `ketcd-render` (`trouble/`). Where the data lacks a kind that it needs, it finds nothing.

mod api_server_gone;
mod attach_error;
mod autoscaler;
mod claim_in_use;
mod claim_unplaced;
mod compaction;
pub(crate) mod cron;
pub(crate) mod cron_job;
mod event_message;
mod events;
mod facts;
mod node_missing;
mod object;
mod outdated_pod;
mod owner_elsewhere;
mod quota_counter;
mod refused_pods;
mod rollout_fenced;
mod rule_finding;
mod service_selector;
mod stored_version;
mod unexplained;
mod volume_held;
mod volume_taken;

use jiff::Timestamp;

use ketcd_history::trouble::triage::{Finding, by_weight};
use ketcd_store::At;

use crate::cluster::Cluster;
use crate::error::Result;
use facts::Facts;
use rule_finding::placed;

pub use events::Warning;
pub(super) use rule_finding::Named;

/// Returns the VolumeAttachments that hold a volume on another node than that of a pod, given by its namespace, name and uid: those that `triage` reports
/// once the pod has waited long enough. None where the pod is not there, or its containers were started.
///
/// # Errors
/// The source cannot be read.
pub(crate) async fn volumes_held(cluster: &Cluster, at: At, pod: (&str, &str, &str)) -> Result<Vec<Finding>> {
    let mut facts = Facts::new(cluster, at, None, &[], Vec::new());
    Ok(placed(Vec::new(), volume_held::from_pod(&mut facts, pod).await?))
}

/// Returns the findings with what the rules found among them, the weightiest first, and the Warning Events that none of them explains.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn told(
    cluster: &Cluster,
    at: At,
    now: Option<Timestamp>,
    absent_nodes: Vec<String>,
    findings: Vec<Finding>,
) -> Result<(Vec<Finding>, Vec<Warning>)> {
    let mut held = Facts::new(cluster, at, now, &findings, absent_nodes);
    let facts = &mut held;
    // What explains others comes after what is explained.
    let found = [
        rollout_fenced::find(facts).await?,
        quota_counter::find(facts).await?,
        claim_in_use::find(facts).await?,
        refused_pods::find(facts).await?,
        cron_job::find(facts).await?,
        autoscaler::find(facts).await?,
        service_selector::find(facts).await?,
        stored_version::find(facts).await?,
        owner_elsewhere::find(facts).await?,
        outdated_pod::find(facts).await?,
        claim_unplaced::find(facts).await?,
        volume_taken::find(facts).await?,
        volume_held::find(facts).await?,
        node_missing::find(facts).await?,
        api_server_gone::find(facts).await?,
        compaction::find(facts).await?,
    ];
    let mut told = placed(findings.clone(), found.into_iter().flatten().collect());
    by_weight(&mut told);
    event_message::add(facts, &mut told).await?;
    let warnings = unexplained::warnings(facts, &told).await?;
    held.end();
    Ok((told, warnings))
}
