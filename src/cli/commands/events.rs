//! `ketcd events`: the Kubernetes Events that are stored, oldest first.

use clap::Args;

use crate::cli::changes::events;
use crate::cli::input::history_window::WindowArgs;
use crate::cli::input::selectors::SelectArgs;
use crate::cli::listing::{self, ListArgs};
use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::{Format, Output, note};
use crate::cli::session::Session;
use crate::cli::session::command::Ask;
use ketcd_cluster::Selection;
use ketcd_cluster::describe::events::EventsAsked;
use ketcd_cluster::rights::Question;
use ketcd_kube::FieldSelector;
use ketcd_render::event::{EventTable, EventView};
use ketcd_store::At;

/// List Kubernetes Events, oldest first
///
/// Prints the Events that etcd held at the revision shown. By default the API server removes Events after an hour; --rev, --at and --until show
/// earlier ones; --since leaves out those that were last written before it. For one object, only keys that begin with its name are read, because client-go names Events after their objects. -o wide
/// shows who reported them.
#[derive(Args, Debug)]
#[command(mut_arg("selector", |arg| arg.help("Only Events about objects with these labels: `app=web,!canary`")))]
#[command(mut_arg("field_selector", |arg| arg.help("Only Events with these fields: `reason=BackOff,involvedObject.kind=Pod`")))]
#[command(before_help = "\
# Warnings of a namespace\n\
ketcd -f snapshot.db events -n lab --types Warning\n\
# Events about one pod\n\
ketcd -f snapshot.db events pod/lab/ubuntu")]
pub(crate) struct EventsArgs {
    /// The objects that the Events are about: kind/namespace/name, a kind, or a kind followed by names. Default: all of the namespace.
    #[arg(value_name = "ADDRESS")]
    addresses: Vec<String>,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    select: SelectArgs,
    /// The same as ADDRESS, as kubectl spells it.
    #[arg(long = "for", value_name = "ADDRESS", conflicts_with = "addresses")]
    about: Option<String>,
    /// Show only Events of these types: Normal, Warning.
    #[arg(long, value_name = "TYPE", value_delimiter = ',')]
    types: Vec<String>,
    /// Print tables without headings.
    #[arg(long, help_heading = "Output")]
    no_headers: bool,
    /// After the Events, print new ones as they come: on a live etcd until interrupted, with a file those after the revision shown.
    #[arg(short, long)]
    watch: bool,
}

impl Ask for EventsArgs {
    fn may_be_paged(&self) -> bool {
        !self.watch
    }

    fn question(&self) -> Question<'_> {
        Question::Events(self.about.as_ref().map_or(&self.addresses[..], std::slice::from_ref))
    }

    fn window(&self) -> Option<&WindowArgs> {
        Some(&self.window)
    }

    /// Labels are of the objects that Events are about, which may be gone; fields are the Events' own.
    fn selection(&self) -> Result<Selection> {
        Ok(Selection { fields: FieldSelector::default(), ever: true, ..self.select.read()? })
    }

    fn prints_columns(&self, format: &Format) -> bool {
        format.is_columns()
    }

    async fn answer(&self, session: &Session, out: &mut Output) -> Result<Outcome> {
        let words: Vec<String> = self.addresses.iter().chain(&self.about).cloned().collect();
        let asked = EventsAsked::of(&session.cluster, &words, (&self.types, self.select.read()?.fields)).await?;
        let newest = session.cluster.source.span().await?.newest;
        let at = if let At::Revision(revision) = session.cluster.at { revision } else { newest };
        let mut events = asked.read(&session.cluster, At::Revision(at)).await?;
        events.retain(|event| event.entry.mod_revision > session.cluster.counted_after());
        let outcome = if events.is_empty() { Outcome::Nothing } else { Outcome::Found };
        if !matches!(session.format, Format::Table | Format::Wide) {
            if self.watch {
                return Err(session.format.unsupported("events --watch", "table, wide; ketcd get events -w has all"));
            }
            let list = ListArgs { no_headers: self.no_headers, ..ListArgs::default() };
            return listing::print_all(session, events.into_iter().map(|held| held.entry), &list, out).await;
        }
        let mut table = EventTable::new(EventView {
            now: session.moment_of_ages().await?,
            with_namespace: session.cluster.options.all_namespaces,
            with_object: true,
            with_source: session.format == Format::Wide,
            without_headings: self.no_headers,
            width: out.width(),
        });
        events::print(session, &events, &mut table, out)?;
        if self.watch {
            let is_any_new = events::follow(session, asked, (at, newest), &mut table, out).await?;
            return Ok(if is_any_new { Outcome::Found } else { outcome });
        }
        if events.is_empty() {
            note(&events::nothing(session, &words));
        }
        Ok(outcome)
    }
}
