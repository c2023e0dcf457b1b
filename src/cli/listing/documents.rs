//! `-o json`, `-o yaml` and `-o ndjson`: whole objects, streamed.

use std::io::Write;

use serde_json::Value;

use super::{Extent, Item, ReadBody, Sink};
use crate::cli::Result;
use ketcd_render::contract::listing::Undecodable;
use ketcd_render::{document, json, yaml};

/// One object a line, each flushed.
pub(super) struct ObjectLines;

impl Sink for ObjectLines {
    fn need(&self) -> Extent {
        Extent::Text
    }

    fn add(&mut self, item: Item<'_>, out: &mut dyn Write) -> Result<()> {
        match item.body {
            ReadBody::Text(text) => out.write_all(&text)?,
            ReadBody::Object(object) => json::write_compact(&*object, out)?,
            ReadBody::Opaque(opaque) => json::write_compact(&Undecodable::new(&item.entry.key, item.entry.mod_revision.0, &opaque), out)?,
            ReadBody::None => return Ok(()),
        }
        out.write_all(b"\n")?;
        Ok(out.flush()?)
    }

    fn finish(self: Box<Self>, _: &mut dyn Write) -> Result<()> {
        Ok(())
    }
}

/// The way a document is written.
type WriteDocument = fn(&Value, &mut dyn Write) -> std::io::Result<()>;

/// One object, one document.
pub(super) struct Single {
    write: WriteDocument,
}

impl Single {
    pub(super) fn json() -> Self {
        Self { write: |object, out| json::write_pretty(object, out).and_then(|()| out.write_all(b"\n")) }
    }

    pub(super) fn yaml() -> Self {
        Self { write: yaml::write }
    }
}

impl Sink for Single {
    fn need(&self) -> Extent {
        Extent::Object
    }

    fn add(&mut self, item: Item<'_>, out: &mut dyn Write) -> Result<()> {
        match item.body {
            ReadBody::Object(object) => Ok((self.write)(&object, out)?),
            ReadBody::Opaque(opaque) => {
                let document = Undecodable::new(&item.entry.key, item.entry.mod_revision.0, &opaque);
                Ok((self.write)(&serde_json::to_value(document)?, out)?)
            }
            ReadBody::None | ReadBody::Text(_) => Ok(()),
        }
    }

    fn finish(self: Box<Self>, _: &mut dyn Write) -> Result<()> {
        Ok(())
    }
}

/// A `v1 List`, written item by item; what cannot be decoded is not an object and is left to standard error.
pub(super) struct List {
    items: usize,
    form: document::ListForm,
}

impl List {
    pub(super) fn json() -> Self {
        Self { items: 0, form: document::ListForm::Json }
    }

    pub(super) fn yaml() -> Self {
        Self { items: 0, form: document::ListForm::Yaml }
    }
}

impl Sink for List {
    fn need(&self) -> Extent {
        Extent::Object
    }

    fn add(&mut self, item: Item<'_>, out: &mut dyn Write) -> Result<()> {
        if let ReadBody::Object(object) = item.body {
            self.form.write_item(&object, self.items == 0, out)?;
            self.items += 1;
        }
        Ok(())
    }

    fn finish(self: Box<Self>, out: &mut dyn Write) -> Result<()> {
        Ok(self.form.write_end(self.items == 0, out)?)
    }
}
