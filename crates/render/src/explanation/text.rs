//! An explanation for people: the first line is the answer, what follows says why.

use std::io::{self, Write};

use crate::duration;
use crate::style::{ADDED, FAINT, Plain, REMOVED, STRONG, StyledWrite, WARNING, paint};
use crate::value::columns;
use crate::visible::visible;
use ketcd_history::clock::{Clock, Dated};
use ketcd_scheduler::{Agreement, Attempt, AttemptOutcome, DecidedBy, Explanation, WholePod, applied_release};
use ketcd_store::Revision;

use super::caveats::{assumptions, caveats, version_evidence};
use super::pod_now::PodNow;
use super::words::{count, fold, hanging};
use super::{group, help, node, refusals, scores};
use crate::words::grouped;

/// Width of the text if the terminal's width is not known.
const DEFAULT_COLUMNS: usize = 100;
/// Maximum width of prose.
const MAX_PROSE_COLUMNS: usize = 140;
/// How many lines of the scheduler's message a terminal shows, unless all are requested.
const MAX_MESSAGE_LINES: usize = 3;

/// What to show.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextOptions<'a> {
    /// Every node and every score.
    pub wide: bool,
    /// Only this node, in depth.
    pub node: Option<&'a str>,
    /// Columns of the terminal.
    pub width: Option<usize>,
    /// Earlier refusals of the pod, oldest first.
    pub refusals: &'a [Attempt],
    /// What became of the pod since.
    pub since: Option<PodNow<'a>>,
    /// One of many, whose [`ExplanationSummary`] says at the end what is assumed of the scheduler.
    pub many: bool,
}

impl TextOptions<'_> {
    fn columns(&self) -> usize {
        self.width.unwrap_or(DEFAULT_COLUMNS).max(40)
    }

    /// Lines of prose that are longer are hard to read; a table takes all there is.
    fn prose(&self) -> usize {
        self.columns().min(MAX_PROSE_COLUMNS)
    }
}

/// Writes one explanation as plain text.
///
/// # Errors
/// The stream's.
pub fn write(explanation: &Explanation, clock: Option<&Clock>, shown: TextOptions, out: &mut impl io::Write) -> io::Result<()> {
    let mut plain = Plain::new(out);
    write_styled(explanation, clock, shown, &mut plain)?;
    plain.flush()
}

/// Writes one explanation, with its styles.
///
/// # Errors
/// The stream's.
pub fn write_styled(explanation: &Explanation, clock: Option<&Clock>, shown: TextOptions, out: &mut dyn StyledWrite) -> io::Result<()> {
    let (columns, width) = (shown.columns(), shown.prose());
    headline(explanation, clock, shown.wide || shown.width.is_none(), width, out)?;
    waited(explanation, clock, shown.refusals, width, out)?;
    let now = shown.since.unwrap_or_default();
    if let Some(since) = now.since {
        hanging("", &since.words(), 2, width, WARNING, out)?;
    }
    for held in now.held_words(explanation.attempt.node.is_some()) {
        hanging("", &held, 2, width, WARNING, out)?;
    }
    if let Some(node) = shown.node.and_then(|name| explanation.judgement.nodes.iter().find(|node| *node.name == *name)) {
        node::write(explanation, node, width, out)?;
        help::remedies(explanation, true, width, out)?;
    } else {
        if let Some(table) = &explanation.judgement.scores {
            scores::write(explanation, table, shown.wide, (columns, shown.width), out)?;
        }
        refusals::write(explanation, shown.wide, width, out)?;
        group::write(explanation, shown.wide, width, out)?;
        help::preemption(explanation, shown.wide, width, out)?;
        help::remedies(explanation, shown.wide, width, out)?;
    }
    let mut sentences = caveats(explanation);
    if !shown.many {
        sentences.extend(assumed(explanation));
    }
    list(&sentences, width, out)
}

/// Who decided, and whose rules say so.
struct Rules {
    /// The scheduler that decided, with its release where the data show it.
    scheduler: String,
    /// Whose rules were applied.
    rules: String,
    /// The same in short where it is not the release that decided.
    others: String,
}

impl Rules {
    fn of(explanation: &Explanation) -> Self {
        let (name, applied) = (&explanation.scheduler_name, applied_release(explanation.version.release));
        let decided = explanation.decided_release;
        Self {
            scheduler: decided.map_or_else(|| name.to_string(), |release| format!("{name} {release}")),
            rules: format!("by the rules of {name} {applied}"),
            others: if decided == Some(applied) { String::new() } else { format!(" by the rules of {applied}") },
        }
    }
}

