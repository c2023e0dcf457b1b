//! The command line: arguments, output, exit codes. No other module knows that there is a user.

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

use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::ErrorKind;

pub use command_line::command;
use command_line::{Cli, first_page, suggestions};

/// Parses the command line, runs the command and returns the exit code: 0 found, 1 nothing found or a difference, 2 an error,
/// 130 broken off.
pub fn main() -> ExitCode {
    invocation::commands::are_parsed_by(Cli::command);
    system::cut_short::install();
    output::panics::install();
    complete::answer(command);
    if std::env::args_os().len() == 1 {
        output::report_usage(&first_page::page());
        return ExitCode::from(2);
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
    invocation::reads(cli.global.source_flags());
    match session::command::run(&cli.global, cli.command.as_run()) {
        Ok(outcome) => outcome.into(),
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            output::report_error(&error);
            ExitCode::from(2)
        }
    }
}
