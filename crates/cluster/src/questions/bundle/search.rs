//! The search of a written bundle for what was to go.

use std::sync::{Mutex, PoisonError};

use futures_util::TryStreamExt;
use serde_json::Value;

use ketcd_redact::{Class, Encoding, Leak, Redactor, SearchedTokens};
use ketcd_store::{At, KeyRange, KeyValue, Revision, Source, Until, Want, WatchItem};

use super::batch::Batch;
use crate::error::Result;

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
    let mut search = LeakSearch { redactor, found: Vec::new(), pending: Batch::default(), searched: Mutex::default() };
    let span = bundle.span().await?;
    let mut entries = bundle.range(KeyRange::all(), At::Revision(span.oldest), Want::Values).await?.entries;
    while let Some(entry) = entries.try_next().await?.filter(|_| !search.is_full()) {
        search.take(entry);
    }
    let mut items = bundle.watch(KeyRange::all(), Revision(1), Until::Revision(span.newest));
    while let Some(item) = items.try_next().await?.filter(|_| !search.is_full()) {
        if let WatchItem::Event(event) = item {
            search.take(event.key_value);
        }
    }
    search.look();
    Ok(search.found)
}

struct LeakSearch<'r> {
    redactor: &'r Redactor,
    found: Vec<LeakPlace>,
    pending: Batch<KeyValue>,
    /// What was searched, for each thread.
    searched: Mutex<Vec<SearchedTokens>>,
}

impl LeakSearch<'_> {
    fn is_full(&self) -> bool {
        self.found.len() >= MAX_LEAKS
    }

    fn take(&mut self, entry: KeyValue) {
        let bytes = entry.value.len();
        if self.pending.add(entry, bytes) {
            self.look();
        }
    }

    /// Searches what was taken; where something is found, for the places.
    fn look(&mut self) {
        let (redactor, all) = (self.redactor, &self.searched);
        let looked = self.pending.look(|entry| {
            let mut searched = all.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
            let is_clean = [&entry.key, &entry.value].into_iter().all(|bytes| redactor.leaks_but(&mut searched, bytes).is_empty());
            all.lock().unwrap_or_else(PoisonError::into_inner).push(searched);
            is_clean
        });
        for (entry, _) in looked.into_iter().filter(|(_, is_clean)| !is_clean) {
            self.entry(&entry);
        }
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
