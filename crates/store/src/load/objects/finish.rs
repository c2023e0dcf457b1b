//! Makes one moment of the objects of all files.

use std::collections::BTreeMap;

use serde_json::Value;

use super::collected::{KeyedObject, Objects, Spot};
use super::copies;
use crate::versions::{Layer, Location, StoredChange, VersionsBuilder};
use crate::{EventKind, Origin, Revision, RevisionSpan};

/// Kinds without a key that are named one by one.
const TOLD: usize = 10;

impl Objects<'_> {
    /// Ends the reading: one layer of one revision. Returns what was left out, with the place of its file.
    ///
    /// # Errors
    ///
    /// A fragment, where there are too many files.
    pub(in crate::load) fn finish(mut self, builder: &mut VersionsBuilder) -> Result<Vec<(usize, String)>, String> {
        const TOO_MANY: &str = "too many files at once";
        self.close_piece();
        self.ask_again();
        self.close_piece();
        let mut left_out = self.without_key();
        left_out.extend(copies::drop_older(&mut self));
        let mut images = Vec::with_capacity(self.images.len());
        for image in &self.images {
            images.push(builder.image(image.clone()).ok_or(TOO_MANY)?);
        }
        let layer = builder.layer(Layer { one_moment: true, ..Layer::default() }).ok_or(TOO_MANY)?;
        builder.set_span(layer, RevisionSpan { oldest: Revision(self.newest), newest: Revision(self.newest), compacted: None });
        self.kept.sort_by_key(|kept| kept.version);
        let place = |spot: Spot| Location { image: images[spot.image], start: spot.start as u64, length: spot.length as u32 };
        let (mut last, mut sub) = (-1, 0);
        for kept in &self.kept {
            sub = if kept.version == last { sub + 1 } else { 0 };
            last = kept.version;
            let found = StoredChange {
                main: kept.version,
                sub,
                kind: EventKind::Put,
                origin: Origin::Objects,
                key: place(kept.key),
                value: place(kept.value),
                create_revision: 0,
                version: 0,
                replaced: 0,
                lease: 0,
            };
            builder.push(layer, found);
        }
        Ok(left_out)
    }

    /// Asks once more for the keys not known: definitions may have come after their objects.
    fn ask_again(&mut self) {
        for unknown in std::mem::take(&mut self.unknown) {
            match (self.key_of)(&self.object(unknown.value)) {
                Some(key) => {
                    let key = self.keep(&key);
                    self.kept.push(KeyedObject { key, value: unknown.value, version: unknown.version, file: unknown.file });
                }
                None => self.unknown.push(unknown),
            }
        }
    }

    /// The objects without a key, counted by file and kind.
    fn without_key(&self) -> Vec<(usize, String)> {
        let mut by_kind: BTreeMap<(usize, String), (usize, String)> = BTreeMap::new();
        for unknown in &self.unknown {
            let object = self.object(unknown.value);
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or("?");
            let kind = format!("{} {}", text("/apiVersion"), text("/kind"));
            let (count, name) = by_kind.entry((unknown.file, kind)).or_default();
            *count += 1;
            *name = text("/metadata/name").to_owned();
        }
        let problems = by_kind.into_iter().map(|((file, kind), (count, name))| {
            let why = "its kind has no place in etcd that ketcd knows";
            let sentence = match count {
                1 => format!("{kind} {name} is left out: {why}"),
                _ => format!("{count} objects {kind} are left out: {why}"),
            };
            (file, sentence)
        });
        let mut problems: Vec<(usize, String)> = problems.collect();
        if let Some((file, _)) = problems.get(TOLD).cloned() {
            let more = problems.len() - TOLD;
            problems.truncate(TOLD);
            problems.push((file, format!("objects of {more} more kinds are left out")));
        }
        problems
    }
}
