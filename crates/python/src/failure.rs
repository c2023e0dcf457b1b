//! Why a question has no answer, and what to do next in Python: `ketcd.Error`.

use std::io;

use ketcd_cluster::not_found::{Elsewhere, NotFound, ObjectElsewhere, Whereabouts};
use ketcd_cluster::{Error, Nothing};
use ketcd_kube::AddressError;
use pyo3::prelude::*;

/// A question that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    hint: Option<String>,
    /// Whether what was asked for is not there.
    is_nothing: bool,
}

impl Failure {
    /// A failure that says `message`, a sentence without its full stop.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, is_nothing: false }
    }

    /// Adds what to do next.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The exception: `ketcd.Error`, or `ketcd.NotFound`.
    pub(crate) fn raised(self, py: Python<'_>) -> PyErr {
        let class = if self.is_nothing { "NotFound" } else { "Error" };
        let made = py.import("ketcd._error").and_then(|module| module.getattr(class)?.call1((self.message, self.hint)));
        made.map_or_else(|error| error, PyErr::from_value)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { message: error.to_string(), hint: hint(&error), is_nothing: error.is_nothing() }
    }
}

impl From<ketcd_store::Error> for Failure {
    fn from(error: ketcd_store::Error) -> Self {
        Error::from(error).into()
    }
}

impl From<NotFound> for Failure {
    fn from(not_found: NotFound) -> Self {
        Error::NotFound(Box::new(not_found)).into()
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl From<serde_json::Error> for Failure {
    /// JSON's own error repeats nothing of the text.
    fn from(error: serde_json::Error) -> Self {
        Self::new(format!("JSON cannot be read at line {}, column {}", error.line(), error.column()))
    }
}

/// What to do next.
fn hint(error: &Error) -> Option<String> {
    match error {
        Error::Source(error) => hint_of_source(error),
        Error::Address(AddressError::Kind(ketcd_kube::UnknownKind::Unknown { nearest, .. })) if nearest.is_empty() => {
            Some("ls() counts the objects of each kind".to_owned())
        }
        Error::Address(other) => Some(other.hint()),
        Error::WithoutKind(without) => {
            let named: Vec<String> = without.called.places.iter().take(3).map(ObjectElsewhere::address).collect();
            Some(format!("did you mean {}?", named.join(" or ")))
        }
        Error::NoKind => Some("write kind/namespace/name, or a kind".to_owned()),
        Error::SeveralPrefixes(prefixes) => Some(format!("choose one: open(…, prefix={:?})", prefixes.first()?)),
        Error::NotFound(not_found) => elsewhere(not_found),
        Error::Nothing(Nothing::InNamespace(_) | Nothing::InEither { .. }) => Some("list(\"namespaces\") has the namespaces".to_owned()),
        Error::Nothing(Nothing::Selected { in_all: false }) => Some("all_namespaces=True looks in all namespaces".to_owned()),
        Error::Undated => Some("use rev=".to_owned()),
        Error::Invalid { hint, .. } => hint.clone(),
        _ => None,
    }
}

fn hint_of_source(error: &ketcd_store::Error) -> Option<String> {
    match error {
        ketcd_store::Error::Compacted { oldest, .. } => Some(format!("ask for rev={oldest} or newer")),
        ketcd_store::Error::Between { before, after, .. } => Some(format!("ask for rev={before} or rev={after}")),
        ketcd_store::Error::Future { newest, .. } => Some(format!("ask for rev={newest} or older")),
        ketcd_store::Error::OneMoment { .. } => Some("leave the revision out".to_owned()),
        ketcd_store::Error::File { .. } => Some("check the path and its permissions".to_owned()),
        _ => None,
    }
}

/// Where the object is that was not found.
fn elsewhere(not_found: &NotFound) -> Option<String> {
    let Whereabouts::Elsewhere(found) = &not_found.elsewhere else { return None };
    let address = found.first().address();
    Some(match found {
        Elsewhere::Earlier(_, revision) => format!("it was deleted at revision {}: {address:?}, rev={revision}", revision.after()),
        Elsewhere::Later(_, revision) => format!("it was created at revision {revision}: {address:?}, rev={revision}"),
        Elsewhere::Once(_, revision) => format!("it existed at revision {revision}: {address:?}, rev={revision}"),
        Elsewhere::Namespaces(_) => format!("it exists in another namespace: {address:?}"),
        Elsewhere::Swapped(_) | Elsewhere::Kinds(_) | Elsewhere::Similar(_) => format!("did you mean {address:?}?"),
    })
}
