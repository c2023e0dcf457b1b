//! Changes that no request of the audit logs made.
//!
//! `ketcd_audit` says so only where the logs hold the requests of such changes before and after it, so that neither policy nor a lost batch can have left
//! it out. What API servers write by themselves (compactions, `masterleases`, `ranges`) and what expires with a lease has no request, and is not looked for.

use std::collections::HashMap;

use ketcd_audit::{Authors, Unexplained};
use ketcd_store::Revision;

use super::super::finding::Weight;
use super::change::Change;
use super::evidence::{Evidence, Found};
use super::rule::{Rule, TamperingFacts};

/// Looks for changes that no request explains.
#[derive(Debug, Default)]
pub(super) struct Requests(HashMap<Revision, Unexplained>);

impl Requests {
    /// Looks for those that audit logs leave unexplained.
    pub(super) fn of(authors: &Authors) -> Self {
        let bypasses = authors.unexplained_changes().into_iter().filter(|(.., why)| why.is_bypass());
        Self(bypasses.map(|(revision, _, why)| (Revision(revision), why)).collect())
    }
}

impl Rule for Requests {
    fn see(&mut self, change: &Change<'_>, _: &TamperingFacts<'_>, found: &mut Found) {
        let Some(why) = self.0.get(&change.revision()).filter(|_| change.path().is_some()) else { return };
        let fact = match why {
            Unexplained::SameBytes => "the same bytes were written again",
            Unexplained::Misplaced => "the value is of another object than the key",
            _ => "the logs hold the requests that make such changes, before and after it",
        };
        let says = "no request in the audit logs made the change";
        found.add(Evidence::new(change.revision(), change.key(), Weight::Medium, says).because(fact));
    }
}
