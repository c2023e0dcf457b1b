//! Who made changes, by the requests in audit logs: what changes show, the requests that can have made them, and the join of the two.

mod alone;
mod facts;
pub(crate) mod logs;
mod policy_gaps;
mod reading;
pub(crate) mod rotation;
pub(crate) mod targets;

use std::sync::Arc;

use ketcd_audit::{Authors, Join};
use ketcd_history::clock::Clock;
use ketcd_store::Revision;
use ketcd_store::load::AuditLogs;

use crate::cluster::Cluster;
use crate::error::Result;
use crate::notice::Notice;
use logs::Audit;
use reading::ReadLogs;

pub use alone::{LogHistory, LogNotes, open_logs};

impl Cluster {
    /// Takes the audit logs of the cluster's API servers, which name the users that made changes. They are read when a question needs them.
    pub fn set_audit_logs(&mut self, logs: AuditLogs) {
        self.audit = Arc::new(Audit::of(logs));
    }

    /// Takes the audit logs that the source was made of by [`open_logs`], and notes what they leave out.
    pub fn set_logs_of_source(&mut self, logs: AuditLogs, said: LogNotes) {
        self.audit = Arc::new(Audit { is_alone: true, hidden: policy_gaps::of_scheduler(&said.0), ..Audit::of(logs) });
        said.0.into_iter().for_each(|notice| self.note(notice));
    }

    /// Returns whether there are audit logs.
    pub fn has_audit_logs(&self) -> bool {
        !self.audit.logs.is_empty()
    }

    /// Returns whether the source was made of audit logs, without etcd.
    pub(crate) fn has_logs_alone(&self) -> bool {
        self.audit.is_alone
    }

    /// A clock with what the audit logs say, which are read now.
    pub(crate) async fn audited(&self, clock: Clock) -> Result<Clock> {
        let authors = self.audit.authors.get_or_try_init(|| self.find_authors(&clock)).await?.clone();
        Ok(with_authors(clock, authors.as_ref()))
    }

    /// A clock with what the audit logs said when they were read.
    pub(crate) fn with_known_authors(&self, clock: Clock) -> Clock {
        with_authors(clock, self.audit.authors.get().and_then(Option::as_ref))
    }

    pub(crate) fn known_authors(&self) -> Option<&Arc<Authors>> {
        self.audit.authors.get().and_then(Option::as_ref)
    }

    async fn find_authors(&self, clock: &Clock) -> Result<Option<Arc<Authors>>> {
        if self.audit.logs.is_empty() || self.source.is_one_moment() {
            return Ok(None);
        }
        let changes = facts::of_history(self, clock).await?;
        let ReadLogs { requests, span, holes } = reading::requests(self, &self.audit.logs, &changes)?;
        // The log alone shows no change that it does not hold.
        let span = span.filter(|_| !self.audit.is_alone);
        let authors = Join::new(changes, requests, span).with_holes(holes).authors();
        if !self.audit.is_alone && authors.counts().iter().all(|&count| count == 0) {
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
