//! What upstream's validation says of labels and node selectors, in its words: of a configuration's fields and of pods' that do not parse.

mod document;
pub(crate) mod label_name;
mod node_selector;

use serde_json::Value;

use crate::Release;

pub(crate) use document::Document;
pub(crate) use node_selector::node_selector_term;

/// What is wrong with a term of a node selector that stands at `path`, since 1.21.
pub(crate) fn node_selector_faults(term: &Value, path: &str, release: Release) -> Vec<String> {
    node_selector_term(&Document::at(term, path), path, release)
}
