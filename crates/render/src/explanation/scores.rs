//! The scores of the nodes that fit, side by side: only what differs gets a column.

use std::io;
use std::sync::Arc;

use crate::style::{ADDED, FAINT, STRONG, StyledWrite, paint};
use crate::value::{columns as columns_of, padded};
use crate::visible::visible;
use ketcd_scheduler::{Explanation, PluginScore, Scores};

use super::words::{count, fold};

/// How many nodes the table shows in addition to the chosen one, unless all are requested.
const MAX_NODES_SHOWN: usize = 6;
const CHOSEN_MARK: &str = "  ← chosen";

/// Writes the table: the best first. `all`: every node and every plugin, in parts where they are wider than the terminal (`terminal`, if it is one).
pub(super) fn write(
    explanation: &Explanation,
    scores: &Scores,
    all: bool,
    (width, terminal): (usize, Option<usize>),
    out: &mut dyn StyledWrite,
) -> io::Result<()> {
    let ranked = ranked(scores);
    let (columns, same): (Vec<&PluginScore>, Vec<&PluginScore>) =
        scores.plugins.iter().partition(|score| all || score.normalized.iter().any(|points| *points != score.normalized[0]));
    let chosen = explanation.attempt.node.as_ref().and_then(|node| scores.nodes.iter().position(|name| name == node));
    let mut rows: Vec<usize> = if all { ranked.clone() } else { ranked.iter().copied().take(MAX_NODES_SHOWN).collect() };
    rows.extend(chosen.filter(|at| !rows.contains(at)));
    let name = |at: usize| visible(&scores.nodes[at]);
    let names = rows.iter().map(|at| columns_of(&name(*at))).max().unwrap_or(0).max(4);
    let totals = rows.iter().map(|at| scores.totals[*at].to_string().len()).max().unwrap_or(0).max(5);
    let taken = names + 2 + totals + columns_of(CHOSEN_MARK);
    let room = |width: usize| width.saturating_sub(taken);
    let (columns, narrowed) = within(if all { usize::MAX } else { room(width) }, columns, &rows);
    for columns in parts(&columns, terminal.map_or(usize::MAX, room)) {
        writeln!(out)?;
        let mut line = format!("{}  {:>totals$}", padded("NODE", names), "TOTAL");
        for column in columns {
            line.push_str(&format!("  {:>width$}", column.head, width = column.width));
        }
        writeln!(out, "{}", paint(STRONG, line.trim_end()))?;
        for at in &rows {
            let mut line = format!("{}  {:>totals$}", padded(&name(*at), names), scores.totals[*at]);
            for column in columns {
                line.push_str(&format!("  {:>width$}", cell(column.score, *at), width = column.width));
            }
            if Some(*at) == chosen {
                writeln!(out, "{}{CHOSEN_MARK}", paint(ADDED, line))?;
            } else {
                writeln!(out, "{line}")?;
            }
        }
    }
    let hidden = scores.nodes.len() - rows.len();
    if hidden > 0 {
        let rest = ranked.iter().filter(|at| !rows.contains(at)).map(|at| scores.totals[*at]);
        let (low, high) = (rest.clone().min().unwrap_or(0), rest.max().unwrap_or(0));
        writeln!(out, "{}", paint(FAINT, format!("… {}, {high} down to {low}", count(hidden, "more node"))))?;
    }
    for line in chosen.and_then(|chosen| margin(scores, &ranked, chosen)).into_iter().flat_map(|why| fold(&why, width)) {
        writeln!(out, "{line}")?;
    }
    if !narrowed.is_empty() {
        for line in fold(&format!("not shown, as they differ least: {} (-o wide has them)", narrowed.join(", ")), width) {
            writeln!(out, "{}", paint(FAINT, line))?;
        }
    }
    if !same.is_empty() {
        let points: Vec<String> = same.iter().map(|score| format!("{} {}", head(score), score.normalized[0] * score.weight)).collect();
        for line in fold(&format!("equal on all of them: {}", points.join(", ")), width) {
            writeln!(out, "{}", paint(FAINT, line))?;
        }
    }
    Ok(())
}

struct ScoreColumn<'a> {
    score: &'a PluginScore,
    head: String,
    width: usize,
}

fn cell(score: &PluginScore, at: usize) -> String {
    let about = if score.doubtful.contains(&at) { "~" } else { "" };
    format!("{about}{}", score.normalized[at] * score.weight)
}

