//! Saying why nothing was found: whether an object of that name exists at another revision, in another namespace or of another kind,
//! with the command that shows it.

use super::Session;
use crate::cli::invocation::invocation;
use crate::cli::outcome::hints::listed;
use crate::cli::outcome::{Error, Result};
use crate::cli::output::{note, report_error};
use ketcd_cluster::not_found::{Elsewhere, Looked, NotFound, ObjectElsewhere, Whereabouts};
use ketcd_cluster::read::{Keys, Subjects};
use ketcd_kube::Address;
use ketcd_render::command_line::CommandLine;

/// What owns pods, as addresses name it.
const POD_OWNER_KINDS: [&str; 7] =
    ["cronjob.batch", "daemonset.apps", "deployment.apps", "job.batch", "replicaset.apps", "replicationcontroller", "statefulset.apps"];

/// What a command was asked.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct Search<'w> {
    /// The command, to be suggested again.
    pub command: &'static str,
    /// What stands before the address: flags of ours, and a pattern.
    pub words: &'w [String],
    /// Where it looked.
    pub looked: Looked,
}

impl<'w> Search<'w> {
    /// A command that looked at the revision that the flags name.
    pub(in crate::cli) async fn at(session: &Session, command: &'static str) -> Result<Self> {
        Ok(Self { command, words: &[], looked: Looked::At(session.cluster.revision().await?) })
    }

    /// A command that read the history up to the revision that the flags name.
    pub(in crate::cli) async fn up_to(session: &Session, command: &'static str) -> Result<Self> {
        Ok(Self { command, words: &[], looked: Looked::UpTo(session.cluster.revision().await?) })
    }

    /// The error for the one object that an address names and that is not there: not found, so exit code 1.
    pub(in crate::cli) async fn not_found(&self, session: &Session, address: &Address) -> Result<Error> {
        Ok(self.error(&NotFound::of(&session.cluster, address, self.looked).await?))
    }

    /// The error for an object that is not there.
    pub(in crate::cli) fn error(&self, not_found: &NotFound) -> Error {
        let error = Error::new(not_found.to_string()).nothing();
        let span = not_found.span;
        match &not_found.elsewhere {
            Whereabouts::Unknown => error.hint("this user may not read where else it might exist"),
            Whereabouts::Elsewhere(found) => error.hint(self.shown(not_found, found)),
            Whereabouts::Nowhere if matches!(not_found.looked, Looked::UpTo(last) if last >= span.newest) => error,
            Whereabouts::Nowhere => error.hint(format!("nor at any other readable revision, {} to {}", span.oldest, span.newest)),
        }
    }

    /// Reports which objects do not exist.
    pub(in crate::cli) fn report_all(command: &'static str, absent: &[NotFound]) {
        Self::report_each(command, &[], absent);
    }

    /// The same of a command that takes `words` before the address, a pattern last.
    pub(in crate::cli) fn report_each(command: &'static str, words: &'w [String], absent: &[NotFound]) {
        // A pattern that begins so would be taken for a flag.
        let is_flag = words.last().is_some_and(|pattern| pattern.starts_with('-'));
        let (command, words) = if is_flag { ("history", &[][..]) } else { (command, words) };
        absent.iter().for_each(|not_found| report_error(&Self { command, words, looked: not_found.looked }.error(not_found)));
    }

    /// Reports that the one object which an address names does not exist.
    pub(in crate::cli) async fn report(&self, session: &Session, address: &Address) -> Result<()> {
        report_error(&self.not_found(session, address).await?);
        Ok(())
    }

