//! The audit logs of a cluster, and what they say once they were read.

use std::sync::Arc;

use tokio::sync::OnceCell;

use ketcd_audit::Authors;
use ketcd_store::load::AuditLogs;

/// The audit logs of a cluster, and what they say.
#[derive(Default)]
pub(crate) struct Audit {
    pub(crate) logs: AuditLogs,
    /// Whether the source was made of them.
    pub(crate) is_alone: bool,
    /// What they leave out of the objects that a scheduler watches, where the source was made of them.
    pub(super) hidden: Vec<(String, &'static str)>,
    /// Nothing where no log is of this history.
    pub(super) authors: OnceCell<Option<Arc<Authors>>>,
}

impl Audit {
    /// Logs that were not read yet.
    pub(super) fn of(logs: AuditLogs) -> Self {
        Self { logs, is_alone: false, hidden: Vec::new(), authors: OnceCell::new() }
    }
}
