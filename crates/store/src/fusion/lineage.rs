//! Whether sources are of one cluster, shown by what they share: at a revision that two have, the changes are the same; what the newer one
//! still has of the time of the older one, the older one has, and did not change it later.
//!
//! Two histories that part ways, as those of a cluster and of one restored from its snapshot do, differ from some revision on. So the newest
//! revision that both have shows it, and the first that differs is found by halving.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use sha2::{Digest, Sha256};

use super::part::{Part, PartState};
use crate::load::Peek;
use crate::{At, Event, EventKind, KeyRange, KeyValue, Origin, Result, Revision, RevisionSpan, Source, Until, Want, WatchItem};

/// The least number of changes compared: the newest of those that both can have.
const MIN_CHANGES_COMPARED: usize = 256;
/// How many revisions of an opened file are searched for them first.
const LOOKED_AT: i64 = 4096;
/// How many revisions are tried to find one with changes in both.
const MAX_REVISIONS_TRIED: i64 = 16;
/// How many changes that were recovered of a damaged file are compared.
const MAX_RECOVERED_COMPARED: usize = 16;

/// Why nothing shows whether two go together.
const NOTHING_SHARED: &str = "they have no change in common";
const NOTHING_IN_BOTH: &str = "none of the newest revisions that both cover has a change in both";

/// One of the sources that are compared.
pub(super) struct Witness<'a> {
    name: &'a str,
    span: RevisionSpan,
    has_all_keys: bool,
    /// Whether it may lack what it should have.
    is_damaged: bool,
    evidence: WitnessSource<'a>,
}