    /// Where the object is, and how to see it there.
    fn shown(&self, not_found: &NotFound, found: &Elsewhere) -> String {
        const MAX_PLACES_NAMED: usize = 3;
        let command = self.command(not_found, found);
        let (count, first) = (found.count(), found.first());
        let quoted = |place: &ObjectElsewhere| format!("\"{}\"", place.namespace.as_deref().unwrap_or_default());
        match found {
            Elsewhere::Earlier(_, revision) => {
                format!("it was deleted at revision {}: {command}", revision.after())
            }
            Elsewhere::Later(_, revision) => format!("it was created at revision {revision}: {command}"),
            Elsewhere::Swapped(place) => format!("did you mean {}? {command}", place.address()),
            Elsewhere::Namespaces(places) if count <= MAX_PLACES_NAMED => {
                let namespaces = if count == 1 { "namespace" } else { "namespaces" };
                format!("it exists in {namespaces} {}: {command}", listed(&places.iter().map(quoted).collect::<Vec<_>>()))
            }
            Elsewhere::Namespaces(places) => {
                let named = listed(&places.iter().take(MAX_PLACES_NAMED).map(quoted).collect::<Vec<_>>());
                format!("it exists in {count} other namespaces, {named} among them: {command}")
            }
            Elsewhere::Kinds(_) if count == 1 => {
                let place = first.namespace.as_ref().map_or(String::new(), |namespace| format!(" in namespace \"{namespace}\""));
                format!("{} \"{}\" exists{place}: {command}", first.kind, first.name)
            }
            Elsewhere::Kinds(places) => {
                let named = listed(&places.iter().take(MAX_PLACES_NAMED).map(ObjectElsewhere::address).collect::<Vec<_>>());
                let among = if count > MAX_PLACES_NAMED { " among them" } else { "" };
                format!("{count} objects of other kinds have that name, {named}{among}: {command}")
            }
            Elsewhere::Similar(places) => {
                let names: Vec<String> = places.iter().map(|place| place.name.clone()).collect();
                format!("did you mean {}? {command}", names.join(" or "))
            }
            Elsewhere::Once(_, revision) if count == 1 => {
                format!("it existed in namespace {} at revision {revision}: {command}", quoted(first))
            }
            Elsewhere::Once(_, revision) => {
                format!("it existed in {count} other namespaces, in {} at revision {revision}: {command}", quoted(first))
            }
        }
    }

    /// The command line that shows the first of what was found, as the user would type it.
    fn command(&self, not_found: &NotFound, found: &Elsewhere) -> CommandLine {
        let (command, revisions) = match (found, not_found.looked) {
            // What compares or follows begins somewhere else then.
            (Elsewhere::Earlier(..) | Elsewhere::Later(..) | Elsewhere::Once(..), Looked::Between(..)) => ("history", None),
            (Elsewhere::Earlier(_, at) | Elsewhere::Later(_, at) | Elsewhere::Once(_, at), Looked::At(_)) => {
                (self.command, Some(at.to_string()))
            }
            (_, Looked::Between(first, last)) => (self.command, Some(format!("{first}..{last}"))),
            (Elsewhere::Swapped(_) | Elsewhere::Namespaces(_) | Elsewhere::Kinds(_) | Elsewhere::Similar(_), looked)
                if !not_found.is_newest =>
            {
                (self.command, Some(looked.last().to_string()))
            }
            _ => (self.command, None),
        };
        // Pods are explained, and what owns pods.
        let command = match found {
            Elsewhere::Kinds(places) if command == "explain" && !POD_OWNER_KINDS.contains(&places[0].kind.as_str()) => "tree",
            _ => command,
        };
        let (command, flags) = command.split_once(' ').unwrap_or((command, ""));
        let line = self.words.iter().fold(invocation().ketcd(command), |line, word| line.word(word)).word(&found.first().address());
        let line = if flags.is_empty() { line } else { line.and(flags) };
        match revisions {
            Some(revisions) => line.and("--rev").word(&revisions),
            None => line,
        }
    }
}

/// The single objects that addresses name and of which nothing was read so far.
pub(in crate::cli) struct Missing(Vec<(String, Address)>);

impl Missing {
    /// All that are named.
    ///
    /// # Errors
    /// The prefix cannot be found.
    pub(in crate::cli) async fn of(session: &Session, keys: &Keys) -> Result<Self> {
        let prefix = session.cluster.prefix().await?;
        let named = keys.addresses.iter().map(|address| (address.key(prefix), address));
        Ok(Self(named.filter(|((_, is_whole), _)| *is_whole).map(|((key, _), address)| (key, address.clone())).collect()))
    }

    pub(in crate::cli) fn saw(&mut self, key: &[u8]) {
        self.0.retain(|(missing, _)| missing.as_bytes() != key);
    }

