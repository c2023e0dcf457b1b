//! etcd's own facts for `triage`: its members, its size, how it grows, and who wrote of late.

use std::collections::HashMap;

use futures_util::TryStreamExt;
use jiff::Timestamp;

use ketcd_history::clock::Moment;
use ketcd_kube::{KeyResource, Kinds, RegistryKey};
use ketcd_store::{At, Event, EventKind, KeyRange, MemberHashes, Revision, SourceStatus, Until, WatchItem};

use super::changes::CHANGES_LEAD_TIME;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::notice::Notice;
use crate::writers::LastManagers;

/// How many of the newest revisions are read from a live etcd.
const MAX_LIVE_REVISIONS: i64 = 5_000;

/// etcd's own facts.
#[derive(Debug)]
pub struct StorageFacts {
    /// What the source says of itself.
    pub status: SourceStatus,
    /// The hashes of what its members hold; `None` where they were not asked for or only one was given.
    pub hashes: Option<MemberHashes>,
    /// How many revisions are kept.
    pub kept: i64,
    /// What was written of late, where that was read.
    pub writes: Option<Writes>,
}

/// What was written in a stretch of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Writes {
    /// How long that was, in seconds.
    pub seconds: f64,
    /// Changes of keys; if nothing else is known, revisions, each of which is at least one change.
    pub changes: u64,
    /// Bytes of the values written.
    pub bytes: u64,
    /// By resource, the most changes first; none where only their number is known.
    pub by_resource: Vec<(String, WriteSums)>,
    /// By the field manager that managedFields show, the most changes first.
    pub by_manager: Vec<(String, WriteSums)>,
    /// By how many keys and bytes what is there grew; bytes only where versions before can be read.
    pub grown: Option<(i64, Option<i64>)>,
}

impl Writes {
    /// Changes of which only the number is known.
    pub fn of_number(seconds: f64, changes: u64) -> Self {
        Self { seconds, changes, bytes: 0, by_resource: Vec::new(), by_manager: Vec::new(), grown: None }
    }
}

/// A part of what was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteSums {
    /// Changes of keys.
    pub changes: u64,
    /// Bytes of the values written.
    pub bytes: u64,
}

impl WriteSums {
    /// Adds another.
    pub fn add(&mut self, other: Self) {
        self.changes += other.changes;
        self.bytes += other.bytes;
    }
}

/// Reads what the source says of itself, and what was written in the quarter of an hour before revision `at`.
///
/// # Errors
/// The source cannot be read.
pub async fn storage(cluster: &Cluster, at: Revision, now: Option<Timestamp>) -> Result<StorageFacts> {
    let status = cluster.source.status().await?;
    let span = cluster.source.span().await?;
    let is_history = !cluster.source.is_one_moment();
    let kept = if is_history { at.0 - span.oldest.0 + 1 } else { 0 };
    let writes = match now.filter(|_| is_history) {
        Some(now) => writes(cluster, at, now).await?,
        None => None,
    };
    // Members say how they are now.
    let hashes = if cluster.at == At::Newest { cluster.source.hashes(&status).await } else { None };
    if let Some(hashes) = hashes.as_ref().filter(|hashes| !hashes.left_out.is_empty()) {
        let left_out = hashes.left_out.clone();
        cluster.note(Notice::MembersNotCompared { compared: hashes.members.len(), revision: hashes.revision, left_out });
    }
    Ok(StorageFacts { status, hashes, kept, writes })
}

async fn writes(cluster: &Cluster, at: Revision, now: Timestamp) -> Result<Option<Writes>> {
    let Some((mut first, mut begin)) = quarter(cluster, now).await? else { return Ok(None) };
    if first > at {
        return Ok(None);
    }
    let is_shared = cluster.source.is_shared();
    let revisions = u64::try_from(at.0 - first.0 + 1).unwrap_or(0);
    let whole = Writes::of_number(now.duration_since(begin).as_secs_f64(), revisions);
    if is_shared && at.0 - first.0 >= MAX_LIVE_REVISIONS {
        first = Revision(at.0 - MAX_LIVE_REVISIONS + 1);
        match cluster.clock_around(&[first.before()], &[]).await?.date(first.before()) {
            Some(dated) => begin = dated.time,
            None => return Ok(Some(whole)),
        }
    }
    let seconds = now.duration_since(begin).as_secs_f64();
    if seconds <= 0.0 {
        return Ok(None);
    }
    if is_shared && !cluster.source.serves_watches().await {
        return Ok(Some(whole));
    }
    match read(cluster, first, at, seconds).await {
        // How many revisions there were is known to whoever may read little.
        Err(error) if error.refusal().is_some() => Ok(Some(whole)),
        read => read.map(Some),
    }
}

