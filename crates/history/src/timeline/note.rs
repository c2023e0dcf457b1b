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
        sorted(self.0.values().filter(|note| note.names(subject) && note.is_of(subject, uids)).cloned().collect())
    }

    /// The same by the objects' names, for many objects.
    pub(super) fn by_object(&self) -> NotesByObject<'_> {
        let mut notes: HashMap<_, Vec<&Note>> = HashMap::new();
        for note in self.0.values() {
            notes.entry(name_of(&note.about)).or_default().push(note);
        }
        NotesByObject(notes)
    }

    /// Those of a reason, in order of their last revisions.
    pub(super) fn of_reason(&self, reason: &str) -> Vec<Note> {
        sorted(self.0.values().filter(|note| note.reason == reason).cloned().collect())
    }

    /// All of them, in order of their last revisions.
    pub fn all(&self) -> Vec<Note> {
        sorted(self.0.values().cloned().collect())
    }
}

/// Events by kind, namespace and name of what they are about.
pub(super) struct NotesByObject<'n>(HashMap<[&'n str; 3], Vec<&'n Note>>);

impl NotesByObject<'_> {
    /// As [`Notes::about`].
    pub(super) fn about(&self, subject: &Subject, uids: &[String]) -> Vec<Note> {
        let named = self.0.get(&name_of(subject)).into_iter().flatten();
        sorted(named.filter(|note| note.is_of(subject, uids)).map(|note| Note::clone(note)).collect())
    }
}

fn name_of(subject: &Subject) -> [&str; 3] {
    [&subject.kind, &subject.namespace, &subject.name]
}

impl Note {
    /// Whether an Event that names an object is about it, or about another one that had its name.
    fn is_of(&self, subject: &Subject, uids: &[String]) -> bool {
        // Nodes are named by their own kubelets with their name in place of the uid.
        self.about.uid.is_empty() || self.about.uid == subject.name || uids.contains(&self.about.uid)
    }

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
