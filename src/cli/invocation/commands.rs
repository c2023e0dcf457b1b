//! The commands that there are, as texts name them and as words of the command line: what parses the command line says it, from above.

use std::sync::OnceLock;

use clap::Command;

/// What parses the command line, once it is known.
static COMMAND_PARSER: OnceLock<fn() -> Command> = OnceLock::new();

/// Says what parses the command line. Called before anything is said.
pub(in crate::cli) fn are_parsed_by(parser: fn() -> Command) {
    let _ = COMMAND_PARSER.set(parser);
}

pub(super) fn names() -> Vec<String> {
    let parser = COMMAND_PARSER.get().map(|parser| parser());
    parser.iter().flat_map(Command::get_subcommands).map(|command| command.get_name().to_owned()).collect()
}

pub(super) fn are_called(word: &str) -> bool {
    COMMAND_PARSER.get().is_some_and(|parser| parser().find_subcommand(word).is_some())
}
