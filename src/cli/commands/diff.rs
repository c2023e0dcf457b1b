//! `ketcd diff`: what differs between two revisions, two files, or the members of a cluster.

use clap::Args;

use crate::cli::changes::compared_states::{self, Named};
use crate::cli::changes::members;
use crate::cli::changes::spec_comparison::{self, SpecAsked};
use crate::cli::connection::runtime::block_on;
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::input::history_window::Ends;
use crate::cli::input::selectors::SelectArgs;
use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::session::absence::Search;
use crate::cli::session::command::{Run, end};
use ketcd_cluster::diff::{ComparedState, diff};
use ketcd_cluster::rights::Question;
use ketcd_render::comparison::{self, Showing};

/// Show what differs between revisions, files or members
///
/// With --rev A..B, compares two revisions of the objects addressed; A and B may be times, as in --at 22:16..22:20 or --rev 10m..2m. With two files, compares their newest states. Without an address,
/// compares everything, or with -n the namespace. With --members, checks whether the members of a cluster hold the same data at the newest
/// revision they share (or at --rev N): each member is asked alone, or read from a file. If they differ, names the keys and the member that
/// stands alone. With --spec, compares what objects are meant to be, matched by what they are: of two clusters only what somebody decided is
/// left. With -n and --other-namespace, compares two namespaces so. The text is grouped by kind and namespace. Changes to bookkeeping fields, heartbeats and Events are counted; --all-fields
/// shows them.
#[derive(Args, Debug)]
#[command(before_help = "\
# What changed in a Deployment between two revisions\n\
ketcd -f snapshot.db diff deploy/web/tomcat --rev 600..800\n\
# What differs between two snapshots\n\
ketcd diff yesterday.db snapshot.db")]
pub(crate) struct DiffArgs {
    /// Two files; with --rev, the objects to compare (default: all, or those of -n); with --members, the members' files or endpoints
    /// (default: the endpoints of --endpoints).
    #[arg(value_name = "ADDRESS|FILE")]
    targets: Vec<String>,
    /// Show every field that changed, including bookkeeping, heartbeats and Events.
    #[arg(long)]
    all_fields: bool,
    /// Compare what the members of a cluster hold.
    #[arg(long, conflicts_with_all = ["all_fields", "selector", "field_selector"])]
    members: bool,
    /// Compare what objects are meant to be: without uid, times, status, what controllers write and generated names. For two clusters or namespaces.
    #[arg(long, conflicts_with_all = ["all_fields", "members"])]
    spec: bool,
    /// Compare the namespace of -n with this one, of the same source or of the second file.
    #[arg(long, value_name = "NAMESPACE", requires = "spec")]
    other_namespace: Option<String>,
    #[command(flatten)]
    select: SelectArgs,
}

impl Run for DiffArgs {
    fn prints_text(&self) -> bool {
        true
    }

    /// A difference is exit 1.
    fn run(&self, global: &GlobalArgs, out: &mut Output) -> Result<Outcome> {
        match (self.members, self.spec) {
            (true, _) => block_on(members::compare(global, &self.targets, out)),
            (_, true) => {
                let asked = SpecAsked { targets: &self.targets, other_namespace: self.other_namespace.as_deref(), select: &self.select };
                block_on(spec_comparison::compare(global, &asked, out))
            }
            _ => block_on(compare_states(global, self, out)),
        }
    }
}

async fn compare_states(global: &GlobalArgs, args: &DiffArgs, out: &mut Output) -> Result<Outcome> {
    match Named::of(global, &args.targets)? {
        Named::Files(first, second) => {
            let (before, after) = (compared_states::open_file(global, first).await?, compared_states::open_file(global, second).await?);
            let outcome = compare(
                [ComparedState::newest(&before.cluster, first), ComparedState::newest(&after.cluster, second)],
                &after,
                &[],
                args,
                out,
            )
            .await;
            end(&[&before, &after], outcome, out)
        }
        Named::Revisions(span) => {
            let reads = Question::Differences(&args.targets).reads();
            let session =
                Session::new(&GlobalArgs { rev: None, at: None, ..global.clone() }, &Ends::default(), false)?.begun(&reads).await?;
            let outcome = match compared_states::between(&session, span).await {
                Ok(states) => compare(states, &session, &args.targets, args, out).await,
                Err(error) => Err(error),
            };
            end(&[&session], session.or_grants(outcome, &reads).await, out)
        }
    }
}

/// Compares two states, the second of them the session's.
async fn compare(
    states: [ComparedState<'_>; 2],
    session: &Session,
    words: &[String],
    args: &DiffArgs,
    out: &mut Output,
) -> Result<Outcome> {
    let found = diff(&states, words, &args.select.read()?).await?;
    Search::report_all("diff", &found.absent);
    let (differences, managed_fields) = (&found.differences, session.managed_fields());
    let is_same = differences.is_empty() && found.absent.is_empty();
    match &session.format {
        Format::Table | Format::Wide if differences.is_empty() && !is_same => {}
        Format::Table | Format::Wide => {
            let showing = Showing { all_fields: args.all_fields, width: out.width().filter(|_| session.format != Format::Wide) };
            comparison::write_text(&comparison::head(&states), differences, showing, out)?;
        }
        Format::Ndjson => comparison::write_lines(differences, managed_fields, out)?,
        Format::Json => {
            let ends = [states[0].end().await?, states[1].end().await?];
            comparison::write_document(ends, differences, managed_fields, out)?;
        }
        other => return Err(other.unsupported("diff", "table, json, ndjson")),
    }
    Ok(if is_same { Outcome::Found } else { Outcome::Nothing })
}
