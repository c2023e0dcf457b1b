//! Messages and help with the name that ketcd was called by: as a plugin of kubectl it is `kubectl forensics`.

use std::borrow::Cow;
use std::sync::LazyLock;

use clap::builder::StyledStr;
use clap::{Arg, Command};

use super::{PLUGIN_NAME, commands, is_plugin};

/// The commands, for the places where a text names one of them.
static COMMAND_NAMES: LazyLock<Vec<String>> = LazyLock::new(commands::names);

/// Returns a text of ours with the command lines in it as the user would type them.
pub(in crate::cli) fn spelled(text: &str) -> Cow<'_, str> {
    if is_plugin() { Cow::Owned(as_plugin(text)) } else { Cow::Borrowed(text) }
}

/// Returns the command line with its name and the examples of its help as the user would type them.
pub(in crate::cli) fn spelled_help(command: Command) -> Command {
    if is_plugin() { help_as_plugin(command).bin_name(PLUGIN_NAME) } else { command }
}

fn help_as_plugin(mut command: Command) -> Command {
    let spell = |text: &StyledStr| as_plugin(&text.ansi().to_string());
    if let Some(text) = command.get_about().map(spell) {
        command = command.about(text);
    }
    if let Some(text) = command.get_long_about().map(spell) {
        command = command.long_about(text);
    }
    if let Some(text) = command.get_before_help().map(spell) {
        command = command.before_help(text);
    }
    let spell_arg = move |mut arg: Arg| {
        if let Some(text) = arg.get_help().map(spell) {
            arg = arg.help(text);
        }
        if let Some(text) = arg.get_long_help().map(spell) {
            arg = arg.long_help(text);
        }
        arg
    };
    command.mut_args(spell_arg).mut_subcommands(help_as_plugin)
}

/// Replaces `ketcd` where a command or a flag follows it; elsewhere it is the program's name.
fn as_plugin(text: &str) -> String {
    const COMMAND_PREFIX: &str = "ketcd ";
    let mut spelled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(COMMAND_PREFIX) {
        let (before, after) = (&rest[..at], &rest[at + COMMAND_PREFIX.len()..]);
        let word = after.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap_or_default();
        let begins = !before.ends_with(|c: char| c.is_alphanumeric() || "/-_.".contains(c));
        let is_command_line = begins && (word.starts_with('-') || word == "help" || COMMAND_NAMES.iter().any(|command| command == word));
        spelled.push_str(before);
        spelled.push_str(if is_command_line { PLUGIN_NAME } else { "ketcd" });
        spelled.push(' ');
        rest = after;
    }
    spelled + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_are_spelled_and_the_program_keeps_its_name() {
        commands::are_parsed_by(crate::cli::command);
        for (text, expected) in [
            ("ketcd ls lists raw keys", "kubectl forensics ls lists raw keys"),
            ("`ketcd -f a.db get pods`; ketcd reads only etcd", "`kubectl forensics -f a.db get pods`; ketcd reads only etcd"),
            ("etcdctl get key | ketcd decode", "etcdctl get key | kubectl forensics decode"),
            ("see ketcd --help", "see kubectl forensics --help"),
            ("see ketcd help flags", "see kubectl forensics help flags"),
            ("/var/lib/ketcd get; my-ketcd get", "/var/lib/ketcd get; my-ketcd get"),
            ("the recorder of ketcd", "the recorder of ketcd"),
        ] {
            assert_eq!(as_plugin(text), expected);
        }
    }
}
