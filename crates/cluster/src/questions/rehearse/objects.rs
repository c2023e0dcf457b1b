//! The objects of the two states: those of a kind that differ, decoded, and what forecasts say of them.

use std::collections::BTreeSet;

use futures_util::TryStreamExt;
use serde_json::Value;

use ketcd_kube::{Object, Release};
use ketcd_store::{At, KeyRange, Revision, Want};

use super::forecast::Affected;
use super::states::{Differing, RehearsedState, States};
use crate::cluster::built_in;
use crate::error::Result;
use crate::kinds::KeySubject;
use crate::numbers::grouped;

/// An object that differs in the two states.
pub(super) struct Pair {
    /// In the backup; `None` where it is not there.
    pub before: Option<Object>,
    /// In the newest state; `None` where it is gone.
    pub after: Option<Object>,
    /// The revision of the newest state that wrote it last.
    pub revision: Option<Revision>,
}

impl Pair {
    /// Whether both states have the object, and not one that was made again under its name.
    pub(super) fn is_same(&self) -> bool {
        matches!((&self.before, &self.after), (Some(before), Some(after)) if uid(before) == uid(after))
    }

    /// The object in the newest state, else in the backup.
    fn object(&self) -> Option<&Object> {
        self.after.as_ref().or(self.before.as_ref())
    }

    pub(super) fn affected(&self, says: impl Into<String>) -> Affected {
        let affected = self.object().map_or_else(Affected::default, |object| affected(object, says));
        Affected { revision: self.revision, ..affected }
    }

    /// What a forecast says of the object of the backup, with its uid, where another one may have its name now.
    pub(super) fn affected_then(&self, says: impl Into<String>) -> Affected {
        let affected = self.before.as_ref().map_or_else(Affected::default, |object| affected(object, says));
        Affected { revision: self.revision, ..affected }
    }
}

/// The objects below a path such as `/pods/` that differ, each decoded when it is asked for; none without a newest state. What cannot be decoded is left
/// out, and noted.
pub(super) fn pairs<'s>(states: &'s States<'_>, path: &'s str) -> impl Iterator<Item = Pair> + 's {
    let of_newest = states.newest.iter().flat_map(move |newest| states.differing_below(path).map(move |differing| (newest, differing)));
    let (mut all, mut unreadable) = (of_newest.fuse(), 0);
    std::iter::from_fn(move || {
        for (newest, differing) in all.by_ref() {
            let before = differing.before.as_ref().map(|entry| states.backup.object(entry));
            let after = differing.after.as_ref().map(|entry| newest.object(entry));
            if matches!(before, Some(None)) || matches!(after, Some(None)) {
                unreadable += 1;
                continue;
            }
            let revision = differing.after.as_ref().map(|entry| entry.mod_revision);
            return Some(Pair { before: before.flatten(), after: after.flatten(), revision });
        }
        if unreadable > 0 {
            states.note(format!("what becomes of {} below {path}, which cannot be decoded", counted(unreadable, "value", "values")));
            unreadable = 0;
        }
        None
    })
}

/// The keys below a path such as `/minions/`, without it.
pub(super) async fn names(state: &RehearsedState<'_>, path: &str) -> Result<BTreeSet<String>> {
    let below = state.key(path);
    let keys = KeyRange::prefix(below.as_str());
    let mut entries = state.cluster.source.range(keys, At::Revision(state.revision), Want::Keys).await?.entries;
    let mut names = BTreeSet::new();
    while let Some(entry) = entries.try_next().await? {
        names.insert(String::from_utf8_lossy(&entry.key[below.len()..]).into_owned());
    }
    Ok(names)
}

/// What a forecast says of an object of one state.
pub(super) fn affected(object: &Value, says: impl Into<String>) -> Affected {
    let subject = KeySubject {
        kind: text(object, "/kind").to_owned(),
        namespace: text(object, "/metadata/namespace").to_owned(),
        name: name(object).to_owned(),
    };
    Affected { subject, uid: uid(object).to_owned(), says: says.into(), ..Affected::default() }
}

/// The text at a place, empty where none is.
pub(super) fn text<'o>(object: &'o Value, pointer: &str) -> &'o str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The items at a place, none where there are none.
pub(super) fn items<'o>(object: &'o Value, pointer: &str) -> impl Iterator<Item = &'o Value> {
    object.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

pub(super) fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

pub(super) fn full_name(object: &Value) -> (String, String) {
    (text(object, "/metadata/namespace").to_owned(), name(object).to_owned())
}

pub(super) fn uid(object: &Value) -> &str {
    text(object, "/metadata/uid")
}

pub(super) fn controller(object: &Value) -> Option<&Value> {
    items(object, "/metadata/ownerReferences").find(|owner| owner["controller"] == true)
}

/// Whether an object is marked for deletion.
pub(super) fn is_deleted(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// Whether the backup has the controller of an object of the newest state; `None` where its kind is not built in.
pub(super) fn backup_has_controller(states: &States<'_>, object: &Value) -> Option<bool> {
    let owner = controller(object)?;
    let kind = built_in().of_object(text(owner, "/apiVersion"), text(owner, "/kind"))?;
    let path = kind.key("", Some(text(object, "/metadata/namespace")), text(owner, "/name"));
    let Some(differing) = differing_at(states, path.as_bytes()) else { return Some(true) };
    let before = differing.before.as_ref().and_then(|entry| states.backup.object(entry));
    Some(before.is_some_and(|before| uid(&before) == text(owner, "/uid")))
}

/// What differs at a key below the prefix; `None` where nothing does.
pub(super) fn differing_at<'s>(states: &'s States<'_>, path: &[u8]) -> Option<&'s Differing> {
    let place = states.differing.binary_search_by(|differing| (*differing.path).cmp(path)).ok()?;
    Some(&states.differing[place])
}

/// The release of the API server that will run on the restored data.
pub(super) fn release(states: &States<'_>) -> Release {
    states.asked.target.unwrap_or_else(|| states.newest.as_ref().unwrap_or(&states.backup).cluster.release())
}

/// A number with what it counts: `1 pod`, `1,118 pods`.
pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}
