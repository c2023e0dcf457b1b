//! An explanation for people: the first line is the answer, what follows says why.

use std::io::{self, Write};

use crate::history::clock::{Clock, Dated};
use crate::render::duration;
use crate::render::style::{ADDED, FAINT, REMOVED, STRONG, WARNING, paint};
use crate::scheduler::{Agreement, Explanation, NodeJudgement, Outcome, Verdict, Victim, WholePod};
use crate::store::Revision;

use super::{refusals, scores};

/// How wide a text may be where the terminal does not say.
const WIDTH: usize = 100;

/// What to show.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown<'a> {
    /// Every node and every score.
    pub wide: bool,
    /// Only this node, in depth.
    pub node: Option<&'a str>,
    /// Columns of the terminal.
    pub width: Option<usize>,
}

/// Writes one explanation.
///
/// # Errors
/// The stream's.
pub fn write(explanation: &Explanation, clock: Option<&Clock>, shown: Shown, out: &mut dyn Write) -> io::Result<()> {
    let width = shown.width.unwrap_or(WIDTH).clamp(40, 160);
    headline(explanation, clock, width, out)?;
    if let Some(node) = shown.node.and_then(|name| explanation.judgement.nodes.iter().find(|node| *node.name == *name)) {
        one_node(explanation, node, width, out)?;
    } else {
        if let Some(table) = &explanation.judgement.scores {
            scores::write(explanation, table, shown.wide, width, out)?;
        }
        refusals::write(explanation, width, out)?;
        preemption(explanation, width, out)?;
        remedies(explanation, width, out)?;
    }
    caveats(explanation, width, out)
}

fn headline(explanation: &Explanation, clock: Option<&Clock>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let attempt = &explanation.attempt;
    let pod = attempt.pod.full_name();
    let scheduler = format!("{} {}", explanation.scheduler_name, explanation.version.release);
    let at = format!("r{}", attempt.revision);
    let judged = if explanation.evaluated_revision == attempt.revision {
        String::new()
    } else {
        format!("; judged on r{}", explanation.evaluated_revision)
    };
    let (subject, context) = match attempt.outcome {
        Outcome::Scheduled => {
            let node = attempt.node.as_deref().unwrap_or_default();
            let bound = if judged.is_empty() {
                format!("runs there as of {at}; judged by {scheduler}")
            } else {
                format!("bound at {at} by {scheduler}{judged}")
            };
            (format!("{pod} → {node}"), bound)
        }
        Outcome::Unschedulable => {
            (format!("{pod} → nowhere"), format!("refused at {at} by {scheduler}{judged}{}", since(explanation, clock)))
        }
        Outcome::Pending => (format!("{pod} waits"), format!("judged on {at} by {scheduler}")),
        Outcome::Gated => (format!("{pod} is gated"), format!("as of {at}")),
    };
    let answer = answer(explanation);
    let style = match explanation.verdict {
        Agreement::Agrees | Agreement::Tie => ADDED,
        Agreement::Disagrees => REMOVED,
        Agreement::Unverifiable => WARNING,
    };
    let columns = |text: &str| text.chars().count();
    let apart = |left: usize| " ".repeat(width.saturating_sub(left + columns(&answer)));
    let line = columns(&subject) + 3 + columns(&context);
    if line + 3 + columns(&answer) <= width {
        writeln!(out, "{}   {context}{}{}", paint(STRONG, &subject), apart(line), paint(style, &answer))?;
    } else {
        // The answer comes first; a name too long for it leaves it a line of its own.
        let gap = if columns(&subject) + 3 + columns(&answer) <= width { apart(columns(&subject)) } else { "\n".to_owned() };
        writeln!(out, "{}{gap}{}", paint(STRONG, &subject), paint(style, &answer))?;
        for line in fold(&context, width) {
            writeln!(out, "{line}")?;
        }
    }
    if let Some(WholePod::Gated(text) | WholePod::Error(text)) = &explanation.judgement.whole_pod {
        writeln!(out, "{text}")?;
    }
    let sentence = explanation.judgement.message.as_deref();
    for line in sentence.into_iter().flat_map(|sentence| fold(sentence, width)) {
        writeln!(out, "{line}")?;
    }
    if let Some(recorded) = attempt.recorded_message.as_deref().filter(|recorded| Some(*recorded) != sentence) {
        for line in fold(&format!("recorded: {recorded}"), width) {
            writeln!(out, "{}", paint(WARNING, line))?;
        }
    }
    Ok(())
}

