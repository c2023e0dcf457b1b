//! Which requests can have made a change, by what they asked for and what it shows.

use crate::change::{ChangeFacts, Did, Stamp};
use crate::request::{Request, Verb};

/// An answer to a creation.
const STATUS_CREATED: u16 = 201;

/// Whether a request can have made a change, by verb, names, identifiers and the revision it was based on.
pub(super) fn fits(change: &ChangeFacts, request: &Request) -> bool {
    if change.is_same || change.is_misplaced || change.is_expired || differs(change.uid.as_deref(), request.uid.as_deref()) {
        return false;
    }
    if request.based_on.is_some() && (change.did == Did::Create || differs(change.previous, request.based_on)) {
        return false;
    }
    if request.deleted.as_ref().is_some_and(|names| !names.contains(&change.name)) {
        return false;
    }
    match change.did {
        Did::Create => creates(change, request),
        Did::Write => writes(change, request),
        Did::Delete => deletes(change, request),
    }
}

/// Whether both are known and not the same.
fn differs<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
    matches!((one, other), (Some(one), Some(other)) if one != other)
}

fn creates(change: &ChangeFacts, request: &Request) -> bool {
    let is_new = request.code == STATUS_CREATED || request.code == 0;
    match request.verb {
        Verb::Create => is_new && request.target.subresource.is_empty() && (!request.target.name.is_empty() || change.has_generated_name),
        // An update or an apply of what is not there creates it, where the resource allows that.
        Verb::Patch | Verb::Update => is_new && request.target.subresource.is_empty(),
        _ => false,
    }
}

fn writes(change: &ChangeFacts, request: &Request) -> bool {
    let subresource = &*request.target.subresource;
    match request.verb {
        Verb::Create if subresource == "binding" => change.binds,
        // It marks the pod, and says in its status that it will be disrupted.
        Verb::Create => subresource == "eviction" && !change.binds,
        Verb::Delete | Verb::DeleteCollection => change.marks_deletion,
        Verb::Update | Verb::Patch => !change.binds && request.code != STATUS_CREATED && (!change.marks_deletion || change.was_marked),
        _ => false,
    }
}

fn deletes(change: &ChangeFacts, request: &Request) -> bool {
    match request.verb {
        Verb::Delete | Verb::DeleteCollection => true,
        Verb::Create => &*request.target.subresource == "eviction",
        Verb::Update | Verb::Patch => change.was_marked && change.had_finalizers,
        _ => false,
    }
}

/// Whether managedFields allow that a request made a change: a writer leaves its entry, of its subresource, with the second of its write. An entry may
/// stay as it was, if the same manager wrote in the same second or took fields back: then nothing is said.
pub(super) fn is_stamped_by(change: &ChangeFacts, request: &Request, slack: i64) -> bool {
    let leaves_entry = match request.verb {
        Verb::Update | Verb::Patch => true,
        Verb::Create => request.target.subresource.is_empty(),
        _ => false,
    };
    // What is scaled gets the entry of whom the fields belonged to (k8s.io/apimachinery pkg/util/managedfields, `ScaleHandler`).
    if !leaves_entry || change.did == Did::Delete || change.stamps.is_empty() || &*request.target.subresource == "scale" {
        return true;
    }
    const MICROS_PER_SECOND: i64 = 1_000_000;
    let (from, to) = request.interval();
    let is_of = |stamp: &Stamp| {
        let at = stamp.time.as_microsecond();
        request.manager.as_ref().is_none_or(|manager| *stamp.manager == **manager)
            && *stamp.subresource == *request.target.subresource
            && at >= (from - slack).div_euclid(MICROS_PER_SECOND) * MICROS_PER_SECOND
            && at <= to + slack
    };
    change.stamps.iter().any(is_of)
}
