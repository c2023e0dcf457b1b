//! Objects that were deleted with finalizers and without ever having been marked.
//!
//! Source: an object with finalizers is marked by `deletionTimestamp` first (apiserver v0.37, `pkg/registry/rest/delete.go`, `BeforeDelete`;
//! `pkg/registry/generic/registry/store.go`, `updateForGracefulDeletionAndFinalizers`). The update that empties the finalizers is not stored, so that the
//! last version of every such object still has them (`errEmptiedFinalizers`, `deleteWithoutFinalizers`); the same of namespaces, which are always marked
//! (kubernetes v1.37, `pkg/registry/core/namespace/storage/storage.go`). Hence only those that were never marked count. Exempt are:
//!
//! - objects that cannot be read, which may be deleted unsafely (`pkg/registry/generic/registry/corrupt_obj_deleter.go`);
//! - keys with a lease, whose end deletes them (etcd v3.7, `server/lease/lessor.go`);
//! - deletions before which something may have been missed.

use ketcd_store::EventKind;

use super::super::finding::Weight;
use super::change::Change;
use super::evidence::{Evidence, Found};
use super::rule::{Rule, TamperingFacts};

/// Looks at deletions.
pub(super) struct Deletion;

impl Rule for Deletion {
    fn see(&mut self, change: &Change<'_>, _: &TamperingFacts<'_>, found: &mut Found) {
        if change.kind != EventKind::Delete || change.path().is_none() {
            return;
        }
        let Some(before) = change.before.filter(|before| before.is_exact && before.version.lease == 0) else { return };
        let Some(object) = before.stored.object.as_ref().filter(|object| !object.is_marked) else { return };
        let is_namespace = change.own_kind().is_some_and(|kind| kind.kind == "Namespace");
        let fact = match (&*object.finalizers, is_namespace) {
            ("", false) => return,
            ("", true) => {
                format!("revision {} has no deletionTimestamp, which a namespace has before it goes", before.version.mod_revision)
            }
            (finalizers, _) => {
                format!("revision {} has no deletionTimestamp, and the finalizers {finalizers}", before.version.mod_revision)
            }
        };
        let says = "the object was deleted past its finalizers, without having been marked for deletion";
        found.add(Evidence::new(change.revision(), change.key(), Weight::High, says).because(fact));
    }
}
