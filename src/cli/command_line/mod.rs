//! The whole command line: the flags of every command, the commands, and `--link` in the place of one.

mod brief;
pub(super) mod first_page;
pub(super) mod link;
mod refused_flags;
pub(super) mod suggestions;

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, FromArgMatches, Parser};

use crate::cli::commands::{COMMAND_GROUPS, Command};
use crate::cli::complete;
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::input::source_names::FILE_VARIABLE;
use crate::cli::invocation::{arguments, spelling};
use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::Output;
use crate::cli::session::command::Run;
use ketcd_cluster::built_in;
use ketcd_render::value::broken;

/// Read Kubernetes out of etcd: objects, their history, and why each pod runs where it runs
#[derive(Parser, Debug)]
#[command(name = "ketcd", version, propagate_version = true, max_term_width = 100)]
pub(super) struct Cli {
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(flatten)]
    pub link: link::LinkArgs,
    #[command(subcommand)]
    pub command: Command,
}

/// The command line with completion of what a source holds: for shells, manual pages and documentation.
pub fn command() -> clap::Command {
    with_completion(Cli::command())
}

/// The same for the words that a shell asks to complete: where one before the cursor names a command, that command alone can be meant.
pub(super) fn completed() -> clap::Command {
    let before = complete::before_cursor();
    brief::naming(before.iter().skip(1).map(OsString::as_os_str)).map_or_else(command, with_completion)
}

/// The command line that reads the words which a shell asks to complete.
fn typed() -> clap::Command {
    brief::naming(arguments::all().iter().skip(1).map(OsString::as_os_str)).unwrap_or_else(Cli::command)
}

fn with_completion(command: clap::Command) -> clap::Command {
    let addresses = |arg: clap::Arg| match arg.get_id().as_str() {
        "addresses" | "kinds" => arg.add(complete::addresses(typed)),
        "targets" => arg.add(complete::addresses_or_files(typed)),
        _ => arg,
    };
    let nodes = |arg: clap::Arg| match arg.get_id().as_str() {
        "drain" | "fail" | "cordon" | "uncordon" => arg.add(complete::names(typed, "nodes")),
        _ => arg,
    };
    let of_one = |command: clap::Command| match command.get_name() {
        "export" => command.mut_arg("by", |arg| arg.hide_short_help(true)),
        "plugins" => command.mut_arg("name", |arg| arg.add(complete::plugins())),
        "what-if" => command.mut_args(nodes),
        _ => command,
    };
    command
        .mut_arg("namespace", |arg| arg.add(complete::names(typed, "namespaces")))
        .mut_arg("output", |arg| arg.add(complete::formats(typed)))
        .mut_subcommands(|command| of_one(command).mut_args(addresses))
}

/// Parses the words of a command that something else than a user asks, without the name of the program.
///
/// # Errors
/// They are wrong.
pub(super) fn question(words: &[String]) -> clap::error::Result<Box<dyn Run>> {
    let matches = Cli::command().try_get_matches_from(std::iter::once("ketcd").chain(words.iter().map(String::as_str)))?;
    Ok(Box::new(Cli::from_arg_matches(&matches)?))
}

/// Runs the command that was named, with the flags of somebody else: those that were typed with it are not looked at.
impl Run for Cli {
    fn prints_text(&self) -> bool {
        self.command.as_run().prints_text()
    }

    fn run(&self, global: &GlobalArgs, out: &mut Output) -> Result<Outcome> {
        self.command.as_run().run(global, out)
    }
}

/// Parses the command line.
///
/// # Errors
/// It asks for help, or is wrong.
pub(super) fn parse() -> clap::error::Result<Cli> {
    let words = link::with_command(against_file(arguments::all().iter().cloned()).collect(), with_help)?;
    let matches = brief::read(&words).unwrap_or_else(|| with_help().try_get_matches_from(words));
    matches
        .inspect(show_flags)
        .and_then(|matches| refused_flags::check(with_help, matches))
        .and_then(no_file_for_an_object)
        .and_then(|matches| Cli::from_arg_matches(&matches))
}

