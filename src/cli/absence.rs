//! Saying why nothing was found: whether an object of that name exists at another revision, in another namespace or of another kind,
//! with the command that shows it.

use super::changes::Keys;
use super::elsewhere::{self, Elsewhere, ObjectElsewhere};
use super::listing::Wanted;
use super::output::{note, report_error};
use super::session::Session;
use super::{Error, Result};
use ketcd_kube::{Address, Scope};
use ketcd_render::command_line::CommandLine;
use ketcd_store::{At, Revision};

/// What owns pods, as addresses name it.
const OWNERS: [&str; 7] =
    ["cronjob.batch", "daemonset.apps", "deployment.apps", "job.batch", "replicaset.apps", "replicationcontroller", "statefulset.apps"];

/// What a command was asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question {
    /// The command, to be suggested again.
    pub command: &'static str,
    /// Where it looked.
    pub looked: Looked,
}

/// The revisions that a command looked at.
#[derive(Clone, Copy, Debug)]
pub(super) enum Looked {
    /// One.
    At(Revision),
    /// All that are readable up to one.
    UpTo(Revision),
    /// Two, to compare them.
    Between(Revision, Revision),
}

impl Looked {
    /// The last of them.
    pub(super) fn last(self) -> Revision {
        match self {
            Self::At(revision) | Self::UpTo(revision) | Self::Between(_, revision) => revision,
        }
    }
}

