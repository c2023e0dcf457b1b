//! One change: an object before and after a revision.

use std::sync::Arc;

use bytes::Bytes;
use json_patch::jsonptr::PointerBuf;
use json_patch::{Patch, PatchOperation, ReplaceOperation};
use serde_json::Value;

use super::diff::{self, ManagedFields};
use ketcd_kube::{Body, Object, Opaque};
use ketcd_store::{Origin, Revision, Sources};

/// What a change did to its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The key was created.
    Added,
    /// The key was written again.
    Modified,
    /// The key was deleted.
    Deleted,
}

impl ChangeKind {
    /// The word of Kubernetes' watch API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// An object on one side of a change. Copies share the object, which is never cloned on its way from the decoder to the reader.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectVersion {
    /// There was none: the key did not exist.
    Absent,
    /// There was one, but it cannot be read any more: a gap.
    Unreadable,
    /// This one.
    Object(Arc<Object>),
    /// Bytes that could not be decoded.
    Opaque(Opaque),
}

impl ObjectVersion {
    /// Returns the object's JSON, if there is an object.
    pub fn object(&self) -> Option<&Value> {
        self.whole().map(|object| &***object)
    }

    /// Returns the object, if there is one.
    pub fn whole(&self) -> Option<&Arc<Object>> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }
}

impl From<Body> for ObjectVersion {
    fn from(body: Body) -> Self {
        match body {
            Body::Object(object) => Self::Object(Arc::new(object)),
            Body::Opaque(opaque) => Self::Opaque(opaque),
        }
    }
}

impl From<Object> for ObjectVersion {
    fn from(object: Object) -> Self {
        Self::Object(Arc::new(object))
    }
}

/// A change of one key.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The transaction's revision.
    pub revision: Revision,
    /// The place among the changes of the revision, from 0.
    pub sub_revision: i64,
    /// Created, written or deleted.
    pub kind: ChangeKind,
    /// etcd's key.
    pub key: Bytes,
    /// Where it was read.
    pub origin: Origin,
    /// Which of several sources it was read from.
    pub sources: Sources,
    /// The version just before: [`ObjectVersion::Absent`] for a creation, [`ObjectVersion::Unreadable`] after a gap.
    pub before: ObjectVersion,
    /// The version of this revision; [`ObjectVersion::Absent`] for a deletion.
    pub after: ObjectVersion,
    /// Whether a change that is [`ChangeKind::Modified`] may have created the key: nothing shows whether there was a version before.
    pub may_be_creation: bool,
    /// For a deleted pod, the version before `before`, if it can be read. The two together show who ended the grace period.
    pub earlier: Option<Arc<Object>>,
}

impl Change {
    /// Returns the JSON of the object after the change or, where it was deleted, before it.
    pub fn object(&self) -> Option<&Value> {
        self.whole().map(|object| &***object)
    }

    /// Returns the object after the change or, where it was deleted, before it.
    pub fn whole(&self) -> Option<&Arc<Object>> {
        self.after.whole().or(self.before.whole())
    }

    /// Returns the patch (RFC 6902) from the version before to this one; null stands for a missing object. `None` for a creation and after a gap.
    pub fn patch(&self, managed_fields: ManagedFields) -> Option<Patch> {
        let before = self.before.whole()?;
        match &self.after {
            ObjectVersion::Object(after) => Some(diff::object_patch(before, after, managed_fields)),
            ObjectVersion::Absent => {
                let gone = ReplaceOperation { path: PointerBuf::root(), value: Value::Null };
                Some(Patch(vec![PatchOperation::Replace(gone)]))
            }
            ObjectVersion::Unreadable | ObjectVersion::Opaque(_) => None,
        }
    }
}
