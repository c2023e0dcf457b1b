//! Reads audit logs, and keeps those requests that can have made one of the changes.

use std::sync::Arc;

use ketcd_audit::{ChangeFacts, LogSpan, Reader, Request, Wanted};
use ketcd_store::load::AuditLogs;

use crate::cluster::Cluster;
use crate::error::Result;
use crate::notice::Notice;

/// The requests that can have made any of these changes, and from when to when the logs are.
///
/// # Errors
/// A log cannot be opened. One that cannot be read to its end, or has damaged lines, is noted.
pub(super) fn requests(cluster: &Cluster, logs: &AuditLogs, changes: &[ChangeFacts]) -> Result<(Vec<Arc<Request>>, Option<LogSpan>)> {
    let (wanted, mut reader) = (Wanted::of(changes), Reader::default());
    let (mut kept, mut span): (Vec<Arc<Request>>, Option<LogSpan>) = (Vec::new(), None);
    logs.read(&mut |log, from| {
        let (report, ended) = reader.read(from, &mut |request| {
            if wanted.takes(&request) {
                kept.push(Arc::new(request));
            }
        });
        let log = log.to_owned();
        if let Err(error) = ended {
            cluster.note(Notice::AuditLogCut { log: log.clone(), problem: error.to_string() });
        }
        if let Some(first) = report.damages.into_iter().next() {
            cluster.note(Notice::AuditLines { log, damaged: report.damaged, first });
        }
        span = match (span, report.span) {
            (Some(known), Some(more)) => Some(known.and(more)),
            (known, more) => known.or(more),
        };
    })?;
    Ok((kept, span))
}
