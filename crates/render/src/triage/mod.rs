//! `triage` as one screen: how much is wrong and at which moment, then what, the weightiest first, what followed from it, who changed what before, and etcd itself.

mod changes;
mod since_last;
mod warnings;

use std::io;

use super::duration;
use super::since_last::identity;
use super::style::{self, StyledWrite, paint};
use super::value::{columns, cut};
use super::visible::visible;
use super::words::{absence_words, bytes, shared_words, trouble};
use ketcd_cluster::triage::{Cause, StorageFacts, WriteSums, Writes};
use ketcd_history::trouble::TroubleKind;
use ketcd_history::trouble::triage::{Counts, Finding};
use ketcd_store::SourceKind;

pub use super::page::TriagePage;

/// Columns of a line, where the output has no width of its own.
const DEFAULT_COLUMNS: usize = 100;
/// Findings and changes that one screen shows.
const MAX_FINDINGS_SHOWN: usize = 6;

/// Writes the screen.
///
/// # Errors
/// The stream's.
pub fn page(page: &TriagePage<'_>, out: &mut dyn StyledWrite) -> io::Result<()> {
    if let Some(first) = said_first(page) {
        writeln!(out, "{}", paint(style::WARNING, first))?;
    }
    if let Some(since) = page.since_last {
        return since_last::write(page, since, out);
    }
    if page.findings.is_empty() {
        if page.absence.is_none() {
            let style = if is_partial(page) { style::PLAIN } else { style::ADDED };
            writeln!(out, "{}", paint(style, healthy(page)))?;
            write_unknown_moment(page, out)?;
            write_reduced(page, out)?;
        }
        warnings::write(page, out)?;
        return if page.is_wide || page.by.is_some() { below(page, out) } else { Ok(()) };
    }
    writeln!(out, "{}", paint(style::STRONG, verdict(page)))?;
    write_unknown_moment(page, out)?;
    write_reduced(page, out)?;
    let shown = if page.is_wide { page.findings.len() } else { MAX_FINDINGS_SHOWN };
    for (place, finding) in page.findings.iter().enumerate().take(shown) {
        write_finding(page, finding, page.causes_of(place), (0, None), out)?;
    }
    if let Some(more) = page.findings.len().checked_sub(shown).filter(|more| *more > 0) {
        writeln!(out, "{}", paint(style::FAINT, format!("and {more} less important ones (-o wide shows all)")))?;
    }
    warnings::write(page, out)?;
    below(page, out)
}

/// Returns the warning that comes before anything else: there was nothing to look at, or values could not be decoded; `None` if neither is the case.
fn said_first(page: &TriagePage<'_>) -> Option<String> {
    if let Some(absence) = &page.absence {
        return Some(format!("nothing to check at revision {}: {}", page.revision, absence_words(absence)));
    }
    let values = match page.not_decoded {
        0 => return None,
        1 => "1 value".to_owned(),
        many => format!("{many} values"),
    };
    Some(format!("{values} could not be decoded: what they say is missing here"))
}

/// That a bundle shows less of some objects than of those that it is of.
pub(super) fn write_reduced(page: &TriagePage<'_>, out: &mut dyn StyledWrite) -> io::Result<()> {
    let troubles = match page.reduced {
        0 => return Ok(()),
        1 => "1 more trouble is".to_owned(),
        many => format!("{many} more troubles are"),
    };
    let left_out = format!("{troubles} left out: of their objects the bundle holds only what a scheduler reads");
    writeln!(out, "{}", paint(style::FAINT, left_out))
}

/// Whether some of what there is was not looked at.
fn is_partial(page: &TriagePage<'_>) -> bool {
    page.is_partial || page.not_decoded > 0
}

/// How much is wrong, at which moment, in one line.
fn verdict(page: &TriagePage<'_>) -> String {
    let count = if page.findings.len() == 1 { "1 trouble".to_owned() } else { format!("{} troubles", page.findings.len()) };
    let of_asked = if page.is_selected { " with what was asked for" } else { "" };
    format!("{count}{of_asked}{}", at(page))
}

/// That nothing is wrong, in one line.
fn healthy(page: &TriagePage<'_>) -> String {
    let is_log = page.storage.status.kind == SourceKind::AuditLog;
    let nothing = match (is_partial(page), page.missing, is_log) {
        (true, ..) => "nothing wrong was found in what could be read",
        // An error says what is not there.
        (_, 1.., _) => "nothing wrong was found",
        (.., true) => "nothing wrong was found in what the audit log shows",
        _ => "nothing is wrong",
    };
    let of_asked = match (page.is_selected, page.missing) {
        (true, 1..) => " with the objects asked for that exist",
        (true, 0) => " with what was asked for",
        _ => "",
    };
    format!("{nothing}{of_asked}{}; looked at: {}", at(page), looked_at(page))
}

