//! Upstream's validation of labels and node selectors, with its messages: for fields of a configuration and for pods whose terms do not parse.

mod document;
pub(crate) mod label_name;
mod node_selector;

use serde_json::Value;

use crate::Release;

pub(crate) use document::Document;
pub(crate) use node_selector::node_selector_term;

/// Returns the errors of a node selector term at field path `path`, since 1.21.
pub(crate) fn node_selector_faults(term: &Value, path: &str, release: Release) -> Vec<String> {
    node_selector_term(&Document::at(term, path), path, release)
}
