//! Errors as a person reads them: what, where, what to do next.

use std::fmt;
use std::io;

use ketcd_store::KeyRange;
use serde_json::error::Category;

/// The result of a command.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// An error for the user: one sentence and, where there is one, a hint what to do next.
#[derive(Debug)]
pub(crate) struct Error {
    message: String,
    hint: Option<String>,
    /// To be copied, one a line.
    commands: Vec<String>,
    refusal: Option<Box<Refusal>>,
    broken_pipe: bool,
    nothing: bool,
    compacted: bool,
}

/// Keys that the user may not read.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    /// The keys that were asked for.
    pub keys: KeyRange,
    /// What was refused, in a sentence that names the user.
    pub problem: String,
}

impl Error {
    /// An error that says `message`, a sentence without its full stop.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        let message = message.into();
        Self { message, hint: None, commands: Vec::new(), refusal: None, broken_pipe: false, nothing: false, compacted: false }
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

    /// Makes it the error of a refusal.
    pub(super) fn refused(mut self, refusal: Refusal) -> Self {
        self.refusal = Some(Box::new(refusal));
        self
    }

    /// What the user may not read, where that is the error.
    pub(super) fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_deref()
    }

    /// Makes it say that what was asked for is not there, which is an answer: exit code 1.
    pub(crate) fn nothing(mut self) -> Self {
        self.nothing = true;
        self
    }

    /// Whether it says that what was asked for is not there.
    pub(crate) fn is_nothing(&self) -> bool {
        self.nothing
    }

    /// Whether it says that a revision was compacted away.
    pub(super) fn is_compacted(&self) -> bool {
        self.compacted
    }

    /// Whether the reader of our output went away, which is no error.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.broken_pipe
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

impl From<ketcd_store::Error> for Error {
    fn from(error: ketcd_store::Error) -> Self {
        let hint = match &error {
            ketcd_store::Error::Compacted { oldest, .. } => Some(format!("ask for --rev {oldest} or newer")),
            ketcd_store::Error::Between { before, after, .. } => Some(format!("ask for --rev {before} or --rev {after}")),
            ketcd_store::Error::Future { newest, .. } => Some(format!("ask for --rev {newest} or older")),
            ketcd_store::Error::OneMoment { .. } => Some("leave the revision out".to_owned()),
            ketcd_store::Error::File { .. } => Some("check the path and that you may read it".to_owned()),
            ketcd_store::Error::Write { cause, .. } => Some(write_hint(cause).to_owned()),
            ketcd_store::Error::Remote { hint, .. } => hint.clone(),
            ketcd_store::Error::Untrue { .. } => {
                Some("that answer was not used: check what answers at this endpoint, or ask another member (--endpoints)".to_owned())
            }
            ketcd_store::Error::Denied { hint, .. } => Some(hint.clone()),
            _ => None,
        };
        let refusal = match &error {
            ketcd_store::Error::Denied { keys, problem, .. } => Some(Box::new(Refusal { keys: keys.clone(), problem: problem.clone() })),
            _ => None,
        };
        let compacted = matches!(error, ketcd_store::Error::Compacted { .. } | ketcd_store::Error::Between { .. });
        Self { hint, refusal, compacted, ..Self::new(error.to_string()) }
    }
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
