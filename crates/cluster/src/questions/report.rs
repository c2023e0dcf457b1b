//! What a report is about: the objects that get a row, their changes, and what is there at the end.

use std::collections::HashSet;
use std::future::ready;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, TryStreamExt};

use ketcd_history::audit::Authorship;
use ketcd_history::clock::Clock;
use ketcd_store::{Event, KeyRange, Revision, Until};

use crate::cluster::Cluster;
use crate::error::Result;
use crate::read::{History, Keys, Read, alive_names, events};
use crate::survey::RowSelection;

/// The objects of a report.
pub struct Reported<'c> {
    cluster: &'c Cluster,
    /// The keys that were asked for.
    pub keys: Keys,
    /// What everything leaves out: leases show who is alive, and tell nothing else.
    quiet: Option<String>,
    /// Which of many objects get a row.
    pub selection: Option<RowSelection>,
    newest: Revision,
}

impl Cluster {
    /// Finds the objects of a report: what the words name or, without words, the namespace looked at, or all.
    ///
    /// # Errors
    /// A word that names no kind, or a source that cannot be read.
    pub async fn report_on(&self, words: &[String]) -> Result<Reported<'_>> {
        let prefix = self.prefix().await?;
        let everything = words.is_empty() && self.options.namespace.is_none() && self.options.selection.takes_all();
        let mut keys = if everything { Keys::all() } else { self.asked(words, true).await? };
        if !everything {
            let namespace = self.options.namespace.as_deref().filter(|_| words.is_empty());
            keys.ranges.push(KeyRange::prefix(format!("{prefix}/events/{}", namespace.map_or(String::new(), |name| format!("{name}/")))));
        }
        let quiet = everything.then(|| format!("{prefix}/leases/"));
        let newest = self.revision().await?;
        let mut reported = Reported { cluster: self, keys, quiet, selection: None, newest };
        reported.selection = self.survey(&reported.keys, |key| reported.is_asked(key)).await?;
        Ok(reported)
    }
}

impl Reported<'_> {
    fn is_asked(&self, key: &[u8]) -> bool {
        self.quiet.as_ref().is_none_or(|quiet| !key.starts_with(quiet.as_bytes()))
    }

    /// Whether a key is of an object with a row, or of an Event about one.
    fn is_shown(&self, key: &[u8]) -> bool {
        self.is_asked(key) && self.selection.as_ref().is_none_or(|selection| selection.wants(key))
    }

    /// Returns the keys that are there at the end.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn alive(&self) -> Result<HashSet<Bytes>> {
        alive_names(self.cluster, &self.keys, self.newest, |key| self.is_shown(key)).await
    }

    /// Returns the history, dated by a clock.
    pub fn history(&self, clock: Arc<Clock>) -> History<'_> {
        History::of_events(self.cluster, self.events(), clock, |_| false)
    }

    /// Returns the keys that were changed after a revision by a request that `takes`, as far as a clock knows it. Nothing is decoded.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn changed_by(&self, clock: &Clock, after: Revision, takes: impl Fn(Option<&Authorship>) -> bool) -> Result<HashSet<Bytes>> {
        let (mut keys, mut events) = (HashSet::new(), pin!(self.events()));
        while let Some(read) = events.try_next().await? {
            if let Read::Item(Event { revision, sub_revision, key_value, .. }) = read
                && revision > after
                && takes(clock.request(revision, sub_revision))
            {
                keys.insert(key_value.key);
            }
        }
        Ok(keys)
    }

    fn events(&self) -> impl Stream<Item = Result<Read<Event>>> + Send {
        let is_shown = |read: &Read<Event>| !matches!(read, Read::Item(event) if !self.is_shown(&event.key_value.key));
        events(self.cluster, self.keys.clone(), Until::Revision(self.newest)).try_filter(move |read| ready(is_shown(read)))
    }
}
