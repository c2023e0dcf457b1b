//! Times as traces, for tracing systems and for Perfetto, and the summary of what was written.

mod attributes;
pub mod otlp;
pub mod perfetto;

use std::io::{self, Write};

use ketcd_cluster::traces::{MissingSpans, Traces};

use crate::contract::export::{SpansLeftOut, TraceExport};
use crate::contract::window::HistoryWindow;
use crate::table::write_aligned;

/// Counts what is written, part by part.
#[derive(Debug, Default)]
pub struct Tally {
    /// What is missing.
    pub left_out: MissingSpans,
    cluster_uid: Option<String>,
    links: u64,
    spans: u64,
    traces: u64,
}

impl Tally {
    /// Counts a part.
    pub fn add(&mut self, part: &Traces) {
        let spans = || part.traces.iter().flat_map(|trace| &trace.spans);
        self.cluster_uid.clone_from(&part.cluster_uid);
        self.left_out.add(part.left_out);
        self.links += spans().map(|span| span.links.len() as u64).sum::<u64>();
        self.spans += spans().count() as u64;
        self.traces += part.traces.len() as u64;
    }

    /// Sums up what was written to `out`.
    pub fn summary(self, out: String, revision: i64, window: Option<HistoryWindow>) -> TraceExport {
        let MissingSpans { without_begin, without_end, undated, above_bounds, unreadable_parents } = self.left_out;
        TraceExport {
            cluster_uid: self.cluster_uid,
            left_out: SpansLeftOut {
                above_bounds: above_bounds as u64,
                undated: undated as u64,
                unreadable_parents: unreadable_parents as u64,
                without_begin: without_begin as u64,
                without_end: without_end as u64,
            },
            links: self.links,
            out,
            revision,
            spans: self.spans,
            traces: self.traces,
            window,
        }
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.traces == 0
    }
}

/// Writes the summary: what was written, and what is missing.
///
/// # Errors
/// The stream's.
pub fn write_text(export: &TraceExport, out: &mut dyn Write) -> io::Result<()> {
    let heading = ["TRACES", "SPANS", "LINKS", "LEFT OUT"].map(str::to_owned).to_vec();
    let left = &export.left_out;
    let all = left.above_bounds + left.undated + left.without_begin + left.without_end;
    let line = [export.traces, export.spans, export.links, all].map(|number| number.to_string()).to_vec();
    write_aligned(&[heading, line], out)
}

/// The summary in one line.
pub fn summary_words(export: &TraceExport) -> String {
    let count = |number: u64, of: &str| if number == 1 { format!("one {of}") } else { format!("{number} {of}s") };
    format!("{}, {}, {}", count(export.traces, "trace"), count(export.spans, "span"), count(export.links, "link"))
}

/// Why spans are missing, in words; `None` where none is.
pub fn left_out_words(left_out: MissingSpans) -> Option<String> {
    let MissingSpans { without_begin, without_end, undated, above_bounds, .. } = left_out;
    let reasons = [
        (without_end, "without a readable end"),
        (without_begin, "without a readable begin"),
        (undated, "without a known time"),
        (above_bounds, "above the bounds of a trace"),
    ];
    let reasons: Vec<String> =
        reasons.into_iter().filter(|(number, _)| *number > 0).map(|(number, reason)| format!("{number} {reason}")).collect();
    (!reasons.is_empty()).then(|| format!("spans left out: {}", reasons.join(", ")))
}
