//! Whether a key that differs is a loss, whose, and whether it is made again.

use std::collections::HashMap;

use bytes::Bytes;

use ketcd_history::diff::{Detail, Field, FieldChange, object_fields};
use ketcd_history::{Change, ChangeKind, ObjectVersion, actor, noise};
use ketcd_kube::{Kinds, RegistryKey};
use ketcd_restore::exclusions::Surroundings;
use ketcd_store::{KeyValue, Origin, Revision, Sources};
use serde_json::Value;

use super::super::forecast::{Affected, ForecastKind};
use super::super::objects::differing_at;
use super::super::states::{Differing, RehearsedState, States};
use super::remade::{Lost, remade};
use crate::kinds::KeySubject;
use crate::writers::Writer;

/// Keys of which other chapters tell, or which only say that somebody is alive.
const PASSED_OVER: [&str; 7] = [
    "/events/",
    "/leases/",
    "/masterleases/",
    "/peerserverleases/",
    "/ranges/",
    "/openshift.io/oauth/accesstokens/",
    "/openshift.io/oauth/authorizetokens/",
];

const MAX_FIELDS_NAMED: usize = 3;

/// What is looked at besides the key itself.
pub(super) struct Judging<'s> {
    /// Both states.
    pub states: &'s States<'s>,
    /// The backup.
    pub old: &'s RehearsedState<'s>,
    /// The newest state.
    pub new: &'s RehearsedState<'s>,
    /// The kinds of the backup.
    pub old_kinds: &'s Kinds,
    /// The kinds of the newest state.
    pub new_kinds: &'s Kinds,
    /// What Services say of their addresses.
    pub around: Surroundings,
    /// Who wrote keys since the backup, by audit logs.
    pub users: HashMap<Bytes, Writer>,
}

pub(super) struct Judged {
    /// Whether the object is lost, goes back or comes back.
    pub kind: ForecastKind,
    /// Whether controllers make it again, or as they want it.
    pub is_remade: bool,
    /// Who wrote what is lost.
    pub writer: Writer,
    /// The object.
    pub affected: Affected,
}

impl Judging<'_> {
    /// What is to be said of a key; `None` where the restore changes nothing that counts.
    pub(super) fn judged(&self, differing: &Differing) -> Option<Judged> {
        if PASSED_OVER.iter().any(|path| differing.path.starts_with(path.as_bytes())) {
            return None;
        }
        let before = version(self.old, differing.before.as_ref());
        let after = version(self.new, differing.after.as_ref());
        let subject = match (&differing.after, &differing.before) {
            (Some(entry), _) => subject(self.new, self.new_kinds, &entry.key)?,
            (None, Some(entry)) => subject(self.old, self.old_kinds, &entry.key)?,
            (None, None) => return None,
        };
        let change = Change {
            revision: differing.after.as_ref().map_or(Revision(0), |entry| entry.mod_revision),
            sub_revision: 0,
            kind: kind_of(differing),
            key: differing.path.clone(),
            origin: Origin::Db,
            sources: Sources::default(),
            before,
            after,
            may_be_creation: false,
            earlier: None,
        };
        let (kind, is_remade, says) = match change.kind {
            ChangeKind::Added => self.lost(change.after.object()),
            ChangeKind::Deleted => self.returned(change.before.object()),
            ChangeKind::Modified => self.changed(&change)?,
        };
        let writer = self.writer(&change);
        let is_again = is_remade || kind == ForecastKind::LostChanges && writer.kind.writes_again();
        Some(Judged { kind, is_remade: is_again, affected: affected(differing, subject, &change, says, &writer), writer })
    }

    /// What becomes of an object that was made since.
    fn lost(&self, object: Option<&Value>) -> (ForecastKind, bool, String) {
        let again = object.and_then(|object| remade(object, self, Lost::Object));
        (ForecastKind::LostObjects, again.is_some(), again.unwrap_or_else(|| "is gone".to_owned()))
    }

    /// What becomes of an object that was deleted since.
    fn returned(&self, object: Option<&Value>) -> (ForecastKind, bool, String) {
        let again = object.and_then(|object| remade(object, self, Lost::Deletion));
        (ForecastKind::Returns, again.is_some(), again.unwrap_or_else(|| "comes back".to_owned()))
    }

    /// What becomes of an object that was written since; `None` where only heartbeats and bookkeeping differ (`compare::Difference::weight`), or the form
    /// in which it is stored.
    fn changed(&self, change: &Change) -> Option<(ForecastKind, bool, String)> {
        let kind = ForecastKind::LostChanges;
        let (Some(before), Some(after)) = (change.before.whole(), change.after.whole()) else {
            return Some((kind, false, "goes back; it cannot be decoded in both states".to_owned()));
        };
        if before["metadata"]["uid"] != after["metadata"]["uid"] {
            let again = remade(after, self, Lost::Change);
            return Some((kind, again.is_some(), again.unwrap_or_else(|| "was made anew since: the one before it comes back".to_owned())));
        }
        let (mut fields, _) = noise::fold(object_fields(before, after, Detail::Story));
        fields.retain(|field| !is_stored_form(field));
        if fields.is_empty() {
            return None;
        }
        let is_status = fields.iter().all(|field| field.path.starts_with(&["status"]));
        Some((kind, is_status || remade(after, self, Lost::Change).is_some(), named(&fields)))
    }

    /// Who wrote what is lost: the user that a log names, else the managers that are new, else who must have.
    fn writer(&self, change: &Change) -> Writer {
        if let Some(writer) = self.users.get(&change.key) {
            return writer.clone();
        }
        let recorded = change.after.object().and_then(|after| Writer::since(change.before.object(), after));
        recorded.or_else(|| actor(change).map(|actor| Writer::of_manager(&actor.name))).unwrap_or_else(Writer::unknown)
    }
}

