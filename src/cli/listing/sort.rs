//! `--sort-by`: waits for all objects, then hands them on in the order of a field. Meanwhile only that field is held: objects are decoded again.

use std::sync::Arc;

use super::sink::{Extent, Item, ReadBody, Sink};
use crate::cli::outcome::{Error, Result};
use ketcd_cluster::read::decoder_of;
use ketcd_kube::{Decoder, Kind};
use ketcd_render::json_path::JsonPath;
use ketcd_render::sort_key::SortKey;
use ketcd_render::style::StyledWrite;

pub(super) struct Sorted<'c> {
    path: String,
    parsed: JsonPath,
    inner: Box<dyn Sink<'c> + 'c>,
    decoder: Decoder,
    held: Vec<(Item<'c>, SortKey)>,
}

impl<'c> Sorted<'c> {
    pub(super) fn new(path: &str, inner: Box<dyn Sink<'c> + 'c>, decoder: Decoder) -> Result<Self> {
        let parsed = JsonPath::parse_relaxed(path)
            .map_err(|error| Error::new(format!("--sort-by: {error}")).hint("write it like .metadata.creationTimestamp"))?;
        Ok(Self { path: path.to_owned(), parsed, inner, decoder, held: Vec::new() })
    }
}

impl<'c> Sink<'c> for Sorted<'c> {
    fn need(&self) -> Extent {
        Extent::Object
    }

    fn add(&mut self, mut item: Item<'c>, _: &mut dyn StyledWrite) -> Result<()> {
        let sort_key = match &item.body {
            ReadBody::Object(object) => SortKey::of(&self.parsed, object).map_err(|error| Error::new(format!("--sort-by: {error}")))?,
            ReadBody::Opaque(_) => SortKey::Absent,
            ReadBody::None | ReadBody::Text(_) | ReadBody::Row(_) => return Ok(()),
        };
        item.body = ReadBody::None;
        self.held.push((item, sort_key));
        Ok(())
    }

    fn finish(mut self: Box<Self>, out: &mut dyn StyledWrite) -> Result<()> {
        if !self.held.is_empty() && self.held.iter().all(|(_, sort_key)| *sort_key == SortKey::Absent) {
            return Err(Error::new(format!("--sort-by: no object has the field {}", self.path)).hint("check the path with -o yaml"));
        }
        // Kinds keep their order: each has a table of its own.
        let mut kinds: Vec<Option<Arc<Kind>>> = Vec::new();
        for (item, _) in &self.held {
            if !kinds.contains(&item.kind) {
                kinds.push(item.kind.clone());
            }
        }
        let place = |item: &Item<'_>| kinds.iter().position(|kind| *kind == item.kind);
        self.held.sort_by(|(a, of_a), (b, of_b)| place(a).cmp(&place(b)).then_with(|| of_a.cmp(of_b)));
        for (mut item, _) in self.held {
            item.body = ReadBody::object(&decoder_of(&self.decoder, item.kind.as_ref()), &item.entry);
            self.inner.add(item, out)?;
        }
        self.inner.finish(out)
    }
}
