//! The readable revisions of a live cluster: the newest from any answer's header, the oldest from the refusal of revision 1.

use super::client::Cluster;
use super::head::{has, head, revision_of};
use super::trouble::Class;
use super::watch::compacted_revision;
use crate::{KeyRange, Result, Revision, RevisionSpan};

pub(super) async fn span(cluster: &Cluster) -> Result<RevisionSpan> {
    let (key, newest) = head(cluster).await?;
    match revision_of(cluster, &key, 1).await {
        Ok(_) => Ok(RevisionSpan { oldest: Revision(1), newest, compacted: None }),
        Err(troubles) if has(&troubles, Class::Compacted) => {
            let compacted = compacted_revision(cluster, &KeyRange::key(key)).await?;
            Ok(RevisionSpan { oldest: compacted, newest, compacted: Some(compacted) })
        }
        Err(troubles) => Err(cluster.error_reading(&KeyRange::key(key), troubles)),
    }
}
