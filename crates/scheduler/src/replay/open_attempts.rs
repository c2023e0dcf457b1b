//! Attempts that were found, until enough of what was written next is known to explain them: decisions made before an attempt may be written after it.

use std::collections::VecDeque;

use crate::explanation::Attempt;

use super::Replay;

/// How many revisions after an attempt are looked at, at most.
pub const LOOK_AHEAD: i64 = 1000;

/// Attempts in the order in which they were found.
#[derive(Debug, Default)]
pub struct OpenAttempts {
    found: VecDeque<Attempt>,
}

impl OpenAttempts {
    /// Adds attempts that the last change showed.
    pub fn add(&mut self, attempts: Vec<Attempt>) {
        self.found.extend(attempts);
    }

    /// Returns the next attempt, once nothing that is written after `revision`, the last one that was replayed, can change what it saw.
    pub fn next(&mut self, replay: &Replay, revision: i64) -> Option<Attempt> {
        let settled = replay.is_settled(self.found.front()?, revision);
        if settled { self.found.pop_front() } else { None }
    }

    /// The next attempt at the end of the history.
    pub fn next_at_end(&mut self) -> Option<Attempt> {
        self.found.pop_front()
    }
}
