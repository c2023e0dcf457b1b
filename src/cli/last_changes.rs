//! The last changes of one object, read backwards by its own key: each version names the revision before which the one before it is found.

use std::sync::Arc;

use futures_util::TryStreamExt;
use serde_json::Value;

use super::session::Session;
use super::{Error, Result};
use ketcd_history::clock::{Clock, Evidence};
use ketcd_history::{AttributedChange, Change, ChangeKind, Follower};
use ketcd_store::{At, Event, EventKind, KeyRange, KeyValue, Origin, Revision, Want};

/// A time from an object's own versions that may be off by more seconds is not shown.
const PRECISE: f64 = 1.0;

/// The last changes of an object, and what came before them.
pub(super) struct LastChanges {
    /// Oldest first.
    pub changes: Vec<AttributedChange>,
    /// Whether the object had versions before them.
    pub has_earlier: bool,
}

/// Reads at most so many changes, up to the one that wrote `newest`. They are dated by the history; where others ask it too, as a live etcd, only by
/// the times in the object's own versions.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn read(session: &Session, newest: &KeyValue, most: usize) -> Result<LastChanges> {
    let mut versions = vec![newest.clone()];
    // One more shows what the first change changed.
    while versions.len() <= most
        && let Some(before) = before(session, &versions[versions.len() - 1]).await?
    {
        versions.push(before);
    }
    versions.reverse();
    let has_earlier = (versions[0].version != 1 || versions.len() > most) && !session.source.is_one_moment();
    let mut follower = Follower::new(|entry: &KeyValue| session.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body);
    let origin = if session.source.is_one_moment() { Origin::Objects } else { Origin::Live };
    let is_shared = session.source.is_shared();
    let changes: Vec<Change> = versions
        .iter()
        .cloned()
        .map(|entry| {
            let revision = entry.mod_revision;
            follower.change(Event { revision, sub_revision: 0, kind: EventKind::Put, key_value: entry, origin })
        })
        .collect();
    let clock = if is_shared {
        Arc::new(own_clock(&changes))
    } else {
        let revisions: Vec<Revision> = versions.iter().map(|version| version.mod_revision).collect();
        session.clock_around(&revisions, &versions).await?
    };
    let surplus = changes.len().saturating_sub(most);
    let mut changes: Vec<_> = changes.into_iter().skip(surplus).map(|change| AttributedChange::new(change, &clock)).collect();
    if is_shared {
        changes.iter_mut().for_each(|change| change.dated = change.dated.filter(|dated| dated.error <= PRECISE));
    }
    Ok(LastChanges { changes, has_earlier })
}

/// Dates an object's changes by the times in its own versions.
fn own_clock(changes: &[Change]) -> Clock {
    let mut evidence = Evidence::default();
    for change in changes {
        evidence.observe(change.revision, &change.key, change.kind == ChangeKind::Added, change.after.object());
        if let Some(time) = stamped(change).and_then(|time| time.parse().ok()) {
            // It counts though it may be of the same second as the one before.
            evidence.observe_creation(change.revision, time);
        }
    }
    evidence.finish()
}

/// When the API server says that it made this very change: the time of the managedFields entries that are new with it.
fn stamped(change: &Change) -> Option<&str> {
    let before = managed_fields(change.before.object())?;
    let is_known = |entry: &Value| {
        let same = |field: &str, other: &Value| other[field] == entry[field];
        before.iter().any(|other| ["manager", "operation", "subresource", "time", "fieldsV1"].iter().all(|field| same(field, other)))
    };
    let new = managed_fields(change.after.object())?.iter().filter(|entry| !is_known(entry));
    new.filter_map(|entry| entry["time"].as_str()).max()
}

fn managed_fields(object: Option<&Value>) -> Option<&[Value]> {
    object?["metadata"]["managedFields"].as_array().map(Vec::as_slice)
}

/// The version before another one; `None` for an object's first, and where it cannot be read any more.
async fn before(session: &Session, version: &KeyValue) -> Result<Option<KeyValue>> {
    if version.version <= 1 || session.source.is_one_moment() {
        return Ok(None);
    }
    let at = At::Revision(version.mod_revision.before());
    let listing = match session.source.range(KeyRange::key(version.key.clone()), at, Want::Values).await {
        Err(ketcd_store::Error::Compacted { .. }) => return Ok(None),
        other => other?,
    };
    let mut entries = listing.entries;
    match entries.try_next().await {
        Err(ketcd_store::Error::Compacted { .. }) => Ok(None),
        other => other.map_err(Error::from),
    }
}
