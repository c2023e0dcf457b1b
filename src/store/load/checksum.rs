//! The SHA-256 that `etcdctl snapshot save` appends, checked beside the reading.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use bytes::Bytes;
use sha2::{Digest, Sha256};

/// A check of a snapshot's checksum, made at most once. Dropping it ends it.
pub struct Check {
    stop: Arc<AtomicBool>,
    state: Mutex<State>,
}

enum State {
    Waiting(Bytes, [u8; 32]),
    Running(JoinHandle<bool>),
    Done(bool),
}

impl Check {
    /// A check that `expected` is the SHA-256 of `bytes`. A file of usual size is checked from now on, on a thread of its own; a large
    /// one, which takes seconds, only when someone asks.
    pub fn new(bytes: Bytes, expected: [u8; 32]) -> Self {
        const USUAL: usize = 256 << 20;
        let stop = Arc::new(AtomicBool::new(false));
        let state = if bytes.len() <= USUAL {
            let stopped = Arc::clone(&stop);
            State::Running(std::thread::spawn(move || matches(&bytes, &expected, &stopped)))
        } else {
            State::Waiting(bytes, expected)
        };
        Self { stop, state: Mutex::new(state) }
    }

    /// Waits for the end: whether the checksum holds.
    pub fn holds(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let holds = match std::mem::replace(&mut *state, State::Done(false)) {
            State::Waiting(bytes, expected) => matches(&bytes, &expected, &self.stop),
            State::Running(thread) => thread.join().unwrap_or(false),
            State::Done(holds) => holds,
        };
        *state = State::Done(holds);
        holds
    }
}

fn matches(bytes: &[u8], expected: &[u8; 32], stop: &AtomicBool) -> bool {
    /// What is hashed between two looks at `stop`.
    const PIECE: usize = 8 << 20;
    let mut hash = Sha256::new();
    for piece in bytes.chunks(PIECE) {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        hash.update(piece);
    }
    hash.finalize()[..] == *expected
}

impl Drop for Check {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
