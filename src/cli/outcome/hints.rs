//! What to do next where a question failed.

use std::io;
use std::path::Path;

use crate::cli::invocation::invocation;
use crate::cli::invocation::typed_line::Typed;
use ketcd_cluster::Nothing;
use ketcd_cluster::diff::Incomparable;
use ketcd_cluster::not_found::{ObjectElsewhere, WithoutKind};
use ketcd_kube::{AddressError, UnknownKind};
use ketcd_render::command_line::CommandLine;
use ketcd_store::shell::quoted;

/// What to do next where a question failed.
pub(super) fn of(error: &ketcd_cluster::Error) -> Option<String> {
    use ketcd_cluster::Error as Failure;
    match error {
        Failure::Source(error) => source_hint(error),
        Failure::Address(AddressError::Kind(UnknownKind::Unknown { nearest, .. })) if nearest.is_empty() => {
            Some(format!("list the kinds: {}", invocation().ketcd("ls")))
        }
        Failure::Address(other) => Some(other.hint()),
        Failure::WithoutKind(without) => Some(meant(without)),
        Failure::NoKind => Some("write kind/namespace/name, or a kind".to_owned()),
        Failure::SeveralPrefixes(prefixes) => {
            let flags: Vec<String> = prefixes.iter().take(2).map(|prefix| format!("--prefix {}", quoted(prefix.as_bytes()))).collect();
            Some(format!("choose one with {}", flags.join(" or ")))
        }
        Failure::Nothing(Nothing::Objects { .. }) => Some(format!("what is there: {}", invocation().ketcd("ls"))),
        Failure::Nothing(Nothing::InNamespace(_) | Nothing::InEither { .. }) => {
            Some(format!("list the namespaces: {}", invocation().ketcd("ls namespaces")))
        }
        Failure::Nothing(Nothing::Selected { in_all: false }) => {
            Some("-A looks in all namespaces, --rev and --at at another state".to_owned())
        }
        Failure::Nothing(Nothing::Selected { in_all: true }) => Some("--rev and --at look at another state".to_owned()),
        Failure::Nothing(Nothing::PodsOfKind { kind, .. }) => {
            Some(format!("list them in all namespaces: {}", invocation().ketcd("get").word(kind).and("-A")))
        }
        Failure::Nothing(Nothing::OwnedPods { owner, .. }) => Some(format!("what it owns: {}", invocation().ketcd("tree").word(owner))),
        Failure::Incomparable(Incomparable::Objects { .. }) => Some("name snapshots or data dirs".to_owned()),
        Failure::Incomparable(Incomparable::DifferentClusters { .. }) => Some("name the members of one cluster".to_owned()),
        Failure::Incomparable(Incomparable::TooFew) => Some("see the messages above about the others".to_owned()),
        Failure::Undated => Some("use --rev".to_owned()),
        Failure::Invalid { hint, .. } => hint.clone(),
        Failure::Incomparable(_)
        | Failure::Undefined { .. }
        | Failure::NotFound(_)
        | Failure::UnreadablePod { .. }
        | Failure::BeforeHistory { .. } => None,
    }
}

