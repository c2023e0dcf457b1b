//! A source's state, as a page for people.

use std::io::{self, Write};

use jiff::Timestamp;
use unicode_width::UnicodeWidthStr;

use ketcd_history::clock::Dated;
use ketcd_kube::Release;
use ketcd_kube::encryption::Scheme;
use ketcd_scheduler::cluster::Census;
use ketcd_store::{Checksum, Member, RevisionSpan, SourceKind, SourceStatus};

use super::duration;
use super::style::{FAINT, REMOVED, STRONG, WARNING, paint};
use super::visible::visible;

/// All that `status` shows.
pub struct StatusPage {
    /// The source's own word.
    pub source: SourceStatus,
    /// The readable revisions.
    pub span: RevisionSpan,
    /// Where it is the state of one moment: the newest time in it.
    pub one_moment: Option<Option<Timestamp>>,
    /// The first and the last revision that can be dated.
    pub dated: Option<(Dated, Dated)>,
    /// The API server's most likely release, where the data shows it.
    pub release: Option<Release>,
    /// The oldest and the newest it can be.
    pub release_bounds: Option<(Release, Release)>,
    /// What the values say.
    pub census: Census,
    /// Whether only some of the values were read for the census.
    pub is_sampled: bool,
    /// What else is to be known, a sentence each.
    pub notes: Vec<String>,
}

impl StatusPage {
    /// Returns whether anything is wrong with the source.
    pub fn has_problems(&self) -> bool {
        !(self.source.alarms.is_empty() && self.source.problems.is_empty())
    }
}

/// Writes the page for people: the answer first, one topic per line.
///
/// # Errors
/// The stream's.
pub fn page(report: &StatusPage, out: &mut dyn Write) -> io::Result<()> {
    let StatusPage { source, span, dated, release, census, .. } = report;
    let reach = dated.map_or_else(
        || "undated: nothing in the data shows the time".to_owned(),
        |(oldest, newest)| {
            format!("{} → {}, {}", time(oldest.time), time(newest.time), duration::length(duration::seconds_between(oldest, newest)))
        },
    );
    let revisions = match report.one_moment {
        Some(Some(newest)) => format!("one moment, revision {}; the newest time in it is {newest}", span.newest),
        Some(None) => format!("one moment, revision {}; no time is in it", span.newest),
        None => format!("revisions {} to {}, {reach}", span.oldest, span.newest),
    };
    writeln!(out, "{}  {revisions}", paint(STRONG, &source.name))?;
    line(out, "source", &described(source))?;
    parts(source, out)?;
    if let Some(begins) = span.compacted.filter(|_| source.kind == SourceKind::AuditLog) {
        line(
            out,
            "begins",
            &format!("at revision {begins}, the first that a request made; of objects that were there before, what bodies show"),
        )?;
    } else if let Some(compacted) = span.compacted {
        // kine compacts by itself, every few minutes and up to its newest thousand.
        let behind = match source.kind {
            SourceKind::Kine => format!(", {} revisions before the newest", span.newest.0 - compacted.0),
            _ => String::new(),
        };
        line(out, "compacted", &format!("at revision {compacted}{behind}: older states and changes are gone"))?;
    }
    line(out, "keys", &census.keys.to_string())?;
    database(source, out)?;
    if let (Some(release), Some((oldest, newest))) = (release, report.release_bounds) {
        let doubt = if oldest == newest { String::new() } else { format!("  (its API versions and kubelets fit {oldest} to {newest})") };
        line(out, "API server", &format!("{release}{}", paint(FAINT, doubt)))?;
    }
    for scheduler in &census.schedulers {
        line(out, "scheduler", &visible(scheduler))?;
    }
    let kubelets: Vec<String> = census.kubelets.iter().map(|(version, count)| format!("{version} ×{count}")).collect();
    if !kubelets.is_empty() {
        line(out, "kubelets", &visible(&kubelets.join(", ")))?;
    }
    for (index, (resource, scheme, key, values)) in census.encrypted().enumerate() {
        let how = match scheme {
            Scheme::Identity => paint(WARNING, "in plain text").to_string(),
            _ => format!("{scheme} under key {}", visible(key)),
        };
        line(out, if index == 0 { "encryption" } else { "" }, &format!("{}: {values} {how}", visible(resource)))?;
    }
    if report.is_sampled {
        line(out, "", "counted: the keys; kubelets and encryption are of some values only (--full reads all)")?;
    }
    for (place, phrase) in source.not_recorded.iter().enumerate() {
        line(out, if place == 0 { "not recorded" } else { "" }, &visible(phrase))?;
    }
    let checked = checked(&source.checksums);
    if !checked.is_empty() {
        line(out, "checked", &checked)?;
    }
    for problem in &source.problems {
        line(out, "problem", &paint(REMOVED, problem).to_string())?;
    }
    for note in source.notes.iter().chain(&report.notes) {
        line(out, "note", &visible(note))?;
    }
    Ok(())
}

