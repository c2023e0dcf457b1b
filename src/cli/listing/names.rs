//! `-o name`: `pod/web-0`, one a line, from the keys alone.

use super::sink::{Extent, Item, Sink};
use crate::cli::outcome::Result;
use ketcd_kube::{KeyResource, ObjectPath};
use ketcd_render::style::StyledWrite;
use ketcd_render::visible::visible;

pub(super) struct Names;

impl Sink<'_> for Names {
    fn need(&self) -> Extent {
        Extent::Key
    }

    fn add(&mut self, item: Item<'_>, out: &mut dyn StyledWrite) -> Result<()> {
        match item.path() {
            Some(ObjectPath { resource: KeyResource::Known(kind), name, .. }) => {
                writeln!(out, "{}/{}", kind.singular_resource(), visible(name))?
            }
            Some(ObjectPath { resource: KeyResource::Unlisted { group: "", plural }, name, .. }) => {
                writeln!(out, "{}/{}", visible(plural), visible(name))?
            }
            Some(ObjectPath { resource: KeyResource::Unlisted { group, plural }, name, .. }) => {
                writeln!(out, "{}.{}/{}", visible(plural), visible(group), visible(name))?
            }
            None => writeln!(out, "{}", visible(&String::from_utf8_lossy(&item.entry.key)))?,
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _: &mut dyn StyledWrite) -> Result<()> {
        Ok(())
    }
}
