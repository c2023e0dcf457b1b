//! `-o jsonpath=`, `-o jsonpath-as-json=`, `-o go-template=` and `-o custom-columns=`.

use std::mem;
use std::sync::Arc;

use serde_json::{Value, json};

use super::sink::{Extent, Item, ReadBody, Sink};
use crate::cli::outcome::{Error, Result};
use ketcd_render::custom_columns::CustomColumns;
use ketcd_render::go_template::{self, GoTemplate, GoTemplateError};
use ketcd_render::json_path::{ItemByItem, JsonPath, JsonPathError, WriteError};
use ketcd_render::style::StyledWrite;
use ketcd_render::table::{CellText, TabbedLines};

fn template_error(error: &JsonPathError) -> Error {
    Error::new(format!("-o jsonpath: {error}")).hint("write it as kubectl does, for example '{.items[*].metadata.name}'")
}

fn written(result: std::result::Result<(), WriteError>) -> Result<()> {
    result.map_err(|error| match error {
        WriteError::Template(error) => template_error(&error),
        WriteError::Stream(error) => error.into(),
    })
}

/// A JSONPath template over the one object, or over the List of all.
pub(super) struct Template {
    path: JsonPath,
    is_one: bool,
    /// Whether what expressions find is written as JSON lists.
    as_json: bool,
    /// How most templates over a List are run, so that it need not be held.
    streamed: Option<ItemByItem>,
    items: Vec<Value>,
}

impl Template {
    pub(super) fn new(template: &str, is_one: bool) -> Result<Self> {
        let path = JsonPath::parse(template).map_err(|error| template_error(&error))?;
        let streamed = if is_one { None } else { ItemByItem::of(&path) };
        Ok(Self { path, is_one, as_json: false, streamed, items: Vec::new() })
    }

    /// The same, with what each expression finds as a JSON list.
    pub(super) fn as_json(template: &str, is_one: bool) -> Result<Self> {
        Ok(Self { as_json: true, streamed: None, ..Self::new(template, is_one)? })
    }

    fn write(&self, value: &Value, out: &mut dyn StyledWrite) -> Result<()> {
        written(if self.as_json { self.path.write_as_json(value, out) } else { self.path.write(value, out) })
    }
}

impl Sink<'_> for Template {
    fn need(&self) -> Extent {
        Extent::Object
    }

    fn add(&mut self, item: Item<'_>, out: &mut dyn StyledWrite) -> Result<()> {
        let ReadBody::Object(object) = item.body else { return Ok(()) };
        match &mut self.streamed {
            Some(streamed) => return written(streamed.write(&object, out)),
            None if self.is_one => return self.write(&object, out),
            None => self.items.push(Arc::unwrap_or_clone(object).into_value()),
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, out: &mut dyn StyledWrite) -> Result<()> {
        match self.streamed.take() {
            Some(streamed) => Ok(streamed.finish(out)?),
            None if self.is_one => Ok(()),
            None => {
                let all = list(mem::take(&mut self.items));
                self.write(&all, out)
            }
        }
    }
}

/// The `v1` `List` of objects, as kubectl gives it to templates.
fn list(items: Vec<Value>) -> Value {
    json!({"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}})
}

/// A Go template over the one object, or over the List of all.
pub(super) struct GoTemplates {
    template: GoTemplate,
    is_one: bool,
    items: Vec<Value>,
}

impl GoTemplates {
    pub(super) fn new(template: &str, is_one: bool) -> Result<Self> {
        Ok(Self { template: GoTemplate::parse(template).map_err(|error| go_template_error(&error))?, is_one, items: Vec::new() })
    }

    fn write(&self, value: &Value, out: &mut dyn StyledWrite) -> Result<()> {
        self.template.write(value, out).map_err(|error| match error {
            go_template::GoTemplateWriteError::Template(error) => go_template_error(&error),
            go_template::GoTemplateWriteError::Stream(error) => error.into(),
        })
    }
}

fn go_template_error(error: &GoTemplateError) -> Error {
    Error::new(format!("-o go-template: {error}"))
        .hint("write it as kubectl does, for example '{{range .items}}{{.metadata.name}}{{\"\\n\"}}{{end}}'")
}

impl Sink<'_> for GoTemplates {
    fn need(&self) -> Extent {
        Extent::Object
    }

    fn add(&mut self, item: Item<'_>, out: &mut dyn StyledWrite) -> Result<()> {
        match item.body {
            ReadBody::Object(object) if self.is_one => self.write(&object, out)?,
            ReadBody::Object(object) => self.items.push(Arc::unwrap_or_clone(object).into_value()),
            ReadBody::None | ReadBody::Text(_) | ReadBody::Row(_) | ReadBody::Opaque(_) => {}
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, out: &mut dyn StyledWrite) -> Result<()> {
        if self.is_one {
            return Ok(());
        }
        let all = list(mem::take(&mut self.items));
        self.write(&all, out)
    }
}

pub(super) struct Columns {
    columns: CustomColumns,
    cell_text: CellText,
    /// Where they are not written yet.
    headings: Option<Vec<String>>,
    lines: TabbedLines,
}

impl Columns {
    pub(super) fn new(spec: &str, without_headings: bool, is_terminal: bool) -> Result<Self> {
        let columns = CustomColumns::parse(spec).map_err(|error| {
            Error::new(format!("-o custom-columns: {error}")).hint("write HEADING:.path.to.field, with commas between columns")
        })?;
        Ok(Self::of(columns, without_headings, is_terminal))
    }

    pub(super) fn of_file(text: &str, without_headings: bool, is_terminal: bool) -> Result<Self> {
        let columns = CustomColumns::parse_file(text).map_err(|error| {
            let hint = "write headings in the first line of the file and paths such as .metadata.name in the second, with blanks between";
            Error::new(format!("-o custom-columns-file: {error}")).hint(hint)
        })?;
        Ok(Self::of(columns, without_headings, is_terminal))
    }

    fn of(columns: CustomColumns, without_headings: bool, is_terminal: bool) -> Self {
        let cell_text = if is_terminal { CellText::Escaped } else { CellText::Raw };
        let headings = (!without_headings).then(|| columns.headings());
        Self { columns, cell_text, headings, lines: TabbedLines::of(cell_text) }
    }
}

impl Sink<'_> for Columns {
    fn need(&self) -> Extent {
        Extent::Object
    }

    fn add(&mut self, item: Item<'_>, _: &mut dyn StyledWrite) -> Result<()> {
        if let ReadBody::Object(object) = item.body {
            let row = self.columns.row(&object).map_err(|error| Error::new(format!("-o custom-columns: {error}")))?;
            self.headings.take().into_iter().chain([row]).for_each(|line| self.lines.push(line));
        }
        Ok(())
    }

    fn flush(&mut self, out: &mut dyn StyledWrite) -> Result<()> {
        Ok(mem::replace(&mut self.lines, TabbedLines::of(self.cell_text)).write(out)?)
    }

    fn finish(mut self: Box<Self>, out: &mut dyn StyledWrite) -> Result<()> {
        self.headings.take().into_iter().for_each(|headings| self.lines.push(headings));
        self.flush(out)
    }
}
