//! `export --format otlp` and `perfetto`: times as traces, into a file or to a server.

use memchr::memmem;

use super::format::TraceFormat;
use super::otlp_server::OtlpServer;
use crate::cli::connection::inputs::inputs;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::destination::{Destination, Replacing, Writing};
use crate::cli::output::{Format, Output, note};
use crate::cli::session::Session;
use ketcd_cluster::traces::Traces;
use ketcd_cluster::{AskedKeys, TryStreamExt};
use ketcd_render::json;
use ketcd_render::traces::{self as render, Tally, otlp, perfetto};

/// Every file of traces that ketcd writes has this attribute near its beginning.
const OWN_ATTRIBUTE: &[u8] = b"ketcd.begin.revision";

/// Where traces go, and what is in them.
pub(in crate::cli) struct TraceExport<'a> {
    /// How they are written.
    pub format: TraceFormat,
    /// The file.
    pub out: Option<&'a str>,
    /// The server, in place of a file.
    pub endpoint: Option<&'a str>,
    /// The cluster's name, if one was given.
    pub cluster: Option<&'a str>,
    /// The annotation whose value is a trace parent.
    pub trace_parent: Option<&'a str>,
    /// The objects asked for; `None` where all are.
    pub of: Option<AskedKeys>,
}

/// Where traces go, once that was checked.
enum Goal {
    File { destination: Destination, file: TraceFile, writing: Option<Writing> },
    Server(OtlpServer),
}

/// How a file is written.
enum TraceFile {
    Otlp(otlp::Encoding),
    Perfetto(perfetto::File),
}

impl Goal {
    fn open(export: &TraceExport<'_>, session: &Session) -> Result<Self> {
        match (export.endpoint, export.out) {
            (Some(endpoint), _) if export.format == TraceFormat::Otlp => OtlpServer::at(endpoint).map(Self::Server),
            (Some(_), _) => Err(Error::new("--endpoint takes traces of OTLP alone").hint("write --format otlp, or a file with --out")),
            (None, Some(name)) => {
                let is_older = |head: &[u8]| memmem::find(head, OWN_ATTRIBUTE).is_some();
                let replacing = Replacing { is_older: &is_older, what: "a file of traces that ketcd wrote", any: None };
                let has_secrets = session.cluster.options.show_secrets;
                let destination = Destination::open(name, &inputs(&session.args), has_secrets, &replacing)?;
                let file = match export.format {
                    TraceFormat::Otlp => TraceFile::Otlp(otlp::Encoding::of_name(name)),
                    TraceFormat::Perfetto => TraceFile::Perfetto(perfetto::File::default()),
                };
                Ok(Self::File { destination, file, writing: None })
            }
            (None, None) => {
                Err(Error::new("traces go to a file or to a server").hint("name a file with --out, or a server with --endpoint"))
            }
        }
    }

    /// Writes or sends a part. A file begins with the first trace.
    async fn take(&mut self, part: &Traces, cluster: Option<&str>, out: &mut Output) -> Result<()> {
        match self {
            Self::Server(server) => {
                for body in otlp::bodies(part, cluster) {
                    server.send(body).await?;
                }
                Ok(())
            }
            Self::File { .. } if part.traces.is_empty() => Ok(()),
            Self::File { destination, file, writing } => {
                let begun = writing.take().map_or_else(|| destination.begin(out), Ok)?;
                writing.insert(begun).write(out, |out| match file {
                    TraceFile::Otlp(encoding) => otlp::write(part, cluster, *encoding, out),
                    TraceFile::Perfetto(file) => file.write(part, cluster, out),
                })
            }
        }
    }

    fn finish(&mut self, out: &mut Output) -> Result<()> {
        match self {
            Self::File { writing, .. } => writing.take().map_or(Ok(()), |writing| writing.finish(out)),
            Self::Server(_) => Ok(()),
        }
    }

    fn is_standard_output(&self) -> bool {
        matches!(self, Self::File { destination, .. } if destination.is_standard_output())
    }
}

/// Writes or sends the traces that are about what was asked for, and says what they are.
///
/// # Errors
/// The source cannot be read, the file not be written, or the server does not take them.
pub(in crate::cli) async fn export_traces(session: &Session, export: &TraceExport<'_>, out: &mut Output) -> Result<Outcome> {
    if session.cluster.source.is_one_moment() {
        let problem = "API objects show one moment, and traces need a history";
        return Err(
            Error::new(problem).hint("give an etcd, a snapshot or a recording; `ketcd timeline` shows the times that the objects hold")
        );
    }
    let mut goal = Goal::open(export, session)?;
    session.cluster.note_reach().await?;
    let mut tally = Tally::default();
    let mut parts = session.cluster.traces(export.of.as_ref(), export.trace_parent);
    while let Some(part) = parts.try_next().await? {
        tally.add(&part);
        goal.take(&part, export.cluster, out).await?;
    }
    goal.finish(out)?;
    render::left_out_words(tally.left_out).iter().for_each(|words| note(words));
    if tally.left_out.unreadable_parents > 0 {
        note(&format!("annotations without a valid trace parent (00-TRACE-SPAN-FLAGS): {}", tally.left_out.unreadable_parents));
    }
    if tally.is_empty() {
        note("nothing to export: no start of a pod, rollout, Job, or outage of a node has a readable begin and end");
        return Ok(Outcome::Nothing);
    }
    let name = export.endpoint.or(export.out).unwrap_or_default().to_owned();
    let revision = session.cluster.revision().await?.0;
    let summary = tally.summary(name, revision, session.window_in_head().await?);
    match session.format {
        _ if goal.is_standard_output() => note(&render::summary_words(&summary)),
        Format::Json => json::write_document(&summary, out)?,
        _ => render::write_text(&summary, out)?,
    }
    Ok(Outcome::Found)
}
