//! `ketcd tree`: the owners of objects above them, and what they own below.

use clap::Args;

use crate::cli::input::selectors::SelectArgs;
use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::session::absence::read_subjects;
use crate::cli::session::command::Ask;
use ketcd_cluster::Selection;
use ketcd_cluster::rights::Question;
use ketcd_render::table::TableView;
use ketcd_render::tree as render;

/// Show what owns objects, and what they own
///
/// Follows ownerReferences by uid: above an object its controllers, below it everything it owns, such as a Deployment's ReplicaSets and
/// their pods. Only the kinds that this kind owns are read, in its namespace, and custom resources named as owners there.
#[derive(Args, Debug)]
#[command(before_help = "\
# The ReplicaSets and pods of a Deployment\n\
ketcd -f snapshot.db tree deploy/web/tomcat\n\
# The same as they were at revision 600\n\
ketcd -f snapshot.db tree deploy/web/tomcat --rev 600")]
pub(crate) struct TreeArgs {
    /// The objects: kind/namespace/name, a kind, a kind followed by names, or a raw key.
    #[arg(value_name = "ADDRESS", required = true)]
    addresses: Vec<String>,
    #[command(flatten)]
    select: SelectArgs,
}

impl Ask for TreeArgs {
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
            return Err(session.format.unsupported("tree", "table, json, ndjson"));
        }
        let asked = read_subjects(session, "tree", &self.addresses).await?;
        if asked.objects.is_empty() {
            return Ok(Outcome::Nothing);
        }
        let is_missing = !asked.absent.is_empty();
        let now = session.moment_of_ages().await?;
        let family = session.cluster.tree(asked.objects, asked.at).await?;
        session.cluster.note_missed().await?;
        let trees = render::trees(&family, TableView { now, is_wide: false, release: session.cluster.release() });
        match session.format {
            Format::Ndjson => render::write_lines(&trees, out)?,
            Format::Json => render::write_document(trees, asked.many, out)?,
            _ => render::write_text(&trees, now, out)?,
        }
        Ok(if is_missing { Outcome::Nothing } else { Outcome::Found })
    }
}
