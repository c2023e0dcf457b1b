//! The watch of one resource, which goes on where it broke off.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::TryStreamExt;
use ketcd_store::{Error, Event, EventKind, KeyValue, Origin, Result, Revision, Sources, Want};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, timeout};

use super::frames::{Frame, Lines, frame};
use crate::objects::{Resource, list, revision, stored};
use crate::transport::{Backoff, Client, Failure, jitter};

/// How long the server is asked to keep a watch, at least (client-go's reflector).
pub(super) const MIN_WATCH_TIMEOUT: Duration = Duration::from_secs(300);
/// How much longer than that a watch may be silent.
pub(super) const WATCH_GRACE: Duration = Duration::from_secs(30);

/// How often in a row a list may fail before a watch is given up: minutes.
const MOST_FAILURES: u32 = 30;

/// A watch that lasted longer is not one that ended at once.
const AT_ONCE: Duration = Duration::from_secs(1);

/// How often in a row a resource is not there before it counts as removed: a server that starts does not have all of them at once.
const MISSES_UNTIL_REMOVED: u32 = 5;

/// What a watch brings, with the number of its resource.
pub(super) enum Message {
    Connected(usize),
    Lost(usize),
    Change(usize, Event),
    Bookmark(usize, Revision),
    /// The server does not have the changes after the last one any more: why.
    Expired(String),
    /// The resource was removed.
    Ended(usize),
    /// Nothing more will come.
    Failed(Error),
}

pub(super) struct Watcher {
    pub client: Arc<Client>,
    /// How many lists may be requested at once.
    pub lists: Arc<Semaphore>,
    pub resource: Resource,
    pub number: usize,
    /// The last revision that came.
    pub after: Revision,
    /// The last version of each object.
    pub known: HashMap<Bytes, Known>,
    pub to: Sender<Message>,
    /// How often in a row the server sent what cannot be, and how often watches ended at once without anything.
    pub untrue: u32,
    pub empty: u32,
}

/// The last version of an object, as far as it is known.
#[derive(Clone, Copy)]
pub(super) struct Known {
    revision: Revision,
    /// The revision of its creation; 0 where it came before the watch.
    created: Revision,
    /// Its number, from 1; 0 where its creation came before the watch.
    version: i64,
}

/// Why a watch came to its end.
enum End {
    /// It goes on where it ended.
    Again,
    After(Failure),
    /// For good: the server sends what cannot be, over and over.
    Refused(String),
    /// Nobody listens, or all was said.
    Quit,
}

impl Watcher {
    /// Watches until nobody listens, or nothing more can come.
    pub(super) async fn run(mut self) {
        let mut backoff = Backoff::default();
        loop {
            match self.seed().await {
                Ok(()) => break,
                Err(Error::Compacted { .. }) => return self.expire().await,
                Err(Error::Remote { .. } | Error::Future { .. }) if backoff.failures() < MOST_FAILURES => {
                    sleep(backoff.after_failure(None)).await
                }
                Err(error) => {
                    let _ = self.to.send(Message::Failed(error)).await;
                    return;
                }
            }
        }
        loop {
            let (begun, after) = (Instant::now(), self.after);
            let end = self.once(&mut backoff).await;
            let end = self.held_against_limits(end, self.after > after || begun.elapsed() > AT_ONCE);
            let wait = match end {
                End::Quit => return,
                End::Refused(problem) => {
                    let endpoint = self.client.access().server();
                    let _ = self.to.send(Message::Failed(Error::Untrue { endpoint, problem })).await;
                    return;
                }
                // As client-go does, a watch that ended begins again soon, but not in a loop without a pause.
                End::Again => jitter(Duration::from_millis(100)),
                End::After(failure) if failure.is_expired() => return self.expire().await,
                End::After(failure) if failure.is_not_found() && backoff.failures() >= MISSES_UNTIL_REMOVED => {
                    let _ = self.to.send(Message::Ended(self.number)).await;
                    return;
                }
                End::After(failure) if !failure.is_transient() && !failure.is_not_found() => {
                    let error = self.client.error(failure, &self.resource.name, &self.resource.keys());
                    let _ = self.to.send(Message::Failed(error)).await;
                    return;
                }
                End::After(failure) => backoff.after_failure(failure.retry_after()),
            };
            if self.to.send(Message::Lost(self.number)).await.is_err() {
                return;
            }
            sleep(wait).await;
        }
    }

    /// What an end is worth: a watch that brings what cannot be, or ends at once without news, begins again later each time and not without end.
    fn held_against_limits(&mut self, end: End, has_news: bool) -> End {
        let limits = self.client.access().limits;
        (self.untrue, self.empty) = match &end {
            End::After(Failure::Untrue(_)) => (if has_news { 1 } else { self.untrue + 1 }, self.empty),
            End::Again if !has_news => (self.untrue, self.empty + 1),
            _ if has_news => (0, 0),
            _ => (self.untrue, self.empty),
        };
        let server = self.client.access().server();
        match end {
            End::Again if self.empty >= limits.empty_watches => {
                let name = &self.resource.name;
                End::Refused(format!("the API server {server} ends each watch of {name} at once and sends nothing"))
            }
            End::Again if !has_news => End::After(Failure::Unreachable(format!("the API server {server} ended a watch at once"))),
            End::After(Failure::Untrue(problem)) if self.untrue >= limits.untrue => End::Refused(problem),
            // It is not asked on the same connection.
            End::After(Failure::Untrue(problem)) => End::After(Failure::Unreachable(problem)),
            end => end,
        }
    }

