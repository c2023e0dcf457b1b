//! The command line: arguments, output, exit codes. No other module knows that there is a user.

mod absence;
mod actions;
mod api_server;
mod args;
mod around;
mod attendance;
mod bucket;
mod called;
mod cautions;
mod command_line;
mod commands;
mod complete;
mod connection;
mod credentials;
mod destination;
mod encryption;
mod error;
mod explanations;
mod export;
mod extraction;
mod first_page;
mod flag_file;
mod interruptible;
mod inventory;
mod invocation;
mod kms;
mod leads;
mod listing;
mod live_view;
mod members;
mod output;
mod overtaken;
mod pager;
mod panics;
mod placed;
mod progress;
mod raw_values;
mod recorder;
mod reporting;
mod requested;
mod retyped;
mod running;
mod scheduler;
mod select;
mod serving;
mod session;
mod states;
mod stored_events;
mod system;
mod taken;
mod telling;
mod well_known;
mod window;
mod with_config;

use std::process::ExitCode;

use clap::error::ErrorKind;

pub use command_line::command;
pub(crate) use error::{Error, Result};

/// Parses the command line, runs the command and returns the exit code: 0 found, 1 nothing found or a difference, 2 an error,
/// 130 broken off.
pub fn main() -> ExitCode {
    system::cut_short::install();
    panics::install();
    complete::answer(command);
    if std::env::args_os().len() == 1 {
        output::report_usage(&first_page::page());
        return ExitCode::from(2);
    }
    let mut cli = command_line::parse();
    cli.global = cli.global.with_environment();
    if let (commands::Command::History(history), false) = (&mut cli.command, cli.global.names_live_etcd()) {
        history.take_user(&mut cli.global.connection.user);
    }
    if let Some(flag) = cli.global.flag_beside_files() {
        let conflict = format!("the argument '--file <PATH>' cannot be used with '{flag}'");
        leads::refuse(command_line::with_help().error(ErrorKind::ArgumentConflict, conflict));
    }
    invocation::reads(cli.global.source_flags());
    match running::run(&cli.global, cli.command.as_run()) {
        Ok(outcome) => outcome.into(),
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            output::report_error(&error);
            ExitCode::from(2)
        }
    }
}

/// How a command that did not fail ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
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
