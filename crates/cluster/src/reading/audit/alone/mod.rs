//! A cluster whose etcd is not there: its history out of the audit logs of its API servers, with objects that `kubectl get` printed as a base.
//!
//! Bodies in answers are versions at the revisions that they name. What only a request says is applied to the version before it, and marked as derived;
//! what no answer dates gets a free revision of its time.

mod assembly;
mod collection;
mod conversion;
mod derivation;

use futures_util::{FutureExt, TryStreamExt};

use ketcd_audit::{Damage, FileReport, LogSpan, Reader, effects};
use ketcd_store::load::{AuditLogs, Rebuilt, open_rebuilt};
use ketcd_store::{At, KeyRange, KeyValue, Revision, Source, Want};

use super::reading::notes_of;
use super::rotation;
use crate::error::{Error, Result};
use crate::notice::Notice;
use collection::Collected;

/// A history out of audit logs.
pub struct LogHistory {
    /// The source.
    pub source: Box<dyn Source>,
    /// What the logs leave out.
    pub said: LogNotes,
}

/// What audit logs leave out of a history, and what is damaged in them.
#[derive(Clone)]
pub struct LogNotes(pub(crate) Vec<Notice>);

/// Opens the history that audit logs hold; `base` holds objects of the same cluster, as they were at some moment. Returns nothing where the logs hold no
/// change of a cluster whose objects the base has, as the logs of a must-gather often do.
///
/// # Errors
/// A log cannot be opened, the logs hold no object and there is no base, or what is worked out of their requests is more than the files may unpack to.
pub fn open_logs(logs: &AuditLogs, base: Option<&dyn Source>) -> Result<Option<LogHistory>> {
    let name = logs.names().collect::<Vec<_>>().join(", ");
    let (mut collected, mut reader, mut notes) = (Collected::new(&name)?, Reader::with_bodies(), Vec::new());
    let (mut bytes, mut failed, mut seen) = (0, None, SeenRequests::default());
    rotation::read(logs, &mut |log, from| {
        let mut counted = CountedReader { from, length: 0 };
        let (report, ended) = reader.read(&mut counted, &mut |mut request| {
            let effects = effects(&request);
            request.bodies = None;
            if failed.is_none() {
                failed = collected.add(&request, effects).err();
            }
        });
        bytes += counted.length;
        seen.add(&report);
        notes.extend(notes_of(log, report, ended));
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    let mut newest = 0;
    if let Some(base) = base {
        if !collected.has_changes() {
            return Ok(None);
        }
        let (at, objects) = objects(base)?;
        newest = at.0;
        objects.iter().try_for_each(|key_value| collected.add_base(key_value))?;
    }
    notes.extend(collected.left_out());
    let oldest = collected.oldest();
    let (keys, values, changes) = assembly::changes(collected, &name, logs.most_unpacked())?;
    if changes.is_empty() {
        return Err(seen.without_objects(&name, logs.names().count()));
    }
    let source = open_rebuilt(Rebuilt { name, oldest, newest, bytes, keys, values, changes })?;
    Ok(Some(LogHistory { source, said: LogNotes(notes) }))
}

/// The objects of files, which are there without waiting, and the revision at which they were printed.
fn objects(base: &dyn Source) -> Result<(Revision, Vec<KeyValue>)> {
    let read = async {
        let newest = base.span().await?.newest;
        Ok((newest, base.range(KeyRange::all(), At::Newest, Want::Values).await?.entries.try_collect().await?))
    };
    read.now_or_never().unwrap_or_else(|| Ok((Revision(0), Vec::new())))
}

/// What the logs hold, for who is told that it makes no history.
#[derive(Default)]
struct SeenRequests {
    requests: u64,
    writes: u64,
    with_bodies: u64,
    refused: u64,
    others: u64,
    damaged: u64,
    first_damage: Option<Damage>,
    span: Option<LogSpan>,
}

impl SeenRequests {
    fn add(&mut self, report: &FileReport) {
        self.requests += report.requests;
        self.writes += report.writes;
        self.with_bodies += report.with_bodies;
        self.refused += report.refused;
        self.others += report.others;
        self.damaged += report.damaged;
        self.first_damage = self.first_damage.take().or_else(|| report.damages.first().cloned());
        self.span = match (self.span, report.span) {
            (Some(known), Some(more)) => Some(known.and(more)),
            (known, more) => known.or(more),
        };
    }

    /// The error of logs that show no object.
    fn without_objects(self, name: &str, logs: usize) -> Error {
        let is = if logs == 1 { "is an audit log" } else { "are audit logs" };
        let damage = self.first_damage.map_or_else(String::new, |first| {
            format!("; {} of its lines cannot be read: the first is line {}, which {}", self.damaged, first.line, first.problem)
        });
        let Some(LogSpan { from, to }) = self.span else {
            let looks = if logs == 1 { "looks like an audit log and holds" } else { "look like audit logs and hold" };
            let problem = format!("{name} {looks} no finished request: {} other lines or events{damage}", self.others);
            return Error::invalid(problem)
                .hint("give the log as the API server writes it: one event of audit.k8s.io as JSON in each line");
        };
        let plural = |count: u64, what: &str| if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") };
        let why = match (self.writes, self.with_bodies) {
            (0, _) => "none of them asks for a change".to_owned(),
            (writes, _) if writes == self.refused => format!("{writes} of them ask for changes, and the API server refused all of these"),
            (_, 0) => format!("{} of them ask for changes, and the policy logs these without bodies (level Metadata)", self.writes),
            (..) => format!("{} of them ask for changes, and no body of these holds an object or is of one that is known", self.writes),
        };
        Error::invalid(format!(
            "{name} {is} of {} from {from} to {to}: {why}, so it shows no object{damage}",
            plural(self.requests, "request")
        ))
        .hint("read it with the data that it belongs to, and changes get their users: -f SNAPSHOT -f LOG; history --requests then lists the requests that changed nothing, too")
    }
}

/// A stream, and how much was read of it.
struct CountedReader<'r> {
    from: &'r mut dyn std::io::Read,
    length: u64,
}

impl std::io::Read for CountedReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let length = self.from.read(into)?;
        self.length += length as u64;
        Ok(length)
    }
}
