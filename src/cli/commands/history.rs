//! `ketcd history`: every revision still readable of some objects, oldest first, with what changed.

use std::io::Write;

use clap::Args;
use futures_util::TryStreamExt;
use jiff::Timestamp;

use ketcd_history::AttributedChange;
use ketcd_history::diff::ManagedFields;
use ketcd_render::change;
use ketcd_render::change_text::{ChangeWriter, Options};
use ketcd_render::watch::{self, Beginning};
use ketcd_store::{At, Revision};

use crate::cli::absence::{Missing, Search};
use crate::cli::lines::{Line, Lines};
use crate::cli::output::{Format, Output, note};
use crate::cli::select::SelectArgs;
use crate::cli::session::Session;
use crate::cli::{Error, Outcome, Result};
use ketcd_cluster::read::{Keys, Read, dated_changes, dated_steps};
use ketcd_cluster::rights::Question;

/// Show every readable revision of objects, oldest first
///
/// One line per change: when, which revision, what happened, and who did it. Compacted revisions are shown if the source still holds them;
/// the others are a gap. With --rev or --at, ends there.
#[derive(Args, Debug)]
#[command(before_help = "\
# What changed in a Deployment, field by field\n\
ketcd -f snapshot.db history deploy/web/tomcat --diff\n\
# Every change of every pod, one JSON document a line\n\
ketcd -f snapshot.db history pods -A -o ndjson")]
pub(crate) struct HistoryArgs {
    /// The objects: kind/namespace/name, a kind, or a raw key.
    #[arg(value_name = "ADDRESS", required_unless_present = "all")]
    addresses: Vec<String>,
    /// Show every object of every kind.
    #[arg(long, conflicts_with = "addresses")]
    all: bool,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    telling: TellingArgs,
}

/// How changes are printed.
#[derive(Args, Debug)]
pub(super) struct TellingArgs {
    /// Show what changed, field by field.
    #[arg(long)]
    pub diff: bool,
    /// With --diff, show every field that changed, including bookkeeping and heartbeats.
    #[arg(long, requires = "diff")]
    pub all_fields: bool,
}

impl HistoryArgs {
    /// What it asks.
    pub(super) fn question(&self) -> Question<'_> {
        Question::History(&self.addresses)
    }
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: &HistoryArgs, out: &mut Output) -> Result<Outcome> {
    let keys = if args.all { Keys::all() } else { Keys::of(session, &args.addresses).await? };
    let newest = match session.at {
        At::Newest => session.source.span().await?.newest,
        At::Revision(revision) => revision,
    };
    let select = args.select.read()?;
    session.note_reach().await?;
    let mut missing = Missing::of(session, &keys).await?;
    let mut writer = Writer::new(session, &args.telling, keys.many, out)?;
    if writer.text.is_none() && select.takes_all() {
        write_lines(session, keys, newest, &mut missing, &mut writer, out).await?;
    } else {
        let (mut changes, clock) = dated_changes(session, keys, newest).await?;
        clock.problems().iter().for_each(|problem| note(problem));
        while let Some(read) = changes.try_next().await? {
            match read {
                Read::Gap { from, to } => session.note_gap(from, to),
                Read::Item(change) => {
                    missing.saw(&change.key);
                    if select.takes(&change) {
                        writer.write(session, AttributedChange::new(change, &clock), out).await?;
                    }
                }
            }
        }
    }
    let outcome = writer.finish(out)?;
    let is_missing = missing.report(session, &Search::up_to(session, "history").await?).await?;
    if outcome == Outcome::Nothing && !is_missing {
        let span = session.source.span().await?;
        note(&format!("nothing found: it has no readable change between revisions {} and {newest}", span.oldest));
    }
    Ok(outcome)
}

/// Writes all changes of `keys` as JSON: of each object no more is decoded than its text, and what differs from the version before.
async fn write_lines(
    session: &Session,
    keys: Keys,
    newest: Revision,
    missing: &mut Missing,
    writer: &mut Writer,
    out: &mut Output,
) -> Result<()> {
    let (mut steps, clock) = dated_steps(session, keys, newest).await?;
    clock.problems().iter().for_each(|problem| note(problem));
    let mut lines = Lines::new(session, &clock);
    let mut write = |made: Vec<Read<Line>>| {
        made.into_iter().try_for_each(|read| match read {
            Read::Gap { from, to } => {
                session.note_gap(from, to);
                Ok(())
            }
            Read::Item(line) => {
                missing.saw(&line.key);
                line.report(session);
                writer.json(out, |out| Ok(out.write_all(&line.json)?))
            }
        })
    };
    loop {
        let end = match steps.try_next().await {
            Ok(Some(read)) => match lines.take(read) {
                true => None,
                false => continue,
            },
            Ok(None) => Some(Ok(())),
            Err(error) => Some(Err(error)),
        };
        lines.turn(&mut write)?;
        if let Some(end) = end {
            lines.turn(&mut write)?;
            return Ok(end?);
        }
    }
}

