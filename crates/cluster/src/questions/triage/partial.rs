//! Findings about objects that a bundle holds only as far as a scheduler reads them: what is said of them would be less than the whole cluster shows.

use ketcd_history::AttributedChange;
use ketcd_history::timeline::Subject;
use ketcd_history::trouble::triage::Finding;
use ketcd_store::{At, KeyRange, Want};

use super::scope::subjects_of;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::questions::reduced::is_marked;

/// Leaves those findings that an object has which is there whole, or that followed from one; returns how many others there were.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn without_reduced(cluster: &Cluster, at: At, findings: Vec<Finding>) -> Result<(Vec<Finding>, usize)> {
    if !cluster.source.arrivals_are_dates() {
        return Ok((findings, 0));
    }
    let (mut kept, mut reduced) = (Vec::new(), 0);
    for finding in findings {
        let mut subjects = Vec::new();
        subjects_of(&finding, &mut subjects);
        let mut is_whole = false;
        for subject in subjects {
            is_whole = is_whole || !is_reduced(cluster, at, subject).await?;
        }
        if is_whole { kept.push(finding) } else { reduced += 1 }
    }
    Ok((kept, reduced))
}

/// Whether a change is of an object that is there whole.
pub(super) fn is_of_whole(change: &AttributedChange) -> bool {
    !change.change.object().is_some_and(is_marked)
}

async fn is_reduced(cluster: &Cluster, at: At, Subject { kind, namespace, name, .. }: &Subject) -> Result<bool> {
    let (prefix, namespace) = (cluster.prefix().await?, Some(&**namespace).filter(|namespace| !namespace.is_empty()));
    for known in cluster.kinds().await?.iter().filter(|known| known.kind == *kind && known.is_stored()) {
        let key = KeyRange::key(known.key(prefix, namespace.filter(|_| known.namespaced), name));
        if let Some(entry) = cluster.source.first(key, at, Want::Values, 1).await?.pop() {
            let decoded = cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0);
            return Ok(decoded.object().is_some_and(is_marked));
        }
    }
    Ok(false)
}
