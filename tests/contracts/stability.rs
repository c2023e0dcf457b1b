//! What docs/stability.md promises: the commands and flags in docs/interface.txt are those of the binary, what is gone is named in CHANGELOG.md,
//! and the pages of commands name the exit codes that it lists.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use clap::{Arg, Command as CommandLine};

use super::pages::hold;
use super::root;

/// How an argument is written, with its values: `--rev N`.
fn written(arg: &Arg) -> String {
    let mut text = arg.get_long().map_or_else(String::new, |long| format!("--{long}"));
    if let Some(short) = arg.get_short() {
        write!(text, "{}-{short}", if text.is_empty() { "" } else { ", " }).unwrap();
    }
    if arg.get_action().takes_values() {
        let names = arg.get_value_names().unwrap_or_default().iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" ");
        write!(text, "{}{names}", if text.is_empty() { "" } else { " " }).unwrap();
    }
    text
}

/// A line for each command and flag: the command and what it takes.
fn interface() -> String {
    let mut all = ketcd::command().disable_help_subcommand(true);
    all.build();
    let mut lines = BTreeSet::new();
    let mut add = |command: &CommandLine, name: &str, is_of_all: bool| {
        let is_own = |arg: &&Arg| arg.is_global_set() == is_of_all && !arg.is_hide_set();
        let args = command.get_arguments().filter(is_own).filter(|arg| !["help", "version"].contains(&arg.get_id().as_str()));
        lines.extend(args.map(|arg| format!("{name} {}", written(arg))));
    };
    add(&all, "ketcd", true);
    for command in all.get_subcommands().filter(|command| !command.is_hide_set()) {
        add(command, &format!("ketcd {}", command.get_name()), false);
    }
    let commands = all.get_subcommands().filter(|command| !command.is_hide_set()).map(|command| format!("ketcd {}", command.get_name()));
    lines.extend(commands);
    lines.into_iter().fold(String::new(), |text, line| text + &line + "\n")
}

/// The words of a line that a user types: the command, or its flag.
fn typed(line: &str) -> &str {
    let flag = line.split([' ', ',']).find(|word| word.starts_with('-'));
    flag.unwrap_or_else(|| line.split(' ').nth(1).unwrap())
}

/// The lines of `committed` whose command or flag is no longer there, and that no line of the changelog says was removed, renamed or replaced.
fn unnamed<'a>(committed: &'a str, now: &str, changes: &str) -> Vec<&'a str> {
    let is_there: BTreeSet<&str> = now.lines().map(typed).collect();
    let goes = regex::Regex::new("(?i)remov|renam|replac|instead").unwrap();
    let is_named = |word: &str| {
        let name = format!("`{word}");
        let other = format!("`ketcd {word}");
        changes.lines().any(|line| goes.is_match(line) && (line.contains(&name) || line.contains(&other)))
    };
    committed.lines().filter(|line| !is_there.contains(typed(line)) && !is_named(typed(line))).collect()
}

#[test]
fn the_list_of_commands_and_flags_is_current_and_what_is_gone_is_in_the_changelog() {
    let path = root().join("docs/interface.txt");
    let (committed, now) = (fs::read_to_string(&path).unwrap_or_default(), interface());
    assert!(now.lines().count() > 100, "{now}");
    let changes = fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let unnamed = unnamed(&committed, &now, &changes);
    assert!(unnamed.is_empty(), "gone, and CHANGELOG.md does not say that they were removed, renamed or replaced: {unnamed:?}");
    assert_eq!(hold(&path, &now), None);
}

#[test]
fn a_flag_that_goes_without_a_word_is_found() {
    let (committed, now) = ("ketcd ls\nketcd ls --old N\nketcd ls --rows, -r\n", "ketcd ls\nketcd ls --rows, -r\n");
    assert_eq!(unnamed(committed, now, "- `--old` lists the old ones.\n"), ["ketcd ls --old N"]);
    assert_eq!(unnamed(committed, now, "- `--old` was removed: use `--rows`.\n"), [""; 0]);
    assert_eq!(unnamed("ketcd look\n", now, ""), ["ketcd look"]);
    assert_eq!(unnamed("ketcd look\n", now, "- `ketcd look` is renamed to `ls`.\n"), [""; 0]);
}

#[test]
fn pages_of_commands_name_no_exit_code_that_the_page_does_not_list() {
    let code = regex::Regex::new(r"(?m)^(?:- |\| )`(\d+)`").unwrap();
    let codes = |text: &str| -> BTreeSet<String> { code.captures_iter(text).map(|found| found[1].to_owned()).collect() };
    let promised = codes(&fs::read_to_string(root().join("docs/stability.md")).unwrap());
    assert_eq!(promised, ["0", "1", "130", "2"].map(str::to_owned).into());
    let mut all = BTreeSet::new();
    for entry in fs::read_dir(root().join("docs/commands")).unwrap() {
        let page = fs::read_to_string(entry.unwrap().path()).unwrap();
        let Some((_, section)) = page.split_once("\n## Exit codes\n") else { continue };
        let own = codes(section);
        assert!(own.is_subset(&promised), "{own:?}: {section}");
        all.extend(own);
    }
    assert!(all.len() >= 3, "{all:?}");
}
