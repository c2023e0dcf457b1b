//! `ketcd report`: the story as one self-contained page.

mod decisions;
mod selection;

use clap::Args;
use futures_util::TryStreamExt;

use ketcd_history::AttributedChange;
use ketcd_render::report::{Heading, Report, StillWrong, is_page};
use ketcd_store::{At, KeyRange, Revision, Until};

use crate::cli::destination::{Destination, Replacing};
use crate::cli::output::{Output, note};
use crate::cli::session::Session;
use crate::cli::{Outcome, Result};
use ketcd_cluster::read::{Keys, Read, alive_names, changes_of};
use ketcd_cluster::related::asked;
use ketcd_cluster::rights::Question;
use ketcd_cluster::triage::{date_loops, no_cluster, state};
use ketcd_render::triage::absence_words;

/// Write the history of a cluster as one HTML page
///
/// The page shows a row per object below its owner, with its states, changes and Events over time; a click opens versions, differences and
/// scheduling decisions. It holds everything in one file and loads nothing from the network.
///
/// With more than 5,000 objects, a row is shown only for those that were broken, held up, changed or deleted, or that have a Warning, and
/// for their owners. The others are counted by kind, namespace and state. -n NAMESPACE or an address selects fewer objects, and shows all
/// of them.
#[derive(Args, Debug)]
#[command(before_help = "\
# The history of a cluster as one page\n\
ketcd -f snapshot.db report --out incident.html\n\
# Of the pods of one namespace, with a title\n\
ketcd -f snapshot.db report pods -n web --title \"The tomcat rollout\" --out rollout.html")]
pub(crate) struct ReportArgs {
    /// The objects: kind/namespace/name, or a kind. Default: all but leases, or with -n those of the namespace.
    #[arg(value_name = "ADDRESS")]
    addresses: Vec<String>,
    /// The page to write; `-` is standard output. An earlier report is replaced.
    #[arg(long, value_name = "FILE.html", value_hint = clap::ValueHint::FilePath)]
    out: String,
    /// Replace FILE.html even if it is not a report, unless the command reads it.
    #[arg(long)]
    force: bool,
    /// The page's title.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
}

impl ReportArgs {
    /// What it asks.
    pub(super) fn question(&self) -> Question<'_> {
        Question::Report(&self.addresses)
    }
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: &ReportArgs, out: &mut Output) -> Result<Outcome> {
    let replacing = Replacing { is_older: &is_page, what: "a report of ketcd's", any: Some(args.force) };
    let destination = Destination::open(&args.out, &session.args, session.args.show_secrets, &replacing)?;
    let span = session.source.span().await?;
    let newest = match session.at {
        At::Newest => span.newest,
        At::Revision(revision) => revision,
    };
    let clock = session.clock_of_writers(&[], &[], &[]).await?;
    let clock = &*clock;
    let prefix = session.prefix().await?;
    let leases = format!("{prefix}/leases/");
    let everything = args.addresses.is_empty() && session.args.namespace.is_none();
    let mut keys = if everything { Keys::all() } else { asked(session, &args.addresses, false).await? };
    if !everything {
        let namespace = session.args.namespace.as_deref().filter(|_| args.addresses.is_empty());
        keys.ranges.push(KeyRange::prefix(format!("{prefix}/events/{}", namespace.map_or(String::new(), |name| format!("{name}/")))));
    }
    let is_asked = |key: &[u8]| !(everything && key.starts_with(leases.as_bytes()));
    let selection = selection::select(session, &keys, newest, is_asked).await?;
    let is_shown = |key: &[u8]| is_asked(key) && selection.as_ref().is_none_or(|selection| selection.wants(key));
    let mut report = Report::new(session.args.managed_fields());
    let alive = alive_names(session, &keys, newest, is_shown).await?;
    let mut changes = changes_of(session, keys.clone(), Until::Revision(newest), is_shown);
    while let Some(read) = changes.try_next().await? {
        match read {
            Read::Item(change) => report.observe(&AttributedChange::new(change, clock), clock.leases())?,
            Read::Gap { from, to } => {
                if let (Some(from), Some(to)) = (clock.date(from), clock.date(to)) {
                    report.gap(from.time, to.time);
                }
            }
        }
    }
    drop(changes);
    // What the oldest whole state does not hold was gone by then.
    report.mark_vanished(&alive, clock.date(span.oldest).map(|dated| dated.time));
    if report.is_empty() {
        note("nothing found: no object to report on");
        no_cluster(session).await?.iter().for_each(|absence| note(&absence_words(absence)));
        return Ok(Outcome::Nothing);
    }
    let mut notes = clock.problems().to_vec();
    notes.extend(decisions::add(session, &mut report, &keys, newest).await?);
    notes.extend(report.notes());
    if let Some(selection) = selection {
        notes.push(selection.note());
        report.count_unlisted(selection);
    }
    let reach = match span.compacted {
        _ if session.source.is_one_moment() => "the state of one moment; the past is known only from the times in the objects".to_owned(),
        None => "complete since the cluster began".to_owned(),
        Some(revision) => format!("revisions up to {revision} were compacted away"),
    };
    let source = session.source.status().await?.name;
    let heading = Heading { title: args.title.as_deref().unwrap_or("What happened"), source: &source, reach: &reach, notes: &notes };
    let objects = report.len();
    let still = still_wrong(session, newest).await?;
    destination.write(out, |out| report.write(&heading, &still, out))?;
    let objects = if objects == 1 { "one object".to_owned() } else { format!("{objects} objects") };
    note(&format!("{objects} written to {}", destination.name()));
    Ok(Outcome::Found)
}

/// What is wrong at the end of the history shown.
async fn still_wrong(session: &Session, newest: Revision) -> Result<StillWrong> {
    let (triage, _) = state(session, At::Revision(newest), session.moment().await?).await?;
    let patient_classes = triage.patient_classes().clone();
    let mut findings = triage.findings();
    date_loops(session, &mut findings).await?;
    Ok(StillWrong { findings, patient_classes })
}
