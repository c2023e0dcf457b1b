//! What `export --format otlp` and `perfetto` print.

use schemars::JsonSchema;
use serde::Serialize;

use crate::contract::window::HistoryWindow;

/// What was written as traces.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraceExport {
    /// The uid of kube-system; null where the data do not show it.
    pub cluster_uid: Option<String>,
    /// The spans that are missing, and why.
    pub left_out: SpansLeftOut,
    /// The links between spans.
    pub links: u64,
    /// The file or the server, as given.
    pub out: String,
    /// Up to which revision was read.
    pub revision: i64,
    /// The spans.
    pub spans: u64,
    /// The traces.
    pub traces: u64,
    /// The stretch of history that was asked for; absent where neither end was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<HistoryWindow>,
}

/// How many spans are missing, and why.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpansLeftOut {
    /// Those above the bounds of a trace.
    pub above_bounds: u64,
    /// Those whose begin or end nothing dates.
    pub undated: u64,
    /// Annotations that hold no valid trace parent.
    pub unreadable_parents: u64,
    /// Those whose begin is not readable.
    pub without_begin: u64,
    /// Those that have not ended, or whose end is not readable.
    pub without_end: u64,
}
