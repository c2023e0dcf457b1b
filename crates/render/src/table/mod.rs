//! Tables as kubectl prints them: the columns of k8s.io/kubernetes pkg/printers/internalversion (1.36, and 1.37 where it prints others) and of OpenShift's
//! API servers, one file per family of kinds.

mod access;
mod admission;
mod cluster;
mod custom;
mod default_class;
mod definition;
mod duration;
pub(super) mod fields;
mod lifecycle;
mod network;
mod openshift;
mod pod;
mod pod_row;
mod prose_column;
mod resource;
mod row_fields;
mod rows;
mod storage;
mod summary;
mod tab_writer;
mod workloads;

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::style::{self, Style, StyledWrite};
use ketcd_cluster::read::Row;
use ketcd_history::state::state_of;
use ketcd_kube::{Kind, Release};

pub use default_class::DefaultClass;
pub use duration::{age, human_duration};
pub use pod::stored_row;
pub use pod_row::PodRow;
pub use prose_column::write_wrapped;
pub use row_fields::{RowFields, row_fields};
use rows::TableRows;
pub use summary::{Cell, cells, readiness};
pub use tab_writer::{CellText, ColumnWidths, TabbedLines, write_aligned};

/// How a table is looked at.
#[derive(Clone, Copy, Debug)]
pub struct TableView {
    /// The moment ages are counted to; unknown where nothing dates it.
    pub now: Option<Timestamp>,
    /// Whether `-o wide` asked for every column.
    pub is_wide: bool,
    /// The release whose API server prints.
    pub release: Release,
}

/// Columns for labels, after all others.
#[derive(Clone, Debug, Default)]
pub struct LabelColumns {
    /// Each has a column of its own.
    pub columns: Vec<String>,
    /// Whether a last column shows them all.
    pub all: bool,
}

impl LabelColumns {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As kubectl heads them: `app.kubernetes.io/name` is `NAME`.
    fn headings(&self) -> impl Iterator<Item = String> {
        let own = self.columns.iter().map(|label| label.rsplit('/').next().unwrap_or_default().to_uppercase());
        own.chain(self.all.then(|| "LABELS".to_owned()))
    }

    fn cells(&self, object: &Value) -> impl Iterator<Item = String> {
        let given = fields::at(object, "metadata.labels");
        let own = move |label: &String| given.and_then(|given| given.get(label)).and_then(Value::as_str).unwrap_or("<none>").to_owned();
        self.columns.iter().map(own).chain(self.all.then(|| fields::labels(given)))
    }

    fn len(&self) -> usize {
        self.columns.len() + usize::from(self.all)
    }
}

/// Returns one cell for each column.
type Cells = fn(&Value, TableView) -> Vec<String>;

/// How the objects of one built-in kind are shown.
#[derive(Clone, Copy)]
struct Printer {
    /// Headings, with `|` between them and `+` before those that only `-o wide` shows.
    columns: &'static str,
    cells: Cells,
}

/// Headings of columns that say which state an object is in; of several the first.
pub(super) const STATE_HEADINGS: [&str; 4] = ["STATUS", "READY", "AVAILABLE", "CONDITION"];

/// The rows of one kind: filled object by object, then written.
pub struct ObjectTable {
    kind: Option<Arc<Kind>>,
    view: TableView,
    printer: Option<Printer>,
    custom: Option<custom::PrinterColumns>,
    /// Each with whether only `-o wide` shows it.
    headings: Vec<(String, bool)>,
    labels: LabelColumns,
    /// Namespace, the columns shown, labels.
    rows: TableRows,
    /// Where one of its rows may be marked as that of the default StorageClass.
    default_class: Option<DefaultClass>,
    /// The widths of the rows already written; `None` before the first.
    widths: Option<ColumnWidths>,
    /// The styles of the states of the rows, where they are shown.
    states: Option<Vec<Style>>,
    /// What the rows are sorted by, and that of each row, where they are not in the order they came in.
    order: Option<(fn(&Value) -> i64, Vec<i64>)>,
}

/// What a table shows in addition to the columns of its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decoration {
    /// `pod/web-0` instead of `web-0`, as several kinds are shown.
    pub with_kind: bool,
    /// A first column NAMESPACE, where the kind is namespaced.
    pub with_namespace: bool,
    /// No headings.
    pub without_headings: bool,
    /// Whether the rows are a list's, and not objects that were asked for by name.
    pub of_list: bool,
}

impl ObjectTable {
    /// Returns an empty table for objects of `kind`; `None` shows NAME and AGE.
    pub fn new(kind: Option<&Arc<Kind>>, view: TableView, labels: LabelColumns) -> Self {
        let printer = kind.filter(|kind| !kind.is_custom()).map(|kind| printer(&kind.group, &kind.kind, view.release));
        let custom = kind.and_then(|kind| kind.columns.as_deref()).map(custom::PrinterColumns::new);
        let headings: Vec<(String, bool)> = match (&printer, &custom) {
            (Some(printer), _) => {
                printer.columns.split('|').map(|heading| (heading.trim_start_matches('+').to_owned(), heading.starts_with('+'))).collect()
            }
            (None, Some(custom)) => custom.headings(),
            (None, None) => vec![("NAME".to_owned(), false), ("AGE".to_owned(), false)],
        };
        let shown = headings.iter().filter(|(_, is_wide)| view.is_wide || !is_wide).count();
        let rows = TableRows::of(1 + shown + labels.len());
        let default_class = kind.and_then(|kind| DefaultClass::of(kind, view.release));
        let order = kind.and_then(|kind| row_order(kind)).map(|rank| (rank, Vec::new()));
        Self { kind: kind.cloned(), view, printer, custom, headings, labels, rows, default_class, widths: None, states: None, order }
    }

