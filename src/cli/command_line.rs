//! The whole command line: the flags of every command, and the commands.

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, FromArgMatches, Parser};

use super::args::{FILE_VARIABLE, GlobalArgs};
use super::called;
use super::commands::{Command, GROUPS};
use super::complete;
use super::output::note;
use ketcd_cluster::built_in;
use ketcd_render::command_line::CommandLine;
use ketcd_render::value::broken;

/// Read Kubernetes out of etcd: objects, their history, and why each pod runs where it runs
#[derive(Parser, Debug)]
#[command(name = "ketcd", version, propagate_version = true, max_term_width = 100)]
pub(super) struct Cli {
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(subcommand)]
    pub command: Command,
}

/// The command line with completion of what a source holds: for shells, manual pages and documentation.
pub fn command() -> clap::Command {
    let addresses = |arg: clap::Arg| match arg.get_id().as_str() {
        "addresses" | "kinds" => arg.add(complete::addresses(Cli::command)),
        "targets" => arg.add(complete::addresses_or_files(Cli::command)),
        _ => arg,
    };
    Cli::command()
        .mut_arg("namespace", |arg| arg.add(complete::namespaces(Cli::command)))
        .mut_arg("output", |arg| arg.add(complete::formats(Cli::command)))
        .mut_subcommand("plugins", |command| command.mut_arg("name", |arg| arg.add(complete::plugins())))
        .mut_subcommands(|command| command.mut_args(addresses))
}

/// Parses the command line; prints help or an error and ends the process where it asks for help or is wrong.
pub(super) fn parse() -> Cli {
    let matches = with_help().try_get_matches_from(against_file(std::env::args_os()));
    let parsed = matches.inspect(show_flags).and_then(no_file_for_an_object).and_then(|matches| Cli::from_arg_matches(&matches));
    parsed.map_err(led).unwrap_or_else(|error| {
        match with_flag(&error, std::env::args_os().skip(1).filter_map(|argument| argument.into_string().ok())) {
            Some(line) => {
                let _ = error.print();
                note(&format!("a file is read with -f: {line}"));
                std::process::exit(error.exit_code())
            }
            None => error.exit(),
        }
    })
}

/// What else people type for a command, with the one that answers.
const LEADS: &[(&str, &str)] = &[
    ("log", "`ketcd history` shows what changed, `ketcd timeline` what happened; logs are on the pod's node, not in etcd"),
    ("why", "`ketcd explain` says why a pod runs where it runs, `ketcd triage` what is broken"),
    ("show", "`ketcd get` and `ketcd describe` show objects"),
    ("version", "`ketcd --version` prints the version"),
];

/// Leads from a word that is no command to the one that is meant; commands that exist only to say why they do not are never suggested.
fn led(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand).cloned() else { return error };
    let lead = LEADS.iter().find(|(name, _)| *name == word).map(|(_, lead)| (*lead).to_owned());
    let is_kind = || built_in().find_all(&word).is_ok();
    if let Some(lead) = lead.or_else(|| is_kind().then(|| format!("list them: {}", CommandLine::ketcd("get").word(&word)))) {
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![called::spelled(&lead).into_owned().into()]));
        return error;
    }
    let is_shown = |name: &String| Cli::command().find_subcommand(name).is_some_and(|command| !command.is_hide_set());
    let shown: Vec<String> = match error.remove(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::String(name)) => vec![name],
        Some(ContextValue::Strings(names)) => names,
        _ => Vec::new(),
    }
    .into_iter()
    .filter(is_shown)
    .collect();
    if !shown.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(shown));
    }
    error
}

/// The command line with `-f` in front of a word that is out of place and names a file.
fn with_flag(error: &clap::Error, arguments: impl Iterator<Item = String>) -> Option<CommandLine> {
    let place = error.get(ContextKind::InvalidSubcommand).or_else(|| error.get(ContextKind::InvalidArg))?;
    let ContextValue::String(file) = place else { return None };
    if file.starts_with('-') || !Path::new(file).exists() {
        return None;
    }
    let line = CommandLine::ketcd("-f").word(file);
    Some(arguments.filter(|argument| argument != file).fold(line, |line, argument| line.word(&argument)))
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
const FLAGS: &str = "flags";

/// The command line with its help as it is shown: commands in groups, and of each the examples right after the line that says what it does.
pub(super) fn with_help() -> clap::Command {
    let command = called::spelled_help(command()).mut_args(briefly).mut_subcommands(|command| with_more(examples_first(command)));
    let flags = clap::Command::new(FLAGS).hide(true).about("Flags of every command");
    let page = grouped(&command);
    command.help_template(page).subcommand(flags.override_usage(called::spelled("ketcd COMMAND [OPTIONS]").into_owned()))
}

/// Shows the flags of every command and ends the process, where that is asked for as if they were a command.
fn show_flags(matches: &clap::ArgMatches) {
    if matches.subcommand_name() == Some(FLAGS) {
        with_help().get_matches_from(["ketcd", "help", FLAGS]);
    }
}

/// The help of the whole: clap knows no groups of commands.
fn grouped(command: &clap::Command) -> String {
    let (heading, literal) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let about = |name: &str| command.find_subcommand(name).and_then(clap::Command::get_about).map(ToString::to_string).unwrap_or_default();
    let mut page = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for group in GROUPS {
        page.push_str(&format!("\n{heading}{}:{heading:#}\n", group.heading));
        for module in group.commands {
            let name = module.replace('_', "-");
            let about = broken(&about(&name), ABOUT);
            page.push_str(&format!("  {literal}{name:<10}{literal:#}  {}\n", about.join(&format!("\n{:14}", ""))));
        }
    }
    page + "\n" + &called::spelled(MORE)
}

/// How many columns what a command does may take behind its name, in a terminal of 80.
const ABOUT: usize = 66;

/// What the help of the whole ends with.
const MORE: &str = "\
Help of a command: ketcd help triage
Flags of every command, such as -f, -n, --at and -o: ketcd help flags
Version: ketcd --version";

/// Leaves the flags of every command to `--help` and to their own page.
fn briefly(arg: clap::Arg) -> clap::Arg {
    if arg.is_global_set() { arg.hide_short_help(true) } else { arg }
}

/// Says at the end of the short help where the rest is.
fn with_more(command: clap::Command) -> clap::Command {
    let more = called::spelled("Flags of every command, such as -f, -n, --at and -o: ketcd help flags").into_owned();
    command.after_help(more).after_long_help("")
}

/// What comes before the usage: the first line, then what `examples_first` puts in front of it.
const TEMPLATE: &str = "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

fn examples_first(command: clap::Command) -> clap::Command {
    let (Some(about), Some(examples)) = (command.get_about().cloned(), command.get_before_help()) else { return command };
    let heading = command.get_styles().get_usage();
    let indented: Vec<String> = examples.to_string().lines().map(|line| format!("  {line}")).collect();
    let examples = format!("{heading}Examples:{heading:#}\n{}", indented.join("\n"));
    let long_about = command.get_long_about().map(ToString::to_string).unwrap_or_default();
    let details = long_about.split_once("\n\n").map_or(String::new(), |(_, details)| format!("\n\n{details}"));
    command.help_template(TEMPLATE).before_help(examples.clone()).before_long_help(examples + &details).long_about(about)
}
