//! `ketcd timeline`: the story of objects, with who did what and how long each step took.

use clap::Args;

use ketcd_history::Logged;
use ketcd_history::timeline::Timeline;
use ketcd_render::timeline::{Told, json};

use crate::cli::input::history_window::WindowArgs;
use crate::cli::input::request_filter::ByArgs;
use crate::cli::input::selectors::SelectArgs;
use crate::cli::input::time_span::{Around, AroundArgs};
use crate::cli::invocation::invocation;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::session::absence::{Missing, Search, note_nothing_of};
use crate::cli::session::command::Ask;
use ketcd_cluster::Selection;
use ketcd_cluster::rights::Question;

/// Show what happened to objects, who did it, and how long each step took
///
/// Turns changes and Events into phases: a pod is created, scheduled, initialized, ready, deleted; a Deployment rolls out; a node loses its
/// heartbeat. Includes the objects that belong to those named. Shows what happened after --since, up to --until. -o wide shows every phase and
/// every Event and, with audit logs, from where and with which client each change was made.
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
    #[command(flatten)]
    by: ByArgs,
    #[command(flatten)]
    around: AroundArgs,
}

impl TimelineArgs {
    /// What there is none of.
    fn nothing(&self, around: Option<Around>) -> String {
        let by = self.by.whom().map(|whom| format!(" by {whom}")).unwrap_or_default();
        format!("no readable change{by}{}", around.map(Around::words).unwrap_or_default())
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
        self.by.check(&session.cluster)?;
        let around = self.around.read(&session.cluster).await?;
        session.cluster.note_reach().await?;
        let everything = self.around.is_given() || session.cluster.options.all_namespaces;
        if self.addresses.is_empty() && session.cluster.options.namespace.is_none() && !everything {
            let wrong = Error::new("timeline needs to know what to show");
            return Err(wrong.hint("name objects, a namespace with -n, everything with -A, or a time with --around"));
        }
        let asked = session.cluster.asked(&self.addresses, everything).await?;
        let story = session.cluster.timeline(&asked).await?;
        let of_asked = story.timelines.iter().filter(|(key, _)| asked.contains(key));
        let subjects: Vec<&Timeline> = of_asked.map(|(_, timeline)| timeline).collect();
        let mut missing = Missing::of(session, &asked).await?;
        story.timelines.keys().for_each(|key| missing.saw(key));
        let is_missing = missing.report(session, &Search::up_to(session, "timeline").await?).await?;
        if subjects.is_empty() {
            if !is_missing {
                note_nothing_of(session, &asked, &self.nothing(around)).await?;
            }
            return Ok(Outcome::Nothing);
        }
        let (oldest, all) = (session.cluster.source.span().await?.oldest, session.format == Format::Wide);
        let takes = |logged: Option<&Logged>| self.by.take(logged.map(|logged| &logged.request));
        let by = (!self.by.take_all()).then_some(&takes as &dyn Fn(Option<&Logged>) -> bool);
        let told = Told {
            story: &story,
            subjects,
            many: asked.many,
            all,
            after: session.cluster.counted_after(),
            around: around.map(|around| (around.center, around.window.as_secs_f64())),
            by,
            oldest,
            invocation: invocation(),
        };
        let managed_fields = session.managed_fields();
        let is_told = match &session.format {
            Format::Table | Format::Wide => told.write_text(out.width(), out)?,
            Format::Ndjson => json::write_lines(&told, managed_fields, out)?,
            Format::Json => json::write_document(&told, session.window_in_head().await?, managed_fields, out)?,
            other => return Err(other.unsupported("timeline", "table, json, ndjson")),
        };
        if !is_told {
            note_nothing_of(session, &asked, &self.nothing(around)).await?;
        }
        if !self.by.take_all() {
            let clock = session.cluster.clock_of_writers(&[], &[], &[]).await?;
            self.by.note_others(&session.cluster, (&self.addresses, &asked), &clock).await?;
        }
        Ok(if is_told && !is_missing { Outcome::Found } else { Outcome::Nothing })
    }
}
