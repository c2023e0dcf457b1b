//! A story observes a history.

use futures_util::TryStreamExt;

use ketcd_history::AttributedChange;
use ketcd_history::timeline::Story;

use crate::cluster::Cluster;
use crate::error::Result;
use crate::read::{History, Read};

/// What stories read of the last version of an object that was not asked for: how it came to be deleted, and what it belongs to.
pub(super) const RELATED_FIELDS: [&str; 18] = [
    "apiVersion",
    "kind",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "metadata.labels",
    "metadata.ownerReferences",
    "metadata.finalizers",
    "metadata.deletionTimestamp",
    "spec.claimRef",
    "spec.nodeName",
    "spec.scaleTargetRef",
    "spec.source",
    "spec.volumeClaimTemplates.metadata.name",
    "spec.volumeName",
    "spec.volumes.persistentVolumeClaim",
    "status.conditions",
    "status.phase",
];

/// Lets a story observe a history, whose changes `is_kept` keeps. `each` sees every change first, oldest first.
pub(super) async fn observe(
    cluster: &Cluster,
    story: &mut Story,
    history: History<'_>,
    is_kept: impl Fn(&[u8]) -> bool,
    each: &mut impl FnMut(&AttributedChange),
) -> Result<()> {
    let mut changes = history.changes();
    while let Some(read) = changes.try_next().await? {
        match read {
            Read::Gap { from, to } => cluster.note_gap(from, to),
            Read::Item(change) => {
                each(&change);
                let keep = is_kept(&change.change.key);
                story.observe(change, keep);
            }
        }
    }
    Ok(())
}
