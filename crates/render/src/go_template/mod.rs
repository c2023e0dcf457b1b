//! kubectl's Go templates: `{{range .items}}{{.metadata.name}}{{"\n"}}{{end}}`, as Go's text/template 1.24 runs them on decoded JSON, with the
//! functions `exists` and `base64decode` of k8s.io/cli-runtime pkg/printers/template.go.
//!
//! Numbers of an object are Go's `float64`, as encoding/json decodes them: `1000000` is printed as `1e+06`, and `eq .spec.replicas 2` compares
//! different types, which is an error. What differs: a failing template prints what came before the failure and no copy of the object.

mod evaluate;
mod format;
mod functions;
mod lex;
mod limits;
mod parse;
mod printf;
mod value;

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::Value as Json;

use parse::TemplateNode;

/// A template.
#[derive(Clone, Debug)]
pub struct GoTemplate {
    body: Vec<TemplateNode>,
    /// Those that `define` and `block` name.
    named: HashMap<String, Vec<TemplateNode>>,
}

/// A template that cannot be read, or that does not fit the object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GoTemplateError(String);

impl GoTemplateError {
    fn new(problem: impl Into<String>) -> Self {
        Self(problem.into())
    }
}

/// Why a template was not written to its end.
#[derive(Debug, thiserror::Error)]
pub enum GoTemplateWriteError {
    /// It does not fit the object.
    #[error(transparent)]
    Template(#[from] GoTemplateError),
    /// The stream's.
    #[error(transparent)]
    Stream(#[from] io::Error),
}

impl GoTemplate {
    /// Reads a template.
    ///
    /// # Errors
    /// Text that Go's parser refuses.
    pub fn parse(text: &str) -> Result<Self, GoTemplateError> {
        parse::template(text)
    }

    /// Runs the template on an object.
    ///
    /// # Errors
    /// The stream's, or an action that does not fit the object. What came before it is written.
    pub fn write(&self, object: &Json, out: &mut dyn Write) -> Result<(), GoTemplateWriteError> {
        evaluate::run(self, object, limits::Limits::default(), out)
    }
}

#[cfg(test)]
mod tests;
