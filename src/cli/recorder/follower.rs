//! Follows etcd, or an API server: every change goes into the recording, and a listing of what is alive where one is wanted.

use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, SystemTime};

use async_stream::try_stream;
use futures_util::stream::{BoxStream, StreamExt, TryStreamExt};
use tokio::time::{Instant, sleep_until};

use ketcd_kube::is_secret_key;
use ketcd_store::recording::{MissingRevisions, Recorder};
use ketcd_store::{At, Error, KeyRange, KeyValue, Revision, Until, Want, WatchItem};

use super::feed::Followed;
use super::position::Shared;
use crate::cli::outcome::Result;
use crate::cli::output::note;

/// How many items are taken at once; a revision may have more.
const AT_ONCE: usize = 1000;
/// After a listing that failed the next one waits.
const RETRY_PAUSE: Duration = Duration::from_secs(2);

pub(crate) struct Following<'a> {
    followed: Followed<'a>,
    ranges: &'a [KeyRange],
    leaves_out_secrets: bool,
    recorder: Recorder,
    shared: &'a Shared,
    /// The last revision that was not recorded though it came: the state after a gap has it.
    skips_to: Revision,
    /// Whether the state was compacted away while it was listed.
    is_late: bool,
    next_listing: Instant,
}

type Items<'a> = BoxStream<'a, ketcd_store::Result<WatchItem>>;
type Entries<'a> = BoxStream<'a, Vec<ketcd_store::Result<KeyValue>>>;

impl<'a> Following<'a> {
    pub(crate) fn new(
        followed: Followed<'a>,
        ranges: &'a [KeyRange],
        leaves_out_secrets: bool,
        recorder: Recorder,
        shared: &'a Shared,
    ) -> Self {
        let (skips_to, next_listing) = (Revision(0), Instant::now());
        Self { followed, ranges, leaves_out_secrets, recorder, shared, skips_to, is_late: false, next_listing }
    }

    /// Records what follows, until something goes wrong.
    ///
    /// # Errors
    /// The recording cannot be written; what is followed refuses to be read, or is not the one that was recorded.
    pub(crate) async fn run(&mut self, from: Revision) -> Result<()> {
        let source = self.followed.source();
        let mut watch = source.watch(KeyRange::hull(self.ranges), from, Until::Forever);
        let (mut after, mut quiet) = (After::Pause, Instant::now());
        let mut state: Option<Entries<'a>> = None;
        loop {
            if state.is_none() && Instant::now() >= self.next_listing {
                state = self.begin_state()?;
            }
            let flush_due = self.recorder.flush_due().map(Instant::from_std);
            tokio::select! {
                batch = next_batch(&mut watch, after, &mut quiet) => {
                    after = batch.after;
                    self.take(batch)?;
                    if after == After::End {
                        return Ok(());
                    }
                },
                entries = next_of(&mut state) => if self.take_state(entries)? { state = None },
                () = sleep_until(flush_due.unwrap_or_else(Instant::now)), if flush_due.is_some() => self.recorder.flush()?,
                () = sleep_until(self.next_listing), if state.is_none() && Instant::now() < self.next_listing => {}
            }
            self.shared.set(self.recorder.recorded());
        }
    }

    /// Writes what was taken.
    pub(crate) fn end(&mut self) -> Result<()> {
        self.recorder.flush()?;
        self.shared.set(self.recorder.recorded());
        Ok(())
    }

