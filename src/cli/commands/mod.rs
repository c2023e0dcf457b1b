//! The commands, one file each.

use clap::Subcommand;

use super::args::Cli;
use super::{Outcome, Result};

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {}

/// Runs the command.
pub fn run(cli: &Cli) -> Result<Outcome> {
    match cli.command {}
}
