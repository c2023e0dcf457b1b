//! Kubernetes Events about an object: what components reported, besides what they did.

use std::collections::HashMap;

use jiff::Timestamp;
use serde_json::Value;

use super::{Subject, one_moment};
use crate::clock::Dated;
use ketcd_store::Revision;

/// What one Event says, in its last version.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// When it was last seen, by the clock of the component that reported it.
    pub time: Option<Timestamp>,
    /// When it was first seen.
    pub first: Option<Timestamp>,
    /// For example `FailedScheduling`.
    pub reason: String,
    /// The component, and its node where it has one.
    pub source: String,
    /// How often.
    pub count: i64,
    /// The sentence.
    pub message: String,
    /// `Normal` or `Warning`.
    pub kind: String,
    /// The revision of its last version.
    pub revision: Revision,
    /// When that was written.
    pub dated: Option<Dated>,
    /// The object that it is about; its uid is empty where the Event does not say it.
    pub about: Subject,
}

/// Events by their keys, each in its last version.
#[derive(Clone, Debug, Default)]
pub struct Notes(HashMap<Vec<u8>, Note>);

impl Notes {
    /// Takes an Event's version into account.
    pub fn observe(&mut self, key: &[u8], revision: Revision, dated: Option<Dated>, event: &Value) {
        if event["kind"] == "Event" {
            self.0.insert(key.to_vec(), note(event, revision, dated));
        }
    }

    /// The same for a version without a known write time: the Event's own time is used.
    pub(crate) fn observe_undated(&mut self, key: &[u8], revision: Revision, event: &Value) {
        if event["kind"] == "Event" {
            let note = note(event, revision, None);
            self.0.insert(key.to_vec(), Note { dated: one_moment::dated(note.time), ..note });
        }
    }

    /// The Events about one object, in order of their last revisions. The uid decides where both have one: names are given again.
    pub fn about(&self, subject: &Subject, uids: &[String]) -> Vec<Note> {
        let fits = |note: &&Note| {
            let about = &note.about;
            let same = about.kind == subject.kind && about.name == subject.name && about.namespace == subject.namespace;
            // Nodes are named by their own kubelets with their name in place of the uid.
            same && (about.uid.is_empty() || about.uid == subject.name || uids.contains(&about.uid))
        };
        sorted(self.0.values().filter(fits).cloned().collect())
    }

    /// All of them, in order of their last revisions.
    pub fn all(&self) -> Vec<Note> {
        sorted(self.0.values().cloned().collect())
    }
}

impl Note {
    /// Whether the Event's object is this one, by kind and name.
    pub fn names(&self, subject: &Subject) -> bool {
        self.about.kind == subject.kind && self.about.name == subject.name && self.about.namespace == subject.namespace
    }

    /// The object that the Event is about.
    pub fn subject(&self) -> Subject {
        self.about.clone()
    }

    /// The kind and name of the object that the Event is about: `pod/lab/ubuntu`.
    pub fn object(&self) -> String {
        let Subject { kind, namespace, name, .. } = &self.about;
        let kind = kind.to_lowercase();
        if namespace.is_empty() { format!("{kind}/{name}") } else { format!("{kind}/{namespace}/{name}") }
    }
}

fn sorted(mut notes: Vec<Note>) -> Vec<Note> {
    notes.sort_by(|a, b| (a.revision, &a.reason).cmp(&(b.revision, &b.reason)));
    notes
}

fn note(event: &Value, revision: Revision, dated: Option<Dated>) -> Note {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let time = |value: &Value| value.as_str().and_then(|time| time.parse::<Timestamp>().ok());
    let begun =
        time(&event["eventTime"]).or_else(|| time(&event["firstTimestamp"])).or_else(|| time(&event["metadata"]["creationTimestamp"]));
    let last = [&event["series"]["lastObservedTime"], &event["lastTimestamp"]].into_iter().filter_map(time).max();
    let object = &event["involvedObject"];
    let component = event["source"]["component"].as_str().filter(|name| !name.is_empty()).or(event["reportingComponent"].as_str());
    let host = event["source"]["host"].as_str().filter(|host| !host.is_empty()).map(|host| format!(" {host}")).unwrap_or_default();
    Note {
        time: last.max(begun),
        first: begun,
        reason: text(&event["reason"]),
        source: format!("{}{host}", component.unwrap_or_default()),
        count: event["series"]["count"].as_i64().or(event["count"].as_i64()).filter(|count| *count > 0).unwrap_or(1),
        message: text(&event["message"]),
        kind: text(&event["type"]),
        revision,
        dated,
        about: Subject {
            kind: text(&object["kind"]),
            namespace: text(&object["namespace"]),
            name: text(&object["name"]),
            uid: text(&object["uid"]),
        },
    }
}
