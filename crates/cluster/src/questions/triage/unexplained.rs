//! Changes that no request of the audit logs made, as findings.

use futures_util::TryStreamExt;

use ketcd_audit::Unexplained;
use ketcd_history::timeline::Subject;
use ketcd_history::trouble::{Trouble, TroubleKind};
use ketcd_kube::{KeyResource, RegistryKey};
use ketcd_store::{KeyRange, Revision, Until, WatchItem};

use crate::cluster::Cluster;
use crate::error::Result;

/// More changes are not made findings of.
const MAX_UNEXPLAINED_FINDINGS: usize = 100;

/// The changes up to a revision that no request of the audit logs made, though they would hold it: each with its object, the revision as its number and
/// the reason as a word.
///
/// # Errors
/// The source or a log cannot be read.
pub(super) async fn unexplained(cluster: &Cluster, upto: Revision) -> Result<Vec<(Subject, Trouble)>> {
    if !cluster.has_audit_logs() {
        return Ok(Vec::new());
    }
    let clock = cluster.clock().await?;
    let Some(authors) = cluster.known_authors() else { return Ok(Vec::new()) };
    let changes = authors.unexplained_changes().into_iter().filter(|(revision, ..)| *revision <= upto.0);
    let mut found = Vec::new();
    for (revision, sub_revision, why) in changes.take(MAX_UNEXPLAINED_FINDINGS) {
        let revision = Revision(revision);
        let Some(subject) = subject(cluster, revision, sub_revision).await? else { continue };
        let trouble = Trouble {
            since: clock.date(revision).map(|dated| dated.time),
            reason: Some(word(why).to_owned()),
            numbers: Some((revision.0, 0)),
            ..Trouble::new(TroubleKind::ChangeUnexplained)
        };
        found.push((subject, trouble));
    }
    Ok(found)
}

/// The word for machines.
fn word(why: Unexplained) -> &'static str {
    match why {
        Unexplained::SameBytes => "SameBytes",
        Unexplained::Misplaced => "Misplaced",
        Unexplained::NoRequests => "NoRequests",
        _ => "NoRequest",
    }
}

/// The object that a change is of.
async fn subject(cluster: &Cluster, revision: Revision, sub_revision: i64) -> Result<Option<Subject>> {
    let (prefix, kinds) = (cluster.prefix().await?, cluster.kinds().await?);
    let mut items = cluster.source.watch(KeyRange::all(), revision, Until::Revision(revision));
    while let Some(item) = items.try_next().await? {
        let WatchItem::Event(event) = item else { continue };
        if event.sub_revision != sub_revision {
            continue;
        }
        return Ok(RegistryKey::parse(prefix, &event.key_value.key, kinds).object().map(|path| {
            let kind = match path.resource {
                KeyResource::Known(kind) => kind.kind.to_string(),
                KeyResource::Unlisted { plural, .. } => plural.to_owned(),
            };
            let namespace = path.namespace.unwrap_or_default().to_owned();
            Subject { kind, namespace, name: path.name.to_owned(), ..Subject::default() }
        }));
    }
    Ok(None)
}
