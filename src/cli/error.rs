//! Errors as a person reads them: what, where, what to do next.

use std::fmt;
use std::io;
use std::path::Path;

use serde_json::error::Category;

use super::invocation::invocation;
use ketcd_cluster::diff::Incomparable;
use ketcd_cluster::{DeniedKeys, Nothing};
use ketcd_kube::{AddressError, UnknownKind};
use ketcd_store::shell::quoted;

/// The result of a command.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// An error for the user: one sentence and, where there is one, a hint what to do next.
#[derive(Debug)]
pub(crate) struct Error {
    message: String,
    hint: Option<String>,
    /// To be copied, one a line.
    commands: Vec<String>,
    /// What a question failed with, where that is the error.
    cause: Option<Box<ketcd_cluster::Error>>,
    broken_pipe: bool,
    nothing: bool,
}

impl Error {
    /// An error that says `message`, a sentence without its full stop.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, commands: Vec::new(), cause: None, broken_pipe: false, nothing: false }
    }

    /// Adds what to do next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds commands that the hint ends with.
    pub(crate) fn commands(mut self, commands: Vec<String>) -> Self {
        self.commands = commands;
        self
    }

    /// The commands that the hint ends with.
    pub(super) fn commands_to_copy(&self) -> &[String] {
        &self.commands
    }

    /// What the user may not read, where that is the error.
    pub(super) fn refusal(&self) -> Option<DeniedKeys> {
        self.cause.as_ref()?.refusal()
    }

    /// Makes it say that what was asked for is not there, which is an answer: exit code 1.
    pub(crate) fn nothing(mut self) -> Self {
        self.nothing = true;
        self
    }

    /// Whether it says that what was asked for is not there.
    pub(crate) fn is_nothing(&self) -> bool {
        self.nothing || self.cause.as_ref().is_some_and(|cause| cause.is_nothing())
    }

    /// Whether it says that a revision was compacted away.
    pub(super) fn is_compacted(&self) -> bool {
        self.cause.as_ref().is_some_and(|cause| cause.is_compacted())
    }

    /// Whether it says that a file is not what it was taken for, or damaged beyond reading.
    pub(super) fn is_damage(&self) -> bool {
        matches!(self.cause.as_deref(), Some(ketcd_cluster::Error::Source(ketcd_store::Error::Format { .. })))
    }

    /// Whether the reader of our output went away, which is no error.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.broken_pipe
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self { broken_pipe: error.kind() == io::ErrorKind::BrokenPipe, ..Self::new(error.to_string()) }
    }
}

impl From<serde_json::Error> for Error {
    /// An error of the stream that is written to is itself; one of JSON repeats nothing of the text.
    fn from(error: serde_json::Error) -> Self {
        match error.classify() {
            Category::Io => io::Error::from(error).into(),
            _ => Self::new(format!("JSON cannot be read at line {}, column {}", error.line(), error.column())),
        }
    }
}

impl From<ketcd_cluster::Error> for Error {
    fn from(error: ketcd_cluster::Error) -> Self {
        let (hint, message) = (hint(&error), error.to_string());
        Self { hint, cause: Some(Box::new(error)), ..Self::new(message) }
    }
}

impl From<ketcd_store::Error> for Error {
    fn from(error: ketcd_store::Error) -> Self {
        ketcd_cluster::Error::from(error).into()
    }
}

impl From<AddressError> for Error {
    fn from(error: AddressError) -> Self {
        ketcd_cluster::Error::from(error).into()
    }
}

/// What to do next where a question failed.
fn hint(error: &ketcd_cluster::Error) -> Option<String> {
    use ketcd_cluster::Error as Failure;
    match error {
        Failure::Source(error) => source_hint(error),
        Failure::Address(AddressError::Kind(UnknownKind::Unknown { nearest, .. })) if nearest.is_empty() => {
            Some(format!("list the kinds: {}", invocation().ketcd("ls")))
        }
        Failure::Address(other) => Some(other.hint()),
        Failure::WithoutKind(without) => Some(super::absence::meant(without)),
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
    const ENDINGS: [&str; 8] = [".zst", ".gz", ".xz", ".bz2", ".lz4", ".zip", ".tgz", ".db"];
    if cause.kind() != io::ErrorKind::NotFound {
        return None;
    }
    let with = ENDINGS.iter().map(|ending| format!("{path}{ending}"));
    let without = ENDINGS.iter().filter_map(|ending| path.strip_suffix(ending).map(str::to_owned));
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
