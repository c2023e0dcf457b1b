//! The command line: arguments, output, exit codes. No other module knows that there is a user.

mod assistant;
mod bundling;
mod changes;
mod command_line;
mod commands;
mod complete;
mod connection;
mod decisions;
mod export;
mod extraction;
mod input;
mod invocation;
mod listing;
mod outcome;
mod output;
mod recorder;
mod rehearsal;
mod serving;
mod session;
mod system;
mod verification;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::ErrorKind;

pub use command_line::command;
use command_line::{Cli, first_page, link, suggestions};

/// Runs the command with the arguments of this process and returns its exit code.
pub fn main() -> ExitCode {
    ExitCode::from(run(std::env::args_os().collect()))
}

/// Parses the arguments, the program's name first, runs the command and returns the exit code: 0 found, 1 nothing found or a difference, 2 an error,
/// 130 broken off. It is called once in a process, and may end it.
pub fn run(arguments: Vec<OsString>) -> u8 {
    invocation::arguments::are(arguments);
    invocation::commands::are_parsed_by(Cli::command);
    assistant::are_parsed_by(command_line::question);
    system::cut_short::install();
    output::panics::install();
    complete::answer(command_line::completed);
    if invocation::arguments::all().len() == 1 {
        output::report_usage(&first_page::page());
        return 2;
    }
    let mut cli = command_line::parse().unwrap_or_else(|error| suggestions::refuse(error));
    cli.global = cli.global.with_environment();
    if let (commands::Command::History(history), false) = (&mut cli.command, cli.global.names_live_etcd()) {
        history.take_user(&mut cli.global.connection.user);
    }
    if let Some(flag) = cli.global.flag_beside_files() {
        let conflict = format!("the argument '--file <PATH>' cannot be used with '{flag}'");
        suggestions::refuse(command_line::with_help().error(ErrorKind::ArgumentConflict, conflict));
    }
    // An assistant names no source: commands that it reads are without one.
    if !matches!(cli.command, commands::Command::Mcp(_)) {
        invocation::reads(cli.global.source_flags());
    }
    cli.link.link.as_deref().into_iter().for_each(link::say);
    match session::command::run(&cli.global, cli.command.as_run()) {
        Ok(outcome) => outcome.code(),
        Err(error) if error.is_broken_pipe() => 0,
        Err(error) => {
            output::report_error(&error);
            2
        }
    }
}
