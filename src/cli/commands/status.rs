//! `status`: what this source holds.

use clap::Args;

use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::session::command::Ask;
use ketcd_cluster::census::Contents;
use ketcd_cluster::rights::Question;
use ketcd_render::contract::status::Status;
use ketcd_render::status::StatusPage;
use ketcd_render::{json, status};
use ketcd_store::KeyRange;
use ketcd_store::etcd::grant_command;

/// Show what a source holds
///
/// Shows the source itself, the readable revisions and their time span, the sizes of the database, the versions of Kubernetes found in the
/// data, encryption at rest, what the checksum of a file says, and problems found while reading, with which the exit code is 2. On a large
/// live etcd only some values are read, unless --full is given.
#[derive(Args, Debug)]
#[command(before_help = "\
# What a snapshot holds, and how far back it goes\n\
ketcd -f snapshot.db status\n\
# The members of a live etcd, their health and sizes\n\
ketcd status")]
pub(crate) struct StatusArgs {
    /// Read every value of a large live etcd: count every node's kubelet and every encrypted value.
    #[arg(long)]
    full: bool,
}

impl Ask for StatusArgs {
    const PRINTS_TEXT: bool = true;
    const SHOWS_PROBLEMS: bool = true;

    fn question(&self) -> Question<'_> {
        Question::Status
    }

    async fn answer(&self, session: &Session, out: &mut Output) -> Result<Outcome> {
        let all = grant_command(&KeyRange::all());
        let is_text = matches!(session.format, Format::Table | Format::Wide);
        let source = session.cluster.source.status().await?;
        let outcome = if source.alarms.is_empty() && source.problems.is_empty() { Outcome::Found } else { Outcome::Damaged };
        let span = match session.cluster.readable_span().await {
            Err(error) => {
                // What members tell is known.
                let Some(refusal) = error.refusal().filter(|_| is_text) else { return Err(error.into()) };
                status::page_of_unread(&source, &unread(&refusal.problem, &all), out)?;
                return Ok(outcome);
            }
            Ok(span) => span,
        };
        let counted = |problem: &str| format!("{problem}: only keys of kinds this user may read are counted; to count all: {all}");
        let contents = session.cluster.contents(&source, span, self.full).await?;
        let Contents { one_moment, dated, census, is_sampled, problems, refusal } = contents;
        let notes = problems.into_iter().chain(refusal.map(|refusal| counted(&refusal.problem))).collect();
        let (release, release_bounds) = (session.cluster.release_evidence.release(), session.cluster.release_evidence.bounds());
        let earlier = session.cluster.source.facts().earlier;
        let page = StatusPage { source, span, earlier, one_moment, dated, release, release_bounds, census, is_sampled, notes };
        let outcome = if page.has_problems() { Outcome::Damaged } else { outcome };
        match &session.format {
            Format::Table | Format::Wide => status::page(&page, out)?,
            Format::Json => json::write_document(&Status::from(&page), out)?,
            other => return Err(other.unsupported("status", "table, json")),
        }
        Ok(outcome)
    }
}

/// What is said where not even the revisions may be read.
fn unread(problem: &str, all: &str) -> String {
    format!("{problem}: the readable revisions and the contents of the keys are not known; to read all: {all}")
}