/// The first revision of the quarter of an hour before `now`, or of the history where that is shorter, and the time before it.
async fn quarter(cluster: &Cluster, now: Timestamp) -> Result<Option<(Revision, Timestamp)>> {
    let span = cluster.source.span().await?;
    let Ok(begin) = now.checked_sub(CHANGES_LEAD_TIME) else { return Ok(None) };
    let known = cluster.revision_at(Moment::Absolute(begin)).await.ok().filter(|first| *first >= span.oldest);
    if let Some(first) = known {
        return Ok(Some((first.after(), begin)));
    }
    let clock = cluster.clock_around(&[span.oldest], &[]).await?;
    let oldest = clock.dated_span().and_then(|(first, _)| Some((first.after(), clock.date(first)?.time)));
    Ok(oldest)
}

/// Reads what was written between two revisions, both included.
async fn read(cluster: &Cluster, first: Revision, at: Revision, seconds: f64) -> Result<Writes> {
    let (prefix, kinds, last_managers) = (cluster.prefix().await?, Kinds::builtin(), LastManagers::of(cluster));
    let (mut resources, mut managers): (HashMap<String, WriteSums>, HashMap<String, WriteSums>) = Default::default();
    let mut sum = Writes { grown: Some((0, cluster.source.reads_before().then_some(0))), ..Writes::of_number(seconds, 0) };
    let mut watch = cluster.source.watch(KeyRange::all(), first, Until::Revision(at));
    while let Some(item) = watch.try_next().await? {
        let WatchItem::Event(event) = item else { continue };
        let (key, value) = (&event.key_value.key, &event.key_value.value);
        let part = WriteSums { changes: 1, bytes: value.len() as u64 };
        sum.changes += part.changes;
        sum.bytes += part.bytes;
        resources.entry(resource(prefix, key, &kinds)).or_default().add(part);
        if let Some(manager) = last_managers.manager(key, value) {
            managers.entry(manager).or_default().add(part);
        }
        grow(&mut sum, cluster, &event);
    }
    sum.by_resource = most_first(resources);
    sum.by_manager = most_first(managers);
    Ok(sum)
}

/// Adds by how much a change makes more or less of what is there.
fn grow(sum: &mut Writes, cluster: &Cluster, event: &Event) {
    let Some((keys, bytes)) = &mut sum.grown else { return };
    *keys += match event.kind {
        EventKind::Delete => -1,
        EventKind::Put => i64::from(event.key_value.version == 1),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    };
    if let Some(bytes) = bytes {
        let size = |value: &[u8]| i64::try_from(value.len()).unwrap_or(i64::MAX);
        let before = cluster.source.read_before(&event.key_value).map_or(0, |before| size(&before.value));
        *bytes += size(&event.key_value.value) - before;
    }
}

fn most_first(parts: HashMap<String, WriteSums>) -> Vec<(String, WriteSums)> {
    let mut parts: Vec<(String, WriteSums)> = parts.into_iter().collect();
    parts.sort_by(|a, b| b.1.changes.cmp(&a.1.changes).then_with(|| a.0.cmp(&b.0)));
    parts
}

/// The resource that a key is of: the plural, of custom kinds with its group.
pub fn resource(prefix: &str, key: &[u8], kinds: &Kinds) -> String {
    match RegistryKey::parse(prefix, key, kinds) {
        RegistryKey::Object(object) => match object.resource {
            KeyResource::Known(kind) => kind.plural.to_string(),
            KeyResource::Unlisted { group, plural } => format!("{plural}.{group}"),
        },
        RegistryKey::Special(name) => name.split('/').next().unwrap_or(name).to_owned(),
        RegistryKey::Foreign => "keys of others".to_owned(),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}
