//! Who brought a value: the change, dated, and with its author.

use ketcd_audit::Authorship;
use ketcd_history::clock::Dated;
use ketcd_history::{Actor, AttributedChange};

/// The change that brought a value.
#[derive(Clone, Debug)]
pub struct Setter {
    /// When it was made; `None` where nothing dates the revision.
    pub dated: Option<Dated>,
    /// Who made it, as far as that is known.
    pub by: Option<Actor>,
    /// Who made it, as etcd's data shows.
    pub actor: Option<Actor>,
    /// The request that made it; `None` where no audit log says.
    pub request: Option<Authorship>,
    /// Whether the revision is only about the one that etcd has.
    pub is_placed: bool,
}

impl From<AttributedChange> for Setter {
    fn from(change: AttributedChange) -> Self {
        let by = change.by();
        Self { dated: change.dated, by, actor: change.actor, request: change.request, is_placed: change.change.origin.is_placed() }
    }
}
