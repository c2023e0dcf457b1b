//! `-o jsonpath=` and `-o custom-columns=`.

use std::io::Write;

use serde_json::{Value, json};

use super::documents::Hidden;
use super::{Body, Item, Need, Sink};
use crate::cli::session::Session;
use crate::cli::{Error, Result};
use crate::render::custom_columns::CustomColumns;
use crate::render::json_path::{JsonPath, JsonPathError, WriteError};

fn template_error(error: &JsonPathError) -> Error {
    Error::new(format!("-o jsonpath: {error}")).hint("write it as kubectl does, for example '{.items[*].metadata.name}'")
}

/// A JSONPath template over the one object, or over the List of all.
pub(super) struct Template {
    hidden: Hidden,
    path: JsonPath,
    is_one: bool,
    items: Vec<Value>,
}

impl Template {
    pub(super) fn new(session: &Session, template: &str, is_one: bool) -> Result<Self> {
        let path = JsonPath::parse(template).map_err(|error| template_error(&error))?;
        Ok(Self { hidden: Hidden::by(session), path, is_one, items: Vec::new() })
    }
}

impl Sink for Template {
    fn need(&self) -> Need {
        Need::Object
    }

    fn add(&mut self, item: Item<'_>, _: &mut dyn Write) -> Result<()> {
        if let Body::Object(mut object) = item.body {
            self.hidden.hide(&mut object);
            self.items.push(object);
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, out: &mut dyn Write) -> Result<()> {
        let value = match self.is_one {
            true => self.items.pop(),
            false => Some(json!({"apiVersion": "v1", "items": self.items, "kind": "List", "metadata": {"resourceVersion": ""}})),
        };
        match value.map_or(Ok(()), |value| self.path.write(&value, out)) {
            Ok(()) => Ok(()),
            Err(WriteError::Template(error)) => Err(template_error(&error)),
            Err(WriteError::Stream(error)) => Err(error.into()),
        }
    }
}

/// Columns of the user's own.
pub(super) struct Columns {
    hidden: Hidden,
    columns: CustomColumns,
    rows: Vec<Vec<String>>,
}

impl Columns {
    pub(super) fn new(session: &Session, spec: &str, without_headings: bool) -> Result<Self> {
        let columns = CustomColumns::parse(spec).map_err(|error| {
            Error::new(format!("-o custom-columns: {error}")).hint("write HEADING:.path.to.field, with commas between columns")
        })?;
        let rows = if without_headings { Vec::new() } else { vec![columns.headings()] };
        Ok(Self { hidden: Hidden::by(session), columns, rows })
    }
}

impl Sink for Columns {
    fn need(&self) -> Need {
        Need::Object
    }

    fn add(&mut self, item: Item<'_>, _: &mut dyn Write) -> Result<()> {
        if let Body::Object(mut object) = item.body {
            self.hidden.hide(&mut object);
            let row = self.columns.row(&object).map_err(|error| Error::new(format!("-o custom-columns: {error}")))?;
            self.rows.push(row);
        }
        Ok(())
    }

    fn finish(self: Box<Self>, out: &mut dyn Write) -> Result<()> {
        Ok(crate::render::table::write_aligned(&self.rows, out)?)
    }
}
