//! Objects as rows of a `Table` of meta.k8s.io: the columns are the API server's, the cells those that `ketcd get` prints.

mod columns;

use std::sync::Arc;

use jiff::Timestamp;
use ketcd_kube::Release;
use ketcd_kube::api::{CustomColumn, Resource};
use ketcd_store::KeyValue;
use serde_json::{Value, json};

use super::objects::{Objects, Stored};
use crate::request::Include;
use crate::wire::{Result, append_json};
use ketcd_render::table::{LabelColumns, ObjectTable as Cells, PodRow, RowFields, TableView, row_fields};

/// How one column is headed and typed.
struct Definition {
    name: String,
    column_type: String,
    format: String,
    description: String,
    priority: i64,
    /// Whether its cells are numbers, or true and false, where they can be.
    is_typed: bool,
}

/// The cells of a row, or why its object cannot be decoded.
pub(crate) type RowCells = std::result::Result<Vec<String>, String>;

/// The table of one resource.
pub(crate) struct Table {
    definitions: Vec<Definition>,
    cells: Cells,
    /// What ages are counted to at first.
    now: Option<Timestamp>,
    is_custom: bool,
    include: Include,
    version: &'static str,
    fields: Option<&'static RowFields>,
}

impl Table {
    /// A table in this version of meta.k8s.io, whose ages are counted to `now`.
    pub(crate) fn new(resource: &Arc<Resource>, release: Release, include: Include, version: &'static str, now: Option<Timestamp>) -> Self {
        let definitions = match &resource.custom {
            Some(custom) => std::iter::once(read("Name=")).chain(custom.columns.iter().map(of_custom)).collect(),
            None => columns::of(&resource.kind.group, &resource.kind.kind, release).split('|').map(read).collect(),
        };
        let cells = Cells::new(Some(&resource.kind), TableView { now, is_wide: true, release }, LabelColumns::default());
        Self { definitions, cells, now, is_custom: resource.custom.is_some(), include, version, fields: row_fields(&resource.kind) }
    }

    /// Counts the ages of rows made from now on to another time; to the table's own where that is not known.
    pub(crate) fn set_now(&mut self, now: Option<Timestamp>) {
        self.cells.set_now(now.or(self.now));
    }

    /// The version of the table's API.
    pub(crate) fn api_version(&self) -> String {
        format!("meta.k8s.io/{}", self.version)
    }

    /// `columnDefinitions`.
    pub(crate) fn definitions(&self) -> Value {
        let definition = |own: &Definition| json!({"name": own.name, "type": own.column_type, "format": own.format, "description": own.description, "priority": own.priority});
        self.definitions.iter().map(definition).collect()
    }

    /// The members of an object that its row is made of; `None` where it may be any.
    pub(crate) fn fields(&self) -> Option<&'static RowFields> {
        self.fields
    }

    /// Whether rows carry their objects' metadata.
    pub(crate) fn has_metadata(&self) -> bool {
        matches!(self.include, Include::Metadata)
    }

    /// Returns the cells of an object, of which `stored` holds at least the members that they are made of.
    pub(crate) fn cells(&self, stored: &Stored) -> RowCells {
        stored.as_ref().map(|object| self.cells.cells(object)).map_err(Clone::clone)
    }

    /// Reads the cells of an object and no more of it than these `fields`, and appends the JSON of its metadata.
    pub(crate) fn read_cells(&self, objects: &Objects, entry: &KeyValue, fields: &RowFields, metadata: &mut Vec<u8>) -> RowCells {
        if fields.are_of_pods {
            objects.row::<PodRow<'_>>(entry, &fields.cells, metadata).map(|pod| self.cells.pod_cells(&pod))
        } else {
            objects.row::<Value>(entry, &fields.cells, metadata).map(|object| self.cells.cells(&object))
        }
    }

    /// Appends the row of an object. `metadata` is the text of its metadata where that was written already, else empty.
    ///
    /// # Errors
    /// The row carries the object, which cannot be served in this version.
    pub(crate) fn append_row(
        &self,
        objects: &Objects,
        entry: &KeyValue,
        cells: RowCells,
        metadata: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let (cells, reason) = match cells {
            Ok(cells) => (cells, None),
            Err(reason) => (self.cells.opaque_cells(objects.name(&entry.key).map_or("", |named| named.name), &reason), Some(reason)),
        };
        out.extend(b"{\"cells\":");
        let separators = std::iter::once(b'[').chain(std::iter::repeat(b','));
        for ((cell, definition), separator) in cells.into_iter().zip(&self.definitions).zip(separators) {
            out.push(separator);
            append_json(out, &self.cell(cell, definition));
        }
        out.extend(b"],\"object\":");
        match self.include {
            Include::None => out.extend(b"null"),
            Include::Metadata => objects.append_partial(entry, reason.as_ref(), metadata, self.version, out),
            Include::Object => objects.append(entry, true, out)?,
        }
        out.push(b'}');
        Ok(())
    }

    fn cell(&self, text: String, definition: &Definition) -> Value {
        if self.is_custom && text.is_empty() {
            return Value::Null;
        }
        match text.as_str() {
            "true" | "false" if definition.column_type == "boolean" => Value::Bool(text == "true"),
            _ if definition.is_typed => match text.parse::<serde_json::Number>() {
                Ok(number) => Value::Number(number),
                Err(_) => Value::String(text),
            },
            _ => Value::String(text),
        }
    }
}

/// A column of [`columns::TABLE_COLUMNS`].
fn read(text: &str) -> Definition {
    let (text, is_wide) = text.strip_suffix('+').map_or((text, false), |text| (text, true));
    let (text, is_number) = text.strip_suffix('#').map_or((text, false), |text| (text, true));
    let (text, column_type) = match text.split_once(':') {
        Some((text, "i")) => (text, "integer"),
        Some((text, "b")) => (text, "boolean"),
        Some((text, _)) => (text, "date"),
        None => (text, "string"),
    };
    let (name, format) = text.strip_suffix('=').map_or((text, ""), |text| (text, "name"));
    Definition {
        name: name.to_owned(),
        column_type: column_type.to_owned(),
        format: format.to_owned(),
        description: String::new(),
        priority: i64::from(is_wide),
        is_typed: is_number || column_type == "integer",
    }
}

fn of_custom(column: &CustomColumn) -> Definition {
    Definition {
        name: column.name.clone(),
        column_type: column.column_type.clone(),
        format: column.format.clone(),
        description: column.description.clone(),
        priority: column.priority,
        is_typed: matches!(column.column_type.as_str(), "integer" | "number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ketcd_kube::api::Catalog;

    #[test]
    fn columns_are_those_of_the_renderer() {
        for release in [20, 36, 37] {
            let catalog = Catalog::new(Release(release), &[]);
            let all = catalog.groups.iter().flat_map(|group| &group.versions).flat_map(|version| &version.resources);
            for resource in all.filter(|resource| resource.kind.is_stored()) {
                let table = Table::new(resource, Release(release), Include::None, "v1", None);
                let own: Vec<String> = table.definitions.iter().map(|column| column.name.to_uppercase()).collect();
                assert_eq!(own, table.cells.headings().collect::<Vec<_>>(), "{}", resource.qualified());
            }
        }
    }
}
