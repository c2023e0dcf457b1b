//! `-o table` and `-o wide`: a section for each kind, as kubectl prints them.

use std::sync::Arc;

use jiff::Timestamp;

use super::{Extent, Item, ReadBody, Sink};
use crate::cli::Result;
use crate::cli::session::Session;
use ketcd_kube::{Kind, Object, ObjectPath};
use ketcd_render::style::StyledWrite;
use ketcd_render::table::{Decoration, LabelColumns, Table, View};
use serde_json::json;

pub(super) struct Tables {
    view: View,
    labels: LabelColumns,
    decoration: Decoration,
    /// Sections follow one another for sure, so each can be written when the next one begins.
    has_sections: bool,
    written: usize,
    /// In the order of their first object; the name distinguishes kinds that are not known.
    tables: Vec<(Section, Table)>,
}

#[derive(PartialEq)]
enum Section {
    Kind(Arc<Kind>),
    Unknown(String),
}

impl Section {
    fn of(item: &Item<'_>) -> Self {
        match (item.kind, item.key) {
            (Some(kind), _) => Self::Kind(Arc::clone(kind)),
            (None, Some(ObjectPath { resource, .. })) => Self::Unknown(format!("{resource:?}")),
            (None, None) => Self::Unknown(String::new()),
        }
    }
}

/// Adds the row of an object, or of what cannot be decoded.
fn push(table: &mut Table, item: Item<'_>) {
    match item.body {
        ReadBody::Object(object) => table.push(&named(object, item.key, &item.entry.key)),
        ReadBody::Opaque(opaque) => {
            let key = String::from_utf8_lossy(&item.entry.key);
            table.push_opaque(item.key.and_then(|key| key.namespace), item.key.map_or(&key, |key| key.name), &opaque.reason);
        }
        ReadBody::None | ReadBody::Text(_) => {}
    }
}

/// The object; one that does not say its name, as JSON that is none of Kubernetes', gets the one that its key says.
fn named(object: Object, path: Option<ObjectPath<'_>>, key: &[u8]) -> Object {
    if object["metadata"]["name"].as_str().is_some_and(|name| !name.is_empty()) {
        return object;
    }
    let name = path.map_or_else(|| String::from_utf8_lossy(key).into_owned(), |path| path.name.to_owned());
    let mut value = object.into_value();
    if let Some(metadata) = value.as_object_mut().and_then(|fields| fields.entry("metadata").or_insert_with(|| json!({})).as_object_mut()) {
        metadata.insert("name".to_owned(), name.into());
    }
    value.into()
}

impl Tables {
    pub(super) fn new(session: &Session, view: View, labels: LabelColumns, without_headings: bool, is_everything: bool) -> Self {
        let with_namespace = session.args.all_namespaces || (is_everything && session.args.namespace.is_none());
        let decoration = Decoration { with_kind: is_everything, with_namespace, without_headings, of_list: false };
        Self { view, labels, decoration, has_sections: is_everything, written: 0, tables: Vec::new() }
    }

    /// Writes the row of one object below those before it. Its age is counted to `now`.
    pub(super) fn add_below(&mut self, item: Item<'_>, now: Option<Timestamp>, out: &mut dyn StyledWrite) -> Result<()> {
        let section = Section::of(&item);
        let place = self.tables.iter().position(|(known, _)| *known == section).unwrap_or_else(|| {
            self.tables.push((section, Table::new(item.kind, self.view, self.labels.clone()).showing_states()));
            self.tables.len() - 1
        });
        let table = &mut self.tables[place].1;
        table.set_now(now);
        push(table, item);
        Ok(table.write_below(Decoration { of_list: false, ..self.decoration }, out)?)
    }

    /// Writes the rows added so far, so that others can come below them.
    pub(super) fn write_rows(&mut self, out: &mut dyn StyledWrite) -> Result<()> {
        for (_, table) in &mut self.tables {
            table.write_below(self.decoration, out)?;
        }
        Ok(())
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

    fn write_section(&mut self, table: Table, out: &mut dyn StyledWrite) -> Result<()> {
        if self.written > 0 {
            writeln!(out)?;
        }
        self.written += 1;
        Ok(table.write(self.decoration, out)?)
    }
}

impl Sink for Tables {
    fn need(&self) -> Extent {
        Extent::Row
    }

    fn add(&mut self, item: Item<'_>, out: &mut dyn StyledWrite) -> Result<()> {
        let section = Section::of(&item);
        if self.tables.last().is_none_or(|(last, _)| *last != section) {
            if self.has_sections
                && let Some((_, table)) = self.tables.pop()
            {
                self.write_section(table, out)?;
            }
            let table = Table::new(item.kind, self.view, self.labels.clone()).showing_states();
            self.tables.push((section, table));
        }
        let Some((_, table)) = self.tables.last_mut() else { return Ok(()) };
        push(table, item);
        Ok(())
    }

    fn finish(mut self: Box<Self>, out: &mut dyn StyledWrite) -> Result<()> {
        self.decoration.with_kind |= self.tables.len() > 1;
        for (_, table) in std::mem::take(&mut self.tables) {
            self.write_section(table, out)?;
        }
        Ok(())
    }
}
