//! The search of a written bundle for what was to go.

use futures_util::TryStreamExt;
use serde_json::Value;

use ketcd_redact::{Class, Encoding, Leak, Redactor};
use ketcd_store::{At, KeyRange, KeyValue, Revision, Source, Until, Want, WatchItem};

use crate::error::Result;

/// How many are reported.
const MAX_LEAKS: usize = 20;

/// Where a bundle holds what was to go. It does not say what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeakPlace {
    /// Its class.
    pub class: Class,
    /// How it is written, from the outside in; empty where as it is.
    pub encodings: Vec<Encoding>,
    /// The kind and the path in it: `Pod.spec.containers[].args[]`; `key` for a key of etcd.
    pub path: String,
}

/// Searches all keys and values of a written bundle for what a redactor replaced, in every encoding; returns the first of what it finds.
///
/// # Errors
/// The bundle cannot be read.
pub async fn leaks(bundle: &dyn Source, redactor: &Redactor) -> Result<Vec<LeakPlace>> {
    let mut search = Search { redactor, found: Vec::new() };
    let span = bundle.span().await?;
    let mut entries = bundle.range(KeyRange::all(), At::Revision(span.oldest), Want::Values).await?.entries;
    while let Some(entry) = entries.try_next().await?.filter(|_| !search.is_full()) {
        search.entry(&entry);
    }
    let mut items = bundle.watch(KeyRange::all(), Revision(1), Until::Revision(span.newest));
    while let Some(item) = items.try_next().await?.filter(|_| !search.is_full()) {
        if let WatchItem::Event(event) = item {
            search.entry(&event.key_value);
        }
    }
    Ok(search.found)
}

struct Search<'r> {
    redactor: &'r Redactor,
    found: Vec<LeakPlace>,
}

impl Search<'_> {
    fn is_full(&self) -> bool {
        self.found.len() >= MAX_LEAKS
    }

    fn entry(&mut self, entry: &KeyValue) {
        for leak in self.redactor.leaks(&entry.key) {
            self.add(leak, "key");
        }
        let leaks = self.redactor.leaks(&entry.value);
        if leaks.is_empty() {
            return;
        }
        let object: Value = serde_json::from_slice(&entry.value).unwrap_or_default();
        let kind = object["kind"].as_str().filter(|kind| self.redactor.leaks(kind.as_bytes()).is_empty()).unwrap_or("object").to_owned();
        let before = self.found.len();
        self.walk(&object, &kind);
        // What stands across members is of none of them.
        if self.found.len() == before {
            leaks.into_iter().for_each(|leak| self.add(leak, &kind));
        }
    }

    /// Finds the members that hold it; a member whose name does is not named.
    fn walk(&mut self, value: &Value, path: &str) {
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    let in_name = self.redactor.leaks(name.as_bytes());
                    let below = if in_name.is_empty() { format!("{path}.{name}") } else { format!("{path}.*") };
                    in_name.into_iter().for_each(|leak| self.add(leak, &below));
                    self.walk(member, &below);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.walk(item, &format!("{path}[]"))),
            Value::String(text) => {
                for leak in self.redactor.leaks(text.as_bytes()) {
                    self.add(leak, path);
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, leak: Leak, path: &str) {
        let place = LeakPlace { class: leak.class, encodings: leak.encodings, path: path.to_owned() };
        if !self.is_full() && !self.found.contains(&place) {
            self.found.push(place);
        }
    }
}
