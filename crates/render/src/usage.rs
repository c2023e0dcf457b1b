//! `usage`: what fills etcd and who writes to it, in one section per grouping.

use std::cmp::Reverse;
use std::io;

use super::duration;
use super::style::{FAINT, PLAIN, STRONG, StyledWrite, paint};
use super::table::write_aligned;
use super::words::bytes;
use ketcd_history::usage::{LargestField, Remains, Sum};

pub use super::page::UsagePage;

/// Rows of a section, unless all are requested.
const MAX_SECTION_ROWS: usize = 8;
/// How many sums are shown: those with the most changes, and as many of the largest.
const MAX_SUMS_SHOWN: usize = 6;

/// Writes the page.
///
/// # Errors
/// The stream's.
pub fn page(page: &UsagePage, out: &mut dyn StyledWrite) -> io::Result<()> {
    head(page, out)?;
    sums(page, "RESOURCE", &page.resources, out)?;
    sums(page, "NAMESPACE", &page.namespaces, out)?;
    if let Some(managers) = &page.managers {
        by_manager(page, managers, out)?;
    }
    by_key(page, out)?;
    largest(page, out)?;
    left(page, out)?;
    writeln!(out)?;
    foot(page).iter().try_for_each(|line| writeln!(out, "{}", paint(FAINT, line)))
}

/// Notes on how the figures were obtained.
fn foot(page: &UsagePage) -> Vec<String> {
    let mut lines = Vec::new();
    if page.has_bytes {
        lines.push("IDLE: updates that changed nothing but timestamps and managedFields".to_owned());
        if page.compared_every > 1 {
            lines[0].push_str(&format!("; 1 in {} was compared", page.compared_every));
        }
    } else {
        if let Some(unseen) = page.unseen.filter(|unseen| *unseen > 0) {
            lines.push(format!("at least {unseen} revisions are not counted: keys created and deleted in between"));
        }
        if page.live_growth().is_some() {
            lines.push("growth is estimated from keys and writes, times the mean size of a version in the database".to_owned());
        }
        lines.push("counted from keys and versions; --full also reads the values, for bytes, field managers, IDLE, the largest and what is left behind".to_owned());
    }
    lines
}

/// How much was written, compared with the live data, and what growth follows.
fn head(page: &UsagePage, out: &mut dyn StyledWrite) -> io::Result<()> {
    let slice = page.is_slice().then(|| "a slice of a cluster: all figures are the slice's, not the cluster's".to_owned());
    let lines = [
        slice.map(|text| ("bundle", text)),
        Some(("written", written(page))),
        Some(("live", live(page))),
        idle_part(page).map(|text| ("idle", text)),
        growth(page).map(|text| ("growth", text)),
        if page.is_slice() { slice_file(page).map(|text| ("file", text)) } else { database(page).map(|text| ("database", text)) },
    ];
    lines.into_iter().flatten().try_for_each(|(what, text)| {
        let style = if what == "written" { STRONG } else { PLAIN };
        writeln!(out, "{what:<10}{}", paint(style, text))
    })
}

fn written(page: &UsagePage) -> String {
    let ((from, to), total) = (page.span, page.total);
    let size = if page.has_bytes { format!(", {}", bytes(total.written_bytes)) } else { String::new() };
    let rate = |seconds: f64| format!(", {:.1} a second for {}", total.changes() as f64 / seconds, duration::length(seconds.round()));
    let rate = page.seconds().map_or(String::new(), rate);
    let revisions = if from < to { format!(": revisions {} to {to}", from.after()) } else { String::new() };
    format!("{} and {}{size}{rate}{revisions}", count(total.writes, "write"), count(total.deletions, "deletion"))
}

fn live(page: &UsagePage) -> String {
    let keys = count(page.total.keys, "key");
    let size = if page.has_bytes { format!(", {}", bytes(page.total.live_bytes)) } else { String::new() };
    let history = page.history_to_live().map_or(String::new(), |times| format!("; {times:.1} times as much was written"));
    format!("{keys}{size}{history}")
}

