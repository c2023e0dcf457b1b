//! Custom kinds: the columns their definitions ask for (apiextensions-apiserver pkg/registry/customresource/tableconvertor).

use serde_json::Value;

use super::TableView;
use super::fields::name;
use crate::json_path::{JsonPath, text_of};
use ketcd_kube::PrinterColumn;

/// A definition's columns, their paths read once.
pub(super) struct PrinterColumns {
    columns: Vec<(PrinterColumn, Option<JsonPath>)>,
}

impl PrinterColumns {
    /// A path that cannot be read leaves its column empty.
    pub(super) fn new(columns: &[PrinterColumn]) -> Self {
        let read = |column: &PrinterColumn| (column.clone(), JsonPath::parse(&format!("{{{}}}", column.json_path)).ok());
        Self { columns: columns.iter().map(read).collect() }
    }

    /// NAME, then the definition's.
    pub(super) fn headings(&self) -> Vec<(String, bool)> {
        let own = self.columns.iter().map(|(column, _)| (column.name.to_uppercase(), column.priority != 0));
        std::iter::once(("NAME".to_owned(), false)).chain(own).collect()
    }

    pub(super) fn cells(&self, object: &Value, view: TableView) -> Vec<String> {
        let own = self.columns.iter().map(|(column, path)| cell(column, path.as_ref(), object, view).unwrap_or_default());
        std::iter::once(name(object)).chain(own).collect()
    }
}

/// The first value the path finds, if it is of the column's type.
fn cell(column: &PrinterColumn, path: Option<&JsonPath>, object: &Value, view: TableView) -> Option<String> {
    let found = path?.find(object).ok()?;
    let value = found.first()?.as_ref();
    match (column.column_type.as_str(), value) {
        ("string", value) => Some(text_of(value).into_owned()),
        (_, Value::Null) => None,
        ("integer", Value::Number(number)) => {
            number.as_i64().or_else(|| number.as_f64().map(|float| float as i64)).map(|number| number.to_string())
        }
        ("number", Value::Number(number)) => Some(number.as_f64()?.to_string()),
        ("boolean", Value::Bool(flag)) => Some(flag.to_string()),
        ("date", Value::String(text)) => {
            let is_time = text.parse::<jiff::Timestamp>().is_ok();
            Some(if is_time { view.since(Some(value)) } else { "<invalid>".to_owned() })
        }
        _ => None,
    }
}
