//! The built binary.

use std::process::Command;

/// The binary, without the environment's ideas of where etcd is.
pub(crate) fn ketcd() -> Command {
    ketcd_testing::command::built(env!("CARGO_BIN_EXE_ketcd"))
}
