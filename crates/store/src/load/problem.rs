//! Why a file was not loaded.

use crate::Error;

/// Why a file was not loaded.
pub(super) enum LoadProblem {
    Known(Error),
    Format(String),
}

impl LoadProblem {
    pub(super) fn of(self, path: &str) -> Error {
        match self {
            Self::Known(error) => error,
            Self::Format(problem) => Error::Format { path: path.to_owned(), problem },
        }
    }
}

impl std::fmt::Display for LoadProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Known(error) => error.fmt(f),
            Self::Format(problem) => f.write_str(problem),
        }
    }
}

impl From<Error> for LoadProblem {
    fn from(error: Error) -> Self {
        Self::Known(error)
    }
}

impl From<String> for LoadProblem {
    fn from(problem: String) -> Self {
        Self::Format(problem)
    }
}
