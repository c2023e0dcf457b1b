//! Errors as a person reads them: what, where, what to do next.

use std::fmt;
use std::io;

use serde_json::error::Category;

use super::hints;
use ketcd_cluster::DeniedKeys;
use ketcd_kube::AddressError;

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
    pub(in crate::cli) fn commands_to_copy(&self) -> &[String] {
        &self.commands
    }

    /// What the user may not read, where that is the error.
    pub(in crate::cli) fn refusal(&self) -> Option<DeniedKeys> {
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
    pub(in crate::cli) fn is_compacted(&self) -> bool {
        self.cause.as_ref().is_some_and(|cause| cause.is_compacted())
    }

    /// Whether it says that a file is not what it was taken for, or damaged beyond reading.
    pub(in crate::cli) fn is_damage(&self) -> bool {
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
        let (hint, message) = (hints::of(&error), error.to_string());
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
