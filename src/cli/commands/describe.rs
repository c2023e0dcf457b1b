//! `ketcd describe`: one page about an object.

use std::io::Write;

use clap::Args;
use futures_util::TryStreamExt;

use crate::cli::input::selectors::SelectArgs;
use crate::cli::invocation::invocation;
use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::session::absence::read_subjects;
use crate::cli::session::command::Ask;
use ketcd_cluster::Selection;
use ketcd_cluster::rights::Question;
use ketcd_render::describe::{Look, PageForm, Pages};

/// Show one page about an object
///
/// Prints what the object is, its status, its owners, its conditions, its stored Events, and its last changes with their authors. With
/// --rev or --at, shows it as it was then. Only the object, its owners, its Events and its last versions are read; for a node, all pods as
/// well.
#[derive(Args, Debug)]
#[command(before_help = "\
# A pod, its Events and its last changes\n\
ketcd -f snapshot.db describe pod/lab/ubuntu\n\
# A node and its pods as they were at 22:20\n\
ketcd -f snapshot.db describe node/node2 --at 22:20")]
pub(crate) struct DescribeArgs {
    /// The objects: kind/namespace/name, a kind, a kind followed by names, or a raw key.
    #[arg(value_name = "ADDRESS", required = true)]
    addresses: Vec<String>,
    #[command(flatten)]
    select: SelectArgs,
}

impl Ask for DescribeArgs {
    const PRINTS_TEXT: bool = true;

    fn question(&self) -> Question<'_> {
        Question::Objects(&self.addresses)
    }

    fn selection(&self) -> Result<Selection> {
        self.select.read()
    }

    fn prints_columns(&self, format: &Format) -> bool {
        format.is_columns()
    }

    async fn answer(&self, session: &Session, out: &mut Output) -> Result<Outcome> {
        if !matches!(session.format, Format::Table | Format::Json | Format::Ndjson) {
            return Err(session.format.unsupported("describe", "table, json, ndjson"));
        }
        let asked = read_subjects(session, "describe", &self.addresses).await?;
        let outcome = if asked.objects.is_empty() { Outcome::Nothing } else { Outcome::Found };
        let form = match session.format {
            Format::Ndjson => PageForm::Lines,
            Format::Json if asked.many => PageForm::List,
            Format::Json => PageForm::Document,
            _ if outcome == Outcome::Nothing => return Ok(outcome),
            _ => PageForm::Text(Look {
                now: session.moment_of_ages().await?,
                release: session.cluster.release(),
                width: out.width(),
                is_one_moment: session.cluster.source.is_one_moment(),
                invocation: invocation(),
            }),
        };
        let mut pages = Pages::new(form, session.managed_fields());
        let mut descriptions = session.cluster.descriptions(asked.objects, asked.at);
        while let Some(description) = descriptions.try_next().await? {
            pages.write(&description, out)?;
            out.flush()?;
        }
        if outcome == Outcome::Found {
            session.cluster.note_missed().await?;
        }
        pages.finish(out)?;
        Ok(if asked.absent.is_empty() { outcome } else { Outcome::Nothing })
    }
}
