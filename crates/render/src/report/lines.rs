//! The order in which the page shows its rows: nodes, then namespaces with the busiest first, then what belongs to none; below each its own.

use std::collections::HashMap;

use super::row::ReportRow;
use ketcd_cluster::survey::Unlisted;

/// A line of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ReportLine {
    /// An object, by its place among the rows, and how many owners stand above it.
    Object(usize, usize),
    /// Objects without rows, by their place among those.
    Unlisted(usize),
}

/// Puts objects below their owners, and what has no row behind its namespace's rows.
pub(super) fn in_order(rows: &[ReportRow], unlisted: &[Unlisted], by_uid: &HashMap<String, usize>) -> Vec<ReportLine> {
    let mut children: HashMap<usize, Vec<ReportLine>> = HashMap::new();
    let mut roots: Vec<ReportLine> = (0..unlisted.len()).map(ReportLine::Unlisted).collect();
    for (index, row) in rows.iter().enumerate() {
        match row.owner.as_ref().and_then(|uid| by_uid.get(uid)).filter(|&&owner| owner != index) {
            Some(&owner) => children.entry(owner).or_default().push(ReportLine::Object(index, 0)),
            None => roots.push(ReportLine::Object(index, 0)),
        }
    }
    let mut changes: HashMap<&str, usize> = HashMap::new();
    for row in rows {
        *changes.entry(&row.namespace).or_default() += row.ticks.len() + row.left_out;
    }
    let place = |line: &ReportLine| {
        let (kind, namespace, begin, name) = match *line {
            ReportLine::Object(index, _) => (&rows[index].kind, &rows[index].namespace, rows[index].begin, Some(&rows[index].name)),
            ReportLine::Unlisted(index) => (&unlisted[index].kind, &unlisted[index].namespace, None, None),
        };
        let group = match (kind.as_str(), namespace.is_empty()) {
            ("Node", _) => 0,
            (_, false) => 1,
            (_, true) => 2,
        };
        let quiet = std::cmp::Reverse(changes.get(namespace.as_str()).copied().unwrap_or_default());
        (group, quiet, namespace.clone(), name.is_none(), rank(kind), kind.clone(), begin.filter(|_| group != 0), name.cloned())
    };
    roots.sort_by_cached_key(place);
    let mut lines = Vec::with_capacity(rows.len() + unlisted.len());
    let mut seen = vec![false; rows.len()];
    let mut stack: Vec<(ReportLine, usize)> = roots.into_iter().rev().map(|line| (line, 0)).collect();
    while let Some((line, depth)) = stack.pop() {
        let ReportLine::Object(row, _) = line else {
            lines.push(line);
            continue;
        };
        if std::mem::replace(&mut seen[row], true) {
            continue;
        }
        lines.push(ReportLine::Object(row, depth));
        let mut below = children.remove(&row).unwrap_or_default();
        below.sort_by_cached_key(place);
        stack.extend(below.into_iter().rev().map(|child| (child, depth + 1)));
    }
    // Objects that own each other in a circle have no root; they are shown all the same.
    lines.extend((0..rows.len()).filter(|&row| !seen[row]).map(|row| ReportLine::Object(row, 0)));
    lines
}

/// Readers of a post-mortem look at these first.
fn rank(kind: &str) -> usize {
    const FIRST_KINDS: [&str; 8] = ["Node", "Namespace", "Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job", "Pod"];
    FIRST_KINDS.iter().position(|first| *first == kind).unwrap_or(FIRST_KINDS.len())
}
