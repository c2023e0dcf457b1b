//! Values that cannot be decoded, where what they replaced could.
//!
//! API servers encode before they write, and etcd stores a value whole. Exempt are values that were never readable (a lost key, a kind that is gone: the
//! check of the contents reports them), sealed ones, which another key of the same name may have sealed, the empty record that
//! `etcdutl snapshot restore --bump-revision` leaves (etcd v3.7, `etcdutl/snapshot/v3_snapshot.go`), and sources of which a part is damaged: there the
//! disk is the likelier cause.

use super::super::finding::Weight;
use super::change::Change;
use super::evidence::{Evidence, Found};
use super::rule::{Rule, TamperingFacts};

/// Looks at what cannot be read.
pub(super) struct UnreadableRule;

impl Rule for UnreadableRule {
    fn see(&mut self, change: &Change<'_>, facts: &TamperingFacts<'_>, found: &mut Found) {
        let Some(stored) = change.stored.filter(|stored| !stored.is_sealed() && !facts.is_damaged) else { return };
        let (Some(reason), Some(_)) = (&stored.unreadable, change.own_kind()) else { return };
        let Some(before) = change.earlier().filter(|before| before.stored.object.is_some()) else { return };
        let says = "the stored value cannot be decoded, and the one before could";
        let fact = format!("{reason}; revision {} can be decoded", before.version.mod_revision);
        found.add(Evidence::new(change.revision(), change.key(), Weight::High, says).because(fact));
    }
}
