//! When another kube-scheduler process took over, as its lock tells: its cache and its queue begin anew.
//!
//! A lock is renewed every two seconds, so its versions are not read one by one: between two revisions at which one process holds it, no other did.

use std::collections::VecDeque;

use futures_util::TryStreamExt;

use ketcd_scheduler::RestartedSchedulers;
use ketcd_store::{At, Error as StoreError, KeyRange, Revision, Want};

use super::feed::Feed;
use super::locks::{Held, Lock};
use crate::error::Result;
use crate::notice::RestartsUnknown;

/// How often one lock is read for one walk.
const MOST_READS: usize = 2_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Takeover {
    /// The revision that gave the lock to the new process.
    pub revision: i64,
    /// Whose process it is.
    pub schedulers: RestartedSchedulers,
}

/// What is known of the restarts of schedulers.
#[derive(Debug, Default)]
pub(super) struct Restarts {
    /// The takeovers, ascending.
    pub takeovers: VecDeque<Takeover>,
    /// The schedulers that hold a lock; `None` where locks cannot be read.
    pub locked: Option<Vec<RestartedSchedulers>>,
}

enum LockReading {
    Held(Held),
    /// The revision is between two sources: the newest before it and the oldest after it that can be read.
    Between(Revision, Revision),
    /// The revision was compacted, or the user may not read the lock.
    Unreadable,
}

/// Two revisions, who held the lock at each, and whether none between them can be read.
type HeldSpan = ((Revision, Held), (Revision, Held), bool);

impl Feed<'_> {
    /// The takeovers after `after` up to `until`, ascending. What is not known of them is noted.
    pub(super) async fn restarts(&self, after: Revision, until: Revision) -> Result<Restarts> {
        let after = after.max(self.cluster.source.span().await?.oldest);
        if after >= until {
            return Ok(Restarts::default());
        }
        let (Some(after), Some(until)) = (self.readable(after, true).await?, self.readable(until, false).await?) else {
            return Ok(Restarts::default());
        };
        let (mut found, mut locked) = (Vec::new(), Vec::new());
        for lock in self.locks([after, until]).await? {
            let takeovers = self.takeovers(&lock, after, until).await?;
            found.extend(takeovers.into_iter().map(|revision| Takeover { revision, schedulers: lock.schedulers.clone() }));
            locked.push(lock.schedulers);
        }
        found.sort_by_key(|takeover| takeover.revision);
        Ok(Restarts { takeovers: found.into(), locked: Some(locked).filter(|_| !self.is_any_unknown()) })
    }

    /// The revision itself, or the next one that can be read where it is between two sources.
    async fn readable(&self, revision: Revision, forward: bool) -> Result<Option<Revision>> {
        let nothing = KeyRange { start: vec![0], end: Some(vec![0]) };
        match self.cluster.source.range(nothing, At::Revision(revision), Want::Keys).await.map(drop) {
            Err(StoreError::Between { before, after, .. }) => Ok(Some(if forward { after } else { before })),
            Err(StoreError::Compacted { .. }) => Ok(None),
            _ => Ok(Some(revision)),
        }
    }

    /// The revisions that gave a lock to another process.
    async fn takeovers(&self, lock: &Lock, after: Revision, until: Revision) -> Result<Vec<i64>> {
        let unknown = |from: Revision, to: Revision| {
            self.note_unknown(RestartsUnknown::Unread { lock: lock.name.clone(), from, to });
        };
        let (LockReading::Held(first), LockReading::Held(last)) = (self.reading(lock, after).await?, self.reading(lock, until).await?)
        else {
            unknown(after.after(), until);
            return Ok(Vec::new());
        };
        let (mut found, mut holder, mut reads) = (Vec::new(), first.holder.clone(), 0..MOST_READS);
        let mut open: Vec<HeldSpan> = vec![((after, first), (until, last), false)];
        while let Some((low, high, is_gap)) = open.pop() {
            if low.1 == high.1 {
                continue;
            }
            if is_gap || low.0.after() >= high.0 {
                let next = high.1.holder;
                if next.is_some() && holder.is_some() && next != holder {
                    found.push(high.0.0);
                }
                holder = next.or(holder);
                continue;
            }
            let middle = Revision(i64::midpoint(low.0.0, high.0.0));
            let reading = if reads.next().is_some() { self.reading(lock, middle).await? } else { LockReading::Unreadable };
            match reading {
                LockReading::Held(held) => open.extend([((middle, held.clone()), high, false), (low, (middle, held), false)]),
                LockReading::Between(before, next) => {
                    let (before, next) = (self.at_edge(lock, before, &low).await?, self.at_edge(lock, next, &high).await?);
                    open.extend([(next.clone(), high, false), (before.clone(), next, true), (low, before, false)]);
                }
                LockReading::Unreadable => {
                    unknown(low.0.after(), high.0);
                    holder = high.1.holder.or(holder);
                }
            }
        }
        Ok(found)
    }

    /// The lock at the edge of revisions that cannot be read, or at the end of the span where that is nearer.
    async fn at_edge(&self, lock: &Lock, edge: Revision, end: &(Revision, Held)) -> Result<(Revision, Held)> {
        match self.reading(lock, edge).await? {
            LockReading::Held(held) => Ok((edge, held)),
            _ => Ok(end.clone()),
        }
    }

    async fn reading(&self, lock: &Lock, at: Revision) -> Result<LockReading> {
        let listing = self.cluster.source.range(KeyRange::key(lock.key.as_str()), At::Revision(at), Want::Values).await;
        let entry = match listing {
            Ok(mut listing) => listing.entries.try_next().await,
            Err(error) => Err(error),
        };
        match entry {
            Ok(entry) => Ok(LockReading::Held(entry.map(|entry| self.held(&entry)).unwrap_or_default())),
            Err(StoreError::Between { before, after, .. }) => Ok(LockReading::Between(before, after)),
            Err(error) if error.is_denied() || matches!(error, StoreError::Compacted { .. }) => Ok(LockReading::Unreadable),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests;