/// The moment, with its revision.
fn at(page: &TriagePage<'_>) -> String {
    let at = page.now.map_or(" at an unknown moment".to_owned(), |now| format!(" at {now:.0}"));
    format!("{at}, revision {}", page.revision)
}

fn looked_at(page: &TriagePage<'_>) -> String {
    let Counts { nodes, pods, workloads } = page.counts;
    let count = |count: usize, one: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") };
    // etcd says how it is now, not how it was; printed objects, audit logs and bundles come without one.
    let has_etcd = !page.is_past
        && !page.storage.status.is_bundle()
        && !matches!(page.storage.status.kind, SourceKind::Objects | SourceKind::AuditLog);
    let etcd = if has_etcd { ", etcd itself" } else { "" };
    let (nodes, pods, workloads) = (count(nodes, "node"), count(pods, "pod"), count(workloads, "workload"));
    format!("{nodes}, {pods}, {workloads}{etcd}")
}

/// Says of printed objects that they do not show when they were printed, and how to give that.
fn write_unknown_moment(page: &TriagePage<'_>, out: &mut dyn StyledWrite) -> io::Result<()> {
    if page.now.is_some() || page.storage.status.kind != SourceKind::Objects {
        return Ok(());
    }
    let after = page.not_before.map_or(String::new(), |time| format!(", {time:.0} or later"));
    let text = format!(
        "these objects do not show when they were printed{after}; give the time with --at TIME to see how long troubles have lasted"
    );
    writeln!(out, "{}", paint(style::WARNING, text))
}

/// Changes and storage.
fn below(page: &TriagePage<'_>, out: &mut dyn StyledWrite) -> io::Result<()> {
    changes::write_others(page, out)?;
    write_storage(page, out)
}

/// Writes a finding: who, what and since when, the changes that explain it, what followed, and a command. What followed, at this depth below its
/// cause, takes as few lines as it can.
fn write_finding(
    page: &TriagePage<'_>,
    finding: &Finding,
    causes: &[Cause],
    (depth, cause): (usize, Option<&Finding>),
    out: &mut dyn StyledWrite,
) -> io::Result<()> {
    let (lead, indent) = if depth == 0 { (String::new(), 2) } else { (format!("{}→ ", "  ".repeat(depth)), 2 * depth + 2) };
    let (who, (what, more)) = (trouble::who(finding), says(page, finding, cause));
    let says = format!("{what}{more}");
    let style = if depth == 0 { style::STRONG } else { style::PLAIN };
    let line = format!("{lead}{who}  {says}");
    let command = page.command(finding).map_or(String::new(), |command| command.to_string());
    let width = page.width.unwrap_or(DEFAULT_COLUMNS);
    let state = style::of_tone(finding.trouble.kind.tone());
    let head = format!("{lead}{}  {}{}", paint(style, &who), paint(state, &what), visible(&more));
    let fits = columns(&line) + 2 + columns(&command) <= width;
    if fits {
        let gap = width - columns(&line) - columns(&command);
        writeln!(out, "{head}{}{}", " ".repeat(gap), paint(style::FAINT, &command))?;
    } else {
        writeln!(out, "{head}")?;
    }
    let is_full = depth == 0 || page.is_wide;
    let names = if is_full { trouble::names(finding) } else { String::new() };
    let detail = if repeats(finding, cause) { String::new() } else { shared_words::all_detail(finding) };
    let remedy = if is_full { trouble::remedy(finding) } else { String::new() };
    for text in [names, detail, remedy].iter().filter(|text| !text.is_empty()) {
        let text = visible(text);
        let room = width.saturating_sub(indent);
        let text = if page.is_wide || page.width.is_none() { text.into_owned() } else { cut(&text, room) };
        writeln!(out, "{:indent$}{text}", "")?;
    }
    let id = id_in_wide(page, finding);
    if !id.is_empty() {
        writeln!(out, "{:indent$}{}", "", paint(style::FAINT, id.trim_start()))?;
    }
    changes::write_causes(page, causes, indent, out)?;
    finding.effects.iter().try_for_each(|effect| write_finding(page, effect, &[], (depth + 1, Some(finding)), out))?;
    if !fits && is_full {
        writeln!(out, "{:indent$}{}", "", paint(style::FAINT, &command))?;
    }
    Ok(())
}

/// The id of a finding, where all is shown: `  id 4f0c1a…`.
fn id_in_wide(page: &TriagePage<'_>, finding: &Finding) -> String {
    if page.is_wide { format!("  id {}", identity::of_finding(finding)) } else { String::new() }
}

