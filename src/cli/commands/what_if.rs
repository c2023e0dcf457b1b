//! `ketcd what-if`: what would happen to the pods.

use clap::Args;

use crate::cli::decisions::live_view::LiveView;
use crate::cli::input::actions::{ActionArgs, fit_of};
use crate::cli::input::scheduler::SchedulerArgs;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::session::command::Ask;
use ketcd_cluster::rights::Question;
use ketcd_render::contract::what_if::{Decisions, WhatIf};
use ketcd_render::{json, what_if};
use ketcd_what_if::WhatIfQuestion;

/// Show what would happen to pods if nodes or workloads changed
///
/// Plays the state of any moment on: does the actions in the order given, each once the cluster has come to rest, with what the API server,
/// controllers and the scheduler of that release would do. Pods that controllers make get names that end with `newN`, as no API server gives
/// them. Where several nodes are equally good the first is taken, and the others are named. How long containers take to start and to stop is
/// not known: they start within a second, and stop when their grace period ends. Exits with 1 if something finds no place or cannot be evicted.
#[derive(Args, Debug)]
#[command(before_help = "\
# What becomes of a node's pods if it is drained\n\
ketcd -f snapshot.db what-if --drain node3\n\
# How many more pods like this one fit, and what limits the next one\n\
ketcd -f snapshot.db what-if --fit pod/lab/ubuntu")]
pub(crate) struct WhatIfArgs {
    #[command(flatten)]
    actions: ActionArgs,
    /// Show how many more pods of this object fit, after the actions, and why the next one does not.
    #[arg(long, value_name = "ADDRESS|FILE")]
    fit: Option<String>,
    /// Play this many futures, each with other choices among equals, and show what holds in all of them.
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: Option<u64>,
    /// After the actions, let each node (node), each zone (zone), or the nodes of each value of this label fail, one after the other.
    #[arg(long, value_name = "node|zone|LABEL")]
    each: Option<String>,
    /// After the actions, show which nodes could be drained, one after the other, without anything left pending.
    #[arg(long)]
    spare: bool,
    /// Evaluate every decision of the readable history by another scheduler: give its configuration, its gates or its release.
    #[arg(long, conflicts_with_all = ["fit", "seeds", "each", "spare"])]
    decisions: bool,
    #[command(flatten)]
    scheduler: SchedulerArgs,
}

impl Ask for WhatIfArgs {
    const PRINTS_TEXT: bool = true;
    const FIXES_REVISION: bool = true;

    fn may_be_paged(&self) -> bool {
        // Each node is shown as it is decided.
        !self.spare
    }

    fn question(&self) -> Question<'_> {
        Question::WhatIf
    }

    async fn answer(&self, session: &Session, out: &mut Output) -> Result<Outcome> {
        if !matches!(session.format, Format::Table | Format::Wide | Format::Json | Format::Ndjson) {
            return Err(session.format.unsupported("what-if", "table, wide, json, ndjson"));
        }
        let configuration = self.scheduler.configuration()?;
        if self.decisions {
            let judged = ketcd_what_if::judged_decisions(&session.cluster, &self.scheduler.options(configuration.as_ref())).await?;
            match &session.format {
                Format::Json => json::write_document(&Decisions::from(&judged[..]), out)?,
                Format::Ndjson => json::write_line(&Decisions::from(&judged[..]), out)?,
                format => what_if::write_decisions(&judged, *format == Format::Wide, out)?,
            }
            let is_same = !judged.iter().any(|decision| what_if::is_change(&decision.verdict));
            return Ok(if is_same { Outcome::Found } else { Outcome::Nothing });
        }
        if self.actions.is_empty() && self.fit.is_none() && self.each.is_none() && !self.spare {
            return Err(Error::new("nothing to do was named").hint("name an action, such as --drain NODE, or ask with --fit ADDRESS"));
        }
        let shows_nodes = self.spare && matches!(session.format, Format::Table | Format::Wide);
        let view = LiveView::new(if shows_nodes { Some(&mut *out) } else { None });
        let question = WhatIfQuestion {
            actions: self.actions.read()?,
            words: self.actions.words(),
            fit: self.fit.as_deref().map(fit_of).transpose()?,
            seeds: self.seeds.unwrap_or(0),
            each: self.each.clone(),
            spare: self.spare,
            follow: Some(&view),
            scheduler: self.scheduler.options(configuration.as_ref()),
            ..WhatIfQuestion::default()
        };
        let answer = ketcd_what_if::what_if(&session.cluster, &question).await?;
        view.end()?;
        match &session.format {
            Format::Json => json::write_document(&WhatIf::from(&answer), out)?,
            Format::Ndjson => json::write_line(&WhatIf::from(&answer), out)?,
            format => {
                let write = match answer.spare.as_ref().map(|spare| spare.is_first_order) {
                    None => what_if::write_text,
                    Some(true) => what_if::write_after_nodes,
                    Some(false) => what_if::write_other_order,
                };
                write(&answer, *format == Format::Wide, out)?;
            }
        }
        Ok(if answer.finds_places() { Outcome::Found } else { Outcome::Nothing })
    }
}
