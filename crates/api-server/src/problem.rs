//! Errors that name the server, and say what can be done.

use ketcd_store::Error;

/// What went wrong with the API server at `endpoint`, in a sentence.
pub(crate) fn remote(endpoint: &str, problem: impl Into<String>, hint: Option<&str>) -> Error {
    Error::Remote { endpoint: endpoint.to_owned(), problem: problem.into(), hint: hint.map(str::to_owned) }
}

/// What is wrong with the settings that lead to a server, in a sentence.
pub(crate) fn settings(problem: impl Into<String>, hint: &str) -> Error {
    Error::Remote { endpoint: String::new(), problem: problem.into(), hint: Some(hint.to_owned()) }
}