enum WitnessSource<'a> {
    Closed(&'a Peek),
    Open(&'a dyn Source),
    /// A live etcd, of which little is asked.
    Live(&'a dyn Source),
}

/// How two sources go together.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// They share something, and agree about it.
    Agree,
    /// All that is left of a damaged one was recovered, and agrees with the other: a sentence.
    Recovered(String),
    /// Nothing shows it: why, as a clause.
    Unknown(String),
    /// They contradict each other: a sentence with the evidence.
    Conflict(String),
    /// They agree up to a revision, and contradict each other from the next one on.
    Parted { after: Revision, conflict: String },
}

impl<'a> Witness<'a> {
    /// A file; `None` where it was closed.
    pub(super) fn of(part: &'a Part) -> Option<Self> {
        let evidence = match &part.held {
            PartState::Open(source) => WitnessSource::Open(&**source),
            PartState::Closed { peek, .. } => WitnessSource::Closed(peek.as_deref()?),
        };
        let (has_all_keys, is_damaged) = (part.has_all_keys(), part.is_damaged());
        Some(Self { name: &part.name, span: part.span, has_all_keys, is_damaged, evidence })
    }

    pub(super) fn opened(part: &'a Part, source: &'a dyn Source) -> Self {
        let (has_all_keys, is_damaged) = (part.has_all_keys(), part.is_damaged());
        Self { name: &part.name, span: part.span, has_all_keys, is_damaged, evidence: WitnessSource::Open(source) }
    }

    pub(super) fn live(name: &'a str, span: RevisionSpan, source: &'a dyn Source) -> Self {
        Self { name, span, has_all_keys: true, is_damaged: false, evidence: WitnessSource::Live(source) }
    }

    /// Why a damaged one is not compared, as a clause.
    fn nothing_certain(&self) -> String {
        format!("{} is damaged, and nothing certain of it could be compared", self.name)
    }

    /// Whether what it does not have was never there.
    fn lacks_nothing(&self) -> bool {
        self.has_all_keys && !self.is_damaged
    }

    fn complete_after(&self) -> i64 {
        self.span.compacted.map_or(0, |compacted| compacted.0)
    }

    /// What it certainly has of one revision; `None` where a page is damaged.
    async fn changes(&self, revision: i64) -> Result<Option<Vec<Event>>> {
        Ok(self.all_changes(revision).await?.map(certain))
    }

    /// The same with what was recovered of an opened file.
    async fn all_changes(&self, revision: i64) -> Result<Option<Vec<Event>>> {
        let revision = Revision(revision);
        Ok(match self.evidence {
            WitnessSource::Closed(peek) => peek.changes(revision),
            WitnessSource::Open(source) | WitnessSource::Live(source) => Some(events(source, KeyRange::all(), revision, revision).await?),
        })
    }

    /// What it certainly has of the time up to a revision, the newest first; of a live etcd the keys that were not written since, without
    /// their values.
    async fn written_upto(&self, revision: i64) -> Result<Vec<Event>> {
        let revision = Revision(revision);
        let found = match self.evidence {
            WitnessSource::Closed(peek) => peek.written_upto(revision, MIN_CHANGES_COMPARED).unwrap_or_default(),
            WitnessSource::Open(source) => newest_events(source, revision).await?,
            WitnessSource::Live(source) => {
                let listing = source.range(KeyRange::all(), At::Newest, Want::Keys).await?;
                let entries: Vec<_> = listing.entries.try_collect().await?;
                let mut found: Vec<Event> = entries
                    .into_iter()
                    .filter(|entry| entry.mod_revision <= revision)
                    .map(|entry| Event::put(entry, Origin::Live))
                    .collect();
                found.sort_by_key(|event| std::cmp::Reverse(event.revision));
                found.truncate(MIN_CHANGES_COMPARED);
                found
            }
        };
        Ok(certain(found))
    }
}

/// All changes of keys from a revision to another, both included.
pub(super) async fn events(source: &dyn Source, keys: KeyRange, from: Revision, to: Revision) -> Result<Vec<Event>> {
    let mut items = source.watch(keys, from, Until::Revision(to));
    let mut found = Vec::new();
    while let Some(item) = items.next().await.transpose()? {
        match item {
            WatchItem::Event(event) if event.revision <= to => found.push(event),
            _ => {}
        }
    }
    Ok(found)
}

/// The newest changes up to a revision, the newest first: `MIN_CHANGES_COMPARED` or more of them, or all there are.
async fn newest_events(source: &dyn Source, upto: Revision) -> Result<Vec<Event>> {
    let mut revisions = LOOKED_AT;
    loop {
        let from = Revision((upto.0 - revisions).max(1));
        let mut found = certain(events(source, KeyRange::all(), from, upto).await?);
        if found.len() >= MIN_CHANGES_COMPARED || from == Revision(1) {
            found.reverse();
            return Ok(found);
        }
        revisions *= 16;
    }
}

/// Without what was only recovered.
fn certain(events: Vec<Event>) -> Vec<Event> {
    events.into_iter().filter(|event| event.origin != Origin::FreePage).collect()
}

/// Compares two sources.
///
/// # Errors
///
/// One cannot be read.
pub(super) async fn compare(one: &Witness<'_>, other: &Witness<'_>) -> Result<Verdict> {
    let (older, newer) = if one.span.newest <= other.span.newest { (one, other) } else { (other, one) };
    let (first, last) = (older.complete_after().max(newer.complete_after()) + 1, older.span.newest.0);
    if first > last { apart(older, newer).await } else { overlapping(older, newer, first, last).await }
}

/// Compares two that have revisions in common.
async fn overlapping(older: &Witness<'_>, newer: &Witness<'_>, first: i64, last: i64) -> Result<Verdict> {
    if !older.has_all_keys || !newer.has_all_keys {
        return of_some_keys(older, newer, first).await;
    }
    let mut is_shared = false;
    for revision in (first..=last).rev().take(MAX_REVISIONS_TRIED as usize) {
        match differs(older, newer, revision).await? {
            None => continue,
            Some(None) => is_shared = true,
            Some(Some(_)) => return first_difference(older, newer, first, revision).await,
        }
        break;
    }
    if is_shared {
        return Ok(Verdict::Agree);
    }
    for (damaged, other) in [(older, newer), (newer, older)] {
        if damaged.is_damaged || damaged.changes(last).await?.is_none() {
            return of_what_is_left(damaged, other, (first, last)).await;
        }
    }
    Ok(Verdict::Unknown(NOTHING_IN_BOTH.to_owned()))
}

/// Compares what was recovered of a damaged file, of which nothing certain is left, with another. A recovered change may be of a write that was never
/// committed, so one that differs is not a conflict.
async fn of_what_is_left(damaged: &Witness<'_>, other: &Witness<'_>, (first, last): (i64, i64)) -> Result<Verdict> {
    let unknown = || Verdict::Unknown(damaged.nothing_certain());
    let WitnessSource::Open(source) = damaged.evidence else { return Ok(unknown()) };
    let recovered = events(source, KeyRange::all(), Revision(first.max(last - LOOKED_AT)), Revision(last)).await?;
    let mut is_shared = false;
    for event in recovered.iter().rev().take(MAX_RECOVERED_COMPARED) {
        let theirs = other.all_changes(event.revision.0).await?.unwrap_or_default();
        match theirs.iter().find(|their| their.key_value.key == event.key_value.key) {
            Some(their) if is_same(event, their) => is_shared = true,
            None if theirs.is_empty() || !other.lacks_nothing() => {}
            _ => return Ok(unknown()),
        }
    }
    let agrees = || Verdict::Recovered(format!("{} is damaged; what could be recovered of it agrees with {}", damaged.name, other.name));
    Ok(if is_shared { agrees() } else { unknown() })
}

/// Finds the first revision that differs, where the last one does.
async fn first_difference(older: &Witness<'_>, newer: &Witness<'_>, first: i64, last: i64) -> Result<Verdict> {
    let (mut low, mut high) = (first, last);
    while low < high {
        let middle = low + (high - low) / 2;
        if matches!(differs(older, newer, middle).await?, Some(Some(_))) { high = middle } else { low = middle + 1 }
    }
    let Some(sentence) = differs(older, newer, high).await?.flatten() else { return Ok(Verdict::Unknown(NOTHING_IN_BOTH.to_owned())) };
    // What they have in common before it shows that they were one.
    for revision in (first..high).rev().take(MAX_REVISIONS_TRIED as usize) {
        if differs(older, newer, revision).await? == Some(None) {
            return Ok(Verdict::Parted { after: Revision(revision), conflict: sentence });
        }
    }
    Ok(Verdict::Conflict(sentence))
}

/// Whether two differ at a revision, with the evidence; `None` where one has nothing of it.
async fn differs(one: &Witness<'_>, other: &Witness<'_>, revision: i64) -> Result<Option<Option<String>>> {
    let (ours, theirs) = (one.changes(revision).await?.unwrap_or_default(), other.changes(revision).await?.unwrap_or_default());
    if ours.is_empty() || theirs.is_empty() {
        return Ok(None);
    }
    let pair = ours.iter().find_map(|event| {
        let contradicting = |their: &&Event| is_contradiction(event, their);
        theirs.iter().find(contradicting).map(|their| (event, their))
    });
    Ok(Some(pair.map(|(event, their)| disagreement(revision, (one.name, Some(event)), (other.name, Some(their))))))
}

/// Compares what one that may have some keys only has with the other.
async fn of_some_keys(older: &Witness<'_>, newer: &Witness<'_>, first: i64) -> Result<Verdict> {
    let (partial, other) = if older.has_all_keys { (newer, older) } else { (older, newer) };
    let mut conflict = None;
    let mut is_shared = false;
    let held = partial.written_upto(older.span.newest.0).await?;
    for event in held.iter().take_while(|event| event.revision.0 >= first).take(MIN_CHANGES_COMPARED) {
        let Some(theirs) = other.changes(event.revision.0).await? else { continue };
        let same_key = theirs.iter().find(|their| their.key_value.key == event.key_value.key);
        match same_key {
            Some(their) if is_same(event, their) => is_shared = true,
            None if theirs.is_empty() || !other.lacks_nothing() => {}
            their => {
                let their = their.or(theirs.first());
                conflict = Some(disagreement(event.revision.0, (partial.name, Some(event)), (other.name, their)));
            }
        }
    }
    Ok(conflict.map_or_else(|| shared(is_shared, [older, newer]), Verdict::Conflict))
}

/// Compares two without a revision in common: what the newer one has of the older one's time must be what the older one ends with.
async fn apart(older: &Witness<'_>, newer: &Witness<'_>) -> Result<Verdict> {
    // A live etcd does not give back what it has of the time before its compaction.
    if matches!(older.evidence, WitnessSource::Live(_)) {
        return Ok(Verdict::Unknown(NOTHING_SHARED.to_owned()));
    }
    let end = older.span.newest.0;
    let survivors = newer.written_upto(end).await?;
    let mut last_of: HashMap<Bytes, Event> = HashMap::new();
    for event in older.written_upto(end).await? {
        last_of.entry(event.key_value.key.clone()).or_insert(event);
    }
    let mut conflict = None;
    let mut is_shared = false;
    let mut seen = HashSet::new();
    for event in survivors.iter().filter(|event| seen.insert(event.key_value.key.clone()) && event.kind == EventKind::Put) {
        let Some(theirs) = older.changes(event.revision.0).await? else { continue };
        match theirs.iter().find(|their| their.key_value.key == event.key_value.key) {
            Some(their) if is_same(event, their) => is_shared = true,
            None if !older.lacks_nothing() => {}
            their => {
                let their = their.or(theirs.first());
                conflict = Some(disagreement(event.revision.0, (newer.name, Some(event)), (older.name, their)));
                continue;
            }
        }
        // A log may lack versions in between.
        let is_last = matches!(event.origin, Origin::Db | Origin::Live);
        let later = last_of.get(&event.key_value.key).filter(|last| is_last && last.revision > event.revision);
        if let Some(later) = later {
            conflict = Some(unchanged(event, newer.name, later, older.name));
        }
    }
    Ok(conflict.map_or_else(|| shared(is_shared, [older, newer]), Verdict::Conflict))
}

/// What was found of two that do not contradict each other.
fn shared(is_shared: bool, both: [&Witness<'_>; 2]) -> Verdict {
    if is_shared {
        return Verdict::Agree;
    }
    let damaged = both.into_iter().find(|witness| witness.is_damaged).map(Witness::nothing_certain);
    Verdict::Unknown(damaged.unwrap_or_else(|| NOTHING_SHARED.to_owned()))
}

/// Whether two changes of a revision cannot be of one history: one place has another key, or one key another value.
fn is_contradiction(one: &Event, other: &Event) -> bool {
    let is_same_key = one.key_value.key == other.key_value.key;
    if is_same_key { !is_same(one, other) } else { one.sub_revision == other.sub_revision }
}

/// Whether two changes of a key at a revision are the same, as far as both are known.
pub(super) fn is_same(one: &Event, other: &Event) -> bool {
    let (ours, theirs) = (&one.key_value, &other.key_value);
    if one.origin == Origin::ApiServer || other.origin == Origin::ApiServer {
        return one.kind == other.kind && agree_as_far_as_known(ours, theirs);
    }
    // Keys of a live etcd are listed without their values; a log that begins later does not know versions.
    let is_without_value = |event: &Event, version: i64| event.origin == Origin::Live && event.key_value.value.is_empty() && version > 0;
    if is_without_value(one, ours.version) || is_without_value(other, theirs.version) {
        return (ours.create_revision, ours.version) == (theirs.create_revision, theirs.version);
    }
    one.kind == other.kind && ours.value == theirs.value
}

/// Whether what is known of two versions agrees. An API server returns an object in another form than etcd stores it in, and does not say how often
/// it was written.
fn agree_as_far_as_known(one: &KeyValue, other: &KeyValue) -> bool {
    let agree = |one: i64, other: i64| one == 0 || other == 0 || one == other;
    agree(one.create_revision.0, other.create_revision.0) && agree(one.version, other.version)
}

pub(crate) fn disagreement(revision: i64, one: (&str, Option<&Event>), other: (&str, Option<&Event>)) -> String {
    let held = |(name, event): (&str, Option<&Event>)| match event {
        Some(event) => format!("{name} has {} {}", String::from_utf8_lossy(&event.key_value.key), digest(event)),
        None => format!("{name} has no change that is still alive"),
    };
    format!("they disagree about revision {revision}: {}, {}", held(one), held(other))
}

/// Says that a key which the newer source has unchanged was changed in the older one.
fn unchanged(event: &Event, newer: &str, last: &Event, older: &str) -> String {
    format!(
        "they disagree about {}: {newer} has it unchanged since revision {} {}, {older} has it {} at revision {}",
        String::from_utf8_lossy(&event.key_value.key),
        event.revision,
        digest(event),
        if last.kind == EventKind::Delete { "deleted".to_owned() } else { format!("written again {}", digest(last)) },
        last.revision
    )
}

fn digest(event: &Event) -> String {
    if event.kind == EventKind::Delete {
        return "(deleted)".to_owned();
    }
    let mut text = String::from("(SHA-256 ");
    for byte in Sha256::digest(&event.key_value.value) {
        let _ = write!(text, "{byte:02x}");
    }
    text.push(')');
    text
}