    /// Lists the names and revisions of the objects that there are when the watch begins.
    async fn seed(&mut self) -> Result<()> {
        // It is never closed.
        let _turn = self.lists.acquire().await;
        let entries = list(&self.client, &self.resource, self.resource.keys(), self.after, Want::Keys);
        let known = |entry: KeyValue| (entry.key, Known { revision: entry.mod_revision, created: Revision(0), version: 0 });
        self.known = entries.map_ok(known).try_collect().await?;
        Ok(())
    }

    /// Says that changes are not to be had any more.
    async fn expire(self) {
        let reason = format!("the API server did not have the changes of {} after revision {} any more", self.resource.name, self.after);
        let _ = self.to.send(Message::Expired(reason)).await;
    }

    async fn once(&mut self, backoff: &mut Backoff) -> End {
        let (path, _) = self.resource.path(&self.resource.keys());
        let lasts = jitter(MIN_WATCH_TIMEOUT);
        let (after, seconds) = (self.after, lasts.as_secs());
        let path = format!("{path}?watch=true&allowWatchBookmarks=true&resourceVersion={after}&timeoutSeconds={seconds}");
        let mut response = match self.client.get(&path, "application/json").await {
            Ok(response) => response,
            Err(failure) => return End::After(failure),
        };
        if self.to.send(Message::Connected(self.number)).await.is_err() {
            return End::Quit;
        }
        let mut lines = Lines::new(self.client.access().limits.line);
        loop {
            let data = match timeout(lasts + WATCH_GRACE, response.next()).await {
                Err(_silent) => return End::Again,
                Ok(Err(failure)) => return End::After(failure),
                Ok(Ok(None)) => return End::Again,
                Ok(Ok(Some(data))) => data,
            };
            lines.push(&data);
            loop {
                match lines.next() {
                    Err(failure) => return End::After(failure),
                    Ok(None) => break,
                    Ok(Some(line)) => match self.take(&line).await {
                        Some(end) => return end,
                        None => backoff.works(),
                    },
                }
            }
        }
    }

    /// Takes one line; returns the end of the watch where that is one.
    async fn take(&mut self, line: &[u8]) -> Option<End> {
        let server = self.client.access().server();
        let untrue =
            || Failure::Untrue(format!("a watch of {} at the API server {server} sent what is not a change of it", self.resource.name));
        let Some(frame) = frame(line) else { return Some(End::After(untrue())) };
        let message = match frame {
            Frame::Error(code, message) => {
                return Some(End::After(Failure::Refused { code, message, retry_after: None }));
            }
            Frame::Bookmark(object) => {
                let Some(revision) = resource_version(object) else { return Some(End::After(untrue())) };
                self.after = self.after.max(revision);
                Message::Bookmark(self.number, revision)
            }
            Frame::Added(object) | Frame::Modified(object) | Frame::Deleted(object) => {
                let is_deletion = matches!(frame, Frame::Deleted(_));
                let Some(key_value) = stored(&self.resource, object, !is_deletion) else { return Some(End::After(untrue())) };
                // Those of one resource come in their order, each once.
                if key_value.mod_revision <= self.after {
                    let (name, revision, after) = (&self.resource.name, key_value.mod_revision, self.after);
                    let problem =
                        format!("a watch of {name} at the API server {server} sent revision {revision} after all up to {after} had come");
                    return Some(End::After(Failure::Untrue(problem)));
                }
                let key_value = self.counted(key_value, &frame);
                let (revision, kind) = (key_value.mod_revision, if is_deletion { EventKind::Delete } else { EventKind::Put });
                self.after = self.after.max(revision);
                let (origin, sources) = (Origin::ApiServer, Sources::default());
                Message::Change(self.number, Event { revision, sub_revision: 0, kind, key_value, origin, sources })
            }
        };
        self.to.send(message).await.is_err().then_some(End::Quit)
    }

    /// The same with what is known of the version before. A watch that selects nothing says ADDED of creations alone.
    fn counted(&mut self, mut key_value: KeyValue, frame: &Frame<'_>) -> KeyValue {
        let before = self.known.remove(&key_value.key);
        let revision = key_value.mod_revision;
        let now = match (frame, before) {
            (Frame::Deleted(_), _) => return key_value,
            (Frame::Added(_), _) => Known { revision, created: revision, version: 1 },
            (_, Some(before)) => {
                key_value.replaced = before.revision;
                Known { revision, created: before.created, version: if before.version > 0 { before.version + 1 } else { 0 } }
            }
            (_, None) => Known { revision, created: Revision(0), version: 0 },
        };
        (key_value.create_revision, key_value.version) = (now.created, now.version);
        self.known.insert(key_value.key.clone(), now);
        key_value
    }
}

fn resource_version(object: &str) -> Option<Revision> {
    let object: serde_json::Value = serde_json::from_str(object).ok()?;
    revision(object["metadata"]["resourceVersion"].as_str()?)
}
