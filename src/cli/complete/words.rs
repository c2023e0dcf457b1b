//! The words of an unfinished command line, as a shell's completion script passes them on.

use std::ffi::OsString;

use clap::{ArgMatches, Command, FromArgMatches};

use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::invocation::arguments;

/// All words, the program's name first.
fn all() -> Vec<OsString> {
    arguments::all().iter().skip_while(|word| *word != "--").skip(1).cloned().collect()
}

/// The place of the word that is typed, which may be behind the last.
pub(super) fn cursor(words: &[OsString]) -> usize {
    // Shells that do not say where the cursor is pass the words before it on, so that the last is the one typed.
    let cursor = std::env::var("_CLAP_COMPLETE_INDEX").ok().and_then(|index| index.parse().ok());
    cursor.unwrap_or(words.len().saturating_sub(1))
}

/// The words before the one that is typed, the program's name first.
pub(in crate::cli) fn before_cursor() -> Vec<OsString> {
    let mut words = all();
    words.truncate(cursor(&words));
    words
}

/// An unfinished command line.
pub(super) struct Words {
    /// What is known from all of its words.
    all: Option<ArgMatches>,
    /// What is known from the words before the one that is typed.
    before: Option<ArgMatches>,
}

impl Words {
    /// What is typed so far, as `command` parses it.
    pub(super) fn typed(command: fn() -> Command) -> Self {
        let words = all();
        let mut command = command().ignore_errors(true);
        let mut parse = |words: &[OsString]| command.try_get_matches_from_mut(words).ok();
        Self { all: parse(&words), before: parse(&words[..cursor(&words).min(words.len())]) }
    }

    pub(super) fn flags(&self) -> Option<GlobalArgs> {
        self.all.as_ref().and_then(|matches| GlobalArgs::from_arg_matches(matches).ok())
    }

    pub(super) fn command(&self) -> Option<String> {
        self.all.as_ref()?.subcommand_name().map(str::to_owned)
    }

    /// The addresses before the word that is typed.
    pub(super) fn addresses(&self) -> Vec<String> {
        let Some((_, matches)) = self.before.as_ref().and_then(ArgMatches::subcommand) else { return Vec::new() };
        let values = ["addresses", "kinds", "targets"].into_iter().find_map(|name| matches.try_get_many::<String>(name).ok().flatten());
        values.into_iter().flatten().cloned().collect()
    }
}
