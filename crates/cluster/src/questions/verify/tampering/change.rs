//! A change as the rules look at it: what was written where, and what was there before.

use std::sync::Arc;

use bytes::Bytes;

use ketcd_kube::{Kind, ObjectPath, RegistryKey};
use ketcd_store::{EventKind, KeyValue, Revision, Source};

use super::stored::{Metadata, Stored};

/// A version that another change may follow.
#[derive(Clone, Debug)]
pub(super) struct Before {
    /// The version; its value is empty where the source gives it again.
    pub version: KeyValue,
    pub stored: Stored,
    /// Whether nothing between it and the next change of the key was missed.
    pub is_exact: bool,
}

/// One change of a key.
pub(super) struct Change<'c> {
    /// The version that was written; of a deletion nothing but key and revision.
    pub version: &'c KeyValue,
    pub kind: EventKind,
    /// What the key stands for.
    pub place: RegistryKey<'c>,
    /// What was written; `None` for a deletion.
    pub stored: Option<&'c Stored>,
    /// The newest version of the key before, if the key was there.
    pub before: Option<&'c Before>,
    pub source: &'c dyn Source,
}

impl<'c> Change<'c> {
    /// The revision.
    pub(super) fn revision(&self) -> Revision {
        self.version.mod_revision
    }

    /// The key.
    pub(super) fn key(&self) -> &Bytes {
        &self.version.key
    }

    /// What was written and its metadata, where it is an object.
    pub(super) fn object(&self) -> Option<&'c Metadata> {
        self.stored?.object.as_ref()
    }

    /// The object that the key stands for.
    pub(super) fn path(&self) -> Option<ObjectPath<'c>> {
        self.place.object()
    }

    /// The kind that the key stands for, where it is known.
    pub(super) fn resource(&self) -> Option<&'c Arc<Kind>> {
        match self.path()?.resource {
            ketcd_kube::KeyResource::Known(kind) => Some(kind),
            ketcd_kube::KeyResource::Unlisted { .. } => None,
        }
    }

    /// Kubernetes' own kind that the key stands for: one that kube-apiserver itself stores, and not by a definition.
    pub(super) fn own_kind(&self) -> Option<&'c Arc<Kind>> {
        self.resource().filter(|kind| !kind.is_custom() && !kind.group.ends_with("openshift.io"))
    }

    /// The version before of the same creation, whatever lies between.
    pub(super) fn earlier(&self) -> Option<&'c Before> {
        let is_same = |before: &&Before| {
            self.kind == EventKind::Put
                && self.version.create_revision > Revision(0)
                && before.version.create_revision == self.version.create_revision
        };
        self.before.filter(is_same)
    }

    /// The version that this one replaced.
    pub(super) fn predecessor(&self) -> Option<&'c Before> {
        self.earlier().filter(|before| before.is_exact && self.version.follows(&before.version))
    }

    /// Whether the object is seen for the first time since it was created.
    pub(super) fn is_new(&self) -> bool {
        self.kind == EventKind::Put && self.version.create_revision > Revision(0) && self.earlier().is_none()
    }

    /// The bytes of the version that this one replaced.
    pub(super) fn value_before(&self) -> Option<Bytes> {
        let before = self.predecessor()?;
        if before.version.value.len() == before.stored.length {
            return Some(before.version.value.clone());
        }
        let found = self.source.read_before(self.version)?;
        (found.mod_revision == before.version.mod_revision).then_some(found.value)
    }
}
