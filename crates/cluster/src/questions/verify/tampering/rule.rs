//! What a rule is.

use ketcd_history::clock::Clock;
use ketcd_kube::Release;
use ketcd_store::Revision;

use super::change::Change;
use super::evidence::Found;
use super::stored::Reader;

/// What all rules may ask.
pub(super) struct TamperingFacts<'c> {
    pub reader: &'c Reader,
    pub clock: &'c Clock,
    /// The API server's release.
    pub release: Release,
    /// The revision looked at.
    pub newest: Revision,
    /// Whether some of the source cannot be read, so that damage may look like a write.
    pub is_damaged: bool,
}

/// One rule. It sees every change in order, then the end.
pub(super) trait Rule: Send {
    /// Looks at a change.
    fn see(&mut self, change: &Change<'_>, facts: &TamperingFacts<'_>, found: &mut Found);

    /// Whether it looks at values whose history cannot be read too.
    fn needs_no_history(&self) -> bool {
        false
    }

    /// Forgets what may have changed where some of the history is missing.
    fn forget(&mut self) {}

    /// Says what only the whole history shows.
    fn finish(&mut self, _facts: &TamperingFacts<'_>, _found: &mut Found) {}
}