fn idle_part(page: &UsagePage) -> Option<String> {
    let Sum { compared, idle, .. } = page.total;
    let part = 100.0 * idle as f64 / compared as f64;
    (compared > 0).then(|| format!("{part:.0} % of the updates changed nothing but timestamps and managedFields"))
}

fn growth(page: &UsagePage) -> Option<String> {
    let (live, written) = (page.live_growth()?, page.written_growth()?);
    let sign = if live < 0.0 { "-" } else { "" };
    let about = if page.has_bytes { "" } else { "about " };
    let (live, written) = (bytes(live.abs() as u64), bytes(written as u64));
    Some(format!("{about}{sign}{live} an hour in what is live; {about}{written} an hour is written"))
}

/// The file of a bundle, which has no quota.
fn slice_file(page: &UsagePage) -> Option<String> {
    let quota = if page.quota.is_some() { "; a slice does not show when the cluster reaches its quota" } else { "" };
    (page.source.file_bytes > 0).then(|| format!("{}{quota}", bytes(page.source.file_bytes)))
}

/// The database, and when it is full.
fn database(page: &UsagePage) -> Option<String> {
    let size = |of: u64| bytes(of);
    let source = &page.source;
    let about = if page.has_bytes { "" } else { "about " };
    let until = match (page.quota, page.days_to_quota()) {
        (None, _) => "the quota is not known: --quota 8Gi".to_owned(),
        (Some(quota), Some(days)) => format!("{about}{} to the quota of {}", duration::length(days * 86_400.0), size(quota)),
        (Some(quota), None) => format!("what is live does not grow towards the quota of {}", size(quota)),
    };
    (source.file_bytes > 0).then(|| format!("{}, {} in use; {until}", size(source.file_bytes), size(source.in_use_bytes)))
}

fn count(of: u64, what: &str) -> String {
    if of == 1 { format!("1 {what}") } else { format!("{of} {what}s") }
}

/// A column: its heading and its alignment.
enum UsageColumn {
    L(&'static str),
    R(&'static str),
}
use UsageColumn::{L, R};

fn first(page: &UsagePage, columns: &[UsageColumn], mut rows: Vec<Vec<String>>, out: &mut dyn StyledWrite) -> io::Result<()> {
    let shown = if page.is_wide { rows.len() } else { MAX_SECTION_ROWS.min(rows.len()) };
    let hidden = rows.len() - shown;
    rows.truncate(shown);
    section(columns, rows, hidden, out)
}

fn section(columns: &[UsageColumn], rows: Vec<Vec<String>>, hidden: usize, out: &mut dyn StyledWrite) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let heading = columns.iter().map(|column| match column {
        L(heading) | R(heading) => (*heading).to_owned(),
    });
    let mut lines = vec![heading.collect::<Vec<_>>()];
    lines.extend(rows);
    for (place, _) in columns.iter().enumerate().filter(|(_, column)| matches!(column, R(_))) {
        let width = lines.iter().map(|line| line[place].len()).max().unwrap_or(0);
        lines.iter_mut().for_each(|line| line[place] = format!("{:>width$}", line[place]));
    }
    writeln!(out)?;
    write_aligned(&lines, out)?;
    if hidden > 0 {
        writeln!(out, "{}", paint(FAINT, format!("and {hidden} more (-o wide shows all)")))?;
    }
    Ok(())
}

fn sums(page: &UsagePage, of: &'static str, sums: &[(String, Sum)], out: &mut dyn StyledWrite) -> io::Result<()> {
    let shown = outstanding(page, sums);
    let rows = shown.iter().map(|(name, sum)| {
        let mut row = vec![if name.is_empty() { "<none>".to_owned() } else { name.clone() }, sum.keys.to_string()];
        row.extend(page.has_bytes.then(|| bytes(sum.live_bytes)));
        row.push(sum.writes.to_string());
        row.extend(page.has_bytes.then(|| bytes(sum.written_bytes)));
        row.push(sum.deletions.to_string());
        row.extend(page.has_bytes.then(|| idle(*sum)));
        row
    });
    let columns: &[UsageColumn] = if page.has_bytes {
        &[L(of), R("KEYS"), R("LIVE"), R("WRITES"), R("WRITTEN"), R("DELETED"), R("IDLE")]
    } else {
        &[L(of), R("KEYS"), R("WRITES"), R("DELETED")]
    };
    section(columns, rows.collect(), sums.len() - shown.len(), out)
}

/// Returns the sums with the most changes and the largest ones, in their order.
fn outstanding<'p>(page: &UsagePage, sums: &'p [(String, Sum)]) -> Vec<&'p (String, Sum)> {
    let mut largest: Vec<usize> = (0..sums.len()).collect();
    largest.sort_by_key(|&place| Reverse(size(page, &sums[place].1)));
    largest.truncate(MAX_SUMS_SHOWN);
    let stands_out = |place: &usize| page.is_wide || sums.len() <= MAX_SECTION_ROWS || *place < MAX_SUMS_SHOWN || largest.contains(place);
    (0..sums.len()).filter(stands_out).map(|place| &sums[place]).collect()
}

