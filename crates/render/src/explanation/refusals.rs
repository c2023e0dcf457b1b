//! Nodes that do not fit, grouped by what refuses them, with what was compared on those nearest to fitting.

use std::collections::HashMap;
use std::io;

use crate::style::{FAINT, PLAIN, REMOVED, STRONG, StyledWrite, paint};
use crate::value::columns;
use ketcd_scheduler::{Explanation, Fact, NodeJudgement};

use super::facts;
use super::words::{fold, hanging, names};
use crate::words::grouped;

/// Nodes that the same filter refuses for the same reasons.
struct Group<'a> {
    reasons: String,
    nodes: Vec<&'a NodeJudgement>,
}

struct FilterGroups<'a> {
    plugin: &'static str,
    count: usize,
    groups: Vec<Group<'a>>,
}

/// How many groups are shown, shared among the filters, unless all are requested.
const MAX_GROUPS_SHOWN: usize = 8;
const MAX_NODES_NAMED: usize = 4;

/// Writes the groups, the largest first. `all`: every group, and more nodes of each.
pub(super) fn write(explanation: &Explanation, all: bool, width: usize, out: &mut dyn StyledWrite) -> io::Result<()> {
    let filters = filters(explanation);
    if filters.is_empty() {
        return Ok(());
    }
    let compared: HashMap<(&str, &str), &[Fact]> =
        explanation.evidence.iter().map(|evidence| ((&*evidence.node, evidence.plugin), &*evidence.facts)).collect();
    let digits = filters.iter().map(|filter| grouped(filter.count).len()).max().unwrap_or(0);
    let noun = if filters.iter().all(|filter| filter.count == 1) { "node" } else { "nodes" };
    let longest = filters.iter().map(|filter| filter.plugin.len()).max().unwrap_or(0);
    // The filters share the screen: the more there are, the fewer lines each gets.
    let lines = if all { usize::MAX } else { (8 / filters.len()).clamp(1, 4) };
    let indent = digits + noun.len() + 5;
    writeln!(out)?;
    for filter in &filters {
        let lead = format!(
            "  {:>digits$} {:<noun_width$}  ",
            grouped(filter.count),
            if filter.count == 1 { "node" } else { noun },
            noun_width = noun.len()
        );
        let single = filter.groups.len() == 1;
        let padding = if single { longest } else { 0 };
        let name = paint(STRONG, format!("{:<padding$}", filter.plugin)).to_string();
        let rest = if single { filter.groups[0].reasons.as_str() } else { "" };
        write!(out, "{}{name}", paint(REMOVED, &lead))?;
        let hang = columns(&lead) + longest + 2;
        let mut folded = fold(rest, width.saturating_sub(hang).max(20)).into_iter();
        writeln!(out, "{}", folded.next().filter(|line| !line.is_empty()).map(|line| format!("  {line}")).unwrap_or_default())?;
        for line in folded {
            writeln!(out, "{:hang$}{line}", "")?;
        }
        let share = (MAX_GROUPS_SHOWN / filters.len()).clamp(2, 4);
        // "Other reasons" would take a line too, so one more group is shown instead.
        let shown = if all || filter.groups.len() <= share + 1 { filter.groups.len() } else { share };
        for group in filter.groups.iter().take(shown) {
            if !single {
                hanging(&format!("{:indent$}{} × ", "", grouped(group.nodes.len())), &group.reasons, indent + 4, width, PLAIN, out)?;
            }
            let lines = if single || all { lines } else { 1 };
            details(group, filter.plugin, &compared, lines, (indent + if single { 0 } else { 4 }, width), out)?;
        }
        let left: usize = filter.groups.iter().skip(shown).map(|group| group.nodes.len()).sum();
        if left > 0 {
            writeln!(out, "{:indent$}{}", "", paint(FAINT, format!("{} × other reasons (-o wide has them)", grouped(left))))?;
        }
    }
    Ok(())
}

