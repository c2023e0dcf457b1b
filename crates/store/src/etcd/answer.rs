//! Checks a server's answers against the requests. An answer that cannot be true ends the reading: a server that is broken, or is not etcd, is
//! named, and nothing of the answer is used.

use std::borrow::Cow;

use tonic::Status;

use super::wire::range_end;
use crate::proto::etcdserverpb::{RangeResponse, ResponseHeader, StatusResponse};
use crate::proto::mvccpb::KeyValue;
use crate::{KeyRange, Revision};

/// The newest revision that is believed: a million writes a second make it in 285 years. Numbers up to here are exact in every JSON reader, and may
/// be added up.
const MOST_REVISION: i64 = 1 << 53;
/// The most keys that are believed. etcd keeps an index of all keys in memory, more than 100 bytes for each.
const MOST_KEYS: i64 = 1 << 30;
/// The longest version of etcd that is believed, in bytes.
const LONGEST_VERSION: usize = 64;

/// What cannot be true of an answer, with the server as the subject: "sent keys that were not asked for".
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Untrue(Cow<'static, str>);

impl Untrue {
    pub(super) fn new(problem: impl Into<Cow<'static, str>>) -> Self {
        Self(problem.into())
    }

    /// The clause.
    pub(super) fn problem(&self) -> &str {
        &self.0
    }
}

/// Why a call brought nothing that can be used.
#[derive(Debug)]
pub(super) enum Failed {
    /// The call failed.
    Call(Status),
    /// It was answered with what cannot be true.
    Untrue(Untrue),
}

impl From<Status> for Failed {
    fn from(status: Status) -> Self {
        Self::Call(status)
    }
}

impl From<Untrue> for Failed {
    fn from(untrue: Untrue) -> Self {
        Self::Untrue(untrue)
    }
}

type Checked<T = ()> = Result<T, Untrue>;

fn holds(condition: bool, problem: &'static str) -> Checked {
    if condition { Ok(()) } else { Err(Untrue::new(problem)) }
}

/// The revision of an answer's header.
pub(super) fn newest(header: Option<&ResponseHeader>) -> Checked<Revision> {
    let header = header.ok_or_else(|| Untrue::new("sent no header, which has the newest revision"))?;
    plausible(header.revision)
}

/// A number that stands for a revision.
pub(super) fn plausible(revision: i64) -> Checked<Revision> {
    match revision {
        1..=MOST_REVISION => Ok(Revision(revision)),
        _ => Err(Untrue::new(format!("sent {revision}, which cannot be a revision"))),
    }
}

/// Whether a stored version can be one of a store whose newest revision is `newest`.
pub(super) fn version(kv: &KeyValue, newest: Revision) -> Checked {
    modified(kv, newest)?;
    holds((1..=newest.0).contains(&kv.create_revision), "sent a key that was created at a revision that is not there")?;
    holds((1..=newest.0).contains(&kv.version), "sent a key that was written more often than there are revisions")
}

/// Whether a key, stored or deleted, can be one of a store whose newest revision is `newest`.
pub(super) fn modified(kv: &KeyValue, newest: Revision) -> Checked {
    holds(!kv.key.is_empty(), "sent a key without a name")?;
    let revision = plausible(kv.mod_revision)?;
    match revision <= newest {
        true => Ok(()),
        false => Err(Untrue::new(format!("sent a change of revision {revision}, where the newest is {newest}"))),
    }
}

/// What a range was asked for.
#[derive(Clone, Copy)]
pub(super) struct RangeAsked<'a> {
    pub keys: &'a KeyRange,
    /// The revision that was asked for; the newest if there is none.
    pub revision: Option<Revision>,
    pub content: RangeContent,
}

/// What was asked for of a range's keys.
#[derive(Clone, Copy)]
pub(super) enum RangeContent {
    /// Their number alone.
    Count,
    /// The first so many.
    Entries { limit: i64 },
}

impl RangeAsked<'_> {
    /// Checks an answer; returns the newest revision that its header names.
    pub(super) fn check(&self, answer: &RangeResponse) -> Checked<Revision> {
        let newest = self.newest(answer.header.as_ref())?;
        let (found, count) = (answer.kvs.len() as i64, answer.count);
        holds((0..=MOST_KEYS).contains(&count), "counts more keys than an etcd can hold, or a negative number of them")?;
        holds(count <= 1 || range_end(self.keys, &self.keys.start).is_some(), "counts several keys of one name")?;
        match self.content {
            RangeContent::Count => holds(found == 0 && !answer.more, "sent keys where their number was asked for")?,
            RangeContent::Entries { limit, .. } => {
                // A server that knows no limits may send all there are.
                holds(found <= limit || found == count, "sent more keys than were asked for")?;
                holds(found <= count && answer.more == (found < count), "counts other keys than it sent")?;
                holds(found >= limit || !answer.more, "sent fewer keys than were asked for, and says that there are more")?;
            }
        }
        self.entries(&answer.kvs, newest)?;
        Ok(newest)
    }

    /// Checks the header of an answer.
    pub(super) fn newest(&self, header: Option<&ResponseHeader>) -> Checked<Revision> {
        let newest = newest(header)?;
        match self.revision {
            Some(asked) if asked > newest => {
                Err(Untrue::new(format!("answered for revision {asked}, and says that the newest is {newest}")))
            }
            _ => Ok(newest),
        }
    }

    /// Checks entries of the range, whose store is at `newest`.
    pub(super) fn entries(&self, entries: &[KeyValue], newest: Revision) -> Checked {
        let (newest, mut last) = (self.revision.unwrap_or(newest), None);
        for kv in entries {
            holds(self.keys.contains(&kv.key), "sent keys that were not asked for")?;
            holds(last.is_none_or(|last: &[u8]| last < &kv.key[..]), "sent keys out of order, or one of them twice")?;
            version(kv, newest)?;
            last = Some(&kv.key[..]);
        }
        Ok(())
    }
}

/// Checks what a member says of itself.
pub(super) fn status(status: &StatusResponse) -> Checked {
    newest(status.header.as_ref())?;
    let is_printable = status.version.bytes().all(|byte| byte.is_ascii_graphic());
    holds(is_printable && status.version.len() <= LONGEST_VERSION, "names a version that no etcd has")?;
    let sizes = [status.db_size, status.db_size_in_use, status.db_size_quota];
    holds(sizes.iter().all(|size| *size >= 0), "reports a negative size of its database")
}
