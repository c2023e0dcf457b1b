//! How many answers are written at once, and how much of them is held, so that no crowd of clients takes more of the machine than a reader may.

use std::sync::Arc;
use std::task::Poll;

use async_stream::stream;
use axum::body::Bytes;
use futures_util::{Stream, StreamExt, pending, poll};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of answers that are held until their length is known, of all requests together.
const MAX_BYTES_HELD: usize = 64 << 20;

/// Bytes of one such answer.
const HELD_OF_ONE: usize = 16 << 20;

/// How many steps count as the beginning of an answer: a short answer has no more, and does not wait for the steps of long ones.
const BEGINNING_STEPS: usize = 4;

/// The turns of all answers.
pub(crate) struct Turns {
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

impl Turns {
    /// Turns for the cores of this machine.
    pub(crate) fn new() -> Self {
        let places = |count| Arc::new(Semaphore::new(count));
        Self { beginners: places(1), writers: places(cores()), held: places(MAX_BYTES_HELD) }
    }

    /// Lets what makes an answer run in its turn: a step at a time, each of which ends where the answer waits or has a piece.
    pub(crate) fn in_turn<S>(&self, pieces: S) -> impl Stream<Item = S::Item> + Send + 'static + use<S>
    where
        S: Stream<Item: Send> + Send + 'static,
    {
        let (beginners, writers) = (Arc::clone(&self.beginners), Arc::clone(&self.writers));
        stream! {
            let mut pieces = Box::pin(pieces);
            for step in 0_usize.. {
                let turn = if step < BEGINNING_STEPS { beginners.acquire().await } else { writers.acquire().await };
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
    pub(crate) fn hold(&self) -> Held {
        Held { room: Arc::clone(&self.held), taken: None, pieces: Vec::new() }
    }
}

/// An answer that is held in memory.
pub(crate) struct Held {
    room: Arc<Semaphore>,
    taken: Option<OwnedSemaphorePermit>,
    pieces: Vec<Bytes>,
}

impl Held {
    /// Adds a piece; `None`, and nothing is held any more, where there is no room for it.
    pub(crate) fn and(mut self, piece: Bytes) -> Option<Self> {
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
    pub(crate) fn into_stream(self) -> impl Stream<Item = Bytes> + Send {
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
        let turns = Turns::new();
        let piece = || Bytes::from(vec![0; 1 << 20]);
        let held = (0..16).try_fold(turns.hold(), |held, _| held.and(piece())).unwrap();
        assert!(held.and(piece()).is_none(), "one answer is held without end");
        let all: Vec<Held> = (0..4).map(|_| (0..16).try_fold(turns.hold(), |held, _| held.and(piece())).unwrap()).collect();
        assert!(turns.hold().and(piece()).is_none(), "all answers together are held without end");
        let streams: Vec<_> = all.into_iter().map(Held::into_stream).collect();
        assert!(turns.hold().and(piece()).is_none(), "room is free that is still taken");
        drop(streams);
        assert!(turns.hold().and(piece()).is_some());
    }

    /// An answer that waits holds up no other, and one that never waits lets others have their turn.
    #[tokio::test]
    async fn answers_are_made_in_turn() {
        let turns = Turns { writers: Arc::new(Semaphore::new(1)), ..Turns::new() };
        let mut waiting = Box::pin(turns.in_turn(futures_util::stream::pending::<u8>()));
        assert!(poll!(waiting.next()).is_pending());
        let (busy, mut long) = (turns.writers.acquire().await.unwrap(), Box::pin(turns.in_turn(futures_util::stream::repeat(1))));
        let short: Vec<u8> = turns.in_turn(futures_util::stream::iter([1, 2, 3])).collect().await;
        assert_eq!(short, [1, 2, 3], "a short answer waits for long ones");
        for _ in 0..BEGINNING_STEPS {
            long.next().await.unwrap();
        }
        assert!(poll!(long.next()).is_pending());
        drop(busy);
        assert!(long.next().await.is_some());
        let mut first = Box::pin(turns.in_turn(futures_util::stream::repeat(1)));
        let mut second = Box::pin(turns.in_turn(futures_util::stream::iter([2, 3])));
        assert_eq!((first.next().await, second.next().await, first.next().await), (Some(1), Some(2), Some(1)));
        assert_eq!((second.next().await, second.next().await), (Some(3), None));
    }
}
