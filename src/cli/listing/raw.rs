//! `-o raw`: the bytes of one value, as they are stored.

use super::sink::{Extent, Item, ReadBody, Sink};
use crate::cli::outcome::{Error, Result};
use ketcd_render::style::StyledWrite;
use ketcd_render::visible::visible;

/// The bytes of one value. Those of a Secret are printed only if they are asked for.
pub(super) struct Raw {
    pub(super) shows_secrets: bool,
    pub(super) is_written: bool,
}

impl Sink<'_> for Raw {
    fn need(&self) -> Extent {
        Extent::Object
    }

    fn add(&mut self, item: Item<'_>, out: &mut dyn StyledWrite) -> Result<()> {
        if std::mem::replace(&mut self.is_written, true) {
            return Err(several());
        }
        let hides = match &item.body {
            ReadBody::Object(object) => object.masked_places().next().map(|_| "holds values of a Secret"),
            _ => Some("cannot be decoded, so it may hold values of a Secret"),
        };
        if let Some(why) = hides.filter(|_| !self.shows_secrets) {
            let key = String::from_utf8_lossy(&item.entry.key);
            return Err(Error::new(format!("the value of {} {why}", visible(&key))).hint("--show-secrets prints it"));
        }
        Ok(out.write_all(&item.entry.value)?)
    }

    fn finish(self: Box<Self>, _: &mut dyn StyledWrite) -> Result<()> {
        Ok(())
    }
}

/// The error of more than one object: where one value ends and the next begins could not be told.
pub(super) fn several() -> Error {
    Error::new("-o raw prints the bytes of one value").hint("name one object: kind/namespace/name, or a raw key")
}
