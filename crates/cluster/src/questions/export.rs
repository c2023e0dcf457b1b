//! What is exported of a cluster: its identity, and every change with what etcd says of it.

use std::sync::Arc;

use async_stream::try_stream;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};

use ketcd_history::clock::Clock;
use ketcd_history::{AttributedChange, Change};
use ketcd_kube::Body;
use ketcd_store::{Event, EventKind, KeyRange, Revision, Until, Want};

use crate::asked_keys::AskedKeys;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::read::{History, Keys, Read, events};

/// What etcd says of a version, apart from its value.
#[derive(Clone, Copy, Debug)]
pub struct VersionFacts {
    /// The bytes of its value.
    pub bytes: usize,
    /// How often the key was written since it was created.
    pub version: i64,
    /// The revision that created the key.
    pub create_revision: i64,
}

/// A change on its way into a table.
pub enum Exported {
    /// One that is to be written.
    Change {
        /// The change, with its date and its author.
        change: Box<AttributedChange>,
        /// The version that it wrote; none of a deletion.
        stored: Option<VersionFacts>,
        /// Whether it is of a Kubernetes Event.
        is_event: bool,
    },
    /// One of a revision that is written already.
    Present {
        /// Whether it wrote a Kubernetes Event.
        writes_event: bool,
    },
}

impl Cluster {
    /// Returns what tells this cluster from others: the uid of namespace kube-system, which stays the same through the cluster's life, else
    /// etcd's cluster id; `None` where the data show neither.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn identity(&self) -> Result<Option<String>> {
        let key = KeyRange::key(format!("{}/namespaces/kube-system", self.prefix().await?));
        for entry in self.source.first(key, self.at, Want::Values, 1).await? {
            if let Body::Object(namespace) = self.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body
                && let Some(uid) = namespace["metadata"]["uid"].as_str().filter(|uid| !uid.is_empty())
            {
                return Ok(Some(uid.to_owned()));
            }
        }
        Ok(self.source.status().await?.cluster_id)
    }

    /// Returns every readable change since [`Cluster::since`] up to the revision looked at, oldest first, dated by `clock`. Those of a revision that `is_present` are
    /// not read where the source gives a version again when it is asked for. With `asked`, only changes of those objects and of the Events about them come.
    pub fn exported<'c>(
        &'c self,
        clock: Arc<Clock>,
        asked: Option<&'c AskedKeys>,
        is_present: impl Fn(Revision) -> bool + Send + 'c,
    ) -> BoxStream<'c, Result<Exported>> {
        try_stream! {
            let (prefix, until) = (self.prefix().await?, Until::Revision(self.revision().await?));
            let events_below = format!("{prefix}/events/");
            let is_event = |key: &[u8]| key.starts_with(events_below.as_bytes());
            let (may_skip, after) = (self.source.reads_before() && asked.is_none(), self.counted_after());
            let keys = match asked {
                None => Keys::all(),
                Some(asked) => Keys::many(asked.ranges().iter().cloned().chain([KeyRange::prefix(&events_below[..])]).collect()),
            };
            // What came before, and what is written already, says no more than what a later change replaced.
            let leaves_out = move |event: &Event| event.revision <= after || may_skip && is_present(event.revision);
            let mut changes = History::of_events(self, events(self, keys, until), clock, leaves_out).on_cores(|change, _, _| Box::new(change));
            while let Some(read) = changes.try_next().await? {
                match read {
                    Read::Item((event, Some(change))) => {
                        let (stored, is_event) = (stored(&event), is_event(&event.key_value.key));
                        if self.is_exported(asked, &change.change).await? {
                            yield Exported::Change { change, stored, is_event };
                        }
                    }
                    Read::Item((event, None)) if event.revision > after => {
                        yield Exported::Present { writes_event: event.kind == EventKind::Put && is_event(&event.key_value.key) };
                    }
                    Read::Item((_, None)) => {}
                    Read::Gap { from, to } => self.note_gap(from, to),
                }
            }
        }
        .boxed()
    }

    /// Whether a change is of an object asked for, or of an Event about one.
    async fn is_exported(&self, asked: Option<&AskedKeys>, change: &Change) -> Result<bool> {
        let Some(asked) = asked.filter(|asked| !asked.contains(&change.key)) else { return Ok(true) };
        let event =
            [&change.after, &change.before].into_iter().find_map(|version| version.object()).filter(|object| object["kind"] == "Event");
        let Some(about) = event.map(|event| &event["involvedObject"]) else { return Ok(false) };
        let text = |field: &str| about[field].as_str().unwrap_or_default();
        asked.contain(self, (text("kind"), text("namespace"), text("name"))).await
    }
}

/// What etcd says of the version that an event wrote.
fn stored(event: &Event) -> Option<VersionFacts> {
    let entry = &event.key_value;
    let stored = || VersionFacts { bytes: entry.value.len(), version: entry.version, create_revision: entry.create_revision.0 };
    (event.kind == EventKind::Put).then(stored)
}