impl super::remade::Around for Judging<'_> {
    fn surroundings(&self) -> &Surroundings {
        &self.around
    }

    fn is_lost(&self, api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> bool {
        let Some(kind) = self.new_kinds.of_object(api_version, kind) else { return false };
        let Some(path) = self.new.path(&Bytes::from(kind.key(self.new.prefix, namespace, name))) else { return false };
        differing_at(self.states, &path).is_some_and(|differing| differing.before.is_none())
    }
}

/// What a restore does to a key, the other way round.
fn kind_of(differing: &Differing) -> ChangeKind {
    match (&differing.before, &differing.after) {
        (None, _) => ChangeKind::Added,
        (_, None) => ChangeKind::Deleted,
        _ => ChangeKind::Modified,
    }
}

fn version(state: &RehearsedState<'_>, entry: Option<&KeyValue>) -> ObjectVersion {
    let decode = |entry: &KeyValue| state.cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body.into();
    entry.map_or(ObjectVersion::Absent, decode)
}

/// The object that a key is of; `None` where it is of none.
fn subject(state: &RehearsedState<'_>, kinds: &Kinds, key: &[u8]) -> Option<KeySubject> {
    RegistryKey::parse(state.prefix, key, kinds).object().map(KeySubject::of)
}

/// Whether a field says how an object is stored, not what it is: the version, as API servers return the one that is asked for, and an empty value that one
/// release writes and another leaves out (the creation time of pod templates, up to 1.33).
fn is_stored_form(field: &FieldChange<'_>) -> bool {
    let is_empty = |value: Option<&Value>| value.is_none_or(Value::is_null);
    let is_null = field.field != Field::Reordered && is_empty(field.field.before()) && is_empty(field.field.after());
    is_null || field.path.starts_with(&["apiVersion"])
}

/// The fields that go back.
fn named(fields: &[FieldChange<'_>]) -> String {
    let names: Vec<String> = fields.iter().take(MAX_FIELDS_NAMED).map(|field| field.path.to_string()).collect();
    let (names, verb) = (names.join(", "), if fields.len() == 1 { "goes" } else { "go" });
    match fields.len().saturating_sub(MAX_FIELDS_NAMED) {
        0 => format!("{names} {verb} back"),
        1 => format!("{names} and 1 more field {verb} back"),
        more => format!("{names} and {more} more fields {verb} back"),
    }
}

fn affected(differing: &Differing, subject: KeySubject, change: &Change, says: String, writer: &Writer) -> Affected {
    let text = |field: &Value| field.as_str().unwrap_or_default().to_owned();
    let object = change.object();
    Affected {
        subject,
        uid: object.map(|object| text(&object["metadata"]["uid"])).unwrap_or_default(),
        node: object.filter(|object| object["kind"] == "Pod").map(|pod| text(&pod["spec"]["nodeName"])).unwrap_or_default(),
        says,
        by: writer.name.clone(),
        revision: differing.after.as_ref().map(|entry| entry.mod_revision),
    }
}
