//! `/ui/api/diff`: what differs between two versions of an object, and who changed it in between.

use ketcd_history::ObjectVersion;
use ketcd_history::diff::ManagedFields;
use ketcd_render::browser::{Panel, View, differences, setters, yaml};
use ketcd_render::contract::browser::PageDiff;
use ketcd_store::{At, KeyRange, Revision, Want};

use super::question::Asked;
use super::subject::Subject;
use crate::wire::{Result, Status};

/// The most changes in between whose authors are named.
const MAX_AUTHORS: usize = 200;

pub(super) async fn answer(asked: &Asked<'_>) -> Result<PageDiff> {
    let ((after, from), to) = (asked.begin("from").await?, asked.moment("to").await?);
    let subject = asked.subject(Revision(to.revision)).await?;
    let first = Revision(from.revision.max(1));
    let (before, now) = (version(asked, &subject, first).await?, version(asked, &subject, Revision(to.revision)).await?);
    let text = |version: &ObjectVersion| version.object().map(|object| yaml(object, ManagedFields::Hidden)).transpose();
    let fields = match (before.whole(), now.whole()) {
        (Some(before), Some(now)) => differences(before, now),
        _ => Vec::new(),
    };
    let changes = asked.stand.changes(&[subject.place], (after, Revision(to.revision))).await?;
    let surplus = changes.len().saturating_sub(MAX_AUTHORS);
    let panel = Panel::Diff(asked.cursor("from", first), asked.cursor("to", Revision(to.revision)));
    Ok(PageDiff {
        after: text(&now).map_err(Status::internal)?,
        before: text(&before).map_err(Status::internal)?,
        by: setters(&changes[surplus..]),
        command: asked.command(&View::Object(subject.name.address.clone(), panel)),
        fields,
        from,
        name: subject.name,
        to,
    })
}

/// The version of an object at a revision.
async fn version(asked: &Asked<'_>, subject: &Subject<'_>, at: Revision) -> Result<ObjectVersion> {
    let cluster = &asked.stand.cluster;
    let first = asked.stand.index().await?.first;
    let found = cluster.source.first(KeyRange::key(&subject.life.key[..]), At::Revision(at.max(first)), Want::Values, 1).await?;
    let decoded = found.into_iter().next().map(|entry| cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body);
    Ok(decoded.map_or(ObjectVersion::Absent, ObjectVersion::from))
}
