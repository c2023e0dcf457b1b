//! The last decision about each of many pods: one line per pod.

use std::io;

use crate::style::{ADDED, FAINT, PLAIN, REMOVED, STRONG, Style, StyledWrite, WARNING, paint};
use crate::value::{beginning, columns};
use crate::visible::visible;
use ketcd_scheduler::{Agreement, AttemptOutcome, Explanation, WholePod};

use super::text::{self, TextOptions};

const COLUMN_GAP: usize = 3;
/// The last column has at least this many columns, however narrow the terminal.
const MIN_LAST_COLUMNS: usize = 20;
/// What kubectl writes where there is nothing.
const NONE_CELL: &str = "<none>";

/// The line of one pod.
#[derive(Clone, Debug)]
pub struct PodLine {
    namespace: String,
    pod: String,
    node: String,
    verdict: PodVerdict,
    why: String,
}

#[derive(Clone, Copy, Debug)]
enum PodVerdict {
    Decided(Agreement),
    Waits,
    Gated,
}

impl PodVerdict {
    fn word(self) -> &'static str {
        match self {
            Self::Decided(Agreement::Agrees) => "agrees",
            Self::Decided(Agreement::Tie) => "tie",
            Self::Decided(Agreement::Disagrees) => "disagrees",
            Self::Decided(Agreement::Unverifiable) => "unverifiable",
            Self::Waits => "waits",
            Self::Gated => "gated",
        }
    }

    fn style(self) -> Style {
        match self {
            Self::Decided(Agreement::Agrees | Agreement::Tie) => ADDED,
            Self::Decided(Agreement::Disagrees) => REMOVED,
            Self::Decided(Agreement::Unverifiable) | Self::Waits | Self::Gated => WARNING,
        }
    }
}

impl PodLine {
    /// The line of an explanation.
    pub fn new(explanation: &Explanation) -> Self {
        let attempt = &explanation.attempt;
        let verdict = match attempt.outcome {
            AttemptOutcome::Scheduled | AttemptOutcome::Unschedulable => PodVerdict::Decided(explanation.agreement),
            AttemptOutcome::Pending => PodVerdict::Waits,
            AttemptOutcome::Gated => PodVerdict::Gated,
        };
        let gate = match &explanation.judgement.whole_pod {
            Some(WholePod::Gated { reason, .. }) if attempt.outcome == AttemptOutcome::Gated => Some(reason.as_str()),
            _ => None,
        };
        let sentence = attempt.recorded_message.as_deref().or(explanation.judgement.message.as_deref()).filter(|_| attempt.node.is_none());
        let why = gate.or(sentence).map_or_else(|| text::lead(explanation), str::to_owned);
        Self {
            namespace: shown(&attempt.pod.namespace),
            pod: shown(&attempt.pod.name),
            node: attempt.node.as_deref().map_or_else(|| NONE_CELL.to_owned(), shown),
            verdict,
            why: shown(&why),
        }
    }

    /// Says that the pod still waits for a node.
    pub fn waits(&mut self) {
        if matches!(self.verdict, PodVerdict::Decided(_)) {
            self.why = format!("waits: {}", self.why);
        }
    }

    /// The agreement that is counted, if a decision was recorded.
    pub fn agreement(&self) -> Option<Agreement> {
        match self.verdict {
            PodVerdict::Decided(agreement) => Some(agreement),
            PodVerdict::Waits | PodVerdict::Gated => None,
        }
    }
}

fn shown(data: &str) -> String {
    visible(data).into_owned()
}

/// Writes the lines, aligned, with their namespaces where `namespaces` are asked for; the last column is cut at the terminal's width.
///
/// # Errors
/// The stream's.
pub fn write<'l>(
    lines: impl Iterator<Item = &'l PodLine> + Clone,
    namespaces: bool,
    shown: TextOptions,
    out: &mut dyn StyledWrite,
) -> io::Result<()> {
    let cells = |line: &PodLine| {
        let own = [line.pod.clone(), line.node.clone(), line.verdict.word().to_owned()];
        namespaces.then(|| line.namespace.clone()).into_iter().chain(own).collect::<Vec<String>>()
    };
    let header: Vec<&str> = ["NAMESPACE", "POD", "NODE", "VERDICT"].into_iter().skip(usize::from(!namespaces)).collect();
    let mut widths: Vec<usize> = header.iter().map(|name| columns(name)).collect();
    for line in lines.clone() {
        widths.iter_mut().zip(cells(line)).for_each(|(width, cell)| *width = (*width).max(columns(&cell)));
    }
    let before: usize = widths.iter().map(|width| width + COLUMN_GAP).sum();
    let room = shown.width.filter(|_| !shown.wide).map_or(usize::MAX, |width| width.saturating_sub(before).max(MIN_LAST_COLUMNS));
    let pad = |cell: &str, width: usize| " ".repeat(width + COLUMN_GAP - columns(cell));
    let head: String = header.iter().zip(&widths).map(|(name, width)| format!("{name}{}", pad(name, *width))).collect();
    writeln!(out, "{}", paint(STRONG, format!("{head}WHY")))?;
    for line in lines {
        let cells = cells(line);
        for (at, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let style = match at + 1 == cells.len() {
                true => line.verdict.style(),
                false if cell == NONE_CELL => FAINT,
                false => PLAIN,
            };
            write!(out, "{}{}", paint(style, cell), pad(cell, *width))?;
        }
        writeln!(out, "{}", cut(&line.why, room))?;
    }
    Ok(())
}

/// A text in this many columns; a longer one is cut at its end.
fn cut(text: &str, room: usize) -> String {
    if columns(text) <= room {
        return text.to_owned();
    }
    format!("{}…", beginning(text, room.saturating_sub(1)).trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(pod: &str, node: Option<&str>, verdict: PodVerdict, why: &str) -> PodLine {
        PodLine { namespace: "shop".to_owned(), pod: shown(pod), node: node.unwrap_or(NONE_CELL).to_owned(), verdict, why: shown(why) }
    }

    fn printed(lines: &[PodLine], namespaces: bool, width: Option<usize>) -> String {
        crate::style::plain(|out| write(lines.iter(), namespaces, TextOptions { width, ..TextOptions::default() }, out))
    }

    #[test]
    fn columns_are_aligned_and_the_last_is_cut_at_the_terminals_width() {
        let mut waiting = line("web-10", None, PodVerdict::Decided(Agreement::Agrees), "0/3 nodes are available: 3 Insufficient cpu.");
        waiting.waits();
        let lines = [line("web-0", Some("n1"), PodVerdict::Decided(Agreement::Tie), "one of 2 best among 3 that fit"), waiting];
        let whole = "POD      NODE     VERDICT   WHY\n\
                     web-0    n1       tie       one of 2 best among 3 that fit\n\
                     web-10   <none>   agrees    waits: 0/3 nodes are available: 3 Insufficient cpu.\n";
        assert_eq!(printed(&lines, false, None), whole);
        let cut = printed(&lines, false, Some(60));
        assert!(cut.lines().all(|line| columns(line) <= 60) && cut.ends_with("waits: 0/3 nodes are available:…\n"), "{cut}");
        assert!(printed(&lines, true, None).starts_with("NAMESPACE   POD      NODE     VERDICT   WHY\nshop        web-0 "));
    }

    #[test]
    fn data_stays_on_its_line() {
        let printed = printed(&[line("a", None, PodVerdict::Waits, "one\ntwo\u{1b}[31m")], false, None);
        assert_eq!(printed.lines().last(), Some("a     <none>   waits     one\\ntwo\\x1b[31m"));
    }
}