/// Says what was checked of database files; nothing where there is none.
fn checked(checksums: &[Checksum]) -> String {
    const SAID: [(Checksum, &str); 4] = [
        (Checksum::Holds, "SHA-256 holds"),
        (Checksum::Fails, "SHA-256 does not hold"),
        (Checksum::Absent, "no SHA-256 in the file: a value that was changed in it is not noticed"),
        (Checksum::Kept, "found whole when its index was made, and not changed since"),
    ];
    let of_each = SAID.iter().filter_map(|(checksum, said)| match checksums.iter().filter(|known| *known == checksum).count() {
        0 => None,
        1 if checksums.len() == 1 => Some((*said).to_owned()),
        count => Some(format!("{count} of {} files: {said}", checksums.len())),
    });
    of_each.collect::<Vec<_>>().join("; ")
}

/// Writes what is known of an etcd if the user may not read any key, and why that is all.
///
/// # Errors
/// The stream's.
pub fn page_of_unread(source: &SourceStatus, problem: &str, out: &mut dyn Write) -> io::Result<()> {
    let newest = source.newest.map_or("unknown".to_owned(), |newest| newest.to_string());
    writeln!(out, "{}  newest revision {newest}, the oldest that can be read is unknown", paint(STRONG, &source.name))?;
    line(out, "source", &described(source))?;
    database(source, out)?;
    for problem in source.problems.iter().map(String::as_str).chain([problem]) {
        line(out, "problem", &paint(REMOVED, problem).to_string())?;
    }
    Ok(())
}

fn line(out: &mut dyn Write, label: &str, text: &str) -> io::Result<()> {
    writeln!(out, "{label:<14}{text}")
}

/// The database's sizes, alarms and members.
fn database(source: &SourceStatus, out: &mut dyn Write) -> io::Result<()> {
    line(
        out,
        "bytes",
        &format!("{} in the file, {} in use, {} free", bytes(source.file_bytes), bytes(source.in_use_bytes), bytes(source.free_bytes)),
    )?;
    let SourceStatus { recoverable_freepage, recoverable_wal, recoverable_old_value, .. } = source;
    if source.kind == SourceKind::Kine && recoverable_freepage + recoverable_old_value > 0 {
        let of_rows = format!("{recoverable_old_value} changes in the rows that replaced them, {recoverable_freepage} in free pages");
        line(out, "recoverable", &of_rows)?;
    } else if recoverable_freepage + recoverable_wal > 0 {
        line(out, "recoverable", &format!("{recoverable_freepage} changes in free pages, {recoverable_wal} in the write-ahead log"))?;
    }
    for alarm in &source.alarms {
        line(out, "alarm", &paint(REMOVED, alarm.to_string()).to_string())?;
    }
    for (index, text) in source.members.iter().flat_map(member_lines).enumerate() {
        line(out, if index == 0 { "members" } else { "" }, &text)?;
    }
    Ok(())
}

