//! `ketcd export`: tables for DuckDB, Spark and their like.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::cli::export::{Dataset, FileFormat, cluster_name, decisions, history, objects};
use crate::cli::output::{Format, Output, note};
use crate::cli::scheduler::SchedulerArgs;
use crate::cli::session::Session;
use crate::cli::{Error, Outcome, Result};
use ketcd_cluster::rights::Question;
use ketcd_render::contract::export::{Export, Table};
use ketcd_render::{export, json};
use ketcd_store::At;

/// Write a cluster's objects, history, Events and scheduling decisions as tables
///
/// The tables are Hive-partitioned files below DIR (table=history/cluster=NAME/day=2026-11-20/r2-r3190.parquet). DuckDB, Spark and others
/// read them as one dataset, which may hold many clusters. A file's name says which revisions it covers. Revisions that the dataset already
/// has are not written again: the same snapshot twice gives the same files, and the next snapshot adds what is new. Export older snapshots
/// first, or several at once with -f. With --rev or --at, ends there.
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
    scheduler: SchedulerArgs,
}

impl ExportArgs {
    /// What it asks.
    pub(super) fn question(&self) -> Question<'static> {
        Question::Export
    }

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

/// Runs the command on a session whose revision is fixed.
pub(super) async fn run(session: &Session, args: &ExportArgs, out: &mut Output) -> Result<Outcome> {
    if !matches!(session.format, Format::Table | Format::Wide | Format::Json) {
        return Err(session.format.unsupported("export", "table, json"));
    }
    if session.args.namespace.is_some() {
        return Err(Error::new("export writes whole clusters, but -n names a namespace").hint("remove it"));
    }
    let At::Revision(revision) = session.at else { return Err(Error::new("the revision to export is not known")) };
    let cluster = cluster_name(session, args.cluster.as_deref()).await?;
    let dataset = Dataset::open(&args.out, args.format, cluster, &session.args)?;
    let asked = args.tables();
    let is_asked = |tables: &[Table]| tables.iter().any(|table| asked.contains(table));
    let (mut tables, mut is_whole) = (Vec::new(), true);
    if is_asked(&[Table::Objects]) {
        tables.push(objects(session, &dataset, revision).await?);
    }
    if session.source.is_one_moment() {
        note("API objects show one moment: only the table objects is written");
    } else {
        if is_asked(&[Table::History, Table::Events]) {
            tables.extend(history(session, &dataset, &asked, revision).await?);
        }
        if is_asked(&[Table::Decisions, Table::DecisionNodes]) {
            let (written, is_readable) = decisions(session, &dataset, &asked, &args.scheduler, revision).await?;
            tables.extend(written);
            is_whole = is_readable;
        }
    }
    let export = Export { cluster: dataset.cluster().to_owned(), out: args.out.clone(), revision: revision.0, tables };
    if session.format == Format::Json {
        json::write_pretty(&export, out)?;
        std::io::Write::write_all(out, b"\n")?;
    } else {
        export::write_text(&export, out)?;
    }
    Ok(if is_whole { Outcome::Found } else { Outcome::Damaged })
}
