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
}

/// How the objects of one built-in kind are shown.
#[derive(Clone, Copy)]
struct Printer {
    /// Headings, with `|` between them and `+` before those that only `-o wide` shows.
    columns: &'static str,
    /// Returns one cell for each column.
    cells: fn(&Value, View) -> Vec<String>,
}

/// The rows of one kind: filled object by object, then written.
pub struct Table {
    kind: Option<Kind>,
    view: View,
    printer: Option<Printer>,
    custom: Option<custom::CustomColumns>,
    decoration: Decoration,
    /// Each with whether only `-o wide` shows it.
    headings: Vec<(String, bool)>,
    rows: Vec<Vec<String>>,
}

/// What a table shows beside the columns of its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decoration {
    /// `pod/web-0` instead of `web-0`, as several kinds are shown.
    pub with_kind: bool,
    /// A first column NAMESPACE, where the kind is namespaced.
    pub with_namespace: bool,
    /// A last column LABELS.
    pub with_labels: bool,
    /// No headings.
    pub without_headings: bool,
}

impl Table {
    /// Returns an empty table for objects of `kind`; `None` shows NAME and AGE.
    pub fn new(kind: Option<&Kind>, view: View, decoration: Decoration) -> Self {
        let printer = kind.filter(|kind| !kind.is_custom()).map(|kind| printer(&kind.group, &kind.kind));
        let custom = kind.and_then(|kind| kind.columns.as_deref()).map(custom::CustomColumns::new);
        let headings = match (&printer, &custom) {
            (Some(printer), _) => {
                printer.columns.split('|').map(|heading| (heading.trim_start_matches('+').to_owned(), heading.starts_with('+'))).collect()
            }
            (None, Some(custom)) => custom.headings(),
            (None, None) => vec![("NAME".to_owned(), false), ("AGE".to_owned(), false)],
        };
        Self { kind: kind.cloned(), view, printer, custom, decoration, headings, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn push(&mut self, object: &Value) {
        let mut cells = match (&self.printer, &self.custom) {
            (Some(printer), _) => (printer.cells)(object, self.view),
            (None, Some(custom)) => custom.cells(object, self.view),
            (None, None) => vec![fields::name(object), self.view.age(object)],
        };
        if let (true, Some(kind)) = (self.decoration.with_kind, &self.kind)
            && let Some(cell) = self.headings.iter().position(|(heading, _)| heading == "NAME").and_then(|index| cells.get_mut(index))
        {
            let group = if kind.group.is_empty() { String::new() } else { format!(".{}", kind.group) };
            *cell = format!("{}{group}/{cell}", kind.kind.to_lowercase());
        }
        let mut shown = self.headings.iter().map(|(_, is_wide)| self.view.is_wide || !is_wide);
        cells.retain(|_| shown.next().unwrap_or(false));
        if self.shows_namespace() {
            cells.insert(0, fields::text(object, "metadata.namespace").to_owned());
        }
        if self.decoration.with_labels {
            cells.push(fields::labels(fields::at(object, "metadata.labels")));
        }
        self.rows.push(cells);
    }

    /// Whether no object was added.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes headings and rows; nothing at all if there are no rows.
    ///
    /// # Errors
    /// The stream's.
    pub fn write(mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        if self.kind.as_ref().is_some_and(|kind| kind.kind == "FlowSchema") {
            let first = usize::from(self.shows_namespace());
            sort_flow_schemas(&mut self.rows, first);
        }
        if !self.decoration.without_headings {
            let shown = self.headings.iter().filter(|(_, is_wide)| self.view.is_wide || !is_wide).map(|(heading, _)| heading.clone());
            let namespace = self.shows_namespace().then(|| "NAMESPACE".to_owned());
            let labels = self.decoration.with_labels.then(|| "LABELS".to_owned());
            let headings = namespace.into_iter().chain(shown).chain(labels).collect();
            self.rows.insert(0, headings);
        }
        write_aligned(&self.rows, out)
    }

    fn shows_namespace(&self) -> bool {
        self.decoration.with_namespace && self.kind.as_ref().is_none_or(|kind| kind.namespaced)
    }
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

/// Upstream sorts these by precedence, then name.
fn sort_flow_schemas(rows: &mut [Vec<String>], first: usize) {
    rows.sort_by_cached_key(|row| (row.get(first + 2).and_then(|cell| cell.parse::<i64>().ok()), row.get(first).cloned()));
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
