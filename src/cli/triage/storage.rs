//! etcd's own facts for `triage`: its members, its size, and who wrote of late.

use std::collections::HashMap;

use futures_util::TryStreamExt;
use jiff::Timestamp;

use ketcd_history::clock::Moment;
use ketcd_kube::{Kinds, RegistryKey, Resource};
use ketcd_store::{KeyRange, Revision, Until, WatchItem};

use super::changes::BEFORE;
use crate::cli::Result;
use crate::cli::session::Session;
use crate::render::triage::{StorageFacts, Writes};

/// Reads what the source says of itself, and what was written in the quarter of an hour before revision `at`.
///
/// # Errors
/// The source cannot be read.
pub(in crate::cli) async fn storage(session: &Session, at: Revision, now: Option<Timestamp>) -> Result<StorageFacts> {
    let status = session.source.status().await?;
    let span = session.source.span().await?;
    let is_history = !session.source.is_one_moment();
    let kept = if is_history { at.0 - span.oldest.0 + 1 } else { 0 };
    let writes = match now.filter(|_| is_history) {
        Some(now) => writes(session, at, now).await?,
        None => None,
    };
    Ok(StorageFacts { status, kept, writes })
}

async fn writes(session: &Session, at: Revision, now: Timestamp) -> Result<Option<Writes>> {
    let span = session.source.span().await?;
    let Ok(begin) = now.checked_sub(BEFORE) else { return Ok(None) };
    let known = session.revision_at(Moment::Absolute(begin)).await.ok().filter(|first| *first >= span.oldest);
    let (first, begin) = match known {
        Some(first) => (first.after(), begin),
        // The history is shorter.
        None => {
            let clock = session.clock_around(&[span.oldest], &[]).await?;
            let Some((first, dated)) = clock.dated_span().and_then(|(first, _)| Some((first, clock.date(first)?))) else { return Ok(None) };
            (first.after(), dated.time)
        }
    };
    let seconds = now.duration_since(begin).as_secs_f64();
    if first > at || seconds <= 0.0 {
        return Ok(None);
    }
    if session.source.is_shared() {
        // Each revision is at least one change; which keys they were of would have to be read.
        let changes = u64::try_from(at.0 - first.0 + 1).unwrap_or(0);
        return Ok(Some(Writes { seconds, changes, bytes: 0, by_resource: Vec::new() }));
    }
    let (prefix, kinds) = (session.prefix().await?, Kinds::builtin());
    let mut watch = session.source.watch(KeyRange::all(), first, Until::Revision(at));
    let mut sum = Writes { seconds, changes: 0, bytes: 0, by_resource: Vec::new() };
    let mut by_resource: HashMap<String, (u64, u64)> = HashMap::new();
    while let Some(item) = watch.try_next().await? {
        let WatchItem::Event(event) = item else { continue };
        let bytes = event.key_value.value.len() as u64;
        sum.changes += 1;
        sum.bytes += bytes;
        let count = by_resource.entry(resource(prefix, &event.key_value.key, &kinds)).or_default();
        count.0 += 1;
        count.1 += bytes;
    }
    sum.by_resource = by_resource.into_iter().map(|(resource, (count, bytes))| (resource, count, bytes)).collect();
    sum.by_resource.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Ok(Some(sum))
}

/// The resource that a key is of: the plural, of custom kinds with its group.
pub(in crate::cli) fn resource(prefix: &str, key: &[u8], kinds: &Kinds) -> String {
    match RegistryKey::parse(prefix, key, kinds) {
        RegistryKey::Object(object) => match object.resource {
            Resource::Known(kind) => kind.plural.to_string(),
            Resource::Unlisted { group, plural } => format!("{plural}.{group}"),
        },
        RegistryKey::Special(name) => name.split('/').next().unwrap_or(name).to_owned(),
        RegistryKey::Foreign => "keys of others".to_owned(),
    }
}
