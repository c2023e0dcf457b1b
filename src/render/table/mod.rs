//! Tables as kubectl prints them: the columns of k8s.io/kubernetes pkg/printers/internalversion (1.36), one file per family of kinds.

mod access;
mod admission;
mod cluster;
mod custom;
mod duration;
mod fields;
mod network;
mod pod;
mod resource;
mod storage;
mod tab_writer;
mod workloads;

use std::io::{self, Write};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::kube::Kind;

pub use duration::human_duration;
pub use tab_writer::write_aligned;

/// How a table is looked at.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// The moment ages are counted to.
    pub now: Timestamp,
    /// Whether `-o wide` asked for every column.
    pub is_wide: bool,
    /// Whether a last column shows the labels.
    pub with_labels: bool,
}

/// Returns one cell for each column.
type Cells = fn(&Value, View) -> Vec<String>;

/// How the objects of one built-in kind are shown.
#[derive(Clone, Copy)]
struct Printer {
    /// Headings, with `|` between them and `+` before those that only `-o wide` shows.
    columns: &'static str,
    cells: Cells,
}

/// The rows of one kind: filled object by object, then written.
pub struct Table {
    kind: Option<Arc<Kind>>,
    view: View,
    printer: Option<Printer>,
    custom: Option<custom::CustomColumns>,
    /// Each with whether only `-o wide` shows it.
    headings: Vec<(String, bool)>,
    rows: Vec<Row>,
}

struct Row {
    namespace: String,
    cells: Vec<String>,
    labels: Option<String>,
}

/// What a table shows beside the columns of its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decoration {
    /// `pod/web-0` instead of `web-0`, as several kinds are shown.
    pub with_kind: bool,
    /// A first column NAMESPACE, where the kind is namespaced.
    pub with_namespace: bool,
    /// No headings.
    pub without_headings: bool,
}

impl Table {
    /// Returns an empty table for objects of `kind`; `None` shows NAME and AGE.
    pub fn new(kind: Option<&Arc<Kind>>, view: View) -> Self {
        let printer = kind.filter(|kind| !kind.is_custom()).map(|kind| printer(&kind.group, &kind.kind));
        let custom = kind.and_then(|kind| kind.columns.as_deref()).map(custom::CustomColumns::new);
        let headings = match (&printer, &custom) {
            (Some(printer), _) => {
                printer.columns.split('|').map(|heading| (heading.trim_start_matches('+').to_owned(), heading.starts_with('+'))).collect()
            }
            (None, Some(custom)) => custom.headings(),
            (None, None) => vec![("NAME".to_owned(), false), ("AGE".to_owned(), false)],
        };
        Self { kind: kind.cloned(), view, printer, custom, headings, rows: Vec::new() }
    }

    /// Adds the row of an object.
    pub fn push(&mut self, object: &Value) {
        let cells = match (&self.printer, &self.custom) {
            (Some(printer), _) => (printer.cells)(object, self.view),
            (None, Some(custom)) => custom.cells(object, self.view),
            (None, None) => vec![fields::name(object), self.view.age(object)],
        };
        let namespace = fields::text(object, "metadata.namespace").to_owned();
        let labels = self.view.with_labels.then(|| fields::labels(fields::at(object, "metadata.labels")));
        self.push_row(namespace, cells, labels);
    }

    /// Adds the row of an object of which only the key can be read, and why.
    pub fn push_opaque(&mut self, namespace: Option<&str>, name: &str, reason: &str) {
        // What to do about it is said elsewhere.
        let reason = reason.split(';').next().unwrap_or(reason);
        let first_free = self.headings.iter().position(|(heading, is_wide)| heading != "NAME" && !is_wide);
        let cell = |(index, (heading, _)): (usize, &(String, bool))| match heading.as_str() {
            "NAME" => name.to_owned(),
            _ if Some(index) == first_free => format!("<{reason}>"),
            _ => "<unknown>".to_owned(),
        };
        let cells = self.headings.iter().enumerate().map(cell).collect();
        self.push_row(namespace.unwrap_or_default().to_owned(), cells, self.view.with_labels.then(|| "<unknown>".to_owned()));
    }

    fn push_row(&mut self, namespace: String, mut cells: Vec<String>, labels: Option<String>) {
        let mut shown = self.headings.iter().map(|(_, is_wide)| self.view.is_wide || !is_wide);
        cells.retain(|_| shown.next().unwrap_or(false));
        self.rows.push(Row { namespace, cells, labels });
    }

    /// Whether no object was added.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes headings and rows; nothing at all if there are no rows.
    ///
    /// # Errors
    /// The stream's.
    pub fn write(mut self, decoration: Decoration, out: &mut dyn Write) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let headings: Vec<String> =
            self.headings.iter().filter(|(_, is_wide)| self.view.is_wide || !is_wide).map(|(heading, _)| heading.clone()).collect();
        if self.kind.as_ref().is_some_and(|kind| kind.kind == "FlowSchema") {
            self.rows.sort_by_cached_key(precedence);
        }
        let with_namespace = decoration.with_namespace && self.kind.as_ref().is_none_or(|kind| kind.namespaced);
        let name = headings.iter().position(|heading| heading == "NAME").filter(|_| decoration.with_kind);
        let kind = self.kind.as_ref().map_or(String::new(), |kind| prefix(kind));
        let mut lines = Vec::with_capacity(self.rows.len() + 1);
        if !decoration.without_headings {
            let namespace = with_namespace.then(|| "NAMESPACE".to_owned());
            lines.push(namespace.into_iter().chain(headings).chain(self.view.with_labels.then(|| "LABELS".to_owned())).collect());
        }
        lines.extend(self.rows.into_iter().map(|mut row| {
            if let Some(cell) = name.and_then(|index| row.cells.get_mut(index)) {
                cell.insert_str(0, &kind);
            }
            with_namespace.then_some(row.namespace).into_iter().chain(row.cells).chain(row.labels).collect::<Vec<String>>()
        }));
        write_aligned(&lines, out)
    }
}

/// What stands before a name where several kinds are shown: `pod/`, `deployment.apps/`.
fn prefix(kind: &Kind) -> String {
    let group = if kind.group.is_empty() { String::new() } else { format!(".{}", kind.group) };
    format!("{}{group}/", kind.kind.to_lowercase())
}

/// Upstream sorts FlowSchemas by matching precedence, then name.
fn precedence(row: &Row) -> (Option<i64>, Option<String>) {
    (row.cells.get(2).and_then(|cell| cell.parse().ok()), row.cells.first().cloned())
}

impl View {
    /// Returns how long ago the object was created.
    fn age(&self, object: &Value) -> String {
        self.since(fields::at(object, "metadata.creationTimestamp"))
    }

    /// Returns how long ago a time was, as kubectl writes it.
    fn since(&self, time: Option<&Value>) -> String {
        match fields::time(time) {
            Some(time) => human_duration(self.now.duration_since(time)),
            None => "<unknown>".to_owned(),
        }
    }
}

/// What the API server shows of kinds without columns of their own (apiserver pkg/registry/rest/table.go).
const DEFAULT: Printer = Printer {
    columns: "NAME|CREATED AT",
    cells: |object, _| vec![fields::name(object), fields::text(object, "metadata.creationTimestamp").to_owned()],
};

fn printer(group: &str, kind: &str) -> Printer {
    let families = [
        pod::printer,
        workloads::printer,
        cluster::printer,
        network::printer,
        storage::printer,
        access::printer,
        admission::printer,
        resource::printer,
    ];
    families.iter().find_map(|family| family(group, kind)).unwrap_or(DEFAULT)
}