fn filters(explanation: &Explanation) -> Vec<FilterGroups<'_>> {
    let judgement = &explanation.judgement;
    let absent = judgement.filters.len();
    let mut found: HashMap<usize, HashMap<String, Vec<&NodeJudgement>>> = HashMap::new();
    for node in judgement.nodes.iter().filter(|node| !node.fits()) {
        let (at, reasons) = match node.first_refusal() {
            _ if node.absent && judgement.whole_pod.is_none() => (absent, "not evaluated: the pod can run only on other nodes".to_owned()),
            Some((at, refusal)) => (at, refusal.reasons.join(", ")),
            None => continue,
        };
        found.entry(at).or_default().entry(reasons).or_default().push(node);
    }
    let mut filters: Vec<FilterGroups> = found
        .into_iter()
        .map(|(at, groups)| {
            let mut groups: Vec<Group> = groups.into_iter().map(|(reasons, nodes)| Group { reasons, nodes }).collect();
            groups.sort_by(|a, b| b.nodes.len().cmp(&a.nodes.len()).then_with(|| a.reasons.cmp(&b.reasons)));
            let count = groups.iter().map(|group| group.nodes.len()).sum();
            FilterGroups { plugin: judgement.filters.get(at).copied().unwrap_or("PreFilter"), count, groups }
        })
        .collect();
    filters.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.plugin.cmp(b.plugin)));
    if let Some(first) = foremost(explanation) {
        filters.sort_by_key(|filter| !filter.groups.iter().any(|group| group.has(first)));
        filters.iter_mut().for_each(|filter| filter.groups.sort_by_key(|group| !group.has(first)));
    }
    filters
}

/// The node whose refusal matters most: the one the pod got, or is meant for.
fn foremost(explanation: &Explanation) -> Option<&str> {
    explanation.attempt.node.as_deref().or(explanation.meant_for.as_deref())
}

impl Group<'_> {
    fn has(&self, name: &str) -> bool {
        self.nodes.iter().any(|node| *node.name == *name)
    }
}

/// What was compared on the nodes nearest to fitting, equal nodes together; where nothing was, names.
fn details(
    group: &Group,
    plugin: &str,
    compared: &HashMap<(&str, &str), &[Fact]>,
    lines: usize,
    (indent, width): (usize, usize),
    out: &mut dyn StyledWrite,
) -> io::Result<()> {
    let mut nodes = group.nodes.clone();
    nodes.sort_by_key(|node| (node.distance(), &node.name));
    let mut equal: Vec<(String, Vec<&str>)> = Vec::new();
    for node in nodes {
        let checked = compared.get(&(&*node.name, plugin)).copied().unwrap_or_default();
        let against: Vec<String> = checked.iter().filter(|fact| !fact.holds).map(facts::text).collect();
        let text = against.join("; ");
        match equal.iter_mut().find(|(known, _)| *known == text) {
            Some((_, names)) => names.push(&node.name),
            None => equal.push((text, vec![&node.name])),
        }
    }
    // Nodes without facts come last, all on one line.
    equal.sort_by_key(|(text, _)| text.is_empty());
    let described = equal.iter().filter(|(text, _)| !text.is_empty()).count();
    let room = width - indent.min(width / 2);
    let mut texts: Vec<String> = equal
        .iter()
        .take(lines.min(described))
        .map(|(text, members)| format!("{}: {text}", names(members.iter().copied(), MAX_NODES_NAMED, room)))
        .collect();
    let left: Vec<&str> = equal.iter().skip(texts.len()).flat_map(|(_, members)| members.iter().copied()).collect();
    if !left.is_empty() {
        let left = names(left.into_iter(), 2 * MAX_NODES_NAMED, room);
        match texts.last_mut() {
            Some(last) => *last += &format!("; … {left}"),
            None => texts.push(left),
        }
    }
    texts.iter().try_for_each(|text| hanging(&" ".repeat(indent), text, indent + 2, width, FAINT, out))
}