/// How long the pod had been waiting when it was refused.
fn since(explanation: &Explanation, clock: Option<&Clock>) -> String {
    let created = explanation.attempt.pod.created.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    match (created, clock.and_then(|clock| clock.date(Revision(explanation.attempt.revision)))) {
        (Some(time), Some(now)) if now.time > time => {
            format!(", {} after its creation", duration::between(Dated { time, error: 1.0 }, now))
        }
        _ => String::new(),
    }
}

/// The verdict in words.
fn answer(explanation: &Explanation) -> String {
    let judgement = &explanation.judgement;
    let nodes = judgement.nodes.len();
    let fitting = judgement.nodes.iter().filter(|node| node.fits() && judgement.whole_pod.is_none()).count();
    let best = judgement.scores.as_ref().map_or(fitting, |scores| scores.best().count());
    let fits = match fitting {
        0 => format!("none of {} fits", count(nodes, "node")),
        1 => format!("one of {} fits", count(nodes, "node")),
        _ => format!("{fitting} of {} fit", count(nodes, "node")),
    };
    match (explanation.attempt.outcome, explanation.verdict) {
        (Outcome::Pending, _) => fits,
        (Outcome::Gated, _) => "it never enters the queue".to_owned(),
        (Outcome::Unschedulable, Agreement::Agrees)
            if explanation.attempt.recorded_message == judgement.message.as_deref().map(Into::into) =>
        {
            "as recorded: agrees".to_owned()
        }
        (_, Agreement::Agrees) if judgement.nominated.is_some() => "it was nominated there: agrees".to_owned(),
        (Outcome::Scheduled, Agreement::Agrees) if fitting == 1 => format!("the only one of {} that fits: agrees", count(nodes, "node")),
        (Outcome::Scheduled, Agreement::Agrees) => format!("the only best of {fitting} that fit: agrees"),
        (_, Agreement::Agrees) => format!("{fits}: agrees"),
        (_, Agreement::Tie) => format!("one of {best} best among {fitting} that fit: a tie"),
        (_, Agreement::Disagrees) => format!("{fits}: disagrees"),
        (_, Agreement::Unverifiable) => format!("{fits}: cannot be verified"),
    }
}

fn one_node(explanation: &Explanation, node: &NodeJudgement, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let judgement = &explanation.judgement;
    let fits = if node.fits() && judgement.whole_pod.is_none() { "the pod fits" } else { "the pod does not fit" };
    writeln!(out, "\n{}   {fits}", paint(STRONG, &node.name))?;
    let longest = judgement.filters.iter().map(|name| name.len()).max().unwrap_or(0);
    let first = node.first_refusal().map(|(at, _)| at);
    for (at, (plugin, verdict)) in judgement.filters.iter().zip(&node.verdicts).enumerate() {
        let told = match verdict {
            Verdict::Skip => paint(FAINT, "has nothing to say about this pod".to_owned()).to_string(),
            Verdict::Pass => paint(ADDED, "passes".to_owned()).to_string(),
            Verdict::Reject(refusal) => {
                let help = if refusal.preemption_may_help { "" } else { " (preemption cannot help)" };
                let reached = if first.is_some_and(|first| at > first) { ", not reached" } else { "" };
                paint(REMOVED, format!("{}{help}{reached}", refusal.reasons.join(", "))).to_string()
            }
            Verdict::Unknown { missing } => paint(WARNING, format!("unknown: {missing}")).to_string(),
            Verdict::Error(error) => paint(REMOVED, format!("error: {error}")).to_string(),
        };
        writeln!(out, "  {plugin:<longest$}  {told}")?;
        facts(explanation, node, plugin, longest + 4, width, out)?;
    }
    writeln!(out, "  {}", paint(STRONG, "room"))?;
    facts(explanation, node, "", longest + 4, width, out)?;
    let Some(scores) = &judgement.scores else { return Ok(()) };
    let Some(at) = scores.nodes.iter().position(|name| *name == node.name) else { return Ok(()) };
    let top = scores.totals.iter().max().copied().unwrap_or(0);
    let rank = scores.totals.iter().filter(|total| **total > scores.totals[at]).count() + 1;
    writeln!(
        out,
        "\n  {}   rank {rank} of {}, {} below the best",
        paint(STRONG, format!("total {}", scores.totals[at])),
        scores.nodes.len(),
        top - scores.totals[at]
    )?;
    for score in &scores.plugins {
        let (raw, points) = (score.raw[at], score.normalized[at]);
        writeln!(
            out,
            "  {:<34}  raw {raw:>8}  normalised {points:>4}  × {:>5}  = {:>8}",
            score.plugin,
            score.weight,
            points * score.weight
        )?;
    }
    Ok(())
}

