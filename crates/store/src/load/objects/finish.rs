//! Makes one moment of the objects of all files.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::collection::{KeyedObject, Objects, Spot};
use super::{configuration, copies, guess};
use crate::versions::{Layer, Location, StoredChange, VersionsBuilder};
use crate::{EventKind, Origin, Revision, RevisionSpan};

/// Kinds without a key, or with a guessed one, that are named one by one.
const MAX_KINDS_NAMED: usize = 10;

/// What objects without a kind are counted as.
const NAMELESS_KIND: &str = "? ?";

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
        let mut left_out = self.guess();
        self.close_piece();
        if let Some(why) = self.stopped() {
            return Err(why.to_owned());
        }
        left_out.extend(self.completed());
        left_out.extend(self.without_key());
        self.drop_deleted();
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
                crc: 0,
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
                    let object = self.object(unknown.value);
                    self.keep_object(&key, &object, unknown);
                }
                None => self.unknown.push(unknown),
            }
        }
    }

    /// What objects lacked and got: a kind by the path of their file, a namespace by the rule of kubectl.
    fn completed(&self) -> Vec<(usize, String)> {
        let objects = |count: usize| if count == 1 { "one object names".to_owned() } else { format!("{count} objects name") };
        let of_path = self.by_path.iter().map(|(&(file, kind), &count)| {
            (file, format!("{} no kind and apiVersion: by the path of the file taken for {kind}", objects(count)))
        });
        let of_namespace = self.without_namespace.iter().map(|(&file, &count)| {
            (file, format!("{} no namespace: shown in default, where kubectl apply puts it without -n", objects(count)))
        });
        of_path.chain(of_namespace).collect()
    }

    /// Takes the plural of kinds that nothing defines for what kubectl would guess; says so of each, with the place of its file.
    fn guess(&mut self) -> Vec<(usize, String)> {
        let mut guessed: BTreeMap<(usize, String), (usize, String)> = BTreeMap::new();
        for unknown in std::mem::take(&mut self.unknown) {
            let object = self.object(unknown.value);
            let found = guess::definition(&object).and_then(|(definition, resource)| {
                // With a definition, the kind is known from now on.
                let _ = (self.key_of)(&definition);
                Some(((self.key_of)(&object)?, resource))
            });
            let Some((key, resource)) = found else {
                self.unknown.push(unknown);
                continue;
            };
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or("?");
            guessed.entry((unknown.file, resource)).or_insert_with(|| (0, format!("{} {}", text("/apiVersion"), text("/kind")))).0 += 1;
            let key = self.keep(&key);
            self.kept.push(KeyedObject { key, value: unknown.value, version: unknown.version, file: unknown.file });
        }
        let sentences = guessed.into_iter().map(|((file, resource), (count, kind))| {
            let objects = if count == 1 { "one object".to_owned() } else { format!("{count} objects") };
            (file, format!("{objects} {kind}: shown as {resource}, the plural that kubectl would guess, as the definition is not there"))
        });
        bounded(sentences.collect(), "the plurals of {} more kinds are guessed")
    }

    /// Drops the objects that a watch saw deleted after their last version.
    fn drop_deleted(&mut self) {
        let mut deleted: HashMap<Vec<u8>, i64> = HashMap::new();
        for (object, version) in std::mem::take(&mut self.deleted) {
            if let Some(key) = (self.key_of)(&object) {
                let last = deleted.entry(key).or_default();
                *last = version.max(*last);
            }
        }
        if deleted.is_empty() {
            return;
        }
        let mut kept = std::mem::take(&mut self.kept);
        kept.retain(|kept| deleted.get(self.bytes(kept.key)).is_none_or(|version| kept.version > *version));
        self.kept = kept;
    }

    /// The objects without a key, counted by file and kind.
    fn without_key(&self) -> Vec<(usize, String)> {
        let mut by_kind: BTreeMap<(usize, String, bool), (usize, String, Option<&'static str>)> = BTreeMap::new();
        for unknown in &self.unknown {
            let object = self.object(unknown.value);
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or("?");
            let kind = format!("{} {}", text("/apiVersion"), text("/kind"));
            let is_to_be_named = text("/metadata/name") == "?" && text("/metadata/generateName") != "?";
            let (count, name, said) = by_kind.entry((unknown.file, kind, is_to_be_named)).or_default();
            *count += 1;
            *said = configuration::said(&object);
            *name = text("/metadata/name").to_owned();
        }
        let problems = by_kind.into_iter().map(|((file, kind, is_to_be_named), (count, name, said))| {
            if let Some(said) = said {
                return (file, format!("{kind} {said}"));
            }
            let why = "its kind has no place in etcd that ketcd knows";
            if is_to_be_named {
                let why = "generateName and no name, which an API server gives what it makes";
                let sentence = match count {
                    1 => format!("{kind} is left out: it has {why}"),
                    _ => format!("{count} objects {kind} are left out: they have {why}"),
                };
                return (file, sentence);
            }
            let sentence = match count {
                1 if kind == NAMELESS_KIND => "one object without kind and apiVersion is left out: nothing says what it is, as the path of a file such \
                                          as pods.json or pods/NAMESPACE.json would"
                    .to_owned(),
                _ if kind == NAMELESS_KIND => format!(
                    "{count} objects without kind and apiVersion are left out: nothing says what they are, as the path of a file such as pods.json or \
                     pods/NAMESPACE.json would"
                ),
                1 => format!("{kind} {name} is left out: {why}"),
                _ => format!("{count} objects {kind} are left out: {why}"),
            };
            (file, sentence)
        });
        bounded(problems.collect(), "objects of {} more kinds are left out")
    }
}

/// The first sentences; how many more there are is said by `more`, with the number in place of its braces.
fn bounded(mut sentences: Vec<(usize, String)>, more: &str) -> Vec<(usize, String)> {
    if let Some((file, _)) = sentences.get(MAX_KINDS_NAMED).cloned() {
        let count = sentences.len() - MAX_KINDS_NAMED;
        sentences.truncate(MAX_KINDS_NAMED);
        sentences.push((file, more.replace("{}", &count.to_string())));
    }
    sentences
}
