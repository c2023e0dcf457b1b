//! Writes explanations in the format asked for.

use std::io::Write;
use std::sync::Arc;

use ketcd_history::clock::Clock;
use ketcd_render::contract::window::HistoryWindow;
use ketcd_render::explanation::table::{self, PodLine};
use ketcd_render::explanation::{PodNow, SinceRefusal, json, text};
use ketcd_render::json::head_of_list;
use ketcd_scheduler::{Agreement, Attempt, Depth, Explanation, FilterMode};
use ketcd_store::Revision;

use crate::cli::invocation::invocation;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::{Format, Output, note};
use crate::cli::session::Session;
use crate::cli::session::absence::note_nothing_within;
use ketcd_cluster::explain::{Decided, Decisions, Explained, Pods};

/// Writes explanations in the format asked for.
pub(in crate::cli) struct Writer<'a> {
    format: Format,
    out: &'a mut Output,
    /// The only node that is shown.
    node: Option<&'a str>,
    all: bool,
    clock: Arc<Clock>,
    in_list: bool,
    /// Whether more than one pod is addressed.
    many: bool,
    /// Decisions after this revision count.
    after: i64,
    /// The stretch of history that was asked for, for the head of one JSON document.
    window: Option<HistoryWindow>,
    written: usize,
    differ: usize,
    summary: text::ExplanationSummary,
}

impl<'a> Writer<'a> {
    /// Begins to write explanations: of one `node` or of all, of every decision (`all`) or the last, of `many` pods or of one.
    ///
    /// # Errors
    /// A format that explanations cannot be shown in.
    pub(in crate::cli) async fn new(
        session: &Session,
        node: Option<&'a str>,
        (all, many): (bool, bool),
        out: &'a mut Output,
    ) -> Result<Self> {
        let format = match &session.format {
            format @ (Format::Table | Format::Wide | Format::Json | Format::Ndjson) => format.clone(),
            other => return Err(other.unsupported("explain", "table, wide, json, ndjson")),
        };
        Ok(Self {
            node,
            all,
            format,
            out,
            clock: session.cluster.clock_around(&[], &[]).await?,
            in_list: false,
            many,
            after: session.cluster.counted_after().0,
            window: session.window_in_head().await?,
            written: 0,
            differ: 0,
            summary: text::ExplanationSummary::default(),
        })
    }

    /// Writes a pod's last decision.
    ///
    /// # Errors
    /// The stream's; the source cannot be read; or the node is not there.
    pub(in crate::cli) async fn write_one(&mut self, session: &Session, explained: &Explained) -> Result<()> {
        let Explained { explanation, refusals, since, held, .. } = explained;
        let attempts = refusals.iter().chain([&explanation.attempt]).map(|attempt| Revision(attempt.revision));
        let revisions: Vec<Revision> = attempts.chain([Revision(explanation.evaluated_revision)]).collect();
        self.clock = session.cluster.clock_around(&revisions, &[]).await?;
        let since = since.as_ref().map(SinceRefusal::from);
        self.write(explanation, explained.mode(), refusals, PodNow { since: since.as_ref(), held })
    }

    /// Writes every decision about the pods since when decisions count, as they come.
    ///
    /// # Errors
    /// The stream's, or the source cannot be read.
    pub(in crate::cli) async fn write_all(&mut self, decisions: &mut Decisions<'_>, pods: &Pods) -> Result<()> {
        let walked = decisions.each(|decision| {
            let pod = &decision.attempt().pod;
            if decision.attempt().revision > self.after && pods.wants(&pod.namespace, &pod.name) {
                let decided = decision.explain();
                return self.write(&decided.explanation, decided.mode, &[], PodNow::default());
            }
            decision.skip();
            Ok(())
        });
        walked.await
    }

    fn write(&mut self, explanation: &Explanation, mode: FilterMode, refusals: &[Attempt], now: PodNow<'_>) -> Result<()> {
        let wanted = self.node.filter(|_| !self.all);
        if let Some(wanted) = wanted.filter(|wanted| !explanation.judgement.nodes.iter().any(|node| *node.name == **wanted)) {
            let revision = explanation.evaluated_revision;
            return Err(Error::new(format!("node {wanted} does not exist at revision {revision}"))
                .hint(format!("list the nodes: {}", invocation().ketcd("ls nodes"))));
        }
        if self.is_text() {
            if self.written > 0 {
                writeln!(self.out)?;
            }
            text::write_styled(explanation, Some(&self.clock), text::TextOptions { refusals, since: Some(now), ..self.shown() }, self.out)?;
            self.summary.add(explanation);
            self.count(explanation);
            return Ok(());
        }
        self.separate()?;
        let mut document = Vec::new();
        self.document(explanation, mode, now, &mut document)?;
        self.out.write_all(&document)?;
        self.count(explanation);
        if self.format == Format::Ndjson {
            self.out.flush()?;
        }
        Ok(())
    }

    /// Whether people read it.
    pub(in crate::cli) fn is_text(&self) -> bool {
        matches!(self.format, Format::Table | Format::Wide)
    }

    /// Writes what stands before the next document of a list.
    fn separate(&mut self) -> Result<()> {
        if self.format == Format::Json && self.many() {
            let lead = if self.in_list { ",".to_owned() } else { head_of_list(self.window) + "\n" };
            self.out.write_all(lead.as_bytes())?;
            self.in_list = true;
        }
        Ok(())
    }