impl Question {
    /// A command that looked at the revision that the flags name.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(super) async fn at(session: &Session, command: &'static str) -> Result<Self> {
        Ok(Self { command, looked: Looked::At(revision(session).await?) })
    }

    /// A command that read the history up to the revision that the flags name.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(super) async fn up_to(session: &Session, command: &'static str) -> Result<Self> {
        Ok(Self { command, looked: Looked::UpTo(revision(session).await?) })
    }

    /// The error for the one object that an address names and that is not there: not found, so exit code 1.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(super) async fn not_found(&self, session: &Session, address: &Address) -> Result<Error> {
        let span = session.source.span().await?;
        let revisions = match self.looked {
            Looked::At(revision) => format!("at revision {revision}"),
            Looked::UpTo(last) => format!("at any readable revision, {} to {last}", span.oldest),
            Looked::Between(first, last) => format!("at revisions {first} and {last}"),
        };
        let what = match address {
            Address::Objects { kind, namespace, name: Some(name) } => {
                let place = namespace.as_ref().map_or(String::new(), |namespace| format!(" in namespace \"{namespace}\""));
                format!("{} \"{name}\" not found{place} {revisions}", kind.singular_resource())
            }
            other => format!("key {} not found {revisions}", other.key(session.prefix().await?).0),
        };
        let found = match elsewhere::find(session, address, self.looked).await {
            Err(error) if error.refusal().is_some() => {
                return Ok(Error::new(what).hint("whether it is anywhere else may not be read by this user").nothing());
            }
            found => found?,
        };
        let other = match found {
            Some(found) => self.shown(session, &found),
            None if matches!(self.looked, Looked::UpTo(last) if last >= span.newest) => return Ok(Error::new(what).nothing()),
            None => format!("nor at any other readable revision, {} to {}", span.oldest, span.newest),
        };
        Ok(Error::new(what).hint(other).nothing())
    }

    /// Says on standard error that the one object which an address names is not there.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(super) async fn report(&self, session: &Session, address: &Address) -> Result<()> {
        report_error(&self.not_found(session, address).await?);
        Ok(())
    }

    /// Where the object is, and how to see it there.
    fn shown(&self, session: &Session, found: &Elsewhere) -> String {
        /// So many places are named.
        const NAMED: usize = 3;
        let list = |names: Vec<String>| match &names[..] {
            [] => String::new(),
            [only] => only.clone(),
            [before @ .., last] => format!("{} and {last}", before.join(", ")),
        };
        let command = self.command(session, found);
        let (count, first) = (found.count(), found.first());
        let quoted = |place: &ObjectElsewhere| format!("\"{}\"", place.namespace.as_deref().unwrap_or_default());
        match found {
            Elsewhere::Earlier(_, revision) => {
                format!("it was deleted at revision {}: {command}", revision.after())
            }
            Elsewhere::Later(_, revision) => format!("it was created at revision {revision}: {command}"),
            Elsewhere::Namespaces(places) if count <= NAMED => {
                let namespaces = if count == 1 { "namespace" } else { "namespaces" };
                format!("it exists in {namespaces} {}: {command}", list(places.iter().map(quoted).collect()))
            }
            Elsewhere::Namespaces(places) => {
                let named = list(places.iter().take(NAMED).map(quoted).collect());
                format!("it exists in {count} other namespaces, {named} among them: {command}")
            }
            Elsewhere::Kinds(_) if count == 1 => {
                let place = first.namespace.as_ref().map_or(String::new(), |namespace| format!(" in namespace \"{namespace}\""));
                format!("{} \"{}\" exists{place}: {command}", first.kind, first.name)
            }
            Elsewhere::Kinds(places) => {
                let named = list(places.iter().take(NAMED).map(ObjectElsewhere::address).collect());
                let among = if count > NAMED { " among them" } else { "" };
                format!("{count} objects of other kinds have that name, {named}{among}: {command}")
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
    fn command(&self, session: &Session, found: &Elsewhere) -> CommandLine {
        let (command, revisions) = match (found, self.looked) {
            // What compares or follows begins somewhere else then.
            (Elsewhere::Earlier(..) | Elsewhere::Later(..) | Elsewhere::Once(..), Looked::Between(..)) => ("history", None),
            (Elsewhere::Earlier(_, at) | Elsewhere::Later(_, at) | Elsewhere::Once(_, at), Looked::At(_)) => {
                (self.command, Some(at.to_string()))
            }
            (_, Looked::Between(first, last)) => (self.command, Some(format!("{first}..{last}"))),
            (Elsewhere::Namespaces(_) | Elsewhere::Kinds(_), looked) if session.at != At::Newest => {
                (self.command, Some(looked.last().to_string()))
            }
            _ => (self.command, None),
        };
        // Pods are explained, and what owns pods.
        let command = match found {
            Elsewhere::Kinds(places) if command == "explain" && !OWNERS.contains(&places[0].kind.as_str()) => "tree",
            _ => command,
        };
        let (command, flags) = command.split_once(' ').unwrap_or((command, ""));
        let line = CommandLine::ketcd(command).word(&found.first().address());
        let line = if flags.is_empty() { line } else { line.and(flags) };
        match revisions {
            Some(revisions) => line.and("--rev").word(&revisions),
            None => line,
        }
    }
}

/// The error for one pod that is not there, as [`Question::not_found`].
///
/// # Errors
/// The source cannot be read.
pub(super) async fn no_pod(session: &Session, command: &'static str, namespace: &str, name: &str) -> Result<Error> {
    let kinds = session.kinds().await?;
    let pod = kinds.find("pods").map_err(|error| Error::new(error.to_string()))?;
    let scope = Scope::Namespace(namespace.to_owned());
    let address = Address::named(pod, name, &scope).map_err(Error::new)?;
    Question::at(session, command).await?.not_found(session, &address).await
}

async fn revision(session: &Session) -> Result<Revision> {
    match session.at {
        At::Newest => Ok(session.source.span().await?.newest),
        At::Revision(revision) => Ok(revision),
    }
}

/// The single objects that addresses name and of which nothing was read so far.
pub(super) struct Missing(Vec<(String, Address)>);

impl Missing {
    /// All that are named.
    ///
    /// # Errors
    /// The prefix cannot be found.
    pub(super) async fn of(session: &Session, keys: &Keys) -> Result<Self> {
        let prefix = session.prefix().await?;
        let named = keys.addresses.iter().map(|address| (address.key(prefix), address));
        Ok(Self(named.filter(|((_, is_whole), _)| *is_whole).map(|((key, _), address)| (key, address.clone())).collect()))
    }

    /// Something was read under this key.
    pub(super) fn saw(&mut self, key: &[u8]) {
        self.0.retain(|(missing, _)| missing.as_bytes() != key);
    }

    /// Says on standard error which are not there; returns whether there are any.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(super) async fn report(&self, session: &Session, question: &Question) -> Result<bool> {
        for (_, address) in &self.0 {
            question.report(session, address).await?;
        }
        Ok(!self.0.is_empty())
    }
}

/// Says on standard error that a listing is empty, in kubectl's words.
pub(super) fn note_nothing(session: &Session, wanted: &Wanted) {
    let Wanted::Addresses(addresses) = wanted else { return note("No resources found") };
    let lists: Vec<&Address> = addresses.iter().filter(|address| matches!(address, Address::Objects { name: None, .. })).collect();
    let is_namespaced = lists.iter().any(|address| matches!(address, Address::Objects { namespace: Some(_), .. }));
    match (lists.is_empty(), is_namespaced) {
        (true, _) => {}
        (false, true) => note(&format!("No resources found in {} namespace; -A looks in all", session.namespace())),
        (false, false) => note("No resources found"),
    }
}
