//! Nodes that do not fit, grouped by what refuses them, with what was compared on a few of them.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::render::style::{FAINT, REMOVED, STRONG, paint};
use crate::scheduler::{Explanation, NodeJudgement};

use super::text::{count, fold};

/// Nodes that the same filter refuses for the same reasons.
struct Group<'a> {
    plugin: &'static str,
    reasons: String,
    nodes: Vec<&'a NodeJudgement>,
}

/// Writes the groups, the largest first.
///
/// # Errors
/// The stream's.
pub fn write(explanation: &Explanation, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let groups = groups(explanation);
    if groups.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let digits = groups.iter().map(|group| count(group.nodes.len(), "node").len()).max().unwrap_or(0);
    let longest = groups.iter().map(|group| group.plugin.len()).max().unwrap_or(0);
    for group in groups {
        let nodes = count(group.nodes.len(), "node");
        let lead = format!("  {nodes:>digits$}  {:<longest$}  ", group.plugin);
        let lines = fold(&group.reasons, width.saturating_sub(lead.len()));
        for (at, line) in lines.iter().enumerate() {
            match at {
                0 => writeln!(
                    out,
                    "  {}  {}  {line}",
                    paint(REMOVED, format!("{nodes:>digits$}")),
                    paint(STRONG, format!("{:<longest$}", group.plugin))
                )?,
                _ => writeln!(out, "{:indent$}{line}", "", indent = lead.len())?,
            }
        }
        details(explanation, &group, lead.len(), width, out)?;
    }
    Ok(())
}

fn groups(explanation: &Explanation) -> Vec<Group<'_>> {
    let mut found: BTreeMap<(usize, String), Vec<&NodeJudgement>> = BTreeMap::new();
    let judgement = &explanation.judgement;
    let absent = judgement.filters.len();
    for node in judgement.nodes.iter().filter(|node| !node.fits()) {
        let (at, reasons) = match node.first_refusal() {
            _ if node.absent && judgement.whole_pod.is_none() => {
                (absent, "left out before any filter: the pod names other nodes".to_owned())
            }
            Some((at, refusal)) => (at, refusal.reasons.join(", ")),
            None => continue,
        };
        found.entry((at, reasons)).or_default().push(node);
    }
    let mut groups: Vec<Group> = found
        .into_iter()
        .map(|((at, reasons), nodes)| Group { plugin: judgement.filters.get(at).copied().unwrap_or("PreFilter"), reasons, nodes })
        .collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.nodes.len()));
    groups
}

/// What was compared on the first nodes of a group; where nothing was, their names.
fn details(explanation: &Explanation, group: &Group, indent: usize, width: usize, out: &mut dyn Write) -> io::Result<()> {
    const NAMES: usize = 8;
    let told =
        |node: &&&NodeJudgement| explanation.evidence.iter().find(|evidence| evidence.node == node.name && evidence.plugin == group.plugin);
    let known: Vec<_> = group.nodes.iter().filter_map(|node| told(&node)).collect();
    let indent = indent.min(width / 3);
    if known.is_empty() {
        let names: Vec<&str> = group.nodes.iter().take(NAMES).map(|node| &*node.name).collect();
        let more = group.nodes.len().saturating_sub(NAMES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        for line in fold(&format!("{}{more}", names.join(" ")), width.saturating_sub(indent)) {
            writeln!(out, "{:indent$}{}", "", paint(FAINT, line))?;
        }
        return Ok(());
    }
    for evidence in &known {
        for (at, line) in
            fold(&format!("{}: {}", evidence.node, evidence.facts.join("; ")), width.saturating_sub(indent + 2)).iter().enumerate()
        {
            writeln!(out, "{:indent$}{}", "", paint(FAINT, format!("{}{line}", if at > 0 { "  " } else { "" })))?;
        }
    }
    let more = group.nodes.len() - known.len();
    if more > 0 {
        writeln!(out, "{:indent$}{}", "", paint(FAINT, format!("… and {more} more")))?;
    }
    Ok(())
}