    /// Marks the cell of each row that says which state the object is in.
    #[must_use]
    pub fn showing_states(self) -> Self {
        Self { states: Some(Vec::new()), ..self }
    }

    /// The heading of the column that says which state an object is in.
    fn state_heading(&self) -> Option<&'static str> {
        let has = |heading: &&str| self.headings.iter().any(|(own, _)| own == heading);
        STATE_HEADINGS.into_iter().find(has).filter(|_| self.printer.is_some())
    }

    /// Adds the row of an object.
    pub fn push(&mut self, object: &Value) {
        let cells = self.cells(object);
        let labels: Vec<String> = self.labels.cells(object).collect();
        self.default_class.iter_mut().for_each(|default| default.see(object));
        self.states.iter_mut().for_each(|states| states.push(style::of_tone(state_of(object).tone)));
        self.order.iter_mut().for_each(|(rank, ranks)| ranks.push(rank(object)));
        self.push_row(fields::text(object, "metadata.namespace"), cells, labels);
    }

    /// Adds a row that was made where its object was read.
    pub fn push_made(&mut self, row: &Row) {
        self.states.iter_mut().for_each(|states| states.push(style::of_tone(row.tone)));
        self.rows.push(&row.cells);
    }

    /// Returns the headings, wide ones included.
    pub fn headings(&self) -> impl Iterator<Item = &str> {
        self.headings.iter().map(|(heading, _)| heading.as_str())
    }

    /// Returns a cell for each heading.
    pub fn cells(&self, object: &Value) -> Vec<String> {
        match (&self.printer, &self.custom) {
            (Some(printer), _) => (printer.cells)(object, self.view),
            (None, Some(custom)) => custom.cells(object, self.view),
            (None, None) => vec![fields::name(object), self.view.age(object)],
        }
    }

    /// Returns a cell for each heading of a pod.
    pub fn pod_cells(&self, pod: &PodRow<'_>) -> Vec<String> {
        pod.cells(self.view)
    }

    /// Adds the row of an object of which only the key can be read, and why.
    pub fn push_opaque(&mut self, namespace: Option<&str>, name: &str, reason: &str) {
        let cells = self.opaque_cells(name, reason);
        self.states.iter_mut().for_each(|states| states.push(style::WARNING));
        self.order.iter_mut().for_each(|(_, ranks)| ranks.push(i64::MIN));
        self.push_row(namespace.unwrap_or_default(), cells, vec!["<unknown>".to_owned(); self.labels.len()]);
    }

    /// Returns a cell for each heading of an object of which only the key can be read, and why.
    pub fn opaque_cells(&self, name: &str, reason: &str) -> Vec<String> {
        // The advice is printed elsewhere.
        let reason = reason.split(';').next().unwrap_or(reason);
        let first_free = self.headings.iter().position(|(heading, is_wide)| heading != "NAME" && !is_wide);
        let cell = |(index, (heading, _)): (usize, &(String, bool))| match heading.as_str() {
            "NAME" => name.to_owned(),
            _ if Some(index) == first_free => format!("<{reason}>"),
            _ => "<unknown>".to_owned(),
        };
        self.headings.iter().enumerate().map(cell).collect()
    }

    fn push_row(&mut self, namespace: &str, cells: Vec<String>, labels: Vec<String>) {
        let is_wide = self.view.is_wide;
        let shown = cells.into_iter().zip(&self.headings).filter(|(_, heading)| is_wide || !heading.1).map(|(cell, _)| cell);
        self.rows.push(std::iter::once(namespace.to_owned()).chain(shown).chain(labels));
    }

    /// Returns the columns of the first row but its name in one line: `READY 1/1, STATUS Running`.
    pub fn summary(&self) -> String {
        let shown = self.headings.iter().filter(|(_, is_wide)| self.view.is_wide || !is_wide).map(|(heading, _)| heading.as_str());
        // The first cell is the namespace.
        let cells = shown.zip(self.rows.row(0).skip(1)).filter(|(heading, _)| *heading != "NAME");
        cells.map(|(heading, cell)| format!("{heading} {cell}")).collect::<Vec<_>>().join(", ")
    }

    /// Whether no object was added.
    pub fn is_empty(&self) -> bool {
        self.rows.len() == 0
    }

    /// Writes headings and rows; nothing at all if there are no rows.
    ///
    /// # Errors
    /// The stream's.
    pub fn write(self, decoration: Decoration, out: &mut dyn StyledWrite) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let lines = self.lines(decoration);
        drop(self.rows);
        lines.write(out)
    }

    /// Writes the rows added since the last time, below those written before, and forgets them. Headings come once.
    ///
    /// # Errors
    /// The stream's.
    pub fn write_below(&mut self, decoration: Decoration, out: &mut dyn StyledWrite) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let without_headings = decoration.without_headings || self.widths.is_some();
        let lines = self.lines(Decoration { without_headings, ..decoration });
        self.rows.clear();
        self.states.iter_mut().for_each(Vec::clear);
        self.order.iter_mut().for_each(|(_, ranks)| ranks.clear());
        self.default_class.iter_mut().for_each(|default| *default = DefaultClass::default());
        lines.write_below(self.widths.get_or_insert_default(), out)
    }

    /// Counts the ages of rows added from now on to another moment.
    pub fn set_now(&mut self, now: Option<Timestamp>) {
        self.view.now = now;
    }

    fn lines(&self, decoration: Decoration) -> TabbedLines {
        let own = self.headings.iter().filter(|(_, is_wide)| self.view.is_wide || !is_wide).map(|(heading, _)| heading.clone());
        let headings: Vec<String> = std::iter::once("NAMESPACE".to_owned()).chain(own).chain(self.labels.headings()).collect();
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        if let Some((_, ranks)) = &self.order {
            order.sort_by_key(|&row| ranks[row]);
        }
        let with_namespace = decoration.with_namespace && self.kind.as_ref().is_none_or(|kind| kind.namespaced);
        let hidden = usize::from(!with_namespace);
        let name = headings.iter().position(|heading| heading == "NAME");
        let kind = self.kind.as_ref().filter(|_| decoration.with_kind).map_or(String::new(), |kind| prefix(kind));
        let default = self.default_class.as_ref().filter(|_| decoration.of_list);
        let state = self.state_heading().and_then(|state| headings.iter().position(|heading| heading == state));
        let mut lines = TabbedLines::default();
        if !decoration.without_headings {
            lines.push(&headings[hidden..]);
        }
        for row in order {
            let cells = self.rows.row(row).enumerate().skip(hidden);
            let cells = cells.map(|(index, cell)| {
                let mark = default.filter(|default| Some(index) == name && default.is(cell)).map_or("", |_| DefaultClass::MARK);
                let is_plain = Some(index) != name || kind.is_empty() && mark.is_empty();
                if is_plain { Cow::Borrowed(cell) } else { Cow::Owned(format!("{kind}{cell}{mark}")) }
            });
            let style = self.states.as_ref().and_then(|states| states.get(row)).filter(|style| **style != style::PLAIN);
            match state.zip(style) {
                Some((state, style)) => lines.push_styled(cells, state - hidden, *style),
                None => lines.push(cells),
            }
        }
        lines
    }
}

