//! Completion as one types: what each word of the command line can be.

mod lookup;
mod shells;
mod words;

use std::collections::BTreeSet;
use std::ffi::OsStr;

use clap::Command;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use clap_complete::env::CompleteEnv;

use crate::cli::invocation::arguments;
use ketcd_kube::Kinds;
use ketcd_scheduler::registry;
use lookup::{Deadline, ask};
use words::Words;

pub(super) use shells::KNOWN_SHELLS;
pub(super) use words::before_cursor;

/// Answers the shell and ends, if a shell's completion script asks (the variable COMPLETE is set).
pub(super) fn answer(command: fn() -> Command) {
    let completion = CompleteEnv::with_factory(command).shells(KNOWN_SHELLS);
    let folder = std::env::current_dir().ok();
    if completion.try_complete(arguments::all().iter().cloned(), folder.as_deref()).unwrap_or_else(|error| error.exit()) {
        std::process::exit(0);
    }
}

/// Completes kinds, after `kind/` the objects of that kind, and after a kind as a word of its own the names of its objects. `command`
/// parses the command line.
pub(super) fn addresses(command: fn() -> Command) -> ArgValueCompleter {
    let deadline = Deadline::new();
    ArgValueCompleter::new(move |current: &OsStr| complete_address(command, deadline, current))
}

/// Completes files or, where `--rev` makes `diff` compare objects, addresses. `command` parses the command line.
pub(super) fn addresses_or_files(command: fn() -> Command) -> ArgValueCompleter {
    let deadline = Deadline::new();
    ArgValueCompleter::new(move |current: &OsStr| {
        let compares_revisions = Words::typed(command).flags().is_some_and(|flags| flags.rev.is_some());
        if compares_revisions { complete_address(command, deadline, current) } else { PathCompleter::any().complete(current) }
    })
}

/// Completes the names of the cluster's objects of a kind, such as `namespaces`. `command` parses the command line.
pub(super) fn names(command: fn() -> Command, kind: &'static str) -> ArgValueCompleter {
    let deadline = Deadline::new();
    ArgValueCompleter::new(move |current: &OsStr| {
        let found = ask(Words::typed(command).flags(), deadline, async move |session, found| found.names(session, kind, "").await);
        candidates(found, current.to_str().unwrap_or_default())
    })
}

/// Completes the output formats of the command that is typed. `command` parses the command line.
pub(super) fn formats(command: fn() -> Command) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let typed = Words::typed(command).command();
        let formats: &[&str] = match typed.as_deref().unwrap_or_default() {
            "blame" => &["yaml", "json"],
            "bundle" | "export" => &["table", "json"],
            "diff" | "history" | "timeline" => &["table", "json", "ndjson"],
            "encryption" => &["table", "wide", "json"],
            "explain" => &["table", "wide", "json", "ndjson"],
            "grep" => &["table", "wide", "json", "name", "ndjson"],
            "plugins" => &["table", "json", "name"],
            "rehearse" => &["table", "wide", "json", "markdown"],
            "status" => &["table", "json"],
            "watch" => &["table", "json", "ndjson"],
            "completion" | "decode" | "report" | "schema" | "ui" => &[],
            _ => &[
                "table",
                "wide",
                "json",
                "yaml",
                "kyaml",
                "name",
                "ndjson",
                "raw",
                "jsonpath=",
                "jsonpath-as-json=",
                "jsonpath-file=",
                "go-template=",
                "go-template-file=",
                "custom-columns=",
                "custom-columns-file=",
            ],
        };
        candidates(formats.iter().map(ToString::to_string), current.to_str().unwrap_or_default())
    })
}

/// Completes the names of plugins, predicates and priorities, in whatever case they are begun.
pub(super) fn plugins() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let begun = current.to_str().unwrap_or_default().to_ascii_lowercase();
        let names = registry::all().map(|plugin| plugin.name().to_owned());
        let names: BTreeSet<String> = names.filter(|name| name.to_ascii_lowercase().starts_with(&begun)).collect();
        names.into_iter().map(CompletionCandidate::new).collect()
    })
}

fn complete_address(command: fn() -> Command, deadline: Deadline, current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    let typed = Words::typed(command);
    let (flags, before) = (typed.flags(), typed.addresses());
    let found = match (current.split_once('/'), before.first()) {
        (Some((kind, _)), _) if !kind.is_empty() => {
            let kind = kind.to_owned();
            // In all namespaces where none is asked for: the address says which.
            let flags = flags.map(|mut flags| {
                flags.all_namespaces |= flags.namespace.is_none();
                flags
            });
            ask(flags, deadline, async move |session, found| found.names(session, &kind, &format!("{kind}/")).await)
        }
        // `pods web-0 web-1`, as kubectl has it.
        (None, Some(kinds)) if before.iter().all(|word| !word.contains('/')) => {
            let kinds = kinds.clone();
            let mut names = ask(flags, deadline, async move |session, found| found.names(session, &kinds, "").await);
            names.retain(|name| !before[1..].contains(name));
            names
        }
        _ => {
            let before = current.rfind(',').map_or("", |comma| &current[..=comma]);
            let mut found = ask(flags, deadline, async |session, found| {
                found.extend(words_of(session.cluster.kinds().await?));
                Ok(())
            });
            if found.is_empty() {
                found = words_of(&Kinds::builtin()).collect();
            }
            found.into_iter().map(|kind| format!("{before}{kind}")).collect()
        }
    };
    candidates(found, current)
}

/// Resources and short names.
fn words_of(kinds: &Kinds) -> impl Iterator<Item = String> {
    let stored = kinds.iter().filter(|kind| kind.is_stored());
    stored.flat_map(|kind| std::iter::once(kind.plural.to_string()).chain(kind.short_names.iter().map(ToString::to_string)))
}

fn candidates(found: impl IntoIterator<Item = String>, current: &str) -> Vec<CompletionCandidate> {
    found.into_iter().filter(|word| word.starts_with(current)).map(CompletionCandidate::new).collect()
}
