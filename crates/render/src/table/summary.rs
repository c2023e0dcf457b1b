//! What a table's row says of one object, outside the table: its cells by heading, and whether it is ready.

use std::sync::Arc;

use ketcd_kube::{Kind, condition};
use serde_json::Value;

use super::{LabelColumns, ObjectTable, TableView, fields};

/// A cell with its heading.
pub type Cell = (String, String);

/// The cells of an object's row as `ls` prints them, by their headings.
pub fn cells(kind: Option<&Arc<Kind>>, object: &Value, view: TableView) -> Vec<Cell> {
    let table = ObjectTable::new(kind, view, LabelColumns::default());
    let cells = table.cells(object);
    let shown = table.headings.into_iter().zip(cells).filter(|((_, is_wide), _)| view.is_wide || !is_wide);
    shown.map(|((heading, _), cell)| (heading, cell)).collect()
}

/// How much of an object is ready, such as `2/3`, and its status; each empty where its kind knows no such thing.
pub fn readiness(kind: Option<&Arc<Kind>>, object: &Value, view: TableView) -> [String; 2] {
    let cells = cells(kind, object, view);
    let cell = |heading: &str| cells.iter().find(|(own, _)| own == heading).map(|(_, cell)| cell.as_str());
    let ready = match (cell("READY"), cell("DESIRED")) {
        (Some(ready), Some(desired)) => format!("{ready}/{desired}"),
        (Some(ready), None) => ready.to_owned(),
        (None, _) => cell("COMPLETIONS").unwrap_or_default().to_owned(),
    };
    let status = cell("STATUS").unwrap_or_default().to_owned();
    if !ready.is_empty() || !status.is_empty() {
        return [ready, status];
    }
    // What controllers of custom resources agree on.
    match condition(object, "Ready") {
        Some(ready) => [fields::text(ready, "status").to_owned(), fields::text(ready, "reason").to_owned()],
        None => [String::new(), String::new()],
    }
}
