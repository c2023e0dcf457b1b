//! Every scheduling decision that a history shows, one after the other.

use ketcd_scheduler::{Attempt, Explanation, FilterMode, Replay};
use ketcd_store::Revision;

use super::explainer::Explainer;
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::replay::Feed;

/// The decisions of a history, on their way from its beginning to the revision looked at.
pub struct Decisions<'c> {
    cluster: &'c Cluster,
    feed: Feed<'c>,
    pub(super) replay: Replay,
    oldest: Revision,
    pub(super) until: Revision,
    /// Decisions after it count.
    pub(super) after: Revision,
}

/// A decision that the history shows. It is explained or skipped: what comes after depends on it.
#[must_use]
pub struct Decision<'r> {
    cluster: &'r Cluster,
    replay: &'r mut Replay,
    attempt: Attempt,
}

/// A decision explained.
pub struct Decided {
    /// The explanation.
    pub explanation: Explanation,
    /// How the scheduler's filters are named in it.
    pub mode: FilterMode,
}

impl<'c> Explainer<'c> {
    /// Returns every decision that the history shows; nothing is read yet.
    pub fn decisions(self) -> Decisions<'c> {
        let is_complete = self.cluster.is_complete_from(self.oldest);
        let replay = Replay::new(self.scheduler, is_complete).with_depth(self.depth).with_remedies(self.remedies);
        let cluster = self.cluster;
        Decisions { cluster, feed: self.feed, replay, oldest: self.oldest, until: self.until, after: cluster.counted_after() }
    }
}

impl Decisions<'_> {
    /// Walks through the history and hands each decision to `take`.
    ///
    /// # Errors
    /// The source cannot be read, or those of `take`.
    pub async fn each<E: From<Error>>(&mut self, mut take: impl FnMut(Decision<'_>) -> Result<(), E>) -> Result<(), E> {
        let Self { cluster, feed, replay, oldest, until, .. } = self;
        let cluster = *cluster;
        feed.seed(replay, *oldest, *oldest).await?;
        feed.walk(replay, oldest.after(), *until, |replay, attempt| take(Decision { cluster, replay, attempt })).await
    }

    /// Returns how many versions of objects could not be read: what depends on them is unknown.
    pub fn unreadable(&self) -> usize {
        self.replay.unreadable()
    }
}

impl Decision<'_> {
    /// Returns what was decided on, and when.
    pub fn attempt(&self) -> &Attempt {
        &self.attempt
    }

    /// Explains it.
    pub fn explain(self) -> Decided {
        let mut explanation = self.replay.explain(self.attempt);
        self.cluster.mark_hidden(&mut explanation);
        Decided { mode: mode(self.replay, &explanation), explanation }
    }

    /// Goes on without an explanation.
    pub fn skip(self) {
        self.replay.skip(&self.attempt);
    }
}

/// How the filters of the scheduler that decided are named.
pub(super) fn mode(replay: &Replay, explanation: &Explanation) -> FilterMode {
    replay.scheduler().profile_for(&explanation.attempt.pod).0.filter_mode
}
