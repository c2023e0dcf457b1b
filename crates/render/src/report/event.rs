//! An Event as the report shows it: a mark on the object it is about.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use ketcd_history::AttributedChange;
use ketcd_history::clock::newest_stamp;
use ketcd_store::Origin;

/// A version of an Event.
#[derive(Serialize)]
pub(crate) struct EventMark {
    /// Milliseconds since 1970.
    #[serde(rename = "t")]
    pub time: Option<i64>,
    pub reason: Option<Box<str>>,
    #[serde(rename = "type")]
    pub kind: Option<Box<str>>,
    pub message: Option<Box<str>>,
    pub source: Option<Box<str>>,
    pub count: Option<i64>,
    /// The revision of this version of it.
    #[serde(skip)]
    pub revision: i64,
}

impl EventMark {
    pub(super) fn new(attributed: &AttributedChange, event: &Value) -> Self {
        let own = || newest_stamp(event).filter(|_| attributed.change.origin == Origin::Objects);
        let text = |value: &Value| value.as_str().map(Box::from);
        let source = event["source"]["component"].as_str().filter(|text| !text.is_empty()).or(event["reportingComponent"].as_str());
        Self {
            time: attributed.dated.map(|dated| dated.time).or_else(own).map(Timestamp::as_millisecond),
            reason: text(&event["reason"]),
            kind: text(&event["type"]),
            message: text(&event["message"]),
            source: source.map(Box::from),
            count: event["count"].as_i64(),
            revision: attributed.change.revision.0,
        }
    }

    /// How many bytes it takes, about.
    pub(super) fn held(&self) -> usize {
        let texts = [&self.reason, &self.kind, &self.message, &self.source];
        std::mem::size_of::<Self>() + texts.into_iter().flatten().map(|text| text.len()).sum::<usize>()
    }
}
