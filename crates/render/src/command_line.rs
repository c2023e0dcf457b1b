//! Command lines that users copy into a shell. Every word that is not a literal of ours is quoted: names come from data, and a shell runs what it reads.

use std::fmt;

use ketcd_store::shell::quoted;

/// How ketcd was called: by which name, and with which flags that say what it reads. The commands that an answer suggests begin so, and so
/// read the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    program: &'static str,
    /// The flags as they are typed, each followed by a blank.
    source: String,
}

/// A command line. Its fixed words are string literals; every other word goes through [`CommandLine::word`], which quotes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine(String);

impl Invocation {
    /// Describes a call of `program` (`ketcd`) with these flags, each with its value.
    pub fn new(program: &'static str, source: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        let typed = |(flag, value): (&str, String)| match (flag, quoted(value.as_bytes())) {
            // A name that looks like a flag.
            ("-f", file) if value.starts_with('-') && value != "-" => format!("--file={file} "),
            ("-f", file) => format!("-f {file} "),
            (flag, value) => format!("{flag}={value} "),
        };
        Self { program, source: source.into_iter().map(typed).collect() }
    }

    /// The same call with other flags that say what it reads.
    #[must_use]
    pub fn reading(&self, source: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        Self::new(self.program, source)
    }

    /// The name that ketcd was called by.
    pub fn program(&self) -> &'static str {
        self.program
    }

    /// Begins a command of ketcd on what this call reads, such as `explain` or `get --with-config`.
    pub fn ketcd(&self, command: &'static str) -> CommandLine {
        CommandLine(format!("{} {}{command}", self.program, self.source))
    }

    /// Begins a command line of ketcd to which nothing is added.
    pub fn bare(&self) -> CommandLine {
        CommandLine(self.program.to_owned())
    }
}

impl CommandLine {
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
        let invocation = Invocation::new("ketcd", [("-f", "a b.db".to_owned()), ("-f", "-x".to_owned()), ("--prefix", "/$k".to_owned())]);
        let command = invocation.ketcd("history").word("role/lab/reader$(touch x)").and("--diff");
        assert_eq!(command.to_string(), "ketcd -f 'a b.db' --file=-x --prefix='/$k' history 'role/lab/reader$(touch x)' --diff");
        assert_eq!(
            CommandLine::of("etcdctl role grant-permission ROLE read").word("/a b").to_string(),
            "etcdctl role grant-permission ROLE read '/a b'"
        );
    }
}
