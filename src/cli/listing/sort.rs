//! `--sort-by`: waits for all objects, then hands them on in the order of a field. Meanwhile only that field is held: objects are decoded again.

use std::sync::Arc;

use super::{Extent, Item, ReadBody, Sink};
use crate::cli::{Error, Result};
use ketcd_cluster::read::decoder_of;
use ketcd_kube::{Decoder, KeyResource, Kind, ObjectPath};
use ketcd_render::json_path::JsonPath;
use ketcd_render::sort_key::SortKey;
use ketcd_render::style::StyledWrite;
use ketcd_store::KeyValue;

pub(super) struct Sorted {
    path: String,
    parsed: JsonPath,
    inner: Box<dyn Sink>,
    decoder: Decoder,
    held: Vec<Held>,
}

struct Held {
    kind: Option<Arc<Kind>>,
    /// Namespace and name.
    key: Option<(Option<String>, String)>,
    entry: KeyValue,
    sort_key: SortKey,
}

impl Sorted {
    pub(super) fn new(path: &str, inner: Box<dyn Sink>, decoder: Decoder) -> Result<Self> {
        let parsed = JsonPath::parse_relaxed(path)
            .map_err(|error| Error::new(format!("--sort-by: {error}")).hint("write it like .metadata.creationTimestamp"))?;
        Ok(Self { path: path.to_owned(), parsed, inner, decoder, held: Vec::new() })
    }
}

impl Sink for Sorted {
    fn need(&self) -> Extent {
        Extent::Object
    }

    fn add(&mut self, item: Item<'_>, _: &mut dyn StyledWrite) -> Result<()> {
        let sort_key = match &item.body {
            ReadBody::Object(object) => SortKey::of(&self.parsed, object).map_err(|error| Error::new(format!("--sort-by: {error}")))?,
            ReadBody::Opaque(_) => SortKey::Absent,
            ReadBody::None | ReadBody::Text(_) => return Ok(()),
        };
        let key = item.key.map(|key| (key.namespace.map(str::to_owned), key.name.to_owned()));
        self.held.push(Held { kind: item.kind.cloned(), key, entry: item.entry.clone(), sort_key });
        Ok(())
    }

    fn finish(mut self: Box<Self>, out: &mut dyn StyledWrite) -> Result<()> {
        if !self.held.is_empty() && self.held.iter().all(|held| held.sort_key == SortKey::Absent) {
            return Err(Error::new(format!("--sort-by: no object has the field {}", self.path)).hint("check the path with -o yaml"));
        }
        // Kinds keep their order: each has a table of its own.
        let mut kinds: Vec<Option<Arc<Kind>>> = Vec::new();
        for held in &self.held {
            if !kinds.contains(&held.kind) {
                kinds.push(held.kind.clone());
            }
        }
        let place = |held: &Held| kinds.iter().position(|kind| *kind == held.kind);
        self.held.sort_by(|a, b| place(a).cmp(&place(b)).then_with(|| a.sort_key.cmp(&b.sort_key)));
        for held in self.held {
            let unlisted = KeyResource::Unlisted { group: "", plural: "" };
            let resource = held.kind.as_ref().map_or(unlisted, KeyResource::Known);
            let key = held.key.as_ref().map(|(namespace, name)| ObjectPath { resource, namespace: namespace.as_deref(), name });
            let body = ReadBody::object(&decoder_of(&self.decoder, held.kind.as_ref()), &held.entry);
            self.inner.add(Item { kind: held.kind.as_ref(), key, entry: &held.entry, body }, out)?;
        }
        self.inner.finish(out)
    }
}
