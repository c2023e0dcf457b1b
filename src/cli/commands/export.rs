//! `ketcd export`: tables for DuckDB, Spark and their like.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::cli::export::{self, ExportedRows, FileFormat, Outward};
use crate::cli::input::history_window::WindowArgs;
use crate::cli::input::request_filter::ByArgs;
use crate::cli::input::scheduler::SchedulerArgs;
use crate::cli::input::selectors::SelectArgs;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::session::command::Ask;
use ketcd_cluster::rights::Question;
use ketcd_cluster::{AskedKeys, Selection};
use ketcd_render::contract::export::Table;
use ketcd_render::{export as render, json};

/// Write a cluster's objects, history, Events and scheduling decisions as tables
///
/// The tables are Hive-partitioned files below DIR (table=history/cluster=NAME/day=2026-11-20/r2-r3190.ndjson.zst). DuckDB, Spark and others
/// read them as one dataset, which may hold many clusters. A file's name says which revisions it covers. Revisions that the dataset already
/// has are not written again: the same snapshot twice gives the same files, and the next snapshot adds what is new. Export older snapshots
/// first, or several at once with -f. Writes the objects as they are at --until, and what happened after --since up to then. With addresses,
/// selectors or -n, writes the rows of those objects alone, with the Events and decisions about them: in a dataset of their own, or under a name of
/// their own (--cluster), because a file's name would claim the revisions of all others. With --by, --verb or
/// --user-agent, writes the rows of those changes alone, and only of the table history.
#[derive(Args, Debug)]
#[command(before_help = "\
# All that a snapshot holds as tables of a dataset\n\
ketcd -f snapshot.db export --out dataset\n\
# Its history alone, under a name for the cluster\n\
ketcd -f snapshot.db export --tables history --cluster story --out fleet")]
pub(crate) struct ExportArgs {
    /// The objects: kind/namespace/name, a kind, or a kind followed by names. Default: everything, or with -n all of the namespace.
    #[arg(value_name = "ADDRESS")]
    addresses: Vec<String>,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    by: ByArgs,
    /// The dataset: a directory or a bucket (s3://…, gs://…, az://…).
    ///
    /// A directory is created if needed.
    #[arg(long, value_name = "DIR|URL", value_hint = clap::ValueHint::DirPath)]
    out: String,
    /// The format of the files.
    ///
    /// Lines of JSON, compressed with zstd, or Parquet, which released binaries write.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "ndjson")]
    format: FileFormat,
    /// Write only these tables. Default: all of them.
    #[arg(long, value_name = "TABLE", value_delimiter = ',', value_parser = table())]
    tables: Vec<Table>,
    /// The cluster's name. Default: the uid of kube-system.
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    scheduler: SchedulerArgs,
}

impl ExportArgs {
    /// The tables asked for, each once; by user there are only changes.
    ///
    /// # Errors
    /// A table that says of no row who made it.
    fn tables(&self) -> Result<Vec<Table>> {
        let other = self.tables.iter().find(|table| **table != Table::History);
        match (self.by.take_all(), other) {
            (true, _) => Ok(Table::ALL.into_iter().filter(|table| self.tables.is_empty() || self.tables.contains(table)).collect()),
            (false, None) => Ok(vec![Table::History]),
            (false, Some(table)) => {
                let problem = format!("--by, --verb and --user-agent select changes, but the table {} holds none", table.name());
                Err(Error::new(problem).hint("write --tables history"))
            }
        }
    }
}

/// Reads a table's name.
fn table() -> impl TypedValueParser<Value = Table> {
    let named = |name: String| Table::ALL.into_iter().find(|table| table.name() == name).ok_or("no such table");
    PossibleValuesParser::new(Table::ALL.map(Table::name)).try_map(named)
}

impl Ask for ExportArgs {
    const ONLY_PRINTS: bool = false;
    const FIXES_REVISION: bool = true;

    fn question(&self) -> Question<'_> {
        Question::Export
    }

    fn window(&self) -> Option<&WindowArgs> {
        Some(&self.window)
    }

    fn selection(&self) -> Result<Selection> {
        Ok(Selection { ever: true, ..self.select.read()? })
    }

    async fn answer(&self, session: &Session, out: &mut Output) -> Result<Outcome> {
        if !matches!(session.format, Format::Table | Format::Wide | Format::Json) {
            return Err(session.format.unsupported("export", "table, json"));
        }
        self.by.check(&session.cluster)?;
        let to = Outward { out: &self.out, format: self.format, cluster: self.cluster.as_deref() };
        let namespace = session.cluster.options.namespace.as_deref().filter(|_| self.addresses.is_empty());
        let rows = ExportedRows {
            tables: self.tables()?,
            of: AskedKeys::of(&session.cluster, &self.addresses).await?,
            selectors: [namespace, self.select.selector.as_deref(), self.select.field_selector.as_deref()],
            by: &self.by,
            scheduler: &self.scheduler,
        };
        let (export, is_whole) = export::export(session, &to, &rows).await?;
        match session.format {
            Format::Json => json::write_document(&export, out)?,
            _ => render::write_text(&export, out)?,
        }
        let has_rows = export.tables.iter().any(|table| table.rows_present > 0 || table.files.iter().any(|file| file.rows > 0));
        Ok(match (is_whole, has_rows) {
            (false, _) => Outcome::Damaged,
            (true, true) => Outcome::Found,
            (true, false) => Outcome::Nothing,
        })
    }
}
