//! The SHA-256 that `etcdctl snapshot save` appends, checked in a thread of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use bytes::Bytes;
use sha2::{Digest, Sha256};

/// A check of a snapshot's checksum, under way from the beginning on a thread of its own, so that it costs an answer no time. Dropping it
/// ends it.
pub(super) struct Check {
    stop: Arc<AtomicBool>,
    state: Mutex<ChecksumState>,
}

enum ChecksumState {
    Running(JoinHandle<bool>),
    Done(bool),
}

impl Check {
    /// Starts to check that `expected` is the SHA-256 of `bytes`.
    pub(super) fn new(bytes: Bytes, expected: [u8; 32]) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || matches(&bytes, &expected, &stopped));
        Self { stop, state: Mutex::new(ChecksumState::Running(thread)) }
    }

    pub(super) fn done(holds: bool) -> Self {
        Self { stop: Arc::default(), state: Mutex::new(ChecksumState::Done(holds)) }
    }

    /// Waits for the end: whether the checksum holds.
    pub(super) fn holds(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let holds = match std::mem::replace(&mut *state, ChecksumState::Done(false)) {
            ChecksumState::Running(thread) => thread.join().unwrap_or(false),
            ChecksumState::Done(holds) => holds,
        };
        *state = ChecksumState::Done(holds);
        holds
    }
}

fn matches(bytes: &[u8], expected: &[u8; 32], stop: &AtomicBool) -> bool {
    /// What is hashed between two looks at `stop`.
    const PIECE_BYTES: usize = 1 << 20;
    let mut hash = Sha256::new();
    for piece in bytes.chunks(PIECE_BYTES) {
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
