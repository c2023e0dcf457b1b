//! What objects record about their writers: managedFields, the holders of leases, the components that report Events.

use serde_json::Value;

use super::identity::Actor;

/// The writer that a Lease or an Event names itself.
pub(super) fn named_by_itself(object: &Value) -> Option<Actor> {
    match object["kind"].as_str()? {
        "Event" => {
            let component =
                object["source"]["component"].as_str().filter(|name| !name.is_empty()).or(object["reportingComponent"].as_str())?;
            (!component.is_empty())
                .then(|| Actor::recorded(component).on(object["source"]["host"].as_str().filter(|host| !host.is_empty())))
        }
        "Lease" if object["metadata"]["namespace"] == "kube-node-lease" => {
            Some(Actor::recorded("kubelet").on(object["metadata"]["name"].as_str()))
        }
        "Lease" if object["metadata"]["managedFields"].is_null() => Some(Actor::recorded(object["spec"]["holderIdentity"].as_str()?)),
        _ => None,
    }
}

/// The entry of managedFields that is new or has a new time, of several the newest; else, two writes in one second, the one that
/// holds more than before. An entry that only lost fields is not its manager's doing: another took them over.
pub(super) fn recorded(before: Option<&Value>, after: &Value) -> Option<Actor> {
    let old = before.map(entries).unwrap_or_default();
    let grown = || written(after).find(|entry| known(old, entry).is_some_and(|known| holds_more(&known["fieldsV1"], &entry["fieldsV1"])));
    stamped(old, after).or_else(grown)?["manager"].as_str().map(Actor::recorded)
}

/// The manager whose entry is new or has a new time: it wrote `after` over `before`, whatever else shows.
pub(crate) fn stamp<'v>(before: &Value, after: &'v Value) -> Option<&'v str> {
    stamped(entries(before), after)?["manager"].as_str()
}

/// The entries of managedFields.
pub(super) fn entries(object: &Value) -> &[Value] {
    object["metadata"]["managedFields"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn written(object: &Value) -> impl Iterator<Item = &Value> {
    entries(object).iter().filter(|entry| entry["manager"] != "before-first-apply")
}

/// The entry of the same manager among `old` ones.
fn known<'v>(old: &'v [Value], entry: &Value) -> Option<&'v Value> {
    let is_same = |other: &&Value| ["manager", "operation", "subresource", "apiVersion"].iter().all(|field| other[field] == entry[field]);
    old.iter().find(is_same)
}

/// The newest of the entries that are new or have a new time.
pub(super) fn stamped<'v>(old: &[Value], after: &'v Value) -> Option<&'v Value> {
    let stamped = written(after).filter(|entry| known(old, entry).is_none_or(|known| known["time"] != entry["time"]));
    // A creation's own manager comes first; of an update's entries the newest is the one that wrote.
    stamped.reduce(|best, entry| if entry["time"].as_str() > best["time"].as_str() { entry } else { best })
}

/// Whether a set of fields holds any that the other does not.
fn holds_more(old: &Value, new: &Value) -> bool {
    match (old.as_object(), new.as_object()) {
        (Some(old), Some(new)) => new.iter().any(|(field, below)| old.get(field).is_none_or(|known| holds_more(known, below))),
        _ => old != new,
    }
}

/// Taking back what one has set leaves no new time: the entry is gone, or holds fewer fields.
pub(super) fn vanished(before: &Value, after: &Value) -> Option<Actor> {
    let kept = entries(after);
    let gone: Vec<&Value> = entries(before).iter().filter(|entry| !kept.contains(entry)).collect();
    match gone.as_slice() {
        [only] => only["manager"].as_str().map(Actor::inferred),
        _ => None,
    }
}