    fn end_list(&mut self) -> Result<()> {
        let lead = if self.in_list { String::new() } else { head_of_list(self.window) };
        Ok(writeln!(self.out, "{lead}]}}")?)
    }

    fn document(&self, explanation: &Explanation, mode: FilterMode, now: PodNow<'_>, out: &mut dyn Write) -> Result<()> {
        let time = self.clock.date(Revision(explanation.attempt.revision));
        Ok(json::write_json(explanation, mode, time, self.node, now, self.window.filter(|_| !self.many()), out)?)
    }

    fn count(&mut self, explanation: &Explanation) {
        self.written += 1;
        self.differ += usize::from(explanation.agreement == Agreement::Disagrees);
    }

    /// How much evidence the format shows.
    pub(in crate::cli) fn depth(&self) -> Depth {
        match (&self.format, self.node) {
            (_, Some(node)) => Depth::Node(node.to_owned()),
            (Format::Json | Format::Ndjson, None) => Depth::Verdicts,
            (_, None) => Depth::Refusals,
        }
    }

    fn shown(&self) -> text::TextOptions<'a> {
        let (wide, node, width) = (self.format == Format::Wide, self.node, self.out.width());
        text::TextOptions { wide, node, width, refusals: &[], since: None, many: self.many() }
    }

    fn many(&self) -> bool {
        self.all || self.many
    }

    /// Writes the last decision about each of the pods: a table, or a list of documents.
    ///
    /// # Errors
    /// The stream's, or the source cannot be read.
    pub(in crate::cli) async fn write_last(mut self, session: &Session, mut decisions: Decisions<'_>, pods: &Pods) -> Result<Outcome> {
        let mut summary = text::ExplanationSummary::default();
        let last = decisions.last_about(pods, |decided| {
            summary.assume(&decided.explanation);
            self.line_or_document(decided)
        });
        let last = last.await?;
        decisions.unreadable_pods(pods).iter().for_each(|unread| note(unread));
        let found = last.len();
        if last.is_empty() {
            let what = "no such pods, and no scheduling decision about them in the readable history";
            note_nothing_within(session, !session.cluster.options.all_namespaces, what).await?;
        }
        let (mut lines, mut documents) = (Vec::new(), Vec::new());
        for last in last.into_values() {
            match last.made {
                KeptDecision::Line(mut line) => {
                    if last.waits {
                        line.waits();
                    }
                    lines.push(line);
                }
                KeptDecision::Document(document) => documents.push(document),
            }
        }
        if !lines.is_empty() {
            let shown = self.shown();
            table::write(lines.iter(), session.cluster.options.all_namespaces, shown, self.out)?;
            lines.iter().filter_map(|line| line.agreement()).for_each(|agreement| summary.count(agreement));
            summary.write(shown, self.out)?;
        }
        for document in documents {
            self.separate()?;
            zstd::stream::copy_decode(&document[..], &mut *self.out)?;
        }
        if self.format == Format::Json {
            self.end_list()?;
        }
        Ok(outcome(found, decisions.unreadable()))
    }

    /// What is kept of a pod's last decision until the walk ends.
    fn line_or_document(&self, decided: &Decided) -> Result<KeptDecision> {
        if self.is_text() {
            return Ok(KeptDecision::Line(PodLine::new(&decided.explanation)));
        }
        let mut document = zstd::Encoder::new(Vec::new(), PACKING_LEVEL)?;
        self.document(&decided.explanation, decided.mode, PodNow::default(), &mut document)?;
        Ok(KeptDecision::Document(document.finish()?))
    }

    /// Ends the output and says how the command ends, `unreadable` versions of objects being left out.
    ///
    /// # Errors
    /// The stream's, or the source cannot be read.
    pub(in crate::cli) async fn finish(mut self, session: &Session, unreadable: usize) -> Result<Outcome> {
        if self.format == Format::Json && self.many() {
            self.end_list()?;
        }
        if self.many() && self.written > 0 && matches!(self.format, Format::Table | Format::Wide) {
            let shown = self.shown();
            self.summary.write(shown, self.out)?;
        }
        if self.written == 0 && unreadable == 0 {
            let what = match self.after {
                0 => "no scheduling decision in the readable history".to_owned(),
                after => format!("no scheduling decision after revision {after}"),
            };
            note_nothing_within(session, session.cluster.options.namespace.is_some(), &what).await?;
        }
        let outcome = outcome(self.written, unreadable);
        Ok(if self.all && self.differ > 0 && outcome == Outcome::Found { Outcome::Nothing } else { outcome })
    }
}

enum KeptDecision {
    Line(PodLine),
    /// Packed: a verdict about each of 5,000 nodes takes megabytes, and a later decision may replace it.
    Document(Vec<u8>),
}

/// How hard zstd packs what is kept for the length of a command: as fast as it can.
const PACKING_LEVEL: i32 = 1;

/// How the command ends once `found` decisions are written; says how many versions of objects could not be read.
fn outcome(found: usize, unreadable: usize) -> Outcome {
    if unreadable > 0 {
        let values = if unreadable == 1 { "version of an object" } else { "versions of objects" };
        note(&format!("{unreadable} {values} could not be read: what depends on them is unknown"));
        return Outcome::Damaged;
    }
    if found > 0 { Outcome::Found } else { Outcome::Nothing }
}
