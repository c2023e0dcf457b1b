//! The examples that the help of each command begins with.

use clap::Command;

/// What an example reads, which says who can run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Files, or nothing.
    Files,
    /// A live etcd.
    Etcd,
    /// A file, for kubectl.
    Kubectl,
    /// A file, for a browser: until it is ended.
    Browser,
}

/// One example.
#[derive(Clone, Debug)]
pub struct Example {
    /// The name of the command.
    pub command: String,
    /// What it is for.
    pub purpose: String,
    /// The command line.
    pub line: String,
}

impl Example {
    /// What it reads.
    pub fn reads(&self) -> Reads {
        let words: Vec<&str> = self.line.split_whitespace().collect();
        let is_offline = ["completion", "decode", "plugins", "schema"].contains(&self.command.as_str());
        if self.command == "ui" {
            Reads::Browser
        } else if words.contains(&"kubectl") {
            Reads::Kubectl
        } else if is_offline || words.contains(&"-f") || words.iter().any(|word| word.ends_with(".db")) {
            Reads::Files
        } else {
            Reads::Etcd
        }
    }
}

/// The examples of every command of `all` with a page: a line that begins with `#` and the command line below it.
pub fn examples(all: &Command) -> Vec<Example> {
    all.get_subcommands().filter(|command| !command.is_hide_set()).flat_map(of).collect()
}

/// The examples of one command.
fn of(command: &Command) -> Vec<Example> {
    let name = command.get_name();
    let text = command.get_before_help().unwrap_or_else(|| panic!("the help of {name} has no examples: give its arguments a before_help"));
    let lines: Vec<String> = text.to_string().lines().map(str::to_owned).collect();
    let pairs = lines.chunks(2).map(|pair| {
        let [purpose, line] = pair else { panic!("{name}: {pair:?}") };
        let purpose = purpose.strip_prefix("# ").unwrap_or_else(|| panic!("{name}: {purpose:?} does not say what the example is for"));
        Example { command: name.to_owned(), purpose: purpose.to_owned(), line: line.clone() }
    });
    pairs.collect()
}
