//! The replay: time passes from the moment asked for on, as fast as wanted, and what was written by then is what there is.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_stream::stream;
use futures_util::{Stream, StreamExt};
use jiff::{SignedDuration, Timestamp};
use ketcd_store::{At, Result as StoreResult, Revision, WatchItem};
use tokio::time::Instant;

use super::served_cluster::Served;

/// The changes of a watch.
pub(crate) type Changes<'a> = Pin<Box<dyn Stream<Item = StoreResult<WatchItem>> + Send + 'a>>;

/// A time that nobody waits for.
const FAR_FUTURE: Duration = Duration::from_secs(u32::MAX as u64);

/// A replay that began.
pub struct Replay {
    data: Arc<Served>,
    speed: f64,
    /// When it began, here and in the data.
    begun: (Instant, Timestamp),
    /// The newest revision there is.
    last: Revision,
    /// How far it was when someone last looked.
    reached: Mutex<Revision>,
}

impl Replay {
    /// Begins at the moment asked for, with the oldest revision where none was.
    ///
    /// # Errors
    /// A sentence: nothing dates the revisions.
    pub(crate) async fn begin(data: Arc<Served>, speed: f64) -> Result<Self, String> {
        let span = data.source().span().await.map_err(|error| error.to_string())?;
        let (first, time) = match data.at() {
            At::Newest => (span.oldest, data.date(span.oldest).await),
            At::Revision(revision) => (revision, data.time_of(At::Revision(revision)).await.map_err(|error| error.to_string())?),
        };
        let time = time.ok_or_else(|| format!("nothing in this data says when revision {first} was written, so it cannot be replayed"))?;
        Ok(Self { data, speed, begun: (Instant::now(), time), last: span.newest, reached: Mutex::new(first) })
    }

    /// The time in the data.
    pub fn now(&self) -> Timestamp {
        let passed = self.begun.0.elapsed().as_secs_f64() * self.speed;
        let passed = SignedDuration::try_from_secs_f64(passed).unwrap_or(SignedDuration::MAX);
        self.begun.1.checked_add(passed).unwrap_or(Timestamp::MAX)
    }

    /// The newest revision that is written by now.
    pub(crate) async fn revision(&self) -> Revision {
        let now = self.now();
        let (mut written, mut end) = (*self.reached(), self.last.after());
        while written.after() < end {
            let middle = Revision(written.0 + (end.0 - written.0) / 2);
            // What nothing dates was written with what is before it.
            if self.data.date(middle).await.is_none_or(|date| date <= now) {
                written = middle;
            } else {
                end = middle;
            }
        }
        let mut reached = self.reached();
        *reached = written.max(*reached);
        *reached
    }

    /// When the newest revision is written; none where that is already.
    pub async fn end(&self) -> Option<Instant> {
        Some(self.due(self.last).await).filter(|end| *end > Instant::now())
    }

    /// When a revision is written.
    async fn due(&self, revision: Revision) -> Instant {
        let Some(date) = self.data.date(revision).await else { return self.begun.0 };
        let passed = date.duration_since(self.begun.1).as_secs_f64() / self.speed;
        let passed = Duration::try_from_secs_f64(passed.max(0.0)).unwrap_or(FAR_FUTURE);
        self.begun.0.checked_add(passed).unwrap_or_else(|| self.begun.0 + FAR_FUTURE)
    }

    /// Holds each change back until it is written.
    pub(crate) fn paced<'a>(self: Arc<Self>, mut changes: Changes<'a>) -> Changes<'a> {
        Box::pin(stream! {
            while let Some(item) = changes.next().await {
                if let Ok(WatchItem::Event(event)) = &item {
                    tokio::time::sleep_until(self.due(event.revision).await).await;
                }
                yield item;
            }
        })
    }

    /// The newest revision there will be.
    pub(crate) fn last(&self) -> Revision {
        self.last
    }

    fn reached(&self) -> std::sync::MutexGuard<'_, Revision> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use ketcd_cluster::{Cluster, Options, files};
    use ketcd_store::{KeyRange, Until};
    use ketcd_testing::{temporary, testdata};

    use super::*;

    const REPLAY_SPEED: f64 = 20.0;

    async fn story(at: Revision) -> (tempfile::NamedTempFile, Arc<Served>) {
        let file = temporary::file(testdata::read("captures/k136-story/snapshot.db.zst"));
        let opened = files::open(&[file.path().to_str().unwrap().to_owned()], &Default::default()).unwrap();
        let cluster = Cluster::open(opened.source, Options { at: At::Revision(at), ..Options::default() }).await.unwrap();
        (file, Arc::new(Served::new(Arc::new(cluster)).await.unwrap()))
    }

    /// Each change comes when as much time has passed, divided by the speed, as when it was made.
    #[tokio::test(start_paused = true)]
    async fn changes_come_when_they_are_due() {
        let (_file, data) = story(Revision(900)).await;
        let replay = Arc::new(Replay::begin(Arc::clone(&data), REPLAY_SPEED).await.unwrap());
        let (begun, first) = (Instant::now(), replay.now());
        assert_eq!(replay.revision().await, Revision(900));
        let changes = data.source().watch(KeyRange::all(), Revision(901), Until::Revision(Revision(1900)));
        let (mut changes, mut seen) = (Arc::clone(&replay).paced(changes), 0);
        while let Some(item) = changes.next().await {
            let WatchItem::Event(event) = item.unwrap() else { continue };
            let made = data.date(event.revision).await.unwrap();
            let due = Duration::try_from(made.duration_since(first)).unwrap_or_default().div_f64(REPLAY_SPEED);
            // Timers go off at whole milliseconds.
            let late = begun.elapsed().checked_sub(due).unwrap_or_else(|| panic!("r{} came early", event.revision));
            assert!(late <= Duration::from_millis(1), "r{} came {late:?} late", event.revision);
            assert!(replay.now() >= made && replay.revision().await >= event.revision, "r{}", event.revision);
            seen += 1;
        }
        assert!(seen > 900 && begun.elapsed() > Duration::from_secs(1), "{seen} changes in {:?}", begun.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_is_when_the_newest_revision_is_written() {
        let (_file, data) = story(Revision(2500)).await;
        let replay = Replay::begin(Arc::clone(&data), REPLAY_SPEED).await.unwrap();
        let end = replay.end().await.unwrap();
        tokio::time::sleep_until(end).await;
        assert_eq!((replay.revision().await, replay.end().await), (replay.last(), None));
    }
}