/// Refuses a file in the place of an object, where nothing says what is to be read: it would be looked for in a live etcd.
fn no_file_for_an_object(matches: clap::ArgMatches) -> clap::error::Result<clap::ArgMatches> {
    let Some((_, command)) = matches.subcommand() else { return Ok(matches) };
    let is_flag = |id| command.try_contains_id(id).is_ok_and(|is_known| is_known && command.value_source(id).is_some());
    let is_set = |name| std::env::var_os(name).is_some();
    if is_flag("files") || is_flag("endpoints") || is_set(FILE_VARIABLE) || is_set("ETCDCTL_ENDPOINTS") {
        return Ok(matches);
    }
    let words = command.try_get_many::<String>("addresses").ok().flatten().into_iter().flatten();
    let is_kind = |word: &str| built_in().find_all(word.split('/').next().unwrap_or(word)).is_ok();
    let Some(file) = words.into_iter().find(|word| !is_kind(word) && Path::new(word).is_file()) else { return Ok(matches) };
    let mut error = clap::Error::new(clap::error::ErrorKind::UnknownArgument).with_cmd(&Cli::command());
    error.insert(ContextKind::InvalidArg, ContextValue::String(file.clone()));
    Err(error)
}

/// Leaves out the `-f` of `--against -f newer.db`: what follows `--against` may be a file in any case.
fn against_file(arguments: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    let mut is_value = false;
    arguments.filter(move |argument| {
        let is_flag = is_value && (argument == "-f" || argument == "--file");
        is_value = argument == "--against";
        !is_flag
    })
}

/// The command whose help shows the flags of every command.
const FLAGS_COMMAND: &str = "flags";

/// The command line with its help as it is shown: commands in groups, and of each the examples right after the line that says what it does.
pub(super) fn with_help() -> clap::Command {
    let command = spelling::spelled_help(command()).mut_args(briefly).mut_subcommands(|command| with_more(examples_first(command)));
    let flags = clap::Command::new(FLAGS_COMMAND).hide(true).about("Flags of every command");
    let page = grouped(&command);
    command.help_template(page).subcommand(flags.override_usage(spelling::spelled("ketcd COMMAND [OPTIONS]").into_owned()))
}

/// Shows the flags of every command and ends the process, where that is asked for as if they were a command.
fn show_flags(matches: &clap::ArgMatches) {
    if matches.subcommand_name() == Some(FLAGS_COMMAND) {
        with_help().get_matches_from(["ketcd", "help", FLAGS_COMMAND]);
    }
}

/// The help of the whole: clap knows no groups of commands.
fn grouped(command: &clap::Command) -> String {
    let (heading, literal) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let about = |name: &str| command.find_subcommand(name).and_then(clap::Command::get_about).map(ToString::to_string).unwrap_or_default();
    let mut page = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for group in COMMAND_GROUPS {
        page.push_str(&format!("\n{heading}{}:{heading:#}\n", group.heading));
        for module in group.commands {
            let name = module.replace('_', "-");
            let about = broken(&about(&name), ABOUT_COLUMNS);
            page.push_str(&format!("  {literal}{name:<10}{literal:#}  {}\n", about.join(&format!("\n{:14}", ""))));
        }
    }
    page + "\n" + &spelling::spelled(MORE_HELP)
}

/// How many columns what a command does may take behind its name, in a terminal of 80.
const ABOUT_COLUMNS: usize = 66;

/// What the help of the whole ends with.
const MORE_HELP: &str = "\
Help of a command: ketcd help triage
Flags of every command, such as -f, -n, --at and -o: ketcd help flags
Version: ketcd --version; what a link of the page shows: ketcd --link URL";

/// Leaves the flags of every command to `--help` and to their own page.
fn briefly(arg: clap::Arg) -> clap::Arg {
    if arg.is_global_set() { arg.hide_short_help(true) } else { arg }
}

/// Says at the end of the short help where the rest is.
fn with_more(command: clap::Command) -> clap::Command {
    let more = spelling::spelled("Flags of every command, such as -f, -n, --at and -o: ketcd help flags").into_owned();
    command.after_help(more).after_long_help("")
}

