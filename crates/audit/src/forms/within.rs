//! Events somewhere inside a document of another shape, as they are or as text: what programs that keep logs return of a search has a shape for each.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use serde_json::value::RawValue;

use super::wrapped::program_line;
use super::{Record, read_at};
use crate::names::Names;

/// Values within values deeper than this are not looked at.
const MAX_VALUE_DEPTH: usize = 12;

/// Reads the events inside a document; returns whether there is any. One that is there as text and as members is one.
pub(super) fn read(document: &[u8], names: &mut Names, take: &mut dyn FnMut(Record)) -> bool {
    let Ok(document) = std::str::from_utf8(document) else { return false };
    let mut search = Search { names, take, seen: HashSet::new(), is_any: false };
    search.value(document, 0);
    search.is_any
}

struct Search<'s> {
    names: &'s mut Names,
    take: &'s mut dyn FnMut(Record),
    /// The identifiers and stages of the events that were found.
    seen: HashSet<[String; 2]>,
    is_any: bool,
}

impl Search<'_> {
    fn value(&mut self, text: &str, depth: usize) {
        if depth > MAX_VALUE_DEPTH || !text.contains("auditID") {
            return;
        }
        match text.as_bytes().first() {
            Some(b'{') => self.object(text, depth),
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
                items.into_iter().for_each(|item| self.value(item.get(), depth + 1));
            }
            Some(b'"') => {
                let Ok(text) = serde_json::from_str::<Cow<'_, str>>(text) else { return };
                let line = program_line(&text);
                if line.starts_with(['{', '[']) {
                    self.value(line, depth + 1);
                }
            }
            _ => {}
        }
    }

    fn object(&mut self, text: &str, depth: usize) {
        let Ok(members) = serde_json::from_str::<BTreeMap<String, &RawValue>>(text) else { return };
        let word = |name: &str| members.get(name).and_then(|member| serde_json::from_str::<String>(member.get()).ok());
        if let Some(id) = word("auditID") {
            if self.seen.insert([id, word("stage").unwrap_or_default()]) {
                self.event(text);
            }
            return;
        }
        // An object of Kubernetes may quote events, which anybody may have written.
        if members.contains_key("apiVersion") && word("kind").is_some_and(|kind| !kind.ends_with("List")) {
            return;
        }
        members.values().for_each(|member| self.value(member.get(), depth + 1));
    }

    fn event(&mut self, text: &str) {
        match read_at(text.as_bytes(), self.names, 0) {
            Record::Unknown(_) => {}
            found => {
                self.is_any = true;
                (self.take)(found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn found(document: &Value) -> usize {
        let mut count = 0;
        read(document.to_string().as_bytes(), &mut Names::default(), &mut |_| count += 1);
        count
    }

    #[test]
    fn events_are_found_once_and_not_in_objects() {
        let event = |id: &str, stage: &str| {
            json!({"kind": "Event", "auditID": id, "level": "Metadata", "stage": stage, "verb": "get",
            "requestReceivedTimestamp": "2026-11-24T18:37:19Z", "stageTimestamp": "2026-11-24T18:37:19Z"})
        };
        let complete = event("a", "ResponseComplete");
        assert_eq!(found(&json!({"x": [{"y": complete}, {"y": event("a", "RequestReceived"), "z": event("b", "ResponseComplete")}]})), 3);
        assert_eq!(found(&json!({"text": complete.to_string(), "parsed": complete, "again": [complete.to_string()]})), 1);
        assert_eq!(
            found(
                &json!({"kind": "List", "apiVersion": "v1", "items": [{"kind": "ConfigMap", "apiVersion": "v1", "data": {"x": complete.to_string()}}]})
            ),
            0
        );
        assert_eq!(found(&json!({"text": "auditID", "other": {"auditID": "a"}})), 0);
        let deep = (0..MAX_VALUE_DEPTH + 1).fold(complete, |value, _| json!([value]));
        assert_eq!(found(&deep), 0);
    }
}
