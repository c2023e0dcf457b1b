//! The command line with those commands alone that its words name. The whole has some thirty, each with the flags of every command: to make it takes
//! longer than the rest of the start. Words that the brief one refuses are read again by the whole, which knows what is meant.

use std::ffi::{OsStr, OsString};

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Subcommand};

use super::link::LinkArgs;
use crate::cli::commands::Command;
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::invocation::spelling;

/// The command that clap adds: its help is that of the whole.
const HELP_COMMAND: &str = "help";

/// The command line with the commands that are among the words; `None` where none is, or one that is not in the table.
pub(super) fn naming<'a>(words: impl Iterator<Item = &'a OsStr>) -> Option<clap::Command> {
    let mut named: Vec<&str> =
        words.filter_map(OsStr::to_str).filter(|word| Command::has_subcommand(word) || *word == HELP_COMMAND).collect();
    named.sort_unstable();
    named.dedup();
    let commands: Vec<clap::Command> = named.iter().filter_map(|name| Command::one(name)).collect();
    let is_known = !commands.is_empty() && commands.len() == named.len();
    is_known.then(|| bare().subcommand_required(true).subcommands(commands))
}

/// Reads the words, the program's name first. `None` where the whole command line must: they ask for help, or are wrong.
pub(super) fn read(words: &[OsString]) -> Option<clap::error::Result<ArgMatches>> {
    let asks_version = || words.iter().any(|word| word == "--version" || word == "-V");
    let command = naming(words.iter().skip(1).map(OsString::as_os_str)).or_else(|| asks_version().then(bare))?;
    let read = spelling::spelled_help(command).try_get_matches_from(words);
    let is_read = match &read {
        Ok(matches) => matches.subcommand().is_some(),
        Err(error) => error.kind() == ErrorKind::DisplayVersion,
    };
    is_read.then_some(read)
}

/// The flags alone.
fn bare() -> clap::Command {
    let command = clap::Command::new("ketcd").version(env!("CARGO_PKG_VERSION")).propagate_version(true);
    LinkArgs::augment_args(GlobalArgs::augment_args(command))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, FromArgMatches};
    use clap_complete::engine;

    use super::super::{Cli, command, with_completion};
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    /// What is read, as text.
    fn text(matches: &ArgMatches) -> String {
        format!("{:?}", Cli::from_arg_matches(matches).unwrap())
    }

    #[test]
    fn words_are_read_as_by_the_whole() {
        for line in [
            "ketcd get pods",
            "ketcd -f a.db -n history get history",
            "ketcd -f a.db what-if --drain w03",
            "ketcd history deploy/web/tomcat --diff --since -10m",
            "ketcd what-if --drain a --drain b -o json",
            "ketcd events -n shop -l app=web",
            "ketcd schema",
            "ketcd --link http://127.0.0.1:1/ui/#v=rows ls pods",
        ] {
            let brief = read(&words(line)).unwrap_or_else(|| panic!("{line}")).unwrap();
            let whole = Cli::command().try_get_matches_from(words(line)).unwrap();
            assert_eq!(text(&brief), text(&whole), "{line}");
        }
    }

    /// What is printed of these is the whole's.
    #[test]
    fn what_is_wrong_or_asks_for_help_is_left_to_the_whole() {
        for line in
            ["ketcd", "ketcd gte pods", "ketcd get pods --bogus", "ketcd help get", "ketcd get --help", "ketcd delete get", "ketcd -f x"]
        {
            assert!(read(&words(line)).is_none(), "{line}");
        }
    }

    #[test]
    fn the_version_is_the_same() {
        for line in ["ketcd --version", "ketcd -V", "ketcd get -V", "ketcd -n x --version get"] {
            let brief = read(&words(line)).unwrap_or_else(|| panic!("{line}")).unwrap_err();
            let whole = Cli::command().try_get_matches_from(words(line)).unwrap_err();
            assert_eq!((brief.kind(), brief.to_string()), (whole.kind(), whole.to_string()), "{line}");
        }
    }

    #[test]
    fn the_same_is_completed() {
        for line in [
            "ketcd get --",
            "ketcd -n x history --o",
            "ketcd what-if -",
            "ketcd explain --all --",
            "ketcd -n get history --",
            "ketcd completion ",
        ] {
            let words = words(line);
            let cursor = words.len() - 1;
            let before = words[1..cursor].iter().map(OsString::as_os_str);
            let mut brief = with_completion(naming(before).unwrap_or_else(|| panic!("{line}")));
            let offered = |command: &mut clap::Command| {
                let found = engine::complete(command, words.clone(), cursor, None).unwrap();
                found.iter().map(|one| (one.get_value().to_owned(), one.get_help().map(ToString::to_string))).collect::<Vec<_>>()
            };
            let (brief, whole) = (offered(&mut brief), offered(&mut command()));
            assert!(brief == whole && !whole.is_empty(), "{line}: {brief:?}, {whole:?}");
        }
    }
}
