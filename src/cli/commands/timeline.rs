//! `ketcd timeline`: the story of objects, with who did what and how long each step took.

use clap::Args;
use jiff::Timestamp;

use ketcd_history::clock::{Moment, duration};
use ketcd_history::timeline::Timeline;
use ketcd_render::timeline::{Told, json};

use crate::cli::absence::{Missing, Search};
use crate::cli::output::{Format, Output, note};
use crate::cli::running::Ask;
use crate::cli::select::SelectArgs;
use crate::cli::session::Session;
use crate::cli::window::{self, WindowArgs};
use crate::cli::{Error, Outcome, Result};
use ketcd_cluster::Selection;
use ketcd_cluster::rights::Question;

/// Show what happened to objects, who did it, and how long each step took
///
/// Turns changes and Events into phases: a pod is created, scheduled, initialized, ready, deleted; a Deployment rolls out; a node loses its
/// heartbeat. Includes the objects that belong to those named. Shows what happened after --since, up to --until. -o wide shows every phase and
/// every Event.
#[derive(Args, Debug)]
#[command(before_help = "\
# What happened to a pod, and how long each step took\n\
ketcd -f snapshot.db timeline pod/lab/ubuntu\n\
# Everything that happened around a moment\n\
ketcd -f snapshot.db timeline --around 22:16:50")]
pub(crate) struct TimelineArgs {
    /// The objects: kind/namespace/name, a kind, or a kind followed by names. Default: all of a namespace, or with --around all of the cluster.
    #[arg(value_name = "ADDRESS")]
    addresses: Vec<String>,
    #[command(flatten)]
    span: WindowArgs,
    #[command(flatten)]
    select: SelectArgs,
    /// Show only what happened around this time: RFC 3339, `14:03:20`, or an age such as `10m`.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    around: Option<String>,
    /// How long before and after --around: `30s`, `5m`.
    #[arg(long, value_name = "DURATION", default_value = "5m", requires = "around")]
    window: String,
}

impl TimelineArgs {
    /// `--around` and `--window` as a time and seconds.
    async fn around(&self, session: &Session) -> Result<Option<(Timestamp, f64)>> {
        let Some(text) = &self.around else { return Ok(None) };
        let moment: Moment = text.parse().map_err(|error| Error::new(format!("--around: {error}")))?;
        let window = duration(&self.window)
            .ok_or_else(|| Error::new(format!("invalid --window {:?}: expected a duration such as 30s, 5m or 1h", self.window)))?;
        let reference = session.reference_time().await?;
        let reference = reference.ok_or_else(|| Error::new("nothing in this data dates its revisions").hint("leave --around out"))?;
        let center = moment.resolve(reference).ok_or_else(|| Error::new("--around is beyond the calendar"))?;
        Ok(Some((center, window.as_secs_f64())))
    }
}

impl Ask for TimelineArgs {
    const PRINTS_TEXT: bool = true;

    fn question(&self) -> Question<'_> {
        Question::Timeline(&self.addresses)
    }

    fn window(&self) -> Option<&WindowArgs> {
        Some(&self.span)
    }

    fn selection(&self) -> Result<Selection> {
        Ok(Selection { ever: true, ..self.select.read()? })
    }

    async fn answer(&self, session: &Session, out: &mut Output) -> Result<Outcome> {
        let around = self.around(session).await?;
        session.note_reach().await?;
        let everything = self.around.is_some() || session.args.all_namespaces;
        if self.addresses.is_empty() && session.args.namespace.is_none() && !everything {
            let wrong = Error::new("timeline needs to know what to show");
            return Err(wrong.hint("name objects, a namespace with -n, everything with -A, or a time with --around"));
        }
        let asked = session.asked(&self.addresses, everything).await?;
        let story = session.timeline(&asked).await?;
        let of_asked = story.timelines.iter().filter(|(key, _)| asked.contains(key));
        let subjects: Vec<&Timeline> = of_asked.map(|(_, timeline)| timeline).collect();
        let mut missing = Missing::of(session, &asked).await?;
        story.timelines.keys().for_each(|key| missing.saw(key));
        let is_missing = missing.report(session, &Search::up_to(session, "timeline").await?).await?;
        if subjects.is_empty() {
            if !is_missing {
                note("nothing found: it has no readable change");
            }
            return Ok(Outcome::Nothing);
        }
        let (oldest, all) = (session.source.span().await?.oldest, session.format == Format::Wide);
        let told = Told { story: &story, subjects, many: asked.many, all, after: session.counted_after(), around, oldest };
        let managed_fields = session.args.managed_fields();
        let is_told = match &session.format {
            Format::Table | Format::Wide => told.write_text(out.width(), out)?,
            Format::Ndjson => json::write_lines(&told, managed_fields, out)?,
            Format::Json => json::write_document(&told, window::in_head(session).await?, managed_fields, out)?,
            other => return Err(other.unsupported("timeline", "table, json, ndjson")),
        };
        Ok(if is_told { Outcome::Found } else { Outcome::Nothing })
    }
}
