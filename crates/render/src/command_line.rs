//! Command lines that users copy into a shell. Every word that is not a literal of ours is quoted: names come from data, and a shell runs what it reads.

use std::fmt;
use std::sync::OnceLock;

use ketcd_store::shell::quoted;

use super::program;

/// The flags that say what this run reads, as they are typed, each followed by a blank.
static SOURCE: OnceLock<String> = OnceLock::new();

/// A command line. Its fixed words are string literals; every other word goes through [`CommandLine::word`], which quotes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine(String);

/// Stores the flags that say what this run reads, each with its value, so that suggested commands read the same.
pub fn remember_source(flags: impl IntoIterator<Item = (&'static str, String)>) {
    let typed = |(flag, value): (&str, String)| match (flag, quoted(value.as_bytes())) {
        // A name that looks like a flag.
        ("-f", file) if value.starts_with('-') && value != "-" => format!("--file={file} "),
        ("-f", file) => format!("-f {file} "),
        (flag, value) => format!("{flag}={value} "),
    };
    // Nothing else sets it.
    let _ = SOURCE.set(flags.into_iter().map(typed).collect());
}

impl CommandLine {
    /// Begins a command of ketcd on what this run reads, such as `explain` or `get --with-config`.
    pub fn ketcd(command: &'static str) -> Self {
        let source = SOURCE.get().map_or("", String::as_str);
        Self(format!("{} {source}{command}", program::name()))
    }

    /// Begins a command line of ketcd to which nothing is added.
    pub fn bare() -> Self {
        Self(program::name().to_owned())
    }

    /// Begins a command line of another program.
    pub fn of(words: &'static str) -> Self {
        Self(words.to_owned())
    }

    /// Adds words of ours.
    #[must_use]
    pub fn and(mut self, words: &'static str) -> Self {
        self.0.push(' ');
        self.0.push_str(words);
        self
    }

    /// Adds a word, whatever is in it.
    #[must_use]
    pub fn word(mut self, word: &str) -> Self {
        self.0.push(' ');
        self.0.push_str(&quoted(word.as_bytes()));
        self
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_ours_is_quoted() {
        let command = CommandLine::ketcd("history").word("role/lab/reader$(touch x)").and("--diff");
        assert_eq!(command.to_string(), "ketcd history 'role/lab/reader$(touch x)' --diff");
        assert_eq!(
            CommandLine::of("etcdctl role grant-permission ROLE read").word("/a b").to_string(),
            "etcdctl role grant-permission ROLE read '/a b'"
        );
    }
}
