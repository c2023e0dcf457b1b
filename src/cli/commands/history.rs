//! `ketcd history`: every revision still readable of some objects, oldest first, with what changed.

use clap::Args;

use crate::cli::changes::printing::{self, Shown, TellingArgs};
use crate::cli::input::history_window::WindowArgs;
use crate::cli::input::request_filter::RequestedArgs;
use crate::cli::input::selectors::SelectArgs;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::{Format, Output, note};
use crate::cli::session::Session;
use crate::cli::session::absence::{Missing, Search, note_nothing_of};
use crate::cli::session::command::Ask;
use ketcd_cluster::read::Keys;
use ketcd_cluster::related::OwnerElsewhere;
use ketcd_cluster::rights::Question;
use ketcd_store::KeyRange;

/// Show every readable revision of objects, oldest first
///
/// One line per change: when, which revision, what happened, and who did it. Compacted revisions are shown if the source still holds them;
/// the others are a gap. Shows the changes after --since, up to --until. With audit logs, --requests shows who was refused, and who read, and
/// -o wide from where and with which client. Nothing is cut with -o wide, nor where the output is not a terminal.
#[derive(Args, Debug)]
#[command(before_help = "\
# What changed in a Deployment, field by field\n\
ketcd -f snapshot.db history deploy/web/tomcat --diff\n\
# Every change of every pod, one JSON document a line\n\
ketcd -f snapshot.db history pods -A -o ndjson")]
pub(crate) struct HistoryArgs {
    /// The objects: kind/namespace/name, a kind, a kind followed by names, or a raw key. Default: with -n all of the namespace, with -A all
    /// but leases and Events.
    #[arg(value_name = "ADDRESS")]
    addresses: Vec<String>,
    /// Show every object of every kind, with -n those of the namespace.
    #[arg(long, conflicts_with = "addresses")]
    all: bool,
    /// With -o json and -o ndjson, print the whole object after each change.
    #[arg(long)]
    objects: bool,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    requested: RequestedArgs,
    #[command(flatten)]
    telling: TellingArgs,
}

impl HistoryArgs {
    /// Takes `--user`, which names no user of etcd where only files are read, as `--by`.
    pub(crate) fn take_user(&mut self, user: &mut Option<String>) {
        self.requested.take_user(user);
    }
}

impl Ask for HistoryArgs {
    const PRINTS_TEXT: bool = true;
    const SHOWS_PART: bool = true;

    fn question(&self) -> Question<'_> {
        Question::History(&self.addresses)
    }

    fn window(&self) -> Option<&WindowArgs> {
        Some(&self.window)
    }

    async fn answer(&self, session: &Session, out: &mut Output) -> Result<Outcome> {
        let keys = match (self.all, &session.cluster.options.namespace) {
            (true, Some(namespace)) => session.cluster.keys_of_namespace(namespace, session.cluster.at).await?,
            (true, None) => Keys::all(),
            (false, _) => session.cluster.asked(&self.addresses, session.cluster.options.all_namespaces).await?,
        };
        let (after, newest) = (session.cluster.counted_after(), session.cluster.revision().await?);
        let select = self.select.read()?;
        self.requested.check(&session.cluster)?;
        if self.objects && matches!(session.format, Format::Table | Format::Wide) {
            return Err(Error::new("--objects prints whole objects as JSON").hint("add -o json or -o ndjson"));
        }
        session.cluster.note_reach().await?;
        let mut missing = Missing::of(session, &keys).await?;
        let mut told = self.telling.changes(session, keys.many, self.objects, out)?.within(session.window_in_head().await?);
        let shown = Shown { keys: keys.clone(), newest, select, requested: &self.requested, words: &self.addresses };
        printing::write_history(session, shown, &mut missing, &mut told, out).await?;
        let is_told = told.finish(out)?;
        let is_missing = missing.report(session, &Search::up_to(session, "history").await?).await?;
        note_owners_elsewhere(session, &keys).await?;
        if !is_told && !is_missing {
            let oldest = session.cluster.source.span().await?.oldest.max(after.after());
            let by = self.requested.by.whom().map(|whom| format!(" by {whom}")).unwrap_or_default();
            let what = format!("no readable change{by} between revisions {oldest} and {newest}");
            note_nothing_of(session, &keys, &what).await?;
        }
        Ok(if is_told && !is_missing { Outcome::Found } else { Outcome::Nothing })
    }
}

/// Says of each object that was deleted and whose owner is in another namespace that the garbage collector deletes such objects.
async fn note_owners_elsewhere(session: &Session, keys: &Keys) -> Result<()> {
    for range in keys.ranges.iter().filter(|range| **range == KeyRange::key(&range.start[..])) {
        let Some(OwnerElsewhere { object, owner, deleted, .. }) = session.cluster.owner_elsewhere(&range.start).await? else { continue };
        let deleted = format!("{}/{}/{} was deleted in r{deleted}", object.kind.to_lowercase(), object.namespace, object.name);
        let rule = format!("the garbage collector looks for it in {}, and deletes what has no owner there", object.namespace);
        note(&format!("{deleted}; its owner {} {} is in namespace {}: {rule}", owner.kind, owner.name, owner.namespace));
    }
    Ok(())
}
