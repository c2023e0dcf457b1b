//! Whether an etcd continues with the history that was recorded. One that was restored from a backup has another from some revision on, with the same
//! cluster id and the same revision numbers: what both have is compared before anything is added.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use futures_util::{StreamExt, TryStreamExt};

use super::source::RecordingSource;
use crate::fusion::disagreement;
use crate::{At, Error, Event, KeyRange, KeyValue, LateDamage, Result, Revision, Source, Until, Want, WatchItem};

/// The recording's newest changes that are compared are looked for among this many revisions,
const LOOKED_AT: i64 = 4096;
/// and are so many.
const MAX_CHANGES_COMPARED: usize = 64;
/// Where etcd has compacted all of them, so many of the keys are compared that it has from that time.
const MAX_SURVIVORS_COMPARED: usize = 1000;

/// How an etcd and a recording go together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Continuity {
    /// It has what was recorded last.
    Same,
    /// They have nothing in common that would show it.
    Unknown,
    /// It has something else: what, in a sentence.
    Other(String),
}

/// Compares what a recording ends with to what an etcd has of that time. `is_recorded` says which keys of `ranges` the recording has.
///
/// # Errors
///
/// One of them cannot be read.
pub async fn continuity(
    directory: &Path,
    live: &dyn Source,
    is_recorded: &(dyn Fn(&[u8]) -> bool + Sync),
    ranges: &[KeyRange],
) -> Result<Continuity> {
    let name = directory.display().to_string();
    let recording = match RecordingSource::open(&name) {
        // Nothing is recorded yet, or nothing of it can be read, which the recorder says.
        Err(Error::Format { .. }) => return Ok(Continuity::Unknown),
        recording => recording?,
    };
    let (newest, span) = (recording.whole_span().newest, live.span().await?);
    let (ours, first) = last_changes(&recording, span.compacted.map_or(1, |compacted| compacted.0) + 1, newest).await?;
    if !ours.is_empty() {
        let (theirs, theirs_first) = changes(live, KeyRange::hull(ranges), first, newest).await?;
        let theirs: Vec<Event> = theirs.into_iter().filter(|event| is_recorded(&event.key_value.key)).collect();
        let ours: Vec<Event> = ours.into_iter().filter(|event| event.revision.0 >= theirs_first).collect();
        match first_difference(&name, &ours, &theirs) {
            Some(evidence) => return Ok(Continuity::Other(evidence)),
            None if !ours.is_empty() => return Ok(Continuity::Same),
            None => {}
        }
    }
    survivors(&name, &recording, live, is_recorded, ranges).await
}

/// The newest changes of a recording, and the revision from which on they are all there.
async fn last_changes(recording: &RecordingSource, oldest: i64, newest: Revision) -> Result<(Vec<Event>, i64)> {
    let mut first = oldest.max(newest.0.saturating_sub(LOOKED_AT));
    let mut found: VecDeque<Event> = VecDeque::new();
    let mut items = recording.watch(KeyRange::all(), Revision(first), Until::Revision(newest));
    while let Some(item) = items.next().await.transpose()? {
        match item {
            WatchItem::Event(event) => found.push_back(event),
            WatchItem::Gap { to, .. } => {
                found.clear();
                first = to.0 + 1;
            }
            WatchItem::Progress(_) => {}
        }
        // Either all changes of a revision are compared, or none.
        while found.len() > MAX_CHANGES_COMPARED {
            let revision = found.front().map_or(0, |event| event.revision.0);
            if found.back().is_some_and(|last| last.revision.0 == revision) {
                break;
            }
            found.retain(|event| event.revision.0 > revision);
            first = revision + 1;
        }
    }
    // What outlived a gap is not all that happened in it.
    found.retain(|event| event.revision.0 >= first);
    Ok((found.into(), first))
}