/// What comes before the usage: the first line, then what `examples_first` puts in front of it.
const HELP_TEMPLATE: &str = "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

fn examples_first(command: clap::Command) -> clap::Command {
    let (Some(about), Some(examples)) = (command.get_about().cloned(), command.get_before_help()) else { return command };
    let heading = command.get_styles().get_usage();
    let indented: Vec<String> = examples.to_string().lines().map(|line| format!("  {line}")).collect();
    let examples = format!("{heading}Examples:{heading:#}\n{}", indented.join("\n"));
    let long_about = command.get_long_about().map(ToString::to_string).unwrap_or_default();
    let details = long_about.split_once("\n\n").map_or(String::new(), |(_, details)| format!("\n\n{details}"));
    command.help_template(HELP_TEMPLATE).before_help(examples.clone()).before_long_help(examples + &details).long_about(about)
}

#[cfg(test)]
mod tests {
    use super::*;
    use refused_flags::{NOT_TAKEN, check, takes};

    /// What a flag of every command is given, where it takes a value.
    fn value(id: &str) -> &'static str {
        match id {
            "max_unpacked_size" | "page_size" => "1Mi",
            "qps" => "10",
            "release" => "1.30",
            "color" => "never",
            "consistency" => "s",
            "rev" => "5",
            _ => "x",
        }
    }

    /// What each command needs beside flags.
    fn words(command: &str) -> &'static [&'static str] {
        match command {
            "get" | "describe" | "tree" | "watch" | "blame" | "explain" | "extract" => &["pods"],
            "report" | "export" | "bundle" => &["--out", "x"],
            "grep" => &["x"],
            "completion" => &["bash"],
            "record" => &["x"],
            _ => &[],
        }
    }

    /// Goes through all pairs of a command and a flag of every command: one that is not taken is refused by name, every other one is read.
    #[test]
    fn every_pair_of_command_and_flag_is_taken_or_refused() {
        let shown = command();
        let commands: Vec<&clap::Command> = shown.get_subcommands().filter(|command| !command.is_hide_set()).collect();
        let flags: Vec<&clap::Arg> = shown.get_arguments().filter(|arg| arg.is_global_set()).collect();
        assert!(commands.len() > 20 && flags.len() > 25);
        for command in commands {
            for flag in &flags {
                let (id, long) = (flag.get_id().as_str(), flag.get_long().unwrap());
                let has_value = flag.get_action().takes_values();
                let typed = if has_value { format!("--{long}={}", value(id)) } else { format!("--{long}") };
                let line = [&["ketcd", command.get_name()][..], words(command.get_name()), &[typed.as_str()]].concat();
                let matches = shown.clone().try_get_matches_from(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"));
                let checked = check(|| shown.clone(), matches);
                assert_eq!(checked.is_ok(), takes(command.get_name(), id), "{line:?}");
                if let Err(error) = checked {
                    assert!(error.to_string().contains(&format!("'--{long}'")) && error.exit_code() == 2, "{error}");
                }
            }
        }
    }

    /// The table names commands and flags that there are.
    #[test]
    fn the_table_names_what_there_is() {
        let shown = command();
        for (name, groups) in NOT_TAKEN {
            assert!(shown.find_subcommand(name).is_some(), "{name}");
            for flag in groups.iter().flat_map(|group| group.iter()) {
                assert!(shown.get_arguments().any(|arg| arg.is_global_set() && arg.get_id().as_str() == *flag), "{name}: {flag}");
            }
        }
    }

    #[test]
    fn what_nobody_typed_is_not_refused() {
        let shown = command();
        for line in [&["ketcd", "schema"][..], &["ketcd", "-f", "x", "status"], &["ketcd", "--color", "never", "completion", "bash"]] {
            let matches = shown.clone().try_get_matches_from(line).unwrap();
            assert!(check(|| shown.clone(), matches).is_ok(), "{line:?}");
        }
        // Before the command as behind it.
        let matches = shown.clone().try_get_matches_from(["ketcd", "-n", "web", "encryption"]).unwrap();
        assert!(check(|| shown, matches).is_err());
    }
}
