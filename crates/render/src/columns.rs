//! Tables of typed columns, as the schemas of their rows say.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::contract::export::{DecisionNodeRow, DecisionRow, EventRow, HistoryRow, ObjectRow, Row, Table};

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableColumn {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub kind: ColumnType,
    /// Whether a value may be null.
    pub nullable: bool,
    /// What it holds.
    pub description: String,
}

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// UTF-8.
    Text,
    /// A signed number of 64 bits.
    Integer,
    /// A floating-point number of 64 bits.
    Number,
    /// True or false.
    Boolean,
    /// A time in UTC, to the millisecond.
    Time,
    /// A JSON document: text in Parquet, itself in lines of JSON.
    Json,
}

impl ColumnType {
    /// Its name in Parquet.
    pub fn parquet(self) -> &'static str {
        match self {
            Self::Text => "BYTE_ARRAY (STRING)",
            Self::Integer => "INT64",
            Self::Number => "DOUBLE",
            Self::Boolean => "BOOLEAN",
            Self::Time => "INT64 (TIMESTAMP(MILLIS, true))",
            Self::Json => "BYTE_ARRAY (JSON)",
        }
    }

    /// The type of values that a schema allows in addition to null.
    fn of(schema: &Value) -> Option<Self> {
        match (schema["type"].as_str(), schema["format"].as_str()) {
            (Some("string"), Some("date-time")) => Some(Self::Time),
            (Some("string"), _) => Some(Self::Text),
            (Some("integer"), _) => Some(Self::Integer),
            (Some("number"), _) => Some(Self::Number),
            (Some("boolean"), _) => Some(Self::Boolean),
            (Some("object" | "array"), _) => Some(Self::Json),
            // An enumeration whose words are described one by one.
            _ => schema["oneOf"].as_array().filter(|of| of.iter().all(|word| word["type"] == "string")).map(|_| Self::Text),
        }
    }
}

/// The columns of a table's files. The cluster and the day, which the folders name, are not among them: readers of Hive's partitions add them as columns,
/// and many refuse a file that has one of that name too.
pub fn columns(table: Table) -> Vec<TableColumn> {
    match table {
        Table::Objects => columns_of::<ObjectRow<'_>>(),
        Table::History => columns_of::<HistoryRow<'_>>(),
        Table::Events => columns_of::<EventRow<'_>>(),
        Table::Decisions => columns_of::<DecisionRow<'_>>(),
        Table::DecisionNodes => columns_of::<DecisionNodeRow<'_>>(),
    }
}

/// The columns of a type of rows, in the order of its fields.
///
/// # Panics
/// Where a field's schema says nothing that a column can hold: a mistake in the row's type, which tests find.
fn columns_of<R: Row>() -> Vec<TableColumn> {
    let schema = schema_of::<R>();
    // No field is ever left out, and only this list keeps their order.
    let names = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    names.map(|name| column(name, &schema["properties"][name])).collect()
}

/// The columns of lines of JSON that belong to no table: the fields that every line has in their order, then those that may be absent, which are null
/// there. What no other column can hold is a document.
pub fn columns_of_lines<T: JsonSchema>() -> Vec<TableColumn> {
    let schema = schema_of::<T>();
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let optional = schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let names = required.iter().copied().chain(optional.filter(|name| !required.contains(name)));
    let column = |name: &str| {
        let (kind, nullable, description) = typed(&schema["properties"][name]);
        let (name, nullable) = (name.to_owned(), nullable || !required.contains(&name));
        TableColumn { name, kind: kind.unwrap_or(ColumnType::Json), nullable, description }
    };
    names.map(column).collect()
}

/// The schema of a type, with what it refers to in its place.
fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| settings.inline_subschemas = true);
    Value::from(settings.into_generator().into_root_schema_for::<T>())
}

fn column(name: &str, property: &Value) -> TableColumn {
    let (kind, nullable, description) = typed(property);
    let kind = kind.unwrap_or_else(|| panic!("column {name} has no type: {property}"));
    TableColumn { name: name.to_owned(), kind, nullable, description }
}

/// The type of a field, whether it may be null, and what it holds.
fn typed(property: &Value) -> (Option<ColumnType>, bool, String) {
    let is_null = |schema: &Value| schema["type"] == "null";
    let (of, nullable) = match (property["anyOf"].as_array(), property["type"].as_array()) {
        (Some(any), _) => (any.iter().find(|of| !is_null(of)).cloned().unwrap_or_default(), any.iter().any(is_null)),
        (_, Some(types)) => {
            let mut of = property.clone();
            of["type"] = types.iter().find(|of| *of != "null").cloned().unwrap_or_default();
            (of, types.iter().any(|of| of == "null"))
        }
        _ => (property.clone(), false),
    };
    let description = property["description"].as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    (ColumnType::of(&of), nullable, description)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::change::Change;

    #[test]
    fn every_column_has_a_type_and_a_description() {
        for table in Table::ALL {
            let columns = columns(table);
            assert_eq!(columns[0].name, "revision", "{table:?}");
            assert!(
                columns.len() > 10 && columns.iter().all(|column| !["table", "cluster", "day"].contains(&column.name.as_str())),
                "{table:?}"
            );
            assert!(columns.iter().all(|column| !column.description.is_empty()), "{table:?}");
        }
        let column = |name: &str| columns(Table::History).into_iter().find(|column| column.name == name).unwrap();
        let is = |name, kind, nullable| {
            let found = column(name);
            assert_eq!((found.kind, found.nullable), (kind, nullable), "{name}");
        };
        is("revision", ColumnType::Integer, false);
        is("time", ColumnType::Time, true);
        is("time_error_seconds", ColumnType::Number, true);
        is("type", ColumnType::Text, false);
        is("actor_from", ColumnType::Text, true);
        is("patch", ColumnType::Json, true);
        is("object", ColumnType::Json, true);
    }

    #[test]
    fn lines_have_a_column_for_each_field() {
        let columns = columns_of_lines::<Change<'_>>();
        let is = |name: &str, kind, nullable| {
            let found = columns.iter().find(|column| column.name == name).unwrap();
            assert_eq!((found.kind, found.nullable), (kind, nullable), "{name}");
        };
        assert_eq!(columns[0].name, "revision");
        is("revision", ColumnType::Integer, false);
        is("type", ColumnType::Text, false);
        is("time", ColumnType::Time, true);
        is("patch", ColumnType::Json, true);
        is("sources", ColumnType::Json, true);
        is("isPlaced", ColumnType::Boolean, true);
    }
}
