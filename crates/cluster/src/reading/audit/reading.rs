//! Reads audit logs, and keeps those requests that can have made one of the changes.

use std::io;
use std::sync::Arc;

use ketcd_audit::{ChangeFacts, FileReport, LogSpan, Reader, Request, Wanted};
use ketcd_store::load::AuditLogs;

use super::rotation;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::notice::Notice;

pub(super) struct ReadLogs {
    /// The requests that can have made one of the changes.
    pub requests: Vec<Arc<Request>>,
    /// From when to when the logs are.
    pub span: Option<LogSpan>,
    /// Times in which they lost requests.
    pub holes: Vec<LogSpan>,
}

/// The requests that can have made any of these changes, and from when to when the logs are.
///
/// # Errors
/// A log cannot be opened. One that cannot be read to its end, or has damaged lines, is noted.
pub(super) fn requests(cluster: &Cluster, logs: &AuditLogs, changes: &[ChangeFacts]) -> Result<ReadLogs> {
    let (wanted, mut reader) = (Wanted::of(changes), Reader::default());
    let mut found = ReadLogs { requests: Vec::new(), span: None, holes: Vec::new() };
    rotation::read(logs, &mut |log, from| {
        let (report, ended) = reader.read(from, &mut |request| {
            if wanted.takes(&request) {
                found.requests.push(Arc::new(request));
            }
        });
        found.holes.extend(&report.holes);
        found.span = match (found.span, report.span) {
            (Some(known), Some(more)) => Some(known.and(more)),
            (known, more) => known.or(more),
        };
        // What is wrong with a log that is the source was said when it was opened.
        if !cluster.audit.is_alone {
            notes_of(log, report, ended).into_iter().for_each(|notice| cluster.note(notice));
        }
    })?;
    Ok(found)
}

pub(super) fn notes_of(log: &str, report: FileReport, ended: io::Result<()>) -> Vec<Notice> {
    let cut = ended.err().map(|error| Notice::AuditLogCut { log: log.to_owned(), problem: error.to_string() });
    let damaged = report.damages.into_iter().next();
    let damaged = damaged.map(|first| Notice::AuditLines { log: log.to_owned(), damaged: report.damaged, lost: report.lost, first });
    cut.into_iter().chain(damaged).collect()
}