fn size(page: &UsagePage, sum: &Sum) -> u64 {
    if page.has_bytes { sum.live_bytes } else { sum.keys }
}

/// The part of the updates that changed nothing but timestamps and managedFields.
fn idle(sum: Sum) -> String {
    if sum.compared == 0 { "-".to_owned() } else { format!("{:.0} %", 100.0 * sum.idle as f64 / sum.compared as f64) }
}

fn by_manager(page: &UsagePage, managers: &[(String, Sum)], out: &mut dyn StyledWrite) -> io::Result<()> {
    let rows = managers.iter().map(|(name, sum)| {
        let name = if name.is_empty() { "<none>".to_owned() } else { name.clone() };
        vec![name, sum.writes.to_string(), bytes(sum.written_bytes), idle(*sum)]
    });
    first(page, &[L("FIELD MANAGER"), R("WRITES"), R("WRITTEN"), R("IDLE")], rows.collect(), out)
}

fn by_key(page: &UsagePage, out: &mut dyn StyledWrite) -> io::Result<()> {
    let rows = page.keys.iter().map(|(key, sum)| {
        let mut row = vec![key.address.clone(), sum.writes.to_string()];
        row.extend(page.has_bytes.then(|| bytes(sum.written_bytes)));
        row.push(sum.deletions.to_string());
        row.extend(page.has_bytes.then(|| idle(*sum)));
        row
    });
    let columns: &[UsageColumn] = if page.has_bytes {
        &[L("BUSIEST"), R("WRITES"), R("WRITTEN"), R("DELETED"), R("IDLE")]
    } else {
        &[L("BUSIEST"), R("WRITES"), R("DELETED")]
    };
    first(page, columns, rows.collect(), out)
}

fn largest(page: &UsagePage, out: &mut dyn StyledWrite) -> io::Result<()> {
    let part = |field: &LargestField| format!("{:.0} %", 100.0 * field.bytes as f64 / (field.of as f64).max(1.0));
    let rows = page.largest.iter().map(|large| {
        let (part, path) = large.field.as_ref().map_or(("-".to_owned(), String::new()), |field| (part(field), field.path.clone()));
        vec![large.key.address.clone(), bytes(large.bytes), part, path]
    });
    first(page, &[L("LARGEST"), R("LIVE"), R("OF IT"), L("FIELD")], rows.collect(), out)
}

fn left(page: &UsagePage, out: &mut dyn StyledWrite) -> io::Result<()> {
    let rows = page.left.iter().map(|left| {
        let owner = match (&left.owner[..], &left.release[..]) {
            ("", "") => "<none>".to_owned(),
            ("", release) => format!("release {release}"),
            (owner, _) => owner.to_owned(),
        };
        let why = match left.reason {
            Remains::Ended => "ended",
            Remains::Superseded => "of an earlier rollout",
            Remains::OwnerGone => "owner no longer exists",
            Remains::SupersededRelease => "superseded Helm revision",
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        };
        vec![left.kind.clone(), owner, left.objects.to_string(), bytes(left.bytes), why.to_owned()]
    });
    first(page, &[L("LEFT BEHIND"), L("OWNER"), R("OBJECTS"), R("LIVE"), L("WHY")], rows.collect(), out)
}
