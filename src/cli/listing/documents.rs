//! `-o json`, `-o yaml`, `-o kyaml` and `-o ndjson`: whole objects, streamed.

use serde_json::Value;

use super::sink::{Extent, Item, ReadBody, Sink};
use crate::cli::outcome::Result;
use ketcd_cluster::kinds::KeySubject;
use ketcd_kube::Opaque;
use ketcd_render::contract::listing::Undecodable;
use ketcd_render::contract::window::HistoryWindow;
use ketcd_render::style::StyledWrite;
use ketcd_render::{document, json, kyaml, yaml};

/// One object a line, each flushed.
pub(super) struct ObjectLines;

impl Sink<'_> for ObjectLines {
    fn need(&self) -> Extent {
        Extent::Text
    }

    fn add(&mut self, item: Item<'_>, out: &mut dyn StyledWrite) -> Result<()> {
        match &item.body {
            ReadBody::Text(text) => out.write_all(text)?,
            ReadBody::Object(object) => json::write_compact(&***object, out)?,
            ReadBody::Opaque(opaque) => json::write_compact(&undecodable(&item, opaque), out)?,
            ReadBody::None | ReadBody::Row(_) => return Ok(()),
        }
        out.write_all(b"\n")?;
        Ok(out.flush()?)
    }

    fn finish(self: Box<Self>, _: &mut dyn StyledWrite) -> Result<()> {
        Ok(())
    }
}

/// What stands in place of an object that cannot be decoded.
fn undecodable<'a>(item: &'a Item<'_>, opaque: &'a Opaque) -> Undecodable<'a> {
    Undecodable::new(&item.entry.key, item.path().map(KeySubject::of).unwrap_or_default(), item.entry.mod_revision.0, opaque)
}

/// The way a document is written.
type WriteDocument = fn(&Value, &mut dyn StyledWrite) -> std::io::Result<()>;

/// One object, one document.
pub(super) struct Single {
    write: WriteDocument,
    /// What stands between two documents, where several come.
    separator: &'static [u8],
    written: usize,
}

impl Single {
    pub(super) fn json() -> Self {
        Self { write: |object, out| json::write_pretty(object, out).and_then(|()| out.write_all(b"\n")), separator: b"", written: 0 }
    }

    pub(super) fn yaml() -> Self {
        Self { write: |object, out| yaml::write(object, out), separator: b"---\n", written: 0 }
    }

    pub(super) fn kyaml() -> Self {
        Self { write: |object, out| kyaml::write(object, out), separator: b"", written: 0 }
    }
}

impl Sink<'_> for Single {
    fn need(&self) -> Extent {
        Extent::Object
    }

    fn add(&mut self, item: Item<'_>, out: &mut dyn StyledWrite) -> Result<()> {
        if matches!(item.body, ReadBody::Object(_) | ReadBody::Opaque(_)) {
            out.write_all(if self.written > 0 { self.separator } else { b"" })?;
            self.written += 1;
        }
        match &item.body {
            ReadBody::Object(object) => Ok((self.write)(object, out)?),
            ReadBody::Opaque(opaque) => Ok((self.write)(&serde_json::to_value(undecodable(&item, opaque))?, out)?),
            ReadBody::None | ReadBody::Text(_) | ReadBody::Row(_) => Ok(()),
        }
    }

    fn finish(self: Box<Self>, _: &mut dyn StyledWrite) -> Result<()> {
        Ok(())
    }
}

/// A `v1 List`, written item by item; values that cannot be decoded are reported on standard error instead.
pub(super) struct JsonList {
    items: usize,
    form: document::ListForm,
    window: Option<HistoryWindow>,
}

impl JsonList {
    pub(super) fn json() -> Self {
        Self { items: 0, form: document::ListForm::Json, window: None }
    }

    /// JSON that says which stretch of history was asked for.
    pub(super) fn json_within(window: Option<HistoryWindow>) -> Self {
        Self { window, ..Self::json() }
    }

    pub(super) fn yaml() -> Self {
        Self { items: 0, form: document::ListForm::Yaml, window: None }
    }

    pub(super) fn kyaml() -> Self {
        Self { items: 0, form: document::ListForm::Kyaml, window: None }
    }
}

impl Sink<'_> for JsonList {
    fn need(&self) -> Extent {
        Extent::Object
    }

    fn add(&mut self, item: Item<'_>, out: &mut dyn StyledWrite) -> Result<()> {
        if let ReadBody::Object(object) = item.body {
            self.form.write_item(&object, self.items == 0, out)?;
            self.items += 1;
        }
        Ok(())
    }

    fn finish(self: Box<Self>, out: &mut dyn StyledWrite) -> Result<()> {
        Ok(self.form.write_end(self.items == 0, self.window, out)?)
    }
}
