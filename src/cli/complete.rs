//! Completion as one types: kinds, namespaces and names out of the source that the command line names so far.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use clap::{Command, FromArgMatches};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::CompleteEnv;
use futures_util::StreamExt;

use super::Result;
use super::args::GlobalArgs;
use super::commands::block_on;
use super::session::Session;
use ketcd_kube::{Address, Kinds, RegistryKey, Scope};
use ketcd_store::{KeyRange, Want};

/// Answers the shell and ends, if a shell's completion script asks (the variable COMPLETE is set).
pub(super) fn answer(command: fn() -> Command) {
    CompleteEnv::with_factory(command).complete();
}

/// Completes kinds, and after `kind/` the objects of that kind. `command` parses the command line.
pub(super) fn addresses(command: fn() -> Command) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let Some(current) = current.to_str() else { return Vec::new() };
        let found = match current.split_once('/') {
            Some((kind, _)) if !kind.is_empty() => with_session(command, async |session| names(session, kind).await),
            _ => kinds(command, current),
        };
        candidates(found, current)
    })
}

/// Completes the namespaces of the cluster. `command` parses the command line.
pub(super) fn namespaces(command: fn() -> Command) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let found = with_session(command, async |session| {
            let names = names(session, "namespaces").await?;
            Ok(names.iter().filter_map(|name| name.split_once('/')).map(|(_, name)| name.to_owned()).collect())
        });
        candidates(found, current.to_str().unwrap_or_default())
    })
}

fn candidates(found: BTreeSet<String>, current: &str) -> Vec<CompletionCandidate> {
    found.into_iter().filter(|word| word.starts_with(current)).map(CompletionCandidate::new).collect()
}

/// Resources and short names; after a comma, with what stands before it.
fn kinds(command: fn() -> Command, current: &str) -> BTreeSet<String> {
    let before = current.rfind(',').map_or("", |comma| &current[..=comma]);
    let all = |kinds: &Kinds| -> BTreeSet<String> {
        let stored = kinds.iter().filter(|kind| kind.is_stored());
        let names =
            stored.flat_map(|kind| std::iter::once(kind.plural.to_string()).chain(kind.short_names.iter().map(ToString::to_string)));
        names.map(|name| format!("{before}{name}")).collect()
    };
    let found = with_session(command, async |session| Ok(all(session.kinds().await?)));
    if found.is_empty() { all(&Kinds::builtin()) } else { found }
}

/// `kind/name` of everything of a kind, in every namespace or in `-n`'s; in every one with the namespace in between.
async fn names(session: &Session, kind: &str) -> Result<BTreeSet<String>> {
    let (prefix, kinds) = (session.prefix().await?, session.kinds().await?);
    let scope = session.args.namespace.clone().map_or(Scope::All, Scope::Namespace);
    let mut found = BTreeSet::new();
    for address in Address::parse(kind, kinds, &scope)? {
        let (below, _) = address.key(prefix);
        let mut entries = session.range(KeyRange::prefix(below), Want::Keys).await?.entries;
        while let Some(entry) = entries.next().await.transpose()? {
            let Some(object) = RegistryKey::parse(prefix, &entry.key, kinds).object() else { continue };
            let place = object.namespace.filter(|_| scope == Scope::All).map_or(String::new(), |namespace| format!("{namespace}/"));
            found.insert(format!("{kind}/{place}{}", object.name));
        }
    }
    Ok(found)
}

/// Runs `work` on the source of the unfinished command line; what goes wrong completes nothing. A live etcd is asked only where the
/// command line names its endpoints.
fn with_session(command: fn() -> Command, work: impl AsyncFnOnce(&Session) -> Result<BTreeSet<String>>) -> BTreeSet<String> {
    let words = std::env::args_os().skip_while(|word| word != "--").skip(1);
    let matches = command().ignore_errors(true).try_get_matches_from(words);
    let Some(mut args) = matches.ok().and_then(|matches| GlobalArgs::from_arg_matches(&matches).ok()) else { return BTreeSet::new() };
    args.unattended = true;
    if args.files.is_empty() && args.connection.endpoints.is_empty() {
        return BTreeSet::new();
    }
    block_on(async { work(&Session::open(&args, true).await?).await }).unwrap_or_default()
}