/// The sources that are read as one history, and the gaps between them.
fn parts(source: &SourceStatus, out: &mut dyn Write) -> io::Result<()> {
    let spans: Vec<String> = source.parts.iter().map(|part| format!("{} to {}", part.span.oldest, part.span.newest)).collect();
    let width = spans.iter().map(String::len).max().unwrap_or(0);
    let names: Vec<_> = source.parts.iter().map(|part| visible(&part.name)).collect();
    let name_width = names.iter().map(|name| name.width()).max().unwrap_or(0);
    for (index, ((part, span), name)) in source.parts.iter().zip(&spans).zip(&names).enumerate() {
        let unread = if part.is_read { String::new() } else { paint(FAINT, ", not read whole").to_string() };
        let pad = " ".repeat(name_width - name.width());
        let text = format!("{span:<width$}  {name}{pad}  {}{unread}", what(part.kind));
        line(out, if index == 0 { "sources" } else { "" }, &text)?;
    }
    for (index, gap) in source.gaps.iter().enumerate() {
        let text = format!("{} to {}, between {} and {}", gap.from, gap.to, visible(&gap.after), visible(&gap.before));
        line(out, if index == 0 { "gaps" } else { "" }, &paint(WARNING, text).to_string())?;
    }
    Ok(())
}

fn described(source: &SourceStatus) -> String {
    let what = match source.parts.len() {
        0 => what(source.kind).to_owned(),
        count => format!("{count} sources, read as one history"),
    };
    source.cluster_id.as_ref().map_or_else(|| what.clone(), |id| format!("{what}, cluster {id}"))
}

fn what(kind: SourceKind) -> &'static str {
    match kind {
        SourceKind::Live => "a running etcd",
        SourceKind::Db => "an etcd database file",
        SourceKind::DataDir => "an etcd member's data dir",
        SourceKind::Kine => "a kine database (k3s)",
        SourceKind::Recording => "a recording of a running etcd",
        SourceKind::Objects => "API objects, no history",
        SourceKind::AuditLog => "the audit log of API servers, without their etcd",
    }
}

/// A member in up to three lines: who it is, how large its database is, where it is in the raft log.
fn member_lines(member: &Member) -> Vec<String> {
    let name = visible(if member.endpoint.is_empty() { &member.id } else { &member.endpoint });
    if let Some(error) = &member.error {
        return vec![format!("{name}  {}", paint(REMOVED, error))];
    }
    if member.version.is_empty() {
        return vec![name.into_owned()];
    }
    let role = match member {
        Member { is_leader: true, .. } => "  leader",
        Member { is_learner: true, .. } => "  learner",
        _ => "",
    };
    let size = |count: i64| bytes(u64::try_from(count).unwrap_or(0));
    let quota = member
        .db_size_quota
        .map_or(String::new(), |quota| format!(", {:.0} % of the quota {}", 100.0 * member.db_size as f64 / quota as f64, size(quota)));
    let mut lines = vec![
        format!("{name}  {}  etcd {}{role}", member.id, visible(&member.version)),
        format!("  {}, {} in use{quota}", size(member.db_size), size(member.db_size_in_use)),
    ];
    lines.extend(member.raft.map(|raft| {
        let lag = match raft.behind_leader {
            Some(0) => String::new(),
            Some(behind) => format!(", {behind} behind the leader"),
            None => ", how far behind the leader is unknown".to_owned(),
        };
        format!("  raft term {}, index {}, applied {}{lag}", raft.term, raft.index, raft.applied_index)
    }));
    lines
}

pub(super) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut size = count as f64;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{count} B") } else { format!("{size:.1} {}", UNITS[unit]) }
}

fn time(time: Timestamp) -> String {
    format!("{time:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_well() {
        assert_eq!([0, 1023, 1536, 3_588_202_528].map(bytes), ["0 B", "1023 B", "1.5 KiB", "3.3 GiB"]);
    }
}
