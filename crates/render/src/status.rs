//! A source's state, as a page for people.

use std::io;

use jiff::Timestamp;
use unicode_width::UnicodeWidthStr;

use ketcd_kube::encryption::Scheme;
use ketcd_store::{Checksum, EarlierRevisions, Member, PartStatus, SourceKind, SourceStatus};

use super::duration;
use super::style::{FAINT, REMOVED, STRONG, StyledWrite, WARNING, paint};
use super::visible::visible;
use super::words::bytes;

pub use super::page::StatusPage;

/// Writes the page for people: the answer first, one topic per line.
///
/// # Errors
/// The stream's.
pub fn page(report: &StatusPage, out: &mut dyn StyledWrite) -> io::Result<()> {
    let StatusPage { source, span, dated, release, census, .. } = report;
    let reach = dated.map_or_else(
        || "undated: nothing in the data shows the time".to_owned(),
        |(oldest, newest)| {
            format!("{} → {}, {}", time(oldest.time), time(newest.time), duration::length(duration::seconds_between(oldest, newest)))
        },
    );
    let revisions = match report.one_moment {
        Some(Some(newest)) => format!("one moment, revision {}; the newest time in it is {newest}", span.newest),
        Some(None) => format!("one moment, revision {}; it holds no time", span.newest),
        None => format!("revisions {} to {}, {reach}", span.oldest, span.newest),
    };
    writeln!(out, "{}  {revisions}", paint(STRONG, title(source)))?;
    line(out, "source", &described(source))?;
    parts(source, out)?;
    if let Some((label, text)) = beginning(report) {
        line(out, label, &text)?;
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
        line(out, "", "keys are counted; kubelets and encryption come from some of the values (--full reads all)")?;
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

/// Says with which revision the history begins, and why; nothing if it begins with the cluster.
fn beginning(report: &StatusPage) -> Option<(&'static str, String)> {
    let StatusPage { source, span, earlier, .. } = report;
    let begins = span.compacted?;
    Some(match earlier {
        _ if source.kind == SourceKind::AuditLog => (
            "begins",
            format!(
                "at revision {begins}, the first that a request made; objects that existed before are known only as far as bodies show them"
            ),
        ),
        // A slice of one moment has no history.
        EarlierRevisions::LeftOut | EarlierRevisions::NotRecorded if report.one_moment.is_some() => return None,
        EarlierRevisions::LeftOut => ("begins", format!("at revision {begins}: what happened before was left out of the bundle")),
        EarlierRevisions::NotRecorded => ("begins", format!("at revision {begins}: what happened before was not recorded")),
        EarlierRevisions::Compacted => {
            // kine compacts by itself, every few minutes and up to its newest thousand.
            let behind = match source.kind {
                SourceKind::Kine => format!(", {} revisions before the newest", span.newest.0 - begins.0),
                _ => String::new(),
            };
            ("compacted", format!("at revision {begins}{behind}: older states and changes are gone"))
        }
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    })
}

/// Says what was checked of database files; nothing if there is none.
fn checked(checksums: &[Checksum]) -> String {
    const CHECKSUM_WORDS: [(Checksum, &str); 4] = [
        (Checksum::Holds, "SHA-256 holds"),
        (Checksum::Fails, "SHA-256 does not match"),
        (Checksum::Absent, "no SHA-256 in the file: ketcd cannot detect changed values"),
        (Checksum::Kept, "intact when its index was made, and unchanged since"),
    ];
    let of_each = CHECKSUM_WORDS.iter().filter_map(|(checksum, said)| match checksums.iter().filter(|known| *known == checksum).count() {
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
pub fn page_of_unread(source: &SourceStatus, problem: &str, out: &mut dyn StyledWrite) -> io::Result<()> {
    let newest = source.newest.map_or("unknown".to_owned(), |newest| newest.to_string());
    writeln!(out, "{}  newest revision {newest}, the oldest that can be read is unknown", paint(STRONG, &source.name))?;
    line(out, "source", &described(source))?;
    database(source, out)?;
    for problem in source.problems.iter().map(String::as_str).chain([problem]) {
        line(out, "problem", &paint(REMOVED, problem).to_string())?;
    }
    Ok(())
}

fn line(out: &mut dyn StyledWrite, label: &str, text: &str) -> io::Result<()> {
    writeln!(out, "{label:<14}{text}")
}

/// The database's sizes, alarms and members.
fn database(source: &SourceStatus, out: &mut dyn StyledWrite) -> io::Result<()> {
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

/// The source's name; of several sources in one directory, which have their own lines, that directory's.
fn title(source: &SourceStatus) -> String {
    let directory = directory(&source.parts);
    let all: Vec<&str> = source.parts.iter().map(|part| part.name.as_str()).collect();
    match directory.trim_end_matches('/') {
        "" => source.name.clone(),
        _ if source.name != all.join(", ") => source.name.clone(),
        directory => format!("{} sources in {directory}", all.len()),
    }
}

/// The directory that all of several sources lie in, with the slash at its end; empty if there is none.
fn directory(parts: &[PartStatus]) -> &str {
    let [first, others @ ..] = parts else { return "" };
    let above = |path: &str| path.rfind('/').map_or(0, |slash| slash + 1);
    let mut shared = &first.name[..above(&first.name)];
    while !others.iter().all(|part| part.name.starts_with(shared)) {
        shared = &shared[..above(&shared[..shared.len() - 1])];
    }
    if others.is_empty() { "" } else { shared }
}

/// The sources that are read as one history, and the gaps between them. Paths are shown from their directory on, which the title names.
fn parts(source: &SourceStatus, out: &mut dyn StyledWrite) -> io::Result<()> {
    let spans: Vec<String> = source.parts.iter().map(|part| format!("{} to {}", part.span.oldest, part.span.newest)).collect();
    let width = spans.iter().map(String::len).max().unwrap_or(0);
    let directory = directory(&source.parts);
    let is_named = directory.len() > 1 && title(source).ends_with(directory.trim_end_matches('/'));
    let shown = |part: &PartStatus| part.name.strip_prefix(directory).filter(|_| is_named).unwrap_or(&part.name).to_owned();
    let names: Vec<String> = source.parts.iter().map(|part| visible(&shown(part)).into_owned()).collect();
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
        SourceKind::Bundle => "a bundle, which is a slice of a cluster",
        SourceKind::Objects => "API objects, no history",
        SourceKind::AuditLog => "the audit log of API servers, without their etcd",
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
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

fn time(time: Timestamp) -> String {
    format!("{time:.3}")
}

#[cfg(test)]
mod tests {
    use ketcd_scheduler::cluster::Census;
    use ketcd_store::{Revision, RevisionSpan};

    use super::*;
    use crate::contract::status::Status;
    use crate::style::plain;

    #[test]
    fn a_directory_of_several_sources_is_named_once() {
        let of = |names: &[&str]| {
            let span = RevisionSpan { oldest: Revision(1), newest: Revision(9), compacted: None };
            let part = |name: &&str| {
                let (name, cluster_id) = ((*name).to_owned(), None);
                PartStatus { name, kind: SourceKind::Db, cluster_id, span, is_read: true }
            };
            let parts: Vec<PartStatus> = names.iter().map(part).collect();
            SourceStatus { parts, ..SourceStatus::new(SourceKind::Db, names.join(", ")) }
        };
        let rows = |source: &SourceStatus| plain(|out| parts(source, out));
        let below = of(&["/backup/night/a.db", "/backup/noon/b.db"]);
        assert_eq!(title(&below), "2 sources in /backup");
        assert!(rows(&below).contains("  night/a.db  an etcd") && !rows(&below).contains("/backup/"), "{}", rows(&below));
        for apart in [&["a.db", "b.db"][..], &["/backup/a.db", "b.db"], &["/backup/a.db"]] {
            let source = of(apart);
            assert_eq!(title(&source), apart.join(", "));
            assert!(apart.iter().all(|name| rows(&source).contains(name)), "{}", rows(&source));
        }
        // Where the directory itself is what was given, it is the title.
        let folder = SourceStatus { name: "/backup".to_owned(), ..of(&["/backup/a.db", "/backup/b.db"]) };
        assert_eq!(title(&folder), "/backup");
        assert!(rows(&folder).contains("  a.db  an etcd") && !rows(&folder).contains("/backup/"), "{}", rows(&folder));
    }

    #[test]
    fn sizes_read_well() {
        assert_eq!([0, 1023, 1536, 3_588_202_528].map(bytes), ["0 B", "1023 B", "1.5 KiB", "3.3 GiB"]);
    }

    /// A page of a history that begins with revision 20.
    fn begun_late(kind: SourceKind, earlier: EarlierRevisions) -> StatusPage {
        StatusPage {
            source: SourceStatus::new(kind, "it".to_owned()),
            span: RevisionSpan { oldest: Revision(20), newest: Revision(704), compacted: Some(Revision(20)) },
            earlier,
            one_moment: None,
            dated: None,
            release: None,
            release_bounds: None,
            census: Census::default(),
            is_sampled: false,
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_kine_database_says_how_far_its_compaction_is_behind() {
        let shown = |kind: SourceKind| {
            let page = plain(|out| page(&begun_late(kind, EarlierRevisions::Compacted), out));
            page.lines().find(|line| line.starts_with("compacted ")).unwrap().to_owned()
        };
        let kine = "compacted     at revision 20, 684 revisions before the newest: older states and changes are gone";
        assert_eq!(shown(SourceKind::Kine), kine);
        // How much an etcd keeps is a setting of its API server.
        assert_eq!(shown(SourceKind::Db), "compacted     at revision 20: older states and changes are gone");
    }

    #[test]
    fn nothing_was_compacted_of_a_recording_or_a_bundle() {
        for (kind, earlier, source, begins) in [
            (
                SourceKind::Recording,
                EarlierRevisions::NotRecorded,
                "a recording of a running etcd",
                "at revision 20: what happened before was not recorded",
            ),
            (
                SourceKind::Bundle,
                EarlierRevisions::LeftOut,
                "a bundle, which is a slice of a cluster",
                "at revision 20: what happened before was left out of the bundle",
            ),
        ] {
            let report = begun_late(kind, earlier);
            let shown = plain(|out| page(&report, out));
            assert!(
                shown.contains(&format!("\nsource        {source}\n")) && shown.contains(&format!("\nbegins        {begins}\n")),
                "{shown}"
            );
            assert!(!shown.contains("compacted") && !shown.contains("gone"), "{shown}");
            let document = serde_json::to_value(Status::from(&report)).unwrap();
            assert_eq!(document["revisions"]["compacted"], serde_json::Value::Null);
            assert_eq!(document["revisions"]["oldestReadable"], 20);
            let one_moment = StatusPage { one_moment: Some(None), ..report };
            assert!(!plain(|out| page(&one_moment, out)).contains("begins"));
        }
    }
}
