//! Why a file was not loaded.

use crate::Error;

/// Why a file was not loaded.
pub(super) enum Problem {
    Known(Error),
    Format(String),
}

impl Problem {
    /// The error of a file at a path.
    pub(super) fn of(self, path: &str) -> Error {
        match self {
            Self::Known(error) => error,
            Self::Format(problem) => Error::Format { path: path.to_owned(), problem },
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::Known(error)
    }
}

impl From<String> for Problem {
    fn from(problem: String) -> Self {
        Self::Format(problem)
    }
}
