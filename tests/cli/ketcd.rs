//! The built binary, and what its runs are looked at with.

use std::process::Command;

pub(crate) use ketcd_testing::command::{all, nobody};

/// The binary, without the environment's ideas of where etcd is.
pub(crate) fn ketcd() -> Command {
    ketcd_testing::command::built(env!("CARGO_BIN_EXE_ketcd"))
}