/// What stands before a name where several kinds are shown: `pod/`, `deployment.apps/`.
fn prefix(kind: &Kind) -> String {
    let group = if kind.group.is_empty() { String::new() } else { format!(".{}", kind.group) };
    format!("{}{group}/", kind.kind.to_lowercase())
}

/// The number by which the API server sorts the rows of a kind, ascending, where it does not leave them in the order of their names: FlowSchemas by their
/// precedence, OpenShift's Builds by their creation (openshift-apiserver 56aa2d9, `pkg/build/printers/internalversion`).
pub fn row_order(kind: &Kind) -> Option<fn(&Value) -> i64> {
    match (&*kind.group, &*kind.kind) {
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => Some(|object| fields::int(object, "spec.matchingPrecedence")),
        ("build.openshift.io", "Build") => {
            Some(|object| fields::time(fields::at(object, "metadata.creationTimestamp")).map_or(i64::MIN, Timestamp::as_second))
        }
        _ => None,
    }
}

impl TableView {
    /// Returns how long ago the object was created.
    fn age(&self, object: &Value) -> String {
        self.since(fields::at(object, "metadata.creationTimestamp"))
    }

    /// Returns how long ago a time was, as kubectl writes it.
    fn since(&self, time: Option<&Value>) -> String {
        self.since_time(fields::time(time))
    }

    fn since_time(&self, time: Option<Timestamp>) -> String {
        match time {
            Some(time) => age(self.now, time),
            None => "<unknown>".to_owned(),
        }
    }
}

/// What the API server shows of kinds without columns of their own (apiserver pkg/registry/rest/table.go).
const DEFAULT_PRINTER: Printer = Printer {
    columns: "NAME|CREATED AT",
    cells: |object, _| vec![fields::name(object), fields::text(object, "metadata.creationTimestamp").to_owned()],
};

fn printer(group: &str, kind: &str, release: Release) -> Printer {
    let families = [
        pod::printer,
        workloads::printer,
        cluster::printer,
        network::printer,
        storage::printer,
        access::printer,
        admission::printer,
        resource::printer,
        lifecycle::printer,
        openshift::printer,
    ];
    let found = families.iter().find_map(|family| family(group, kind));
    found.or_else(|| definition::printer(group, kind, release)).unwrap_or(DEFAULT_PRINTER)
}