fn headline(explanation: &Explanation, clock: Option<&Clock>, all: bool, width: usize, out: &mut dyn StyledWrite) -> io::Result<()> {
    let attempt = &explanation.attempt;
    let pod = visible(&attempt.pod.full_name()).into_owned();
    let at = format!("r{}", attempt.revision);
    let is_there = explanation.evaluated_revision == attempt.revision;
    let Rules { scheduler, rules, others } = Rules::of(explanation);
    let evaluated = match (is_there, others.is_empty()) {
        (true, true) => String::new(),
        (true, false) => format!("; evaluated{others}"),
        (false, _) => format!("; evaluated on r{}{others}", explanation.evaluated_revision),
    };
    let (subject, context) = match attempt.outcome {
        AttemptOutcome::Scheduled => {
            let node = visible(attempt.node.as_deref().unwrap_or_default());
            let nodes = &explanation.judgement.nodes;
            let is_gone = !nodes.is_empty() && !nodes.iter().any(|other| Some(&*other.name) == attempt.node.as_deref());
            let bound = if is_there && is_gone {
                format!("bound to it as of {at}, and {node} is not among the nodes; evaluated {rules}")
            } else if is_there {
                format!("runs there as of {at}; evaluated {rules}")
            } else {
                format!("bound at {at} by {scheduler}{evaluated}")
            };
            (format!("{pod} → {node}"), bound)
        }
        AttemptOutcome::Unschedulable => {
            (format!("{pod} → nowhere"), format!("refused at {at} by {scheduler}{evaluated}{}", since(explanation, clock)))
        }
        AttemptOutcome::Pending => (format!("{pod} waits"), format!("evaluated on {at} {rules}")),
        AttemptOutcome::Gated => (format!("{pod} is gated"), format!("as of {at}")),
    };
    let context = visible(&format!("{context}{}", meant(explanation))).into_owned();
    let answer = visible(&answer(explanation)).into_owned();
    let style = match explanation.agreement {
        Agreement::Agrees | Agreement::Tie => ADDED,
        Agreement::Disagrees => REMOVED,
        Agreement::Unverifiable => WARNING,
    };
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
    if let Some(WholePod::Gated { reason: text, .. } | WholePod::Error(text)) = &explanation.judgement.whole_pod {
        writeln!(out, "{}", visible(text))?;
    }
    let sentence = explanation.judgement.message.as_deref();
    let mut lines = sentence.map(|sentence| fold(sentence, width)).unwrap_or_default();
    // A recorded message is never truncated.
    if lines.len() > MAX_MESSAGE_LINES && !all && attempt.recorded_message.as_deref() != sentence {
        lines.truncate(MAX_MESSAGE_LINES);
        let last = fold(&lines[MAX_MESSAGE_LINES - 1], width.saturating_sub(2)).remove(0);
        lines[MAX_MESSAGE_LINES - 1] = format!("{last} …");
    }
    for line in lines {
        writeln!(out, "{line}")?;
    }
    if let Some(recorded) = attempt.recorded_message.as_deref().filter(|recorded| Some(*recorded) != sentence) {
        for line in fold(&format!("recorded: {recorded}"), width) {
            writeln!(out, "{}", paint(WARNING, line))?;
        }
    }
    Ok(())
}

/// For a pod that was refused before it got its node: how long it waited, how often it was refused, and the last message.
fn waited(
    explanation: &Explanation,
    clock: Option<&Clock>,
    refusals: &[Attempt],
    width: usize,
    out: &mut dyn StyledWrite,
) -> io::Result<()> {
    let Some(last) = refusals.last().filter(|_| explanation.attempt.outcome == AttemptOutcome::Scheduled) else { return Ok(()) };
    let long = age(explanation, clock).map(|long| format!(" {long}")).unwrap_or_default();
    let message = last.recorded_message.as_deref().unwrap_or_default();
    let text = format!("waited{long}; {} recorded, the last at r{}: {message}", count(refusals.len(), "refusal"), last.revision);
    hanging("", &text, 2, width, WARNING, out)
}

/// The one node a pod is meant for.
fn meant(explanation: &Explanation) -> String {
    let controller = explanation.attempt.pod.spec.controller.as_ref();
    let of = match controller.filter(|controller| &*controller.kind == "DaemonSet") {
        Some(controller) => format!("the pod of DaemonSet {} for", controller.name),
        None => "its node affinity names only".to_owned(),
    };
    explanation.meant_for.as_ref().map(|node| format!("; {of} {node}")).unwrap_or_default()
}

/// How long the pod had been waiting when it was refused.
fn since(explanation: &Explanation, clock: Option<&Clock>) -> String {
    age(explanation, clock).map(|age| format!(", {age} after its creation")).unwrap_or_default()
}

/// How old the pod was at the attempt.
fn age(explanation: &Explanation, clock: Option<&Clock>) -> Option<String> {
    let created = explanation.attempt.pod.created.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    match (created, clock.and_then(|clock| clock.date(Revision(explanation.attempt.revision)))) {
        (Some(time), Some(now)) if now.time > time => Some(duration::between(Dated { time, error: 1.0 }, now)),
        _ => None,
    }
}

/// The answer in words, without the verdict.
pub(super) fn lead(explanation: &Explanation) -> String {
    let answer = answer(explanation);
    let verdicts = [": agrees", ": disagrees", ": cannot be verified", ": a tie"];
    verdicts.iter().find_map(|verdict| answer.strip_suffix(verdict)).unwrap_or(&answer).to_owned()
}

