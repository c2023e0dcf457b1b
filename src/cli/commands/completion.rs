//! `ketcd completion`: the completion script of a shell.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::args::Cli;
use crate::cli::output::Output;
use crate::cli::{Outcome, Result};

/// Prints the completion script of a shell: `source <(ketcd completion bash)`.
#[derive(Args, Debug)]
pub struct CompletionArgs {
    /// The shell.
    shell: Shell,
}

/// Prints the script.
pub fn run(args: &CompletionArgs, out: &mut Output) -> Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ketcd", &mut script);
    out.write_all(&script)?;
    Ok(Outcome::Found)
}