/// What to do next where a source cannot be read.
fn source_hint(error: &ketcd_store::Error) -> Option<String> {
    match error {
        ketcd_store::Error::Compacted { oldest, .. } => Some(format!("ask for --rev {oldest} or newer")),
        ketcd_store::Error::Between { before, after, .. } => Some(format!("ask for --rev {before} or --rev {after}")),
        ketcd_store::Error::Future { newest, .. } => Some(format!("ask for --rev {newest} or older")),
        ketcd_store::Error::OneMoment { .. } => Some("leave the revision out".to_owned()),
        ketcd_store::Error::File { path, cause } => Some(match compressed(path, cause) {
            Some(file) => format!("{file} is there: -f {}", quoted(file.as_bytes())),
            None => "check the path and its permissions".to_owned(),
        }),
        ketcd_store::Error::Write { cause, .. } => Some(write_hint(cause).to_owned()),
        ketcd_store::Error::Remote { hint, .. } => hint.clone(),
        ketcd_store::Error::Untrue { .. } => {
            Some("that answer was not used: check what answers at this endpoint, or ask another member (--endpoints)".to_owned())
        }
        ketcd_store::Error::Denied { hint, .. } => Some(hint.clone()),
        ketcd_store::Error::Format { .. } | ketcd_store::Error::Interrupted => None,
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}

/// The file that lies in the place of one that does not exist: with the ending of a compressed file, or without it.
fn compressed(path: &str, cause: &io::Error) -> Option<String> {
    const COMPRESSED_SUFFIXES: [&str; 8] = [".zst", ".gz", ".xz", ".bz2", ".lz4", ".zip", ".tgz", ".db"];
    if cause.kind() != io::ErrorKind::NotFound {
        return None;
    }
    let with = COMPRESSED_SUFFIXES.iter().map(|ending| format!("{path}{ending}"));
    let without = COMPRESSED_SUFFIXES.iter().filter_map(|ending| path.strip_suffix(ending).map(str::to_owned));
    with.chain(without).find(|file| Path::new(file).is_file())
}

/// What to do where a file cannot be written.
fn write_hint(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "what was recorded before is kept: free some space, or keep less with --keep, and start it again; it goes on where it stopped"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => "name a directory that you may write to",
        _ => "check the path and the disk",
    }
}

/// What a word without a kind means, and the command line with that in its place.
fn meant(without: &WithoutKind) -> String {
    const MAX_OBJECTS_NAMED: usize = 3;
    let WithoutKind { word, called, .. } = without;
    let names: Vec<String> = called.places.iter().take(MAX_OBJECTS_NAMED).map(ObjectElsewhere::address).collect();
    let (first, typed) = (&called.places[0], Typed::now());
    let line = meant_line(&typed, word, first).unwrap_or_else(|| invocation().ketcd("get").word(&first.address()));
    let line = match called.revision {
        Some(revision) if !typed.command().is_some_and(|command| READ_HISTORY.contains(&command)) && !typed.has("--rev") => {
            line.and("--rev").word(&revision.to_string())
        }
        _ => line,
    };
    let more = match called.places.len().saturating_sub(MAX_OBJECTS_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let what = match &called.places[..] {
        [only] if only.kind == "namespace" => "a namespace".to_owned(),
        _ if more.is_empty() => listed(&names),
        _ => names.join(", ") + &more,
    };
    match (called.is_near, called.revision) {
        (true, _) => format!("did you mean {}? {line}", names.join(" or ")),
        (false, None) => format!("\"{word}\" is {what}: {line}"),
        (false, Some(revision)) => format!("\"{word}\" was {what} at revision {revision}: {line}"),
    }
}

/// Commands that show the history of an object that is gone.
const READ_HISTORY: [&str; 7] = ["blame", "diff", "explain", "grep", "history", "timeline", "watch"];

/// The command line with an object, or `-n` and a namespace, in the place of the word.
fn meant_line(typed: &Typed, word: &str, first: &ObjectElsewhere) -> Option<CommandLine> {
    let (address, name) = (first.address(), first.name.as_str());
    let (is_namespace, is_scoped) = (first.kind == "namespace", typed.has("-n") || typed.has("--namespace") || typed.has("-A"));
    let others = match typed.command() {
        _ if !is_namespace || is_scoped => vec![address.as_str()],
        Some("bundle" | "diff" | "events" | "export" | "grep" | "history" | "ls" | "report" | "timeline" | "triage" | "usage") => {
            vec!["-n", name]
        }
        Some("explain") => vec!["pods", "-n", name],
        Some("get") => vec!["all", "-n", name],
        _ => vec![address.as_str()],
    };
    typed.replacing(word, &others)
}

/// `a, b and c`.
pub(in crate::cli) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}