/// The verdict in words.
fn answer(explanation: &Explanation) -> String {
    let judgement = &explanation.judgement;
    let nodes = judgement.nodes.len();
    let fitting = judgement.nodes.iter().filter(|node| node.fits() && judgement.whole_pod.is_none()).count();
    let only = || judgement.nodes.iter().find(|node| node.fits()).map(|node| node.name.to_string()).unwrap_or_default();
    let best = judgement.scores.as_ref().map_or(fitting, |scores| scores.best().count());
    let fits = match fitting {
        0 => format!("none of {} fits", count(nodes, "node")),
        1 => format!("{} alone of {} fits", only(), count(nodes, "node")),
        _ => format!("{fitting} of {} fit", count(nodes, "node")),
    };
    match explanation.decided_by {
        DecidedBy::Kubelet => return "a static pod: no scheduler decided".to_owned(),
        DecidedBy::Creator => return "created with its node: no scheduler decided".to_owned(),
        DecidedBy::Scheduler | DecidedBy::Unreadable => {}
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
    match (explanation.attempt.outcome, explanation.agreement) {
        (AttemptOutcome::Pending, _) => fits,
        (AttemptOutcome::Gated, _) => "it never enters the queue".to_owned(),
        (AttemptOutcome::Unschedulable, Agreement::Agrees)
            if explanation.attempt.recorded_message == judgement.message.as_deref().map(Into::into) =>
        {
            "as recorded: agrees".to_owned()
        }
        (_, Agreement::Agrees) if judgement.nominated.is_some() => "it was nominated there: agrees".to_owned(),
        (AttemptOutcome::Scheduled, Agreement::Agrees) if fitting == 1 => {
            format!("the only one of {} that fits: agrees", count(nodes, "node"))
        }
        (AttemptOutcome::Scheduled, Agreement::Agrees) => format!("the only best of {fitting} that fit: agrees"),
        (_, Agreement::Agrees) => format!("{fits}: agrees"),
        (_, Agreement::Tie) => format!("one of {best} best among {fitting} that fit: a tie"),
        (_, Agreement::Disagrees) => format!("{fits}: disagrees"),
        (_, Agreement::Unverifiable) => format!("{fits}: cannot be verified"),
    }
}

/// What is assumed of the scheduler, and the evidence for its release.
fn assumed(explanation: &Explanation) -> Vec<String> {
    let version = format!("version {}: {}", explanation.version.release, version_evidence(&explanation.version.evidence));
    assumptions(explanation).into_iter().chain([version]).collect()
}

/// Writes sentences as a list below the answer.
fn list(sentences: &[String], width: usize, out: &mut dyn StyledWrite) -> io::Result<()> {
    if !sentences.is_empty() {
        writeln!(out)?;
    }
    sentences.iter().try_for_each(|sentence| hanging("· ", sentence, 2, width, FAINT, out))
}

/// Many explanations in a few lines: how many agree, and what was assumed for all.
#[derive(Debug, Default)]
pub struct ExplanationSummary {
    verdicts: [usize; 4],
    assumed: Vec<String>,
}

impl ExplanationSummary {
    /// Counts one explanation.
    pub fn add(&mut self, explanation: &Explanation) {
        self.count(explanation.agreement);
        self.assume(explanation);
    }

    /// Counts a verdict.
    pub fn count(&mut self, verdict: Agreement) {
        self.verdicts[verdict as usize] += 1;
    }

    /// Records what an explanation assumes.
    pub fn assume(&mut self, explanation: &Explanation) {
        for assumption in assumed(explanation) {
            if !self.assumed.contains(&assumption) {
                self.assumed.push(assumption);
            }
        }
    }

    /// Writes it.
    ///
    /// # Errors
    /// The stream's.
    pub fn write(&self, shown: TextOptions, out: &mut dyn StyledWrite) -> io::Result<()> {
        let [agree, ties, disagree, unverifiable] = self.verdicts;
        let parts = [
            (agree, "agree", ADDED),
            (ties, if ties == 1 { "tie" } else { "ties" }, ADDED),
            (disagree, if disagree == 1 { "disagrees" } else { "disagree" }, REMOVED),
            (unverifiable, "cannot be verified", WARNING),
        ];
        let counts = parts.iter().filter(|(number, ..)| *number > 0);
        let counts: Vec<String> =
            counts.map(|(number, what, style)| paint(*style, format!("{} {what}", grouped(*number))).to_string()).collect();
        // Pods that were not decided about yet have a line and no verdict.
        if !counts.is_empty() {
            let decisions = count(self.verdicts.iter().sum(), "decision");
            writeln!(out, "\n{}: {}", paint(STRONG, decisions), counts.join(", "))?;
        }
        list(&self.assumed, shown.prose(), out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_that_nobody_decided_about_are_not_counted() {
        let written = |summary: &ExplanationSummary| crate::style::plain(|out| summary.write(TextOptions::default(), out));
        let mut summary = ExplanationSummary { assumed: vec!["version 1.34".to_owned()], ..ExplanationSummary::default() };
        let without = written(&summary);
        assert!(without.contains("version 1.34") && !without.contains("decision"), "{without:?}");
        summary.count(Agreement::Agrees);
        let with_one = written(&summary);
        assert!(with_one.contains("1 decision") && with_one.contains("1 agree"), "{with_one:?}");
    }
}
