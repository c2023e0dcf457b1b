//! Kubernetes Events as `kubectl events` shows them: last time and count, type, reason, object and message.

use std::io::{self, Write};

use jiff::Timestamp;
use serde_json::Value;

use super::table::fields::{at, int, text, text_or, time};
use super::table::{ColumnWidths, age, write_wrapped};
use super::visible::visible;

pub use ketcd_cluster::describe::events::{about, last_time};

/// `3m`, or `3m (x12 over 40m)` of an Event that occurred several times.
pub fn last_seen(event: &Value, now: Option<Timestamp>) -> String {
    let since = |time: Option<Timestamp>| time.map_or("<unknown>".to_owned(), |time| age(now, time));
    let (count, last) = (count(event), since(last_time(event)));
    if count > 1 { format!("{last} (x{count} over {})", since(first_time(event))) } else { last }
}

/// When an Event occurred first, if it says so.
pub fn first_time(event: &Value) -> Option<Timestamp> {
    ["firstTimestamp", "deprecatedFirstTimestamp", "eventTime"].iter().find_map(|path| time(at(event, path)))
}

/// How often an Event occurred, as it says; 0 where it does not say it.
pub fn count(event: &Value) -> i64 {
    int(event, "series.count").max(int(event, "count")).max(int(event, "deprecatedCount"))
}

/// Who reported it: `kubelet, node1`, `default-scheduler`.
pub fn source(event: &Value) -> String {
    let component = text_or(event, "source.component", text(event, "reportingComponent"));
    match text_or(event, "source.host", text(event, "reportingInstance")) {
        // Instances are called after their component and their host.
        host if host.is_empty() || host.starts_with(&component) => component,
        host => format!("{component}, {host}"),
    }
}

/// What happened, in the reporter's words.
pub fn message(event: &Value) -> &str {
    match text(event, "message") {
        "" => text(event, "note").trim(),
        message => message.trim(),
    }
}

/// How Events are shown.
#[derive(Clone, Copy, Debug)]
pub struct EventView {
    /// The moment ages are counted to; unknown where nothing dates it.
    pub now: Option<Timestamp>,
    /// A first column NAMESPACE.
    pub with_namespace: bool,
    /// A column OBJECT.
    pub with_object: bool,
    /// A column FROM: who reported it.
    pub with_source: bool,
    /// No headings.
    pub without_headings: bool,
    /// Columns of the terminal, within which messages are broken into lines.
    pub width: Option<usize>,
}

/// Events in columns, the last of them their messages.
pub struct EventTable {
    view: EventView,
    rows: Vec<Vec<String>>,
    widths: Option<ColumnWidths>,
}

impl EventTable {
    /// An empty table.
    pub fn new(view: EventView) -> Self {
        Self { view, rows: Vec::new(), widths: None }
    }

    /// Counts the ages of Events added from now on to another moment.
    pub fn set_now(&mut self, now: Option<Timestamp>) {
        self.view.now = now;
    }

    /// Adds an Event.
    pub fn push(&mut self, event: &Value) {
        let EventView { now, with_namespace, with_object, with_source, .. } = self.view;
        let about = about(event);
        let object = || match text(about, "name") {
            "" => text(about, "kind").to_lowercase(),
            name => format!("{}/{name}", text(about, "kind").to_lowercase()),
        };
        let mut row = Vec::new();
        row.extend(with_namespace.then(|| text(event, "metadata.namespace").to_owned()));
        row.extend([last_seen(event, now), text(event, "type").to_owned(), text(event, "reason").to_owned()]);
        row.extend(with_object.then(object));
        row.extend(with_source.then(|| source(event)));
        // If a line end were shown as a blank, the line could be broken there, and data would begin a line.
        row.push(visible(message(event)).into_owned());
        self.rows.push(row);
    }

    /// Writes the Events added since the last time, below those written before; headings come once.
    ///
    /// # Errors
    /// The stream's.
    pub fn write(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let mut rows = std::mem::take(&mut self.rows);
        if rows.is_empty() {
            return Ok(());
        }
        if self.widths.is_none() && !self.view.without_headings {
            rows.insert(0, self.headings());
        }
        let widths = self.widths.get_or_insert_default();
        // Where the columns alone are wider than the terminal, the last of them go to the message.
        let joinable = usize::from(self.view.with_source) + usize::from(self.view.with_object);
        for _ in 0..joinable {
            if self.view.width.is_some_and(|width| widths.before_last(&rows) > width) {
                rows.iter_mut().for_each(join_last);
            }
        }
        write_wrapped(rows, widths, self.view.width, out)
    }

    fn headings(&self) -> Vec<String> {
        let EventView { with_namespace, with_object, with_source, .. } = self.view;
        let optional = |shown: bool, heading: &'static str| shown.then_some(heading);
        let headings = optional(with_namespace, "NAMESPACE").into_iter().chain(["LAST SEEN", "TYPE", "REASON"]);
        let headings = headings.chain(optional(with_object, "OBJECT")).chain(optional(with_source, "FROM")).chain(["MESSAGE"]);
        headings.map(str::to_owned).collect()
    }
}

/// Joins the last column and the message, where the terminal has no room for both.
fn join_last(row: &mut Vec<String>) {
    if let (Some(message), Some(source)) = (row.pop(), row.pop()) {
        row.push(format!("{source}: {message}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_apis_events_are_read() {
        let now = "2026-01-01T01:00:00Z".parse().ok();
        let old = json!({"firstTimestamp": "2026-01-01T00:20:00Z", "lastTimestamp": "2026-01-01T00:57:00Z", "count": 12, "message": " a\n",
            "source": {"component": "kubelet", "host": "n1"}, "involvedObject": {"name": "web-0"}});
        assert_eq!((last_seen(&old, now).as_str(), message(&old), source(&old).as_str()), ("3m (x12 over 40m)", "a", "kubelet, n1"));
        let new = json!({"eventTime": "2026-01-01T00:20:00.5Z", "series": {"count": 3, "lastObservedTime": "2026-01-01T00:59:00Z"},
            "note": "b", "reportingComponent": "x", "regarding": {"name": "web-1"}});
        assert_eq!((last_seen(&new, now).as_str(), message(&new), source(&new).as_str()), ("60s (x3 over 39m)", "b", "x"));
        assert_eq!([&old, &new].map(|event| about(event)["name"].as_str().unwrap()), ["web-0", "web-1"]);
    }
}
