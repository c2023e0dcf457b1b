//! The scores of the nodes that fit, side by side: only what differs gets a column.

use std::io::{self, Write};
use std::sync::Arc;

use crate::render::style::{ADDED, FAINT, STRONG, paint};
use crate::scheduler::{Explanation, PluginScore, Scores};

use super::text::{count, fold};

/// How many nodes the table shows beside the chosen one, unless all are asked for.
const SHOWN: usize = 6;

/// Writes the table: the best first. `all`: every node and every plugin.
///
/// # Errors
/// The stream's.
pub fn write(explanation: &Explanation, scores: &Scores, all: bool, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let ranked = ranked(scores);
    let (columns, same): (Vec<&PluginScore>, Vec<&PluginScore>) =
        scores.plugins.iter().partition(|score| all || score.normalized.iter().any(|points| *points != score.normalized[0]));
    let chosen = explanation.attempt.node.as_ref().and_then(|node| scores.nodes.iter().position(|name| name == node));
    let mut rows: Vec<usize> = if all { ranked.clone() } else { ranked.iter().copied().take(SHOWN).collect() };
    rows.extend(chosen.filter(|at| !rows.contains(at)));
    let heads: Vec<String> = columns.iter().map(|score| head(score)).collect();
    let cells = |at: usize| {
        columns.iter().map(move |score| {
            let about = if score.doubtful.contains(&at) { "~" } else { "" };
            format!("{about}{}", score.normalized[at] * score.weight)
        })
    };
    let widths: Vec<usize> = heads
        .iter()
        .enumerate()
        .map(|(column, head)| {
            rows.iter().filter_map(|at| cells(*at).nth(column)).map(|cell| cell.len()).max().unwrap_or(0).max(head.chars().count())
        })
        .collect();
    let names = rows.iter().map(|at| scores.nodes[*at].len()).max().unwrap_or(0).max(4);
    let totals = rows.iter().map(|at| scores.totals[*at].to_string().len()).max().unwrap_or(0).max(5);
    writeln!(out)?;
    let mut line = format!("{:<names$}  {:>totals$}", "NODE", "TOTAL");
    for (head, width) in heads.iter().zip(&widths) {
        line.push_str(&format!("  {head:>width$}"));
    }
    writeln!(out, "{}", paint(STRONG, line.trim_end()))?;
    for at in &rows {
        let mut line = format!("{:<names$}  {:>totals$}", scores.nodes[*at], scores.totals[*at]);
        for (cell, width) in cells(*at).zip(&widths) {
            line.push_str(&format!("  {cell:>width$}"));
        }
        if Some(*at) == chosen {
            writeln!(out, "{}  ← chosen", paint(ADDED, line))?;
        } else {
            writeln!(out, "{line}")?;
        }
    }
    let hidden = scores.nodes.len() - rows.len();
    if hidden > 0 {
        let rest = ranked.iter().filter(|at| !rows.contains(at)).map(|at| scores.totals[*at]);
        let (low, high) = (rest.clone().min().unwrap_or(0), rest.max().unwrap_or(0));
        writeln!(out, "{}", paint(FAINT, format!("… {}, {high} down to {low}", count(hidden, "more node"))))?;
    }
    if let Some(why) = chosen.and_then(|chosen| margin(scores, &ranked, chosen)) {
        writeln!(out, "{why}")?;
    }
    if !same.is_empty() {
        let told: Vec<String> = same.iter().map(|score| format!("{} {}", head(score), score.normalized[0] * score.weight)).collect();
        for line in fold(&format!("equal on all of them: {}", told.join(", ")), width) {
            writeln!(out, "{}", paint(FAINT, line))?;
        }
    }
    Ok(())
}

/// The places of the nodes, the best first.
fn ranked(scores: &Scores) -> Vec<usize> {
    let mut places: Vec<usize> = (0..scores.nodes.len()).collect();
    places.sort_by(|a, b| scores.totals[*b].cmp(&scores.totals[*a]).then_with(|| scores.nodes[*a].cmp(&scores.nodes[*b])));
    places
}

/// Which plugin put the chosen node before the next one.
fn margin(scores: &Scores, ranked: &[usize], chosen: usize) -> Option<String> {
    let other = *ranked.iter().find(|at| **at != chosen)?;
    let lead = scores.totals[chosen] - scores.totals[other];
    let name = |at: usize| -> &Arc<str> { &scores.nodes[at] };
    if lead == 0 {
        let equals = scores.totals.iter().filter(|total| **total == scores.totals[chosen]).count();
        return Some(format!("{} have the same total; which of them is taken is not decided by scores", count(equals, "node")));
    }
    if lead < 0 {
        return Some(format!("{} scores {} more than {}", name(other), -lead, name(chosen)));
    }
    let difference = |score: &PluginScore| (score.normalized[chosen] - score.normalized[other]) * score.weight;
    let decisive = scores.plugins.iter().max_by_key(|score| difference(score))?;
    Some(format!("{} made the difference: +{} over {}, {lead} in all", head(decisive), difference(decisive), name(other)))
}

/// A column's head: the plugin's name without what all of them share, and its weight.
fn head(score: &PluginScore) -> String {
    let name = score.plugin.strip_suffix("Priority").unwrap_or(score.plugin);
    let name = name.strip_prefix("NodeResources").unwrap_or(name);
    if score.weight == 1 { name.to_owned() } else { format!("{name}×{}", score.weight) }
}