fn facts(
    explanation: &Explanation,
    node: &NodeJudgement,
    plugin: &str,
    indent: usize,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    for evidence in explanation.evidence.iter().filter(|evidence| evidence.node == node.name && evidence.plugin == plugin) {
        for line in evidence.facts.iter().flat_map(|fact| fold(fact, width.saturating_sub(indent))) {
            writeln!(out, "{:indent$}{}", "", paint(FAINT, line))?;
        }
    }
    Ok(())
}

fn preemption(explanation: &Explanation, width: usize, out: &mut dyn Write) -> io::Result<()> {
    const SHOWN: usize = 3;
    let listed = |lines: Vec<String>, out: &mut dyn Write| -> io::Result<()> {
        for line in lines {
            for (at, line) in fold(&line, width.saturating_sub(4)).iter().enumerate() {
                writeln!(out, "  {}{line}", if at > 0 { "  " } else { "" })?;
            }
        }
        Ok(())
    };
    let evicting = |victim: &Victim| {
        let budget = if victim.violates_budget { ", against its disruption budget" } else { "" };
        format!("{} (priority {}{budget})", victim.pod.full_name(), victim.pod.spec.priority)
    };
    let places = explanation.preemption.iter().map(|place| {
        let picked = if place.picked { "picked" } else { "possible" };
        let victims: Vec<String> = place.victims.iter().map(evicting).collect();
        format!("{}, {picked}: {}", place.node, if victims.is_empty() { "without victims".to_owned() } else { victims.join(", ") })
    });
    if !explanation.preemption.is_empty() {
        writeln!(out, "\n{}", paint(STRONG, "preemption would evict"))?;
        listed(places.take(SHOWN).collect(), out)?;
        let more = explanation.preemption.len().saturating_sub(SHOWN);
        if more > 0 {
            writeln!(out, "  {}", paint(FAINT, format!("… or make room on {} (-o json has them all)", count(more, "more node"))))?;
        }
    }
    if !explanation.preempted.is_empty() {
        writeln!(out, "\n{}", paint(STRONG, "preempted"))?;
        let gone = explanation.preempted.iter();
        listed(gone.map(|(pod, revision)| format!("{} (priority {}) at r{revision}", pod.full_name(), pod.spec.priority)).collect(), out)?;
    }
    Ok(())
}

fn remedies(explanation: &Explanation, width: usize, out: &mut dyn Write) -> io::Result<()> {
    const SHOWN: usize = 5;
    if explanation.remedies.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", paint(STRONG, "what would help"))?;
    for remedy in explanation.remedies.iter().take(SHOWN) {
        for (at, line) in fold(&format!("{}: {}", remedy.node, remedy.changes.join(" and ")), width.saturating_sub(4)).iter().enumerate() {
            writeln!(out, "  {}{line}", if at > 0 { "  " } else { "" })?;
        }
    }
    let more = explanation.remedies.len().saturating_sub(SHOWN);
    if more > 0 {
        writeln!(out, "  {}", paint(FAINT, format!("… and {more} more (-o json has them all)")))?;
    }
    Ok(())
}

fn caveats(explanation: &Explanation, width: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    let version = format!("version {}: {}", explanation.version.release, explanation.version.evidence);
    for caveat in explanation.caveats.iter().chain([&version]) {
        for (at, line) in fold(caveat, width.saturating_sub(4)).iter().enumerate() {
            writeln!(out, "{}", paint(FAINT, format!("{}{line}", if at == 0 { "· " } else { "  " })))?;
        }
    }
    Ok(())
}

/// `1 node`, `4,812 nodes`.
pub fn count(number: usize, noun: &str) -> String {
    let digits = number.to_string();
    let mut told = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            told.push(',');
        }
        told.push(digit);
    }
    format!("{told} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Breaks a text between words so that no line is longer than `width` columns.
pub fn fold(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([1, 12, 4812, 1_234_567].map(|number| count(number, "node")), ["1 node", "12 nodes", "4,812 nodes", "1,234,567 nodes"]);
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(fold("one two three", 7), ["one two", "three"]);
        assert_eq!(fold("unbreakable", 3), ["unbreakable"]);
    }
}
