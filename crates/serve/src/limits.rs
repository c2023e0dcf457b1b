//! How much is answered at once, so that no crowd of clients takes more of the machine than a reader may.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use async_stream::stream;
use axum::body::Bytes;
use futures_util::{Stream, StreamExt, pending, poll};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::status::{Result, Status};

/// How many requests are answered at once, as many as an API server's `--max-requests-inflight`.
const REQUESTS: usize = 400;

/// How many watches are open at once.
const WATCHES: usize = 5_000;

/// How many connections of clients that have shown the token are open at once.
const CONNECTIONS: usize = 4_096;

/// How long a request waits for its turn.
const TURN: Duration = Duration::from_secs(10);

/// How long a client that shows the token waits for a place for its connection: less than it may stay without one, so that it gets an answer.
const ENTRY: Duration = Duration::from_secs(5);

/// Bytes of answers that are held until their length is known, of all requests together.
const HELD: usize = 64 << 20;

/// Bytes of one such answer.
const HELD_OF_ONE: usize = 16 << 20;

/// How many steps count as the beginning of an answer: a short answer has no more, and does not wait for the steps of long ones.
const BEGINNING: usize = 4;

/// The places there are.
pub(super) struct Limits {
    requests: Arc<Semaphore>,
    watches: Arc<Semaphore>,
    connections: Arc<Semaphore>,
    /// Answers that are begun at the same time.
    beginners: Arc<Semaphore>,
    /// Answers that are written at the same time: the other threads are left to connections.
    writers: Arc<Semaphore>,
    held: Arc<Semaphore>,
}

/// Threads that answer requests. Two more than can write answers, so that clients are let in while all of those are busy.
pub fn threads() -> usize {
    cores() + 2
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl Limits {
    /// The limits of a process that may open so many files: half of them are for connections.
    pub(super) fn new(files: usize) -> Self {
        let places = |count| Arc::new(Semaphore::new(count));
        Self {
            requests: places(REQUESTS),
            watches: places(WATCHES),
            connections: places(CONNECTIONS.min(files / 2)),
            beginners: places(1),
            writers: places(cores()),
            held: places(HELD),
        }
    }

    /// Takes a place for a request; waits a while for one that another gives back.
    ///
    /// # Errors
    /// There is none: the client is told when to come again.
    pub(super) async fn place(&self, is_watch: bool) -> Result<OwnedSemaphorePermit> {
        taken(if is_watch { &self.watches } else { &self.requests }, TURN).await
    }

    /// Takes a place for a connection, as [`Limits::place`] does.
    ///
    /// # Errors
    /// As there.
    pub(super) async fn connection(&self) -> Result<OwnedSemaphorePermit> {
        taken(&self.connections, ENTRY).await
    }

    /// Lets what makes an answer run in its turn: a step at a time, each of which ends where the answer waits or has a piece.
    pub(super) fn in_turn<S>(&self, pieces: S) -> impl Stream<Item = S::Item> + Send + 'static + use<S>
    where
        S: Stream<Item: Send> + Send + 'static,
    {
        let (beginners, writers) = (Arc::clone(&self.beginners), Arc::clone(&self.writers));
        stream! {
            let mut pieces = Box::pin(pieces);
            for step in 0_usize.. {
                let turn = if step < BEGINNING { beginners.acquire().await } else { writers.acquire().await };
                let made = poll!(pieces.next());
                drop(turn);
                match made {
                    Poll::Ready(Some(piece)) => yield piece,
                    Poll::Ready(None) => return,
                    Poll::Pending => pending!(),
                }
            }
        }
    }

    /// Begins to hold an answer.
    pub(super) fn hold(&self) -> Held {
        Held { room: Arc::clone(&self.held), taken: None, pieces: Vec::new() }
    }
}

async fn taken(places: &Arc<Semaphore>, patience: Duration) -> Result<OwnedSemaphorePermit> {
    match tokio::time::timeout(patience, Arc::clone(places).acquire_owned()).await {
        Ok(Ok(place)) => Ok(place),
        _ => Err(Status::too_many_requests()),
    }
}

/// An answer that is held in memory.
pub(super) struct Held {
    room: Arc<Semaphore>,
    taken: Option<OwnedSemaphorePermit>,
    pieces: Vec<Bytes>,
}

impl Held {
    /// Adds a piece; `None`, and nothing is held any more, where there is no room for it.
    pub(super) fn and(mut self, piece: Bytes) -> Option<Self> {
        let room = u32::try_from(piece.len()).ok().and_then(|length| Arc::clone(&self.room).try_acquire_many_owned(length).ok())?;
        match &mut self.taken {
            Some(taken) => taken.merge(room),
            taken => *taken = Some(room),
        }
        let length = self.taken.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        self.pieces.push(piece);
        (length <= HELD_OF_ONE).then_some(self)
    }

    /// Returns the pieces. Their room is free when they are gone.
    pub(super) fn into_stream(self) -> impl Stream<Item = Bytes> + Send {
        stream! {
            let Self { taken, pieces, .. } = self;
            for piece in pieces {
                yield piece;
            }
            drop(taken);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_held_has_an_end() {
        let limits = Limits::new(1024);
        let piece = || Bytes::from(vec![0; 1 << 20]);
        let held = (0..16).try_fold(limits.hold(), |held, _| held.and(piece())).unwrap();
        assert!(held.and(piece()).is_none(), "one answer is held without end");
        let all: Vec<Held> = (0..4).map(|_| (0..16).try_fold(limits.hold(), |held, _| held.and(piece())).unwrap()).collect();
        assert!(limits.hold().and(piece()).is_none(), "all answers together are held without end");
        let streams: Vec<_> = all.into_iter().map(Held::into_stream).collect();
        assert!(limits.hold().and(piece()).is_none(), "room is free that is still taken");
        drop(streams);
        assert!(limits.hold().and(piece()).is_some());
    }

    /// An answer that waits holds up no other, and one that never waits lets others have their turn.
    #[tokio::test]
    async fn answers_are_made_in_turn() {
        let limits = Limits { writers: Arc::new(Semaphore::new(1)), ..Limits::new(1024) };
        let mut waiting = Box::pin(limits.in_turn(futures_util::stream::pending::<u8>()));
        assert!(poll!(waiting.next()).is_pending());
        let (busy, mut long) = (limits.writers.acquire().await.unwrap(), Box::pin(limits.in_turn(futures_util::stream::repeat(1))));
        let short: Vec<u8> = limits.in_turn(futures_util::stream::iter([1, 2, 3])).collect().await;
        assert_eq!(short, [1, 2, 3], "a short answer waits for long ones");
        for _ in 0..BEGINNING {
            long.next().await.unwrap();
        }
        assert!(poll!(long.next()).is_pending());
        drop(busy);
        assert!(long.next().await.is_some());
        let mut first = Box::pin(limits.in_turn(futures_util::stream::repeat(1)));
        let mut second = Box::pin(limits.in_turn(futures_util::stream::iter([2, 3])));
        assert_eq!((first.next().await, second.next().await, first.next().await), (Some(1), Some(2), Some(1)));
        assert_eq!((second.next().await, second.next().await), (Some(3), None));
    }
}
