//! Who made changes, by the requests in audit logs: what changes show, the requests that can have made them, and the join of the two.

mod facts;
pub(crate) mod logs;
mod reading;

use std::sync::Arc;

use ketcd_audit::{Authors, Join};
use ketcd_history::clock::Clock;
use ketcd_store::Revision;
use ketcd_store::load::AuditLogs;

use crate::cluster::Cluster;
use crate::error::Result;
use crate::notice::Notice;
use logs::Audit;

impl Cluster {
    /// Takes the audit logs of the cluster's API servers, which name the users that made changes. They are read when a question needs them.
    pub fn set_audit_logs(&mut self, logs: AuditLogs) {
        self.audit = Audit::of(logs);
    }

    /// Returns whether there are audit logs.
    pub fn has_audit_logs(&self) -> bool {
        !self.audit.logs.is_empty()
    }

    /// A clock with what the audit logs say, which are read now.
    ///
    /// # Errors
    /// The source or a log cannot be read.
    pub(crate) async fn audited(&self, clock: Clock) -> Result<Clock> {
        let authors = self.audit.authors.get_or_try_init(|| self.find_authors(&clock)).await?.clone();
        Ok(with_authors(clock, authors.as_ref()))
    }

    /// A clock with what the audit logs said when they were read.
    pub(crate) fn with_known_authors(&self, clock: Clock) -> Clock {
        with_authors(clock, self.audit.authors.get().and_then(Option::as_ref))
    }

    async fn find_authors(&self, clock: &Clock) -> Result<Option<Arc<Authors>>> {
        if self.audit.logs.is_empty() || self.source.is_one_moment() {
            return Ok(None);
        }
        let changes = facts::of_history(self, clock).await?;
        let (requests, span) = reading::requests(self, &self.audit.logs, &changes)?;
        let authors = Join::new(changes, requests, span).authors();
        if authors.counts().iter().all(|&count| count == 0) {
            self.note(Notice::AuditElsewhere { span });
        }
        if authors.clocks_differ() > 0.0 {
            self.note(Notice::AuditClocksDiffer(authors.clocks_differ()));
        }
        let unexplained: Vec<Revision> = authors.unexplained().into_iter().map(Revision).collect();
        if !unexplained.is_empty() {
            self.note(Notice::Unexplained { revisions: unexplained });
        }
        authors.gaps().iter().for_each(|&(from, to)| self.note(Notice::AuditGap { from: Revision(from), to: Revision(to) }));
        Ok(Some(Arc::new(authors)))
    }
}

fn with_authors(clock: Clock, authors: Option<&Arc<Authors>>) -> Clock {
    match authors {
        Some(authors) => clock.with_authors(Arc::clone(authors)),
        None => clock,
    }
}