/// Whether the detail of what followed is that of its cause: a pod waits for the volume that its claim waits for.
fn repeats(finding: &Finding, cause: Option<&Finding>) -> bool {
    let awaited = |finding: &Finding| finding.trouble.about.last().cloned();
    finding.trouble.kind == TroubleKind::VolumeAwaited && cause.is_some_and(|cause| awaited(cause) == awaited(finding))
}

/// What is wrong; and since when (unless its cause says that), and how many pods are on a node.
fn says(page: &TriagePage<'_>, finding: &Finding, cause: Option<&Finding>) -> (String, String) {
    let is_as_the_cause = cause.is_some_and(|cause| cause.since() == finding.since());
    let mut more = if is_as_the_cause { String::new() } else { trouble::since_behind(finding, page.now) };
    let is_of_nodes = finding.subjects.iter().all(|subject| subject.kind == "Node");
    if is_of_nodes && finding.pods > 0 && !finding.trouble.kind.is_of_pods() {
        more.push_str(&format!(", {} on {}", pods(finding.pods), if finding.subjects.len() == 1 { "it" } else { "them" }));
    }
    (shared_words::all_what(finding), more)
}

fn pods(count: usize) -> String {
    if count == 1 { "1 pod".to_owned() } else { format!("{count} pods") }
}

fn write_storage(page: &TriagePage<'_>, out: &mut dyn StyledWrite) -> io::Result<()> {
    let StorageFacts { status, kept, writes, .. } = page.storage;
    let mut parts = Vec::new();
    if status.file_bytes > 0 {
        let quota = status.members.iter().filter_map(|member| member.db_size_quota).min();
        let quota = quota
            .map_or(String::new(), |quota| format!(", {:.0} % of the quota", 100.0 * status.file_bytes as f64 / (quota as f64).max(1.0)));
        parts.push(format!("{}{quota}", bytes(status.file_bytes)));
    }
    if *kept > 1 {
        let kept_by = if status.kind == SourceKind::AuditLog || status.is_bundle() { "" } else { " kept" };
        parts.push(format!("{kept} revisions{kept_by}"));
    }
    if parts.is_empty() {
        return Ok(());
    }
    let of = match status.kind {
        SourceKind::AuditLog => "log",
        _ if status.is_bundle() => "file",
        _ => "etcd",
    };
    let line = format!("{of:<4}  {}", parts.join("; "));
    let command = page.at_moment(page.invocation.ketcd("usage")).to_string();
    let width = page.width.unwrap_or(DEFAULT_COLUMNS);
    let gap = width.checked_sub(columns(&line) + columns(&command)).filter(|gap| *gap > 1);
    let gap = gap.map_or("  ".to_owned(), |gap| " ".repeat(gap));
    writeln!(out, "{}{gap}{}", visible(&line), paint(style::FAINT, command))?;
    let lines = writes.iter().flat_map(|writes| [Some(written(writes)), by_whom(writes), grown(writes)]).flatten();
    lines.into_iter().try_for_each(|line| writeln!(out, "      {}", visible(&line)))
}

/// `1203 writes in 15m (1.3/s, 2.1 MiB): leases 61 %, pods 20 %`.
fn written(writes: &Writes) -> String {
    let rate = writes.changes as f64 / writes.seconds.max(1.0);
    let size = if writes.bytes > 0 { format!(", {}", bytes(writes.bytes)) } else { String::new() };
    let most = most(writes, &writes.by_resource).map_or(String::new(), |most| format!(": {most}"));
    let count = if writes.changes == 1 { "1 write".to_owned() } else { format!("{} writes", writes.changes) };
    format!("{count} in {} ({rate:.1}/s{size}){most}", duration::length(writes.seconds.round()))
}

/// `by kubelet 42 %, kube-controller-manager 31 %`.
fn by_whom(writes: &Writes) -> Option<String> {
    most(writes, &writes.by_manager).map(|most| format!("by {most}"))
}

/// The three of the most changes.
fn most(writes: &Writes, parts: &[(String, WriteSums)]) -> Option<String> {
    let part = |(name, part): &(String, WriteSums)| format!("{name} {} %", 100 * part.changes / writes.changes.max(1));
    let most = parts.iter().take(3).map(part).collect::<Vec<_>>().join(", ");
    (!most.is_empty()).then_some(most)
}

/// `growth of what is live: +3870 keys, +3.8 MiB an hour`.
fn grown(writes: &Writes) -> Option<String> {
    let (keys, size) = writes.grown?;
    let an_hour = |count: i64| count as f64 * 3600.0 / writes.seconds.max(1.0);
    let keys = format!("{:+.0} keys", an_hour(keys));
    let size = size.map(an_hour).map_or(String::new(), |size| {
        let sign = if size < 0.0 { '-' } else { '+' };
        format!(", {sign}{}", bytes(size.abs() as u64))
    });
    Some(format!("growth of what is live: {keys}{size} an hour"))
}