/// Writes changes in the format asked for.
pub(super) struct Writer {
    format: ChangeFormat,
    managed_fields: ManagedFields,
    text: Option<ChangeWriter>,
    written: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ChangeFormat {
    Text,
    Lines,
    Document,
}

impl Writer {
    /// Begins the output.
    ///
    /// # Errors
    /// A format that changes cannot be shown in.
    pub(super) fn new(session: &Session, telling: &TellingArgs, many: bool, out: &Output) -> Result<Self> {
        let format = match &session.format {
            Format::Table | Format::Wide => ChangeFormat::Text,
            Format::Ndjson => ChangeFormat::Lines,
            Format::Json => ChangeFormat::Document,
            other => return Err(other.unsupported("history", "table, json, ndjson")),
        };
        let managed_fields = session.args.managed_fields();
        let telling = Options { diff: telling.diff, all_fields: telling.all_fields, many, width: out.width() };
        let text = (format == ChangeFormat::Text).then(|| ChangeWriter::new(telling));
        Ok(Self { format, managed_fields, text, written: 0 })
    }

    /// Writes what is there before the changes; nothing into one document of all changes.
    ///
    /// # Errors
    /// The stream's.
    pub(super) fn begin(&mut self, beginning: &Beginning<'_>, out: &mut Output) -> Result<()> {
        match self.format {
            ChangeFormat::Text => beginning.write_text(Timestamp::now(), out)?,
            ChangeFormat::Lines => beginning.write_json(self.managed_fields, out)?,
            ChangeFormat::Document => {}
        }
        Ok(())
    }

    /// Writes missing revisions between the changes. Returns whether people see them there.
    ///
    /// # Errors
    /// The stream's.
    pub(super) fn gap(&mut self, from: Revision, to: Revision, out: &mut Output) -> Result<bool> {
        match self.format {
            ChangeFormat::Text => watch::write_gap_text(from, to, out)?,
            ChangeFormat::Lines => watch::write_gap_json(from, to, out)?,
            ChangeFormat::Document => {}
        }
        Ok(self.format == ChangeFormat::Text)
    }

    /// Writes one change.
    ///
    /// # Errors
    /// The stream's.
    pub(super) async fn write(&mut self, session: &Session, attributed: AttributedChange, out: &mut Output) -> Result<()> {
        if let Some(text) = &mut self.text {
            let name = session.name_of(&attributed.change.key).await?;
            text.write(&attributed, &name, out)?;
        } else {
            let managed_fields = self.managed_fields;
            return self.json(out, |out| Ok(change::write_json(&attributed, managed_fields, out)?));
        }
        self.written += 1;
        Ok(())
    }

    /// Writes the JSON of one change, with what stands around it.
    fn json(&mut self, out: &mut Output, write: impl FnOnce(&mut Output) -> Result<()>) -> Result<()> {
        let lead: &[u8] = match (self.format, self.written) {
            (ChangeFormat::Document, 0) => b"{\"kind\":\"History\",\"changes\":[\n",
            (ChangeFormat::Document, _) => b",\n",
            _ => b"",
        };
        out.write_all(lead)?;
        write(out)?;
        if self.format == ChangeFormat::Lines {
            out.write_all(b"\n")?;
        }
        self.written += 1;
        Ok(())
    }

    /// Ends the output and says whether there was any.
    ///
    /// # Errors
    /// The stream's.
    pub(super) fn finish(self, out: &mut Output) -> Result<Outcome> {
        if let Some(text) = self.text {
            text.finish(out)?;
        }
        if self.format == ChangeFormat::Document {
            let lead = if self.written == 0 { "{\"kind\":\"History\",\"changes\":[" } else { "" };
            writeln!(out, "{lead}]}}").map_err(Error::from)?;
        }
        Ok(if self.written == 0 { Outcome::Nothing } else { Outcome::Found })
    }
}
