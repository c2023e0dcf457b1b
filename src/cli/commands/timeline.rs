//! `ketcd timeline`: the story of objects, with who did what and how long each step took.

use clap::Args;

use crate::cli::changes::timeline::StoryTeller;
use crate::cli::input::history_window::WindowArgs;
use crate::cli::input::request_filter::ByArgs;
use crate::cli::input::selectors::SelectArgs;
use crate::cli::input::time_span::AroundArgs;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::Output;
use crate::cli::session::Session;
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
        StoryTeller { session, asked, addresses: &self.addresses, by: &self.by, around }.tell(out).await
    }
}
