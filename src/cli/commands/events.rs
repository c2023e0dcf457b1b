//! `ketcd events`: the Kubernetes Events that are stored, oldest first.

use std::io::Write;

use clap::Args;
use futures_util::TryStreamExt;
use jiff::Timestamp;

use crate::cli::listing::{self, ListArgs};
use crate::cli::output::{Format, Output, note};
use crate::cli::session::Session;
use crate::cli::{Error, Outcome, Result};
use ketcd_cluster::describe::events::{self as object_events, About, EventFilter, HeldEvent};
use ketcd_cluster::read::{Keys, Read, changes_from};
use ketcd_cluster::rights::Question;
use ketcd_kube::Address;
use ketcd_render::event::{EventTable, EventView};
use ketcd_store::{At, KeyRange, Revision, Until};

/// List Kubernetes Events, oldest first
///
/// Prints the Events that etcd held at the revision shown. By default the API server removes Events after an hour; --rev and --at show
/// earlier ones. For one object, only keys that begin with its name are read, because client-go names Events after their objects. -o wide
/// shows who reported them.
#[derive(Args, Debug)]
#[command(before_help = "\
# Warnings of a namespace\n\
ketcd -f snapshot.db events -n lab --types Warning\n\
# Events about one pod\n\
ketcd -f snapshot.db events pod/lab/ubuntu")]
pub(crate) struct EventsArgs {
    /// The objects that the Events are about: kind/namespace/name, or a kind. Default: all of the namespace.
    #[arg(value_name = "ADDRESS")]
    addresses: Vec<String>,
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

impl EventsArgs {
    /// What it asks.
    pub(super) fn question(&self) -> Question<'_> {
        Question::Events(self.about.as_ref().map_or(&self.addresses[..], std::slice::from_ref))
    }
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: &EventsArgs, out: &mut Output) -> Result<Outcome> {
    let words: Vec<String> = args.addresses.iter().chain(&args.about).cloned().collect();
    let (ranges, about) = asked(session, &words).await?;
    let filter = EventFilter { about, types: args.types.clone() };
    let newest = session.source.span().await?.newest;
    let at = match session.at {
        At::Newest => newest,
        At::Revision(revision) => revision,
    };
    let events = object_events::read(session, &ranges, At::Revision(at), &filter).await?;
    if !matches!(session.format, Format::Table | Format::Wide) {
        if args.watch {
            return Err(session.format.unsupported("events --watch", "table, wide; ketcd get events -w has all"));
        }
        let list = ListArgs { no_headers: args.no_headers, ..ListArgs::default() };
        return listing::print_all(session, events.into_iter().map(|held| held.entry), &list, out).await;
    }
    let view = EventView {
        now: session.moment().await?,
        with_namespace: session.args.all_namespaces,
        with_object: true,
        with_source: session.format == Format::Wide,
        without_headings: args.no_headers,
        width: out.width(),
    };
    let mut table = EventTable::new(view);
    push_all(session, &events, &mut table);
    table.write(out)?;
    let mut outcome = if events.is_empty() { Outcome::Nothing } else { Outcome::Found };
    if args.watch {
        out.flush()?;
        if follow(session, ranges, &filter, (at, newest), &mut table, out).await? {
            outcome = Outcome::Found;
        }
    } else if events.is_empty() {
        note(&nothing(session, &words));
    }
    Ok(outcome)
}

/// The keys that hold the Events asked for, and what they must be about.
async fn asked(session: &Session, words: &[String]) -> Result<(Vec<KeyRange>, Vec<About>)> {
    if words.is_empty() {
        let namespace = (!session.args.all_namespaces).then(|| session.namespace());
        return Ok((vec![object_events::keys(session, namespace).await?], Vec::new()));
    }
    let (mut ranges, mut all) = (Vec::new(), Vec::new());
    for address in session.addresses(words).await? {
        let Some(about) = About::address(&address) else {
            let wrong = format!("Events are about objects, and {} is a key", address.key("").0);
            return Err(Error::new(wrong).hint("write kind/namespace/name; ketcd ls lists raw keys"));
        };
        let Address::Objects { kind, namespace, name } = &address else { continue };
        ranges.push(match (name, namespace.as_deref()) {
            (Some(name), namespace) => object_events::keys_of(session, namespace, name).await?,
            // Events about cluster-scoped objects are in whatever namespace their recorder chose.
            (None, None) if kind.namespaced => object_events::keys(session, None).await?,
            (None, None) => object_events::keys(session, Some("default")).await?,
            (None, namespace) => object_events::keys(session, namespace).await?,
        });
        all.push(about);
    }
    if all.is_empty() {
        return Err(Error::new("no kind was named").hint("write kind/namespace/name, or a kind"));
    }
    ranges.dedup();
    Ok((ranges, all))
}

fn push_all(session: &Session, events: &[HeldEvent], table: &mut EventTable) {
    // What was reported when it was read need not be reported again.
    let decoder = session.decoder.clone().without_managed_fields();
    events.iter().filter_map(|held| held.object(&decoder)).for_each(|event| table.push(&event));
}

/// Prints each Event that comes after a revision; returns whether any came.
async fn follow(
    session: &Session,
    ranges: Vec<KeyRange>,
    filter: &EventFilter,
    (at, newest): (Revision, Revision),
    table: &mut EventTable,
    out: &mut Output,
) -> Result<bool> {
    let past = if at < newest { Some(session.clock().await?) } else { None };
    let keys = Keys { ranges, ..Keys::all() };
    let mut changes = changes_from(session, keys, at.after(), Until::Forever).await?;
    let mut any = false;
    while let Some(read) = changes.try_next().await? {
        match read {
            // What is deleted was shown before.
            Read::Item(change) => {
                let Some(event) = change.after.whole().filter(|event| filter.fits(event)) else { continue };
                table.set_now(match past.filter(|_| change.revision <= newest) {
                    Some(clock) => clock.date(change.revision).map(|dated| dated.time),
                    None => Some(Timestamp::now()),
                });
                table.push(event);
                table.write(out)?;
                out.flush()?;
                any = true;
            }
            Read::Gap { from, to } => note(&format!("revisions {from} to {to} were compacted away before they could be read: a gap")),
        }
    }
    Ok(any)
}

fn nothing(session: &Session, words: &[String]) -> String {
    match words {
        [] if session.args.all_namespaces => "No events found".to_owned(),
        [] => format!("No events found in {} namespace; -A looks in all", session.namespace()),
        words => format!("No events found for {}", words.join(" ")),
    }
}
