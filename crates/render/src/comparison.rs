//! The difference of two states, by kind and namespace.

use std::io::{self, Write};

use super::contract::common::KubernetesObject;
use super::contract::diff as contract;
use super::contract::window::HistoryWindow;
use super::json;
use super::row::row;
use super::style::{self, StyledWrite, paint};
use super::value::columns;
use super::visible::visible;
use ketcd_cluster::WindowEnd;
use ketcd_cluster::diff::{ComparedState, NamedDifference};
use ketcd_history::compare::Weight;
use ketcd_history::diff::{Detail, ManagedFields, object_fields, object_patch};
use ketcd_history::{ChangeKind, ObjectVersion, noise};

/// Columns of a field's path, before it runs over.
const PATH_COLUMNS: usize = 44;

/// How a comparison is shown.
#[derive(Clone, Copy, Debug)]
pub struct Showing {
    /// Bookkeeping, heartbeats and Events too, leaf by leaf.
    pub all_fields: bool,
    /// Columns that values are cut at: the terminal's. `None` where nothing is cut.
    pub width: Option<usize>,
}

/// Writes the differences as text, under a first line that says how many there are. `head` names the two states.
///
/// # Errors
/// The stream's.
pub fn write_text(head: &str, found: &[NamedDifference], showing: Showing, out: &mut dyn StyledWrite) -> io::Result<()> {
    let listed: Vec<&NamedDifference> =
        found.iter().filter(|named| showing.all_fields || named.difference.weight() == Weight::Telling).collect();
    let count = |kind| listed.iter().filter(|named| named.difference.kind() == kind).count();
    let counts =
        format!("{} added, {} deleted, {} changed", count(ChangeKind::Added), count(ChangeKind::Deleted), count(ChangeKind::Modified));
    writeln!(out, "{}   {counts}", paint(style::STRONG, head))?;
    let mut group = None;
    for named in listed {
        let now = (&named.subject.kind, &named.subject.namespace);
        if group != Some(now) {
            let place = match now {
                (kind, _) if kind.is_empty() => "other keys".to_owned(),
                (kind, namespace) if namespace.is_empty() => kind.clone(),
                (kind, namespace) => format!("{kind} in {namespace}"),
            };
            writeln!(out, "{}", paint(style::STRONG, place))?;
            group = Some(now);
        }
        write_one(named, showing, out)?;
    }
    if !showing.all_fields {
        let weigh = |weight| found.iter().filter(|named| named.difference.weight() == weight).count();
        let (quiet, events) = (weigh(Weight::Noise), weigh(Weight::Event));
        if quiet + events > 0 {
            let line = format!(
                "folded: {quiet} objects that differ in bookkeeping and heartbeats only, {events} Events (--all-fields shows them)"
            );
            writeln!(out, "{}", paint(style::FAINT, line))?;
        }
    }
    Ok(())
}

fn write_one(named: &NamedDifference, showing: Showing, out: &mut dyn StyledWrite) -> io::Result<()> {
    let difference = &named.difference;
    let sign = match difference.kind() {
        ChangeKind::Added => '+',
        ChangeKind::Deleted => '-',
        ChangeKind::Modified => '~',
    };
    writeln!(out, "  {} {}", paint(style::of_sign(sign), sign), visible(&named.name()))?;
    for version in [&difference.before, &difference.after] {
        if let ObjectVersion::Opaque(opaque) = version {
            writeln!(out, "      {}", paint(style::WARNING, format!("cannot be decoded: {}", opaque.reason)))?;
        }
    }
    let (Some(before), Some(after)) = (difference.before.whole(), difference.after.whole()) else { return Ok(()) };
    let detail = if showing.all_fields { Detail::Leaves } else { Detail::Story };
    let all = object_fields(before, after, detail);
    let changed = if showing.all_fields { all } else { noise::fold(all).0 };
    for change in &changed {
        let row = row(change);
        let width = columns(&row.path).max(PATH_COLUMNS);
        let text = showing.width.map_or_else(|| row.value.clone(), |columns| row.cut_to(columns.saturating_sub(9 + width).max(20)));
        writeln!(out, "      {} {:<PATH_COLUMNS$} {text}", paint(style::of_sign(row.sign), row.sign), row.path)?;
    }
    Ok(())
}

/// Writes one difference as one JSON document: the second state's object, and the patch from the first state's.
fn write_json(named: &NamedDifference, managed_fields: ManagedFields, out: &mut dyn Write) -> io::Result<()> {
    let difference = &named.difference;
    let patch = match (difference.before.whole(), difference.after.whole()) {
        (Some(before), Some(after)) => Some(object_patch(before, after, managed_fields)),
        _ => None,
    };
    let error = [&difference.before, &difference.after].into_iter().find_map(|version| match version {
        ObjectVersion::Opaque(opaque) => Some(opaque.reason.as_str()),
        _ => None,
    });
    let line = contract::Difference {
        kind: difference.kind().into(),
        key: String::from_utf8_lossy(&difference.key),
        object_kind: &named.subject.kind,
        namespace: &named.subject.namespace,
        name: &named.subject.name,
        revision: difference.revision.0,
        error,
        object: difference.after.object().map(|object| KubernetesObject { object, managed_fields }),
        patch,
    };
    Ok(serde_json::to_writer(out, &line)?)
}

/// Writes the differences of two states as one JSON document, with both in its head.
///
/// # Errors
/// The stream's.
pub fn write_document(
    states: [WindowEnd; 2],
    found: &[NamedDifference],
    managed_fields: ManagedFields,
    out: &mut dyn Write,
) -> io::Result<()> {
    let [since, until] = states.map(|end| Some(end.into()));
    out.write_all(json::head_of_list(Some(HistoryWindow { since, until })).as_bytes())?;
    for (place, named) in found.iter().enumerate() {
        out.write_all(if place == 0 { b"\n" } else { b",\n" })?;
        write_json(named, managed_fields, out)?;
    }
    out.write_all(b"]}\n")
}

/// Writes the differences as JSON, one a line.
///
/// # Errors
/// The stream's.
pub fn write_lines(found: &[NamedDifference], managed_fields: ManagedFields, out: &mut dyn Write) -> io::Result<()> {
    found.iter().try_for_each(|named| {
        write_json(named, managed_fields, out)?;
        out.write_all(b"\n")
    })
}

/// The two states of a comparison, for the first line.
pub fn head(states: &[ComparedState<'_>; 2]) -> String {
    format!("{} → {}", states[0].name, states[1].name)
}
