//! The `ketcd` binary: parse, run, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    ketcd::cli::main()
}