/// The columns that fit into `room` characters, and the heads of those left out: first those whose points differ least among the rows.
fn within<'a>(room: usize, scores: Vec<&'a PluginScore>, rows: &[usize]) -> (Vec<ScoreColumn<'a>>, Vec<String>) {
    let column = |score: &'a PluginScore| {
        let (head, widest) = (head(score), rows.iter().map(|at| cell(score, *at).len()).max().unwrap_or(0));
        let width = widest.max(columns_of(&head));
        ScoreColumn { score, head, width }
    };
    let spread = |column: &ScoreColumn| {
        let points = || rows.iter().map(|at| column.score.normalized[*at] * column.score.weight);
        points().max().unwrap_or(0) - points().min().unwrap_or(0)
    };
    let (mut columns, mut narrowed): (Vec<ScoreColumn>, Vec<String>) = (scores.into_iter().map(column).collect(), Vec::new());
    while columns.iter().map(|column| column.width + 2).sum::<usize>() > room {
        let Some(least) = (0..columns.len()).min_by_key(|at| spread(&columns[*at])) else { break };
        narrowed.push(columns.remove(least).head);
    }
    (columns, narrowed)
}

/// The columns in parts of at most `room` characters, with at least one column in each.
fn parts<'c, 's>(columns: &'c [ScoreColumn<'s>], room: usize) -> Vec<&'c [ScoreColumn<'s>]> {
    let mut parts = Vec::new();
    let (mut start, mut taken) = (0, 0);
    for (at, column) in columns.iter().enumerate() {
        if at > start && taken + column.width + 2 > room {
            parts.push(&columns[start..at]);
            (start, taken) = (at, 0);
        }
        taken += column.width + 2;
    }
    parts.push(&columns[start..]);
    parts
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
        return Some(format!("{} have the same total; scores do not decide which of them is taken", count(equals, "node")));
    }
    if lead < 0 {
        return Some(format!("{} scores {} more than {}", name(other), -lead, name(chosen)));
    }
    let difference = |score: &PluginScore| (score.normalized[chosen] - score.normalized[other]) * score.weight;
    let decisive = scores.plugins.iter().max_by_key(|score| difference(score))?;
    let by = match difference(decisive) {
        most if most == lead => format!("all of it by {}", head(decisive)),
        most => format!("most of it by {} (+{most})", head(decisive)),
    };
    Some(format!("{} beats the runner-up {} by {lead}, {by}", name(chosen), name(other)))
}

/// A column's head: the plugin's name without what all of them share, and its weight.
fn head(score: &PluginScore) -> String {
    let name = score.plugin.strip_suffix("Priority").unwrap_or(score.plugin);
    let name = name.strip_prefix("NodeResources").unwrap_or(name);
    if score.weight == 1 { name.to_owned() } else { format!("{name}×{}", score.weight) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_do_not_fit_are_named_those_that_decide_least_first() {
        let score = |plugin, weight, normalized: [i64; 2]| PluginScore {
            plugin,
            weight,
            raw: normalized.to_vec(),
            normalized: normalized.to_vec(),
            doubtful: Vec::new(),
            sampled: false,
        };
        let scores = [score("NodeResourcesFit", 1, [70, 71]), score("TaintToleration", 3, [100, 0]), score("NodeAffinity", 2, [10, 20])];
        let heads = |room| {
            let (kept, narrowed) = within(room, scores.iter().collect(), &[0, 1]);
            (kept.into_iter().map(|column| column.head).collect::<Vec<_>>(), narrowed)
        };
        let (fit, taints, affinity) = ("Fit".to_owned(), "TaintToleration×3".to_owned(), "NodeAffinity×2".to_owned());
        assert_eq!(heads(40), (vec![fit.clone(), taints.clone(), affinity.clone()], vec![]));
        assert_eq!(heads(39), (vec![taints.clone(), affinity.clone()], vec![fit.clone()]));
        assert_eq!(heads(20), (vec![taints.clone()], vec![fit.clone(), affinity.clone()]));
        assert_eq!(heads(3), (vec![], vec![fit, affinity, taints]));
    }

    #[test]
    fn a_table_wider_than_the_terminal_is_split() {
        let score = |plugin| PluginScore { plugin, weight: 1, raw: vec![1], normalized: vec![1], doubtful: Vec::new(), sampled: false };
        let scores = [score("TaintToleration"), score("NodeAffinity"), score("ImageLocality")];
        let (columns, _) = within(usize::MAX, scores.iter().collect(), &[0]);
        let widths = |room| parts(&columns, room).iter().map(|part| part.len()).collect::<Vec<_>>();
        assert_eq!(widths(46), [3]);
        assert_eq!(widths(45), [2, 1]);
        assert_eq!(widths(20), [1, 1, 1]);
        assert_eq!(widths(3), [1, 1, 1]);
    }
}
