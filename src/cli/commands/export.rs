//! `ketcd export`: tables for DuckDB, Spark and their like; times as traces for Jaeger, Tempo and Perfetto.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::cli::export::{ExportFormat, ExportedRows, Outward, TraceExport, TraceFormat, export_tables, export_traces};
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

/// Write objects, history, Events and decisions as tables, or times as traces
///
/// The tables are Hive-partitioned files below DIR (table=history/cluster=NAME/day=2026-11-20/r2-r3190.ndjson.zst). DuckDB, Spark and others
/// read them as one dataset, which may hold many clusters. A file's name says which revisions it covers. Revisions that the dataset already
/// has are not written again: the same snapshot twice gives the same files, and the next snapshot adds what is new. Export older snapshots
/// first, or several at once with -f. Writes the objects as they are at --until, and what happened after --since up to then. With addresses,
/// selectors or -n, writes the rows of those objects alone, with the Events and decisions about them: in a dataset of their own, or under a name of
/// their own (--cluster), because a file's name would claim the revisions of all others. With --by, --verb or
/// --user-agent, writes the rows of those changes alone, and only of the table history.
///
/// With --format otlp or perfetto, writes traces: one for each rollout, Job, pod and outage of a node, with spans from the creation of each pod
/// until it is ready. Times are those of `ketcd timeline`; spans whose begin or end is not readable are left out and counted. Ids are hashes of
/// uids and revisions, so that a second export has the same ones. With addresses, selectors or -n, writes the traces of those objects and of
/// what they follow from; with --since, those in which something ended after it.
#[derive(Args, Debug)]
#[command(before_help = "\
# All that a snapshot holds as tables of a dataset\n\
ketcd -f snapshot.db export --out dataset\n\
# The times of a rollout and its pods as traces of OTLP\n\
ketcd -f snapshot.db export deploy/tomcat -n web --format otlp --out web.jsonl")]
pub(crate) struct ExportArgs {
    /// The objects: kind/namespace/name, a kind, or a kind followed by names. Default: everything, or with -n all of the namespace.
    #[arg(value_name = "ADDRESS")]
    addresses: Vec<String>,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    by: ByArgs,
    /// The dataset: a directory or a bucket (s3://…, gs://…, az://…); of traces a file, or - for standard output.
    ///
    /// A directory is created if needed.
    #[arg(long, value_name = "DIR|URL|FILE", value_hint = clap::ValueHint::AnyPath, required_unless_present = "endpoint")]
    out: Option<String>,
    /// Send traces of --format otlp to this server, by OTLP over HTTP.
    #[arg(long, value_name = "URL", value_hint = clap::ValueHint::Url, conflicts_with = "out")]
    endpoint: Option<String>,
    /// The format of the files: of tables ndjson or parquet, of traces otlp or perfetto.
    ///
    /// Released binaries write Parquet.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "ndjson")]
    format: ExportFormat,
    /// Link traces to the span that this annotation of a pod or workload names (W3C's traceparent).
    #[arg(long, hide_short_help = true, value_name = "ANNOTATION")]
    trace_parent: Option<String>,
    /// Write only these tables. Default: all of them.
    #[arg(long, hide_short_help = true, value_name = "TABLE", value_delimiter = ',', value_parser = table())]
    tables: Vec<Table>,
    /// The cluster's name. Default: the uid of kube-system; of traces none.
    #[arg(long, hide_short_help = true, value_name = "NAME")]
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

impl ExportArgs {
    /// The traces asked for.
    ///
    /// # Errors
    /// A flag that chooses rows.
    fn traces(&self, format: TraceFormat, of: Option<AskedKeys>) -> Result<TraceExport<'_>> {
        if !self.tables.is_empty() || !self.by.take_all() {
            let problem = "--tables, --by, --verb and --user-agent choose rows of tables, and traces have none";
            return Err(Error::new(problem).hint("leave them out, or write --format ndjson"));
        }
        let [out, endpoint, cluster, trace_parent] =
            [&self.out, &self.endpoint, &self.cluster, &self.trace_parent].map(|flag| flag.as_deref());
        Ok(TraceExport { format, out, endpoint, cluster, trace_parent, of })
    }

    /// Where tables go.
    ///
    /// # Errors
    /// A flag that only traces have.
    fn directory(&self) -> Result<&str> {
        match (&self.out, &self.trace_parent) {
            (Some(out), None) => Ok(out),
            _ => Err(Error::new("--endpoint and --trace-parent are for traces").hint("write --format otlp")),
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
        let of = AskedKeys::of(&session.cluster, &self.addresses).await?;
        let format = match self.format.of() {
            Ok(format) => format,
            Err(format) => return export_traces(session, &self.traces(format, of)?, out).await,
        };
        let to = Outward { out: self.directory()?, format, cluster: self.cluster.as_deref() };
        let namespace = session.cluster.options.namespace.as_deref().filter(|_| self.addresses.is_empty());
        let rows = ExportedRows {
            tables: self.tables()?,
            of,
            selectors: [namespace, self.select.selector.as_deref(), self.select.field_selector.as_deref()],
            by: &self.by,
            scheduler: &self.scheduler,
        };
        export_tables(session, &to, &rows, out).await
    }
}