    /// Takes items of the watch.
    fn take(&mut self, batch: Batch) -> Result<()> {
        let Batch { arrived, lateness, items, after } = batch;
        for item in items {
            match item? {
                WatchItem::Event(event) if event.revision <= self.skips_to => {}
                WatchItem::Event(event) => {
                    let delay = self.followed.source().latest_delay(event.revision);
                    self.recorder.arriving(arrived, delay.map(|delay| delay + lateness));
                    self.recorder.complete(event.revision.before())?;
                    match self.is_recorded(&event.key_value.key) {
                        true => self.recorder.change(&event)?,
                        false => self.recorder.pass_over(event.revision)?,
                    }
                }
                WatchItem::Progress(revision) => self.recorder.complete(revision)?,
                WatchItem::Gap { from, to } => self.miss(from, to)?,
                #[cfg(not(ketcd_exhaustive))]
                _ => unreachable!("of another version"),
            }
        }
        if after == After::Pause {
            self.recorder.pause()?;
        }
        Ok(())
    }

    /// Records a gap. At the revision that was compacted its deletions are missing too, so it counts as one of the gap, and the state at it has what
    /// it wrote.
    fn miss(&mut self, from: Revision, to: Revision) -> Result<()> {
        let to = to.after();
        let (sentence, reason) = self.followed.missed(from, to);
        note(&sentence);
        self.shared.missing.fetch_add((to.0 - from.0 + 1).max(0).cast_unsigned(), std::sync::atomic::Ordering::Relaxed);
        self.recorder.missing(MissingRevisions { from: from.0, to: to.0, reason })?;
        (self.skips_to, self.is_late, self.next_listing) = (to, false, Instant::now());
        Ok(())
    }

    fn is_recorded(&self, key: &[u8]) -> bool {
        let is_wanted = self.ranges.iter().any(|range| range.contains(key));
        is_wanted && !(self.leaves_out_secrets && is_secret_key(key))
    }

