//! The audit logs of a cluster, and what they say once they were read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::OnceCell;

use ketcd_audit::Authors;
use ketcd_store::load::AuditLogs;

use crate::notice::Notice;

/// The audit logs of a cluster, and what they say.
#[derive(Default)]
pub(crate) struct Audit {
    pub(crate) logs: AuditLogs,
    pub(crate) is_alone: bool,
    /// What they leave out of the objects that a scheduler watches, where the source was made of them.
    pub(super) hidden: Vec<(String, &'static str)>,
    /// Nothing where no log is of this history.
    pub(super) authors: OnceCell<Option<Arc<Authors>>>,
    /// Whether events of theirs could not be read.
    pub(super) lost: AtomicBool,
}

impl Audit {
    /// Logs that were not read yet.
    pub(super) fn of(logs: AuditLogs) -> Self {
        Self { logs, is_alone: false, hidden: Vec::new(), authors: OnceCell::new(), lost: AtomicBool::new(false) }
    }

    /// Takes note of events that cannot be read.
    pub(crate) fn note(&self, notice: &Notice) {
        if matches!(notice, Notice::AuditLines { lost: 1.., .. } | Notice::AuditLogCut { .. }) {
            self.lost.store(true, Ordering::Relaxed);
        }
    }

    /// Whether events could not be read.
    pub(crate) fn has_lost_events(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }
}
