//! `-o table` and `-o wide`: a section for each kind, as kubectl prints them.

use std::sync::Arc;

use jiff::Timestamp;

use super::sink::{Extent, Item, ReadBody, RowMaker, Sink};
use crate::cli::outcome::Result;
use crate::cli::session::Session;
use ketcd_kube::{Kind, Object, ObjectPath};
use ketcd_render::style::StyledWrite;
use ketcd_render::table::{Decoration, LabelColumns, ObjectTable, TableView, stored_row};
use serde_json::json;

pub(super) struct Tables {
    view: TableView,
    labels: LabelColumns,
    decoration: Decoration,
    /// Sections follow one another for sure, so each can be written when the next one begins.
    has_sections: bool,
    /// Rows come one by one, each below those of its kind.
    takes_changes: bool,
    written: usize,
    /// In the order of their first object; the name distinguishes kinds that are not known.
    tables: Vec<(Section, ObjectTable)>,
}

#[derive(PartialEq)]
enum Section {
    Kind(Arc<Kind>),
    Unknown(String),
}

impl Section {
    fn of(item: &Item<'_>) -> Self {
        match (&item.kind, item.path()) {
            (Some(kind), _) => Self::Kind(Arc::clone(kind)),
            (None, Some(ObjectPath { resource, .. })) => Self::Unknown(format!("{resource:?}")),
            (None, None) => Self::Unknown(String::new()),
        }
    }
}

/// Adds the row of an object, or of what cannot be decoded.
fn push(table: &mut ObjectTable, item: &Item<'_>) {
    let path = item.path();
    match &item.body {
        ReadBody::Row(row) => table.push_made(row),
        ReadBody::Object(object) => table.push(&named(Arc::clone(object), path, &item.entry.key)),
        ReadBody::Opaque(opaque) => {
            let key = String::from_utf8_lossy(&item.entry.key);
            table.push_opaque(path.and_then(|path| path.namespace), path.map_or(&key, |path| path.name), &opaque.reason);
        }
        ReadBody::None | ReadBody::Text(_) => {}
    }
}

/// The object; one that does not say its name, as JSON that is none of Kubernetes', gets the one that its key says.
fn named(object: Arc<Object>, path: Option<ObjectPath<'_>>, key: &[u8]) -> Arc<Object> {
    if object["metadata"]["name"].as_str().is_some_and(|name| !name.is_empty()) {
        return object;
    }
    let name = path.map_or_else(|| String::from_utf8_lossy(key).into_owned(), |path| path.name.to_owned());
    let mut value = Arc::unwrap_or_clone(object).into_value();
    if let Some(metadata) = value.as_object_mut().and_then(|fields| fields.entry("metadata").or_insert_with(|| json!({})).as_object_mut()) {
        metadata.insert("name".to_owned(), name.into());
    }
    Arc::new(value.into())
}

impl Tables {
    pub(super) fn new(session: &Session, view: TableView, labels: LabelColumns, without_headings: bool, is_everything: bool) -> Self {
        let with_namespace = session.cluster.options.all_namespaces || (is_everything && session.cluster.options.namespace.is_none());
        let decoration = Decoration { with_kind: is_everything, with_namespace, without_headings, of_list: false };
        Self { view, labels, decoration, has_sections: is_everything, takes_changes: false, written: 0, tables: Vec::new() }
    }

    /// Says whether the rows are a list's, and not those of objects that were asked for by name.
    pub(super) fn of_list(mut self, of_list: bool) -> Self {
        self.decoration.of_list = of_list;
        self
    }

    /// Says whether rows of several kinds will come, which then name them.
    pub(super) fn with_kinds(mut self, several: bool) -> Self {
        self.decoration.with_kind |= several;
        self
    }

    fn write_section(&mut self, table: ObjectTable, out: &mut dyn StyledWrite) -> Result<()> {
        if self.written > 0 {
            writeln!(out)?;
        }
        self.written += 1;
        Ok(table.write(self.decoration, out)?)
    }
}

impl Sink<'_> for Tables {
    fn need(&self) -> Extent {
        Extent::Row
    }

    fn rows(&self) -> Option<RowMaker> {
        let view = self.view;
        self.labels.is_empty().then(|| Arc::new(move |kind: &_, decoder: &_, entry: &_| stored_row(view, kind, decoder, entry)) as RowMaker)
    }

    fn add(&mut self, item: Item<'_>, out: &mut dyn StyledWrite) -> Result<()> {
        let section = Section::of(&item);
        let place = match self.takes_changes {
            true => self.tables.iter().position(|(known, _)| *known == section),
            false => self.tables.len().checked_sub(1).filter(|&last| self.tables[last].0 == section),
        };
        let place = match place {
            Some(place) => place,
            None => {
                if self.has_sections
                    && let Some((_, table)) = self.tables.pop()
                {
                    self.write_section(table, out)?;
                }
                let table = ObjectTable::new(item.kind.as_ref(), self.view, self.labels.clone()).showing_states();
                self.tables.push((section, table));
                self.tables.len() - 1
            }
        };
        push(&mut self.tables[place].1, &item);
        Ok(())
    }

    fn flush(&mut self, out: &mut dyn StyledWrite) -> Result<()> {
        let decoration = self.decoration;
        Ok(self.tables.iter_mut().try_for_each(|(_, table)| table.write_below(decoration, out))?)
    }

    fn begin_changes(&mut self) {
        self.takes_changes = true;
        self.decoration.of_list = false;
    }

    fn set_now(&mut self, now: Option<Timestamp>) {
        self.view.now = now;
        self.tables.iter_mut().for_each(|(_, table)| table.set_now(now));
    }

    fn finish(mut self: Box<Self>, out: &mut dyn StyledWrite) -> Result<()> {
        self.decoration.with_kind |= self.tables.len() > 1;
        for (_, table) in std::mem::take(&mut self.tables) {
            self.write_section(table, out)?;
        }
        Ok(())
    }
}
