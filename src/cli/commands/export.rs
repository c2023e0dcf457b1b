//! `ketcd export`: tables for DuckDB, Spark and their like.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::cli::export::{self, FileFormat, Outward};
use crate::cli::output::{Format, Output};
use crate::cli::running::Ask;
use crate::cli::scheduler::SchedulerArgs;
use crate::cli::session::Session;
use crate::cli::window::WindowArgs;
use crate::cli::{Error, Outcome, Result};
use ketcd_cluster::rights::Question;
use ketcd_render::contract::export::Table;
use ketcd_render::{export as render, json};

/// Write a cluster's objects, history, Events and scheduling decisions as tables
///
/// The tables are Hive-partitioned files below DIR (table=history/cluster=NAME/day=2026-11-20/r2-r3190.parquet). DuckDB, Spark and others
/// read them as one dataset, which may hold many clusters. A file's name says which revisions it covers. Revisions that the dataset already
/// has are not written again: the same snapshot twice gives the same files, and the next snapshot adds what is new. Export older snapshots
/// first, or several at once with -f. Writes the objects as they are at --until, and what happened after --since up to then.
#[derive(Args, Debug)]
#[command(before_help = "\
# All that a snapshot holds as tables of a dataset\n\
ketcd -f snapshot.db export --format ndjson --out dataset\n\
# Its history alone, under a name for the cluster\n\
ketcd -f snapshot.db export --format ndjson --tables history --cluster story --out fleet")]
pub(crate) struct ExportArgs {
    /// Where to write the dataset: a directory, which is created if needed, or a bucket: s3://…, gs://… or az://…
    #[arg(long, value_name = "DIR|URL", value_hint = clap::ValueHint::DirPath)]
    out: String,
    /// The format of the files.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "parquet")]
    format: FileFormat,
    /// Write only these tables: objects, history, events, decisions, decision_nodes. Default: all of them.
    #[arg(long, value_name = "TABLE", value_delimiter = ',', value_parser = table())]
    tables: Vec<Table>,
    /// The cluster's name in the dataset. Default: the uid of its namespace kube-system.
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    scheduler: SchedulerArgs,
}

impl ExportArgs {
    /// The tables asked for, each once.
    fn tables(&self) -> Vec<Table> {
        Table::ALL.into_iter().filter(|table| self.tables.is_empty() || self.tables.contains(table)).collect()
    }
}

/// Reads a table's name.
fn table() -> impl TypedValueParser<Value = Table> {
    let named = |name: String| Table::ALL.into_iter().find(|table| table.name() == name).ok_or("no such table");
    PossibleValuesParser::new(Table::ALL.map(Table::name)).try_map(named)
}

impl Ask for ExportArgs {
    const FIXES_REVISION: bool = true;

    fn question(&self) -> Question<'_> {
        Question::Export
    }

    fn window(&self) -> Option<&WindowArgs> {
        Some(&self.window)
    }

    async fn answer(&self, session: &Session, out: &mut Output) -> Result<Outcome> {
        if !matches!(session.format, Format::Table | Format::Wide | Format::Json) {
            return Err(session.format.unsupported("export", "table, json"));
        }
        if session.args.namespace.is_some() {
            return Err(Error::new("export writes whole clusters, but -n names a namespace").hint("remove it"));
        }
        let to = Outward { out: &self.out, format: self.format, cluster: self.cluster.as_deref() };
        let (export, is_whole) = export::export(session, &to, &self.tables(), &self.scheduler).await?;
        match session.format {
            Format::Json => json::write_document(&export, out)?,
            _ => render::write_text(&export, out)?,
        }
        Ok(if is_whole { Outcome::Found } else { Outcome::Damaged })
    }
}
