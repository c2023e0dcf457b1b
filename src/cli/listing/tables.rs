//! `-o table` and `-o wide`: a section for each kind, as kubectl prints them.

use std::io::Write;
use std::sync::Arc;

use super::{Body, Item, Need, Sink};
use crate::cli::Result;
use crate::cli::session::Session;
use crate::render::table::{Decoration, Labels, Table, View};
use ketcd_kube::{Kind, ObjectPath};

pub(super) struct Tables {
    view: View,
    labels: Labels,
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

impl Tables {
    pub(super) fn new(session: &Session, view: View, labels: Labels, without_headings: bool, is_everything: bool) -> Self {
        let with_namespace = session.args.all_namespaces || (is_everything && session.args.namespace.is_none());
        let decoration = Decoration { with_kind: is_everything, with_namespace, without_headings };
        Self { view, labels, decoration, has_sections: is_everything, written: 0, tables: Vec::new() }
    }

    fn write_section(&mut self, table: Table, out: &mut dyn Write) -> Result<()> {
        if self.written > 0 {
            writeln!(out)?;
        }
        self.written += 1;
        Ok(table.write(self.decoration, out)?)
    }
}

impl Sink for Tables {
    fn need(&self) -> Need {
        Need::Object
    }

    fn add(&mut self, item: Item<'_>, out: &mut dyn Write) -> Result<()> {
        let section = match (item.kind, item.key) {
            (Some(kind), _) => Section::Kind(Arc::clone(kind)),
            (None, Some(ObjectPath { resource, .. })) => Section::Unknown(format!("{resource:?}")),
            (None, None) => Section::Unknown(String::new()),
        };
        if self.tables.last().is_none_or(|(last, _)| *last != section) {
            if self.has_sections
                && let Some((_, table)) = self.tables.pop()
            {
                self.write_section(table, out)?;
            }
            let table = Table::new(item.kind, self.view, self.labels.clone());
            self.tables.push((section, table));
        }
        let Some((_, table)) = self.tables.last_mut() else { return Ok(()) };
        match item.body {
            Body::Object(object) => table.push(&object),
            Body::Opaque(opaque) => {
                let key = String::from_utf8_lossy(&item.entry.key);
                table.push_opaque(item.key.and_then(|key| key.namespace), item.key.map_or(&key, |key| key.name), &opaque.reason);
            }
            Body::None | Body::Text(_) => {}
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, out: &mut dyn Write) -> Result<()> {
        self.decoration.with_kind |= self.tables.len() > 1;
        for (_, table) in std::mem::take(&mut self.tables) {
            self.write_section(table, out)?;
        }
        Ok(())
    }
}