    /// Begins to list what is alive, where that is wanted.
    fn begin_state(&mut self) -> Result<Option<Entries<'a>>> {
        let Some((earliest, latest)) = self.recorder.wanted_state() else {
            self.next_listing = Instant::now() + RETRY_PAUSE;
            return Ok(None);
        };
        let at = if self.is_late { latest } else { earliest };
        self.recorder.begin_state(at)?;
        let (source, mut ranges) = (self.followed.source(), self.ranges.to_vec());
        ranges.sort_by(|one, other| one.start.cmp(&other.start));
        let entries = try_stream! {
            for range in ranges {
                let mut entries = source.range(range, At::Revision(at), Want::Values).await?.entries;
                while let Some(entry) = entries.try_next().await? {
                    yield entry;
                }
            }
        };
        Ok(Some(entries.boxed().ready_chunks(AT_ONCE).boxed()))
    }

    /// Takes entries of the state; returns whether it ended. One that fails is begun again.
    fn take_state(&mut self, entries: Option<Vec<ketcd_store::Result<KeyValue>>>) -> Result<bool> {
        let Some(entries) = entries else {
            self.recorder.end_state()?;
            self.is_late = false;
            return Ok(true);
        };
        for entry in entries {
            match entry {
                Ok(entry) if self.is_recorded(&entry.key) => self.recorder.state_entry(&entry)?,
                Ok(_) => {}
                Err(error @ (Error::Compacted { .. } | Error::Future { .. } | Error::Remote { .. })) => {
                    self.is_late |= matches!(error, Error::Compacted { .. });
                    self.recorder.drop_state()?;
                    self.next_listing = Instant::now() + if self.is_late { Duration::from_millis(100) } else { RETRY_PAUSE };
                    return Ok(true);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }
}

/// What a watch brings at once.
struct Batch {
    arrived: SystemTime,
    /// How long they may have waited for that.
    lateness: Duration,
    items: Vec<ketcd_store::Result<WatchItem>>,
    after: After,
}

/// What comes after a batch of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// Others may be there already, of the same revision too.
    More,
    /// None is there yet: the watch passes on whole revisions, so the last one is complete.
    Pause,
    /// None will come.
    End,
}

/// The next items of a watch. Where more were to follow and none is there, a batch without items says so. `quiet` is the last moment at which the
/// watch was seen to have nothing.
async fn next_batch(watch: &mut Items<'_>, before: After, quiet: &mut Instant) -> Batch {
    let (mut items, mut has_waited) = (Vec::new(), false);
    poll_fn(|context| {
        let after = loop {
            if items.len() == AT_ONCE {
                break After::More;
            }
            match watch.poll_next_unpin(context) {
                Poll::Ready(Some(item)) => items.push(item),
                Poll::Ready(None) => break After::End,
                Poll::Pending if items.is_empty() && before != After::More => {
                    (*quiet, has_waited) = (Instant::now(), true);
                    return Poll::Pending;
                }
                Poll::Pending => break After::Pause,
            }
        };
        // What comes while the watch is waited for is taken at once.
        let lateness = if has_waited { Duration::ZERO } else { quiet.elapsed() };
        if after == After::Pause {
            *quiet = Instant::now();
        }
        Poll::Ready(Batch { arrived: SystemTime::now(), lateness, items: std::mem::take(&mut items), after })
    })
    .await
}

/// The next entries of a state that is being listed; waits forever where none is.
async fn next_of(state: &mut Option<Entries<'_>>) -> Option<Vec<ketcd_store::Result<KeyValue>>> {
    match state {
        Some(state) => state.next().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::stream::{iter, pending};

    use super::*;

    fn items(count: usize) -> impl futures_util::Stream<Item = ketcd_store::Result<WatchItem>> + Send {
        iter((0..count).map(|number| Ok(WatchItem::Progress(Revision(number as i64)))))
    }

    #[test]
    fn a_full_batch_is_followed_by_the_word_that_the_watch_pauses() {
        let mut quiet = Instant::now();
        let mut watch = items(AT_ONCE).chain(pending()).boxed();
        let batch = next_batch(&mut watch, After::Pause, &mut quiet).now_or_never().unwrap();
        assert_eq!((batch.items.len(), batch.after), (AT_ONCE, After::More));
        let batch = next_batch(&mut watch, batch.after, &mut quiet).now_or_never().unwrap();
        assert_eq!((batch.items.len(), batch.after), (0, After::Pause));
        assert!(next_batch(&mut watch, batch.after, &mut quiet).now_or_never().is_none());
    }

    #[test]
    fn a_batch_ends_where_the_watch_pauses_or_ends() {
        let mut quiet = Instant::now();
        let mut watch = items(AT_ONCE + 1).chain(pending()).boxed();
        assert_eq!(next_batch(&mut watch, After::Pause, &mut quiet).now_or_never().unwrap().after, After::More);
        let batch = next_batch(&mut watch, After::More, &mut quiet).now_or_never().unwrap();
        assert_eq!((batch.items.len(), batch.after), (1, After::Pause));
        let mut watch = items(2).boxed();
        let batch = next_batch(&mut watch, After::Pause, &mut quiet).now_or_never().unwrap();
        assert_eq!((batch.items.len(), batch.after), (2, After::End));
    }

    #[tokio::test]
    async fn what_waited_while_something_else_was_done_may_be_so_much_older() {
        const BUSY_TIME: Duration = Duration::from_secs(3);
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        let mut watch: Items<'_> = futures_util::stream::poll_fn(move |context| receiver.poll_recv(context)).boxed();
        let send = |number: i64| sender.send(Ok(WatchItem::Progress(Revision(number)))).unwrap();
        let mut quiet = Instant::now();
        send(1);
        // As if the watch had last been looked at so long ago.
        quiet -= BUSY_TIME;
        let late = next_batch(&mut watch, After::Pause, &mut quiet).await;
        assert!(late.lateness >= BUSY_TIME, "{:?}", late.lateness);
        assert_eq!((late.items.len(), late.after), (1, After::Pause));
        quiet -= BUSY_TIME;
        let awaited = async { send(2) };
        let (prompt, ()) = futures_util::future::join(next_batch(&mut watch, After::Pause, &mut quiet), awaited).await;
        assert_eq!((prompt.lateness, prompt.items.len()), (Duration::ZERO, 1));
    }
}
