//! How a command ends: with an outcome, or with an error.

mod error;
pub(super) mod hints;

pub(crate) use error::{Error, Result};

/// How a command that did not fail ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
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

impl Outcome {
    /// The exit code.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Found => 0,
            Self::Nothing => 1,
            Self::Damaged => 2,
            // As a shell has it for a process that ends by SIGINT.
            Self::Interrupted => 130,
            Self::Ended(code) => code,
        }
    }
}
