//! How a command ends: with an outcome, or with an error.

mod error;
pub(super) mod hints;

use std::process::ExitCode;

pub(crate) use error::{Error, Result};

/// How a command that did not fail ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It worked and found something.
    Found,
    /// Nothing was found, or a comparison found a difference.
    Nothing,
    /// It showed what it could, but some data was damaged, or etcd has an alarm raised.
    Damaged,
    /// It was broken off by Ctrl-C, and showed what it had found by then.
    Interrupted,
    /// The command that it ran ended with this code.
    Ended(u8),
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Found => 0,
            Outcome::Nothing => 1,
            Outcome::Damaged => 2,
            // As a shell has it for a process that ends by SIGINT.
            Outcome::Interrupted => 130,
            Outcome::Ended(code) => code,
        })
    }
}
