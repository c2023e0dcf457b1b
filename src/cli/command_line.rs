//! The whole command line: the flags of every command, and the commands.

use clap::{CommandFactory, Parser};

use super::args::GlobalArgs;
use super::commands::Command;
use super::complete;

/// Read Kubernetes out of etcd: objects, their history, and why each pod runs where it runs
#[derive(Parser, Debug)]
#[command(name = "ketcd", version, propagate_version = true, max_term_width = 100)]
pub(super) struct Cli {
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(subcommand)]
    pub command: Command,
}

/// The command line with completion of what a source holds: for shells, manual pages and documentation.
pub fn command() -> clap::Command {
    let addresses = |arg: clap::Arg| match arg.get_id().as_str() {
        "addresses" | "kinds" => arg.add(complete::addresses(Cli::command)),
        "targets" => arg.add(complete::addresses_or_files(Cli::command)),
        _ => arg,
    };
    Cli::command()
        .mut_arg("namespace", |arg| arg.add(complete::namespaces(Cli::command)))
        .mut_arg("output", |arg| arg.add(complete::formats(Cli::command)))
        .mut_subcommand("plugins", |command| command.mut_arg("name", |arg| arg.add(complete::plugins())))
        .mut_subcommands(|command| command.mut_args(addresses))
}
