//! What a change of etcd shows of the request that made it.

use jiff::Timestamp;

/// What a change did to its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Did {
    /// The key was created.
    Create,
    /// The key was written again.
    Write,
    /// The key was deleted.
    Delete,
}

/// An entry of managedFields that a change added, or gave a new time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The field manager.
    pub manager: Box<str>,
    /// The subresource that was written; empty for the object itself.
    pub subresource: Box<str>,
    /// When, to the second.
    pub time: Timestamp,
}

/// A change, as far as it shows which request made it. Changes are given in the order of etcd.
#[derive(Clone, Debug)]
pub struct ChangeFacts {
    /// The revision, and the place among its changes.
    pub revision: i64,
    /// The place among the changes of the revision, from 0.
    pub sub_revision: i64,
    /// The API group of the key; empty for the core group.
    pub group: Box<str>,
    /// The resource of the key.
    pub resource: Box<str>,
    /// The namespace of the key; empty if there is none.
    pub namespace: Box<str>,
    /// The name of the key.
    pub name: Box<str>,
    /// What it did.
    pub did: Did,
    /// The revision of the version before it, where that is known.
    pub previous: Option<i64>,
    /// Between which times it was made, as far as the data shows.
    pub earliest: Option<Timestamp>,
    /// See `earliest`.
    pub latest: Option<Timestamp>,
    /// The object's identifier.
    pub uid: Option<Box<str>>,
    /// Whether the same bytes were written again: API servers leave such a write out (k8s.io/apiserver `pkg/storage/etcd3/store.go`, `GuaranteedUpdate`).
    pub is_same: bool,
    /// Whether the value is of another object than the key.
    pub is_misplaced: bool,
    /// Whether etcd removed it when its lease ran out.
    pub is_expired: bool,
    /// Whether the deletion was asked for: `deletionTimestamp` or its grace changed.
    pub marks_deletion: bool,
    /// Whether the object was being deleted already before the change.
    pub was_marked: bool,
    /// Whether the grace of the deletion is over: the same request removes the object next.
    pub ends_grace: bool,
    /// Whether the object had finalizers before: who removes the last one of a marked object deletes it.
    pub had_finalizers: bool,
    /// Whether it puts a pod on its node.
    pub binds: bool,
    /// Whether the API server made the name (`generateName`).
    pub has_generated_name: bool,
    /// Whether the object records its managers.
    pub has_managers: bool,
    /// The entries of managedFields that are new.
    pub stamps: Vec<Stamp>,
}