    /// Says on standard error which are not there; returns whether there are any.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(in crate::cli) async fn report(&self, session: &Session, question: &Search<'_>) -> Result<bool> {
        for (_, address) in &self.0 {
            question.report(session, address).await?;
        }
        Ok(!self.0.is_empty())
    }
}

/// Says on standard error that a listing of addresses, or of everything, is empty, in kubectl's words.
pub(in crate::cli) async fn note_nothing(session: &Session, addresses: Option<&[Address]>) -> Result<()> {
    let Some(addresses) = addresses else {
        note("No resources found");
        return Ok(());
    };
    let lists: Vec<&Address> = addresses.iter().filter(|address| matches!(address, Address::Objects { name: None, .. })).collect();
    let is_namespaced = lists.iter().any(|address| matches!(address, Address::Objects { namespace: Some(_), .. }));
    match (lists.is_empty(), is_namespaced) {
        (true, _) => {}
        (false, true) => {
            let namespace = session.cluster.namespace();
            note(&match session.cluster.missing_namespace(namespace).await? {
                None => format!("No resources found in {namespace} namespace; -A looks in all"),
                Some(near) => format!("No resources found in {namespace} namespace, which does not exist; {}", other_namespaces(&near)),
            });
        }
        (false, false) => note("No resources found"),
    }
    note_not_recorded(session).await
}

/// Says that nothing was found, and where it was looked for: `what` says of what there is none.
pub(in crate::cli) async fn note_nothing_of(session: &Session, keys: &Keys, what: &str) -> Result<()> {
    let list = |address: &Address| matches!(address, Address::Objects { name: None, namespace: Some(_), .. });
    let is_within = match &keys.addresses[..] {
        [] => session.cluster.options.namespace.is_some(),
        addresses => addresses.iter().any(list),
    };
    note_nothing_within(session, is_within && !session.cluster.options.all_namespaces, what).await
}

/// The same where only the namespace was looked in, or where all were.
pub(in crate::cli) async fn note_nothing_within(session: &Session, is_within: bool, what: &str) -> Result<()> {
    if !is_within {
        note(&format!("nothing found: {what}"));
        return note_not_recorded(session).await;
    }
    let namespace = session.cluster.namespace();
    let next = match session.cluster.missing_namespace(namespace).await? {
        None => "; -A looks in all".to_owned(),
        // What `-n` names is said to be missing where the command ends.
        Some(_) if session.cluster.options.namespace.is_some() => String::new(),
        Some(near) => format!("; it does not exist: {}", other_namespaces(&near)),
    };
    note(&format!("nothing found in namespace {namespace:?}: {what}{next}"));
    note_not_recorded(session).await
}

/// Says on standard error that the namespace of `-n` does not exist, where nothing was found for that reason.
pub(in crate::cli) async fn note_missing_namespace(session: &Session) -> Result<()> {
    let Some(namespace) = session.cluster.options.namespace.as_deref() else { return Ok(()) };
    if let Some(near) = session.cluster.missing_namespace(namespace).await? {
        note(&format!("namespace \"{namespace}\" does not exist; {}", other_namespaces(&near)));
    }
    Ok(())
}

/// What to do about a namespace that does not exist.
fn other_namespaces(near: &[String]) -> String {
    match near {
        [] => format!("list the namespaces: {}", invocation().ketcd("ls namespaces")),
        near => format!("did you mean {}?", near.join(" or ")),
    }
}

/// Says what a recording was not to hold, where nothing was found in it.
async fn note_not_recorded(session: &Session) -> Result<()> {
    if !session.cluster.source.is_shared() {
        let phrases = session.cluster.source.status().await?.not_recorded;
        phrases.iter().for_each(|phrase| note(&format!("not recorded: {phrase}")));
    }
    Ok(())
}

/// Reads the objects that the words name, and says on standard error which are not there.
///
/// # Errors
/// A word that names no kind, or a source that cannot be read.
pub(in crate::cli) async fn read_subjects(session: &Session, command: &'static str, words: &[String]) -> Result<Subjects> {
    let mut found = session.cluster.subjects(words).await?;
    Search::report_all(command, &found.absent);
    if let Some(addresses) = found.nothing_of.take() {
        note_nothing(session, Some(&addresses)).await?;
    }
    Ok(found)
}
