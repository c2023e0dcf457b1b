//! `ketcd watch`: follows the changes of some objects.

use std::io::Write;

use clap::Args;
use futures_util::TryStreamExt;

use ketcd_store::Revision;

use crate::cli::changes::printing::{self, TellingArgs};
use crate::cli::input::history_window::WindowArgs;
use crate::cli::input::request_filter::ByArgs;
use crate::cli::input::selectors::SelectArgs;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::{Output, note};
use crate::cli::session::Session;
use crate::cli::session::absence::{Missing, Search, note_nothing_of};
use crate::cli::session::command::Ask;
use ketcd_cluster::read::{Keys, Read};
use ketcd_cluster::rights::Question;
use ketcd_render::watch::{Beginning, gap_words};

/// Follow the changes of objects
///
/// On a live etcd, prints each object as it is, then each change as it comes, until interrupted. A lost connection is reopened and the
/// missed changes are read; what was compacted meanwhile is shown as a gap. The time of a change is when it arrived. A file does not
/// change: its history is printed from the oldest readable revision, and the command ends with the newest. Shows the changes after --since,
/// up to --until.
#[derive(Args, Debug)]
#[command(before_help = "\
# Follow all pods of a live etcd, field by field\n\
ketcd watch pods -A --diff\n\
# The changes that a snapshot holds from revision 600 on\n\
ketcd -f snapshot.db watch deploy/web/tomcat --from-rev 600")]
pub(crate) struct WatchArgs {
    /// The objects: kind/namespace/name, a kind, a kind followed by names, or a raw key.
    #[arg(value_name = "ADDRESS", required = true)]
    addresses: Vec<String>,
    /// Begin with this revision instead of the next change.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..), conflicts_with_all = ["since", "rev", "at"])]
    from_rev: Option<i64>,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    by: ByArgs,
    #[command(flatten)]
    telling: TellingArgs,
}

impl WatchArgs {
    /// The revision to begin with, where one is asked for: what ends somewhere begins with the history.
    fn first(&self, session: &Session) -> Option<Revision> {
        let since = session.cluster.since.map(|since| since.after.after());
        self.from_rev.map(Revision).or(since).or_else(|| self.window.has_end().then_some(Revision(1)))
    }
}

impl Ask for WatchArgs {
    const PRINTS_TEXT: bool = true;
    const SHOWS_PART: bool = true;

    fn may_be_paged(&self) -> bool {
        false
    }

    fn question(&self) -> Question<'_> {
        Question::Objects(&self.addresses)
    }

    fn window(&self) -> Option<&WindowArgs> {
        Some(&self.window)
    }

    /// Each change is flushed as it comes.
    async fn answer(&self, session: &Session, out: &mut Output) -> Result<Outcome> {
        let keys = Keys::of(&session.cluster, &self.addresses).await?;
        let mut missing = Missing::of(session, &keys).await?;
        let select = self.select.read()?;
        self.by.check(&session.cluster)?;
        if !self.by.take_all() && session.cluster.source.is_shared() && !self.window.has_end() {
            let problem = "--by, --verb and --user-agent select by the requests of audit logs, which do not hold future ones";
            return Err(Error::new(problem).hint("end it with --until, or ask for the history: ketcd history"));
        }
        let mut told = self.telling.changes(session, keys.many, true, out)?;
        let mut watching = session.cluster.watching(keys.clone(), self.first(session)).await?;
        if self.window.has_end() {
            watching = watching.until(session.cluster.revision().await?);
        }
        if let Some((revision, initial)) = watching.initial().await? {
            let beginning =
                |initial| Beginning { revision, member: session.cluster.source.member(), initial, release: session.cluster.release() };
            initial.iter().try_for_each(|initial| told.begin(&beginning(initial), out))?;
        }
        out.flush()?;
        let mut changes = printing::selected(watching.history().await?, select, &told);
        while let Some(read) = changes.try_next().await? {
            match read {
                Read::Item((event, change)) => {
                    let key = &event.key_value.key;
                    missing.saw(key);
                    let Some(change) = change.flatten().filter(|change| self.by.take(change.request.as_ref())) else { continue };
                    printing::write(session, &mut told, key, &change, out).await?;
                }
                Read::Gap { from, to } => {
                    if !told.gap(from, to, out)? || !out.is_terminal() {
                        note(&gap_words(from, to));
                    }
                }
            }
            out.flush()?;
        }
        let is_told = told.finish(out)?;
        // The changes end where the source does: one that grows is followed until it is broken off.
        let mut is_missing = false;
        if watching.from() <= Revision(1) {
            is_missing = missing.report(session, &Search::up_to(session, "watch").await?).await?;
        }
        if !is_told && !is_missing && !session.interrupt.is_set() {
            let by = self.by.whom().map(|whom| format!(" by {whom}")).unwrap_or_default();
            note_nothing_of(session, &keys, &format!("no readable change{by} from revision {} on", watching.from().max(Revision(1))))
                .await?;
        }
        Ok(if is_told && !is_missing { Outcome::Found } else { Outcome::Nothing })
    }
}
