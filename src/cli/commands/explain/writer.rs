//! Writes explanations in the format asked for.

use std::io::Write;
use std::sync::Arc;

use ketcd_history::clock::Clock;
use ketcd_render::command_line::CommandLine;
use ketcd_render::explanation::{SinceRefusal, json, text};
use ketcd_scheduler::{Agreement, Attempt, Depth, Explanation, Replay};
use ketcd_store::Revision;

use super::ExplainArgs;
use crate::cli::output::{Format, Output, note};
use crate::cli::session::Session;
use crate::cli::{Error, Outcome, Result};

/// Writes explanations in the format asked for.
pub(super) struct Writer<'a> {
    args: &'a ExplainArgs,
    pub(super) format: Format,
    pub(super) out: &'a mut Output,
    clock: Arc<Clock>,
    /// Whether the list has begun.
    in_list: bool,
    /// Whether more than one pod is addressed.
    many: bool,
    written: usize,
    differ: usize,
    summary: text::Summary,
}

impl<'a> Writer<'a> {
    pub(super) async fn new(session: &'a Session, args: &'a ExplainArgs, many: bool, out: &'a mut Output) -> Result<Self> {
        let format = match &session.format {
            format @ (Format::Table | Format::Wide | Format::Json | Format::Ndjson) => format.clone(),
            other => return Err(other.unsupported("explain", "table, wide, json, ndjson")),
        };
        Ok(Self {
            args,
            format,
            out,
            clock: session.clock_around(&[], &[]).await?,
            in_list: false,
            many,
            written: 0,
            differ: 0,
            summary: text::Summary::default(),
        })
    }

    /// Dates what is about to be written.
    pub(super) async fn date(&mut self, session: &Session, explanation: &Explanation, refusals: &[Attempt]) -> Result<()> {
        let attempts = refusals.iter().chain([&explanation.attempt]).map(|attempt| Revision(attempt.revision));
        let revisions: Vec<Revision> = attempts.chain([Revision(explanation.evaluated_revision)]).collect();
        self.clock = session.clock_around(&revisions, &[]).await?;
        Ok(())
    }

    pub(super) fn write(
        &mut self,
        explanation: &Explanation,
        refusals: &[Attempt],
        since: Option<&SinceRefusal>,
        replay: &Replay,
    ) -> Result<()> {
        let wanted = self.args.node.as_deref().filter(|_| !self.args.all);
        if let Some(wanted) = wanted.filter(|wanted| !explanation.judgement.nodes.iter().any(|node| *node.name == **wanted)) {
            let revision = explanation.evaluated_revision;
            return Err(Error::new(format!("node {wanted} does not exist at revision {revision}"))
                .hint(format!("list the nodes: {}", CommandLine::ketcd("ls nodes"))));
        }
        if self.is_text() {
            if self.written > 0 {
                writeln!(self.out)?;
            }
            text::write(explanation, Some(&self.clock), text::TextOptions { refusals, since, ..self.shown() }, self.out)?;
            self.summary.add(explanation);
            self.count(explanation);
            return Ok(());
        }
        self.separate()?;
        let mut document = Vec::new();
        self.document(explanation, since, replay, &mut document)?;
        self.out.write_all(&document)?;
        self.count(explanation);
        if self.format == Format::Ndjson {
            self.out.flush()?;
        }
        Ok(())
    }

    /// Whether people read it.
    pub(super) fn is_text(&self) -> bool {
        matches!(self.format, Format::Table | Format::Wide)
    }

    /// Writes what stands before the next document of a list.
    pub(super) fn separate(&mut self) -> Result<()> {
        if self.format == Format::Json && self.many() {
            let lead: &[u8] = if self.in_list { b"," } else { b"{\"kind\":\"List\",\"items\":[\n" };
            self.out.write_all(lead)?;
            self.in_list = true;
        }
        Ok(())
    }

    /// Ends a list.
    pub(super) fn end_list(&mut self) -> Result<()> {
        let lead = if self.in_list { "" } else { "{\"kind\":\"List\",\"items\":[" };
        Ok(writeln!(self.out, "{lead}]}}")?)
    }

    /// Writes an explanation as JSON.
    pub(super) fn document(
        &self,
        explanation: &Explanation,
        since: Option<&SinceRefusal>,
        replay: &Replay,
        out: &mut dyn Write,
    ) -> Result<()> {
        let (profile, _) = replay.scheduler().profile_for(&explanation.attempt.pod);
        let time = self.clock.date(Revision(explanation.attempt.revision));
        Ok(json::write_json(explanation, profile.filter_mode, time, self.args.node.as_deref(), since, out)?)
    }

    pub(super) fn count(&mut self, explanation: &Explanation) {
        self.written += 1;
        self.differ += usize::from(explanation.agreement == Agreement::Disagrees);
    }

    /// How much evidence the format shows.
    pub(super) fn depth(&self) -> Depth {
        match (&self.format, &self.args.node) {
            (_, Some(node)) => Depth::Node(node.clone()),
            (Format::Json | Format::Ndjson, None) => Depth::Verdicts,
            (_, None) => Depth::Refusals,
        }
    }

    pub(super) fn shown(&self) -> text::TextOptions<'a> {
        let (wide, node, width) = (self.format == Format::Wide, self.args.node.as_deref(), self.out.width());
        text::TextOptions { wide, node, width, refusals: &[], since: None, many: self.many() }
    }

    pub(super) fn many(&self) -> bool {
        self.args.all || self.many
    }

    pub(super) fn finish(mut self, unreadable: usize, all: bool) -> Result<Outcome> {
        if self.format == Format::Json && self.many() {
            self.end_list()?;
        }
        if self.many() && self.written > 0 && matches!(self.format, Format::Table | Format::Wide) {
            let shown = self.shown();
            self.summary.write(shown, self.out)?;
        }
        if self.written == 0 && unreadable == 0 {
            note("nothing found: no scheduling decision in the readable history");
        }
        let outcome = outcome(self.written, unreadable);
        Ok(if all && self.differ > 0 && outcome == Outcome::Found { Outcome::Nothing } else { outcome })
    }
}

/// How the command ends once `found` decisions are written; says how many versions of objects could not be read.
pub(super) fn outcome(found: usize, unreadable: usize) -> Outcome {
    if unreadable > 0 {
        let values = if unreadable == 1 { "version of an object" } else { "versions of objects" };
        note(&format!("{unreadable} {values} could not be read: what depends on them is unknown"));
        return Outcome::Damaged;
    }
    if found > 0 { Outcome::Found } else { Outcome::Nothing }
}