/// Changes of an etcd, and the revision from which on they are all there.
async fn changes(live: &dyn Source, keys: KeyRange, from: i64, to: Revision) -> Result<(Vec<Event>, i64)> {
    let (mut found, mut first) = (Vec::new(), from);
    let mut items = live.watch(keys, Revision(from), Until::Revision(to));
    while let Some(item) = items.next().await.transpose()? {
        match item {
            WatchItem::Event(event) => found.push(event),
            // A compaction came between; at its revision deletions are missing.
            WatchItem::Gap { to, .. } => first = to.0 + 2,
            WatchItem::Progress(_) => {}
        }
    }
    found.retain(|event| event.revision.0 >= first);
    Ok((found, first))
}

/// Where two sequences of changes differ first, in a sentence.
fn first_difference(name: &str, ours: &[Event], theirs: &[Event]) -> Option<String> {
    let key = |event: &Event| (event.revision, event.key_value.key.clone());
    let of = |events: &[Event]| events.iter().map(|event| (key(event), event.clone())).collect::<BTreeMap<_, _>>();
    let (ours, theirs) = (of(ours), of(theirs));
    let is_same = |one: &Event, other: &Event| {
        let (one_value, other_value) = (&one.key_value, &other.key_value);
        one.kind == other.kind
            && one_value.value == other_value.value
            && (one_value.create_revision, one_value.version, one_value.lease)
                == (other_value.create_revision, other_value.version, other_value.lease)
    };
    let differs = |key: &&(Revision, bytes::Bytes)| match (ours.get(*key), theirs.get(*key)) {
        (Some(one), Some(other)) => !is_same(one, other),
        _ => true,
    };
    let first = ours.keys().chain(theirs.keys()).filter(differs).min()?;
    let of_revision = |events: &BTreeMap<(Revision, bytes::Bytes), Event>| {
        let same_key = events.get(first);
        same_key.or_else(|| events.iter().find(|(key, _)| key.0 == first.0).map(|(_, event)| event)).cloned()
    };
    Some(disagreement(first.0.0, (name, of_revision(&ours).as_ref()), ("etcd", of_revision(&theirs).as_ref())))
}

/// Compares the keys that an etcd has from the time that was recorded, as early as it can be read: the recording ends with each of them as it is.
async fn survivors(
    name: &str,
    recording: &RecordingSource,
    live: &dyn Source,
    is_recorded: &(dyn Fn(&[u8]) -> bool + Sync),
    ranges: &[KeyRange],
) -> Result<Continuity> {
    let newest = recording.whole_span().newest;
    let recorded: BTreeMap<_, KeyValue> = match recording.range(KeyRange::all(), At::Revision(newest), Want::Keys).await {
        Ok(listing) => listing.entries.map_ok(|entry| (entry.key.clone(), entry)).try_collect().await?,
        Err(_) => return Ok(Continuity::Unknown),
    };
    if !recording.facts().damage.is_empty() || !recording.late_damage().is_empty() {
        return Ok(Continuity::Unknown);
    }
    let at = live.span().await?.oldest.max(newest);
    let mut entries = match live.range(KeyRange::hull(ranges), At::Revision(at), Want::Keys).await {
        Ok(listing) => listing.entries,
        // Compacted meanwhile, or a learner.
        Err(Error::Compacted { .. } | Error::Future { .. }) => return Ok(Continuity::Unknown),
        Err(error) => return Err(error),
    };
    let mut compared = 0;
    while let Some(entry) = entries.try_next().await? {
        if entry.mod_revision > newest || !is_recorded(&entry.key) {
            continue;
        }
        let ours = recorded.get(&entry.key);
        let place = |entry: &KeyValue| (entry.create_revision, entry.mod_revision, entry.version);
        if ours.map(place) != Some(place(&entry)) {
            let key = String::from_utf8_lossy(&entry.key);
            let ours = ours.map_or("not there".to_owned(), |ours| format!("of revision {}", ours.mod_revision));
            let theirs = format!("of revision {}", entry.mod_revision);
            return Ok(Continuity::Other(format!("at revision {newest} {name} has {key} {ours}, etcd has it {theirs}")));
        }
        compared += 1;
        if compared >= MAX_SURVIVORS_COMPARED {
            break;
        }
    }
    Ok(if compared > 0 { Continuity::Same } else { Continuity::Unknown })
}
