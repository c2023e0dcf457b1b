//! One node in depth: what every filter compared there, and how each score was computed.

use std::io;

use crate::style::{ADDED, FAINT, PLAIN, REMOVED, STRONG, StyledWrite, WARNING, paint};
use ketcd_scheduler::{Explanation, NodeJudgement, Scores, Verdict};

use super::facts;
use super::words::hanging;

/// Writes it.
pub(super) fn write(explanation: &Explanation, node: &NodeJudgement, width: usize, out: &mut dyn StyledWrite) -> io::Result<()> {
    let judgement = &explanation.judgement;
    let first = node.first_refusal().map(|(at, _)| at);
    let answer = match first {
        _ if node.absent && judgement.whole_pod.is_none() => {
            paint(REMOVED, "is not evaluated: the pod can run only on other nodes".to_owned())
        }
        Some(at) => paint(REMOVED, format!("does not fit: {} refuses", judgement.filters[at])),
        None if node.fits() && judgement.whole_pod.is_none() => paint(ADDED, "fits".to_owned()),
        None => paint(REMOVED, "does not fit".to_owned()),
    };
    writeln!(out, "\n{} {answer}", paint(STRONG, &node.name))?;
    let longest = judgement.filters.iter().map(|name| name.len()).max().unwrap_or(0);
    for (at, (plugin, verdict)) in judgement.filters.iter().zip(&node.verdicts).enumerate() {
        filter(explanation, node, (plugin, verdict), (longest, first.is_some_and(|first| at > first)), width, out)?;
    }
    let idle: Vec<&str> =
        judgement.filters.iter().zip(&node.verdicts).filter(|(_, verdict)| **verdict == Verdict::Skip).map(|(plugin, _)| *plugin).collect();
    if !idle.is_empty() {
        hanging("  ", &format!("skipped, as the pod has nothing they check: {}", idle.join(", ")), 4, width, FAINT, out)?;
    }
    let place = |scores: &Scores| scores.nodes.iter().position(|name| *name == node.name);
    match judgement.scores.as_ref().and_then(|scores| Some((scores, place(scores)?))) {
        Some((scores, at)) => points(explanation, scores, at, width, out),
        None => Ok(()),
    }
}

/// The verdict of one filter, and each thing it compared on a line of its own.
fn filter(
    explanation: &Explanation,
    node: &NodeJudgement,
    (plugin, verdict): (&'static str, &Verdict),
    (longest, after): (usize, bool),
    width: usize,
    out: &mut dyn StyledWrite,
) -> io::Result<()> {
    let indent = longest + 6;
    let reached = if after { "; not reached" } else { "" };
    let (mark, style, text) = match verdict {
        Verdict::Skip => return Ok(()),
        Verdict::Pass => ("✓", ADDED, None),
        Verdict::Reject(refusal) => {
            let help = if refusal.preemption_may_help { "" } else { "; preemption cannot help" };
            ("✗", REMOVED, Some(format!("{}{help}{reached}", refusal.reasons.join(", "))))
        }
        Verdict::Unknown { missing } => ("?", WARNING, Some(format!("unknown: {missing}"))),
        Verdict::Error(error) => ("✗", REMOVED, Some(format!("error: {error}{reached}"))),
    };
    let evidence = explanation.evidence.iter().filter(|evidence| evidence.node == node.name && evidence.plugin == plugin);
    let mut checked = evidence.flat_map(|evidence| &evidence.facts);
    let lead = format!("  {} {plugin:<longest$}  ", paint(style, mark));
    // The lead's own columns, without its colours.
    let first = |text: &str, style, out: &mut dyn StyledWrite| -> io::Result<()> {
        let mut lines = super::words::fold(text, width.saturating_sub(indent)).into_iter();
        writeln!(out, "{}", format!("{lead}{}", paint(style, lines.next().unwrap_or_default())).trim_end())?;
        lines.try_for_each(|line| writeln!(out, "{:indent$}{}", "", paint(style, line)))
    };
    // A filter that passes says what it compared in place of a verdict.
    match &text {
        Some(text) => first(text, style, out)?,
        None => first(&checked.next().map_or("passes".to_owned(), facts::whole), FAINT, out)?,
    }
    for fact in checked {
        let style = if fact.holds { FAINT } else { PLAIN };
        hanging(&" ".repeat(indent), &facts::whole(fact), indent + 2, width, style, out)?;
    }
    Ok(())
}

/// The node's scores: each plugin's own number, the normalised one, its weight, and what that makes.
fn points(explanation: &Explanation, scores: &Scores, at: usize, width: usize, out: &mut dyn StyledWrite) -> io::Result<()> {
    let best = (0..scores.totals.len()).max_by_key(|other| scores.totals[*other]).unwrap_or(at);
    let rank = scores.totals.iter().filter(|total| **total > scores.totals[at]).count() + 1;
    let equals = scores.totals.iter().filter(|total| **total == scores.totals[at]).count();
    let behind = match scores.totals[best] - scores.totals[at] {
        0 if equals > 1 => format!("rank 1 of {}, as {} others", scores.nodes.len(), equals - 1),
        0 => format!("rank 1 of {}", scores.nodes.len()),
        behind => format!("rank {rank} of {}, {behind} behind {}", scores.nodes.len(), scores.nodes[best]),
    };
    let chosen = if explanation.attempt.node.as_ref() == Some(&scores.nodes[at]) { "; chosen" } else { "" };
    writeln!(out)?;
    let range = scores.ranges.get(&at).map(|(lowest, highest)| format!(" (or from {lowest} to {highest})")).unwrap_or_default();
    hanging("", &format!("total {}{range}, {behind}{chosen}", scores.totals[at]), 2, width, STRONG, out)?;
    let longest = scores.plugins.iter().map(|score| score.plugin.len()).max().unwrap_or(0);
    let widest = |number: &dyn Fn(&ketcd_scheduler::PluginScore) -> String, head: &str| {
        scores.plugins.iter().map(|score| number(score).len()).max().unwrap_or(0).max(head.len())
    };
    let raw = widest(&|score| score.raw[at].to_string(), "raw");
    let weight = widest(&|score| score.weight.to_string(), "weight");
    let sum = widest(&|score| (score.normalized[at] * score.weight).to_string(), "points");
    let head = format!("  {:<longest$}  {:>raw$}  {:>6}  {:>weight$}  {:>sum$}", "PLUGIN", "RAW", "SCALED", "WEIGHT", "POINTS");
    writeln!(out, "{}", paint(FAINT, head))?;
    for score in &scores.plugins {
        let (own, scaled) = (score.raw[at], score.normalized[at]);
        let doubt = if score.doubtful.contains(&at) { " ~" } else { "" };
        writeln!(
            out,
            "  {:<longest$}  {own:>raw$}  {scaled:>6}  {:>weight$}  {:>sum$}{doubt}",
            score.plugin,
            score.weight,
            scaled * score.weight
        )?;
    }
    Ok(())
}
