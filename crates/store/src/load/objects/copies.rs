//! Several copies of one object: the newest is kept, and the others are counted if they differ.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::collection::{KeyedObject, Objects};

const MAX_NAMES_LISTED: usize = 3;

/// Drops all but the newest copy of each object; returns what was dropped and is not the same, with the place of its file.
pub(super) fn drop_older(objects: &mut Objects<'_>) -> Vec<(usize, String)> {
    let mut copies: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (place, kept) in objects.kept.iter().enumerate() {
        copies.entry(objects.bytes(kept.key)).or_default().push(place);
    }
    let mut dropped: Vec<usize> = Vec::new();
    // By file, and whether a newer copy was there: their names.
    let mut older_copies: BTreeMap<(usize, usize, bool), Vec<String>> = BTreeMap::new();
    for mut places in copies.into_values().filter(|places| places.len() > 1) {
        // The larger of several copies of one version comes first: kubectl may leave managedFields out.
        places.sort_by_key(|&place| (Reverse(objects.kept[place].version), Reverse(size(objects, place)), place));
        let best = &objects.kept[places[0]];
        for &place in &places[1..] {
            let other = &objects.kept[place];
            let newer = best.version > other.version;
            if newer || content(objects, best) != content(objects, other) {
                older_copies.entry((other.file, best.file, newer)).or_default().push(name(&objects.object(other.value)));
            }
            dropped.push(place);
        }
    }
    dropped.sort_unstable();
    let mut dropped = dropped.into_iter().peekable();
    let mut place = 0;
    objects.kept.retain(|_| {
        place += 1;
        dropped.next_if_eq(&(place - 1)).is_none()
    });
    older_copies
        .into_iter()
        .map(|((file, best, newer), names)| (file, sentence(&objects.files[best], file == best, newer, names)))
        .collect()
}

/// The length of an object's text without spaces, where there is a choice.
fn size(objects: &Objects<'_>, place: usize) -> usize {
    objects.object(objects.kept[place].value).to_string().len()
}

/// An object without what may have been left out of a copy.
fn content(objects: &Objects<'_>, kept: &KeyedObject) -> Value {
    let mut object = objects.object(kept.value);
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

fn name(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let namespace = text("/metadata/namespace").map(|namespace| format!("{namespace}/")).unwrap_or_default();
    format!("{} {namespace}{}", text("/kind").unwrap_or("?"), text("/metadata/name").unwrap_or("?"))
}

fn sentence(best: &str, same_file: bool, newer: bool, mut names: Vec<String>) -> String {
    names.sort();
    names.dedup();
    let more = names.len().saturating_sub(MAX_NAMES_LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let (verb, of) = if names.len() == 1 { ("is", "of it") } else { ("are", "of them") };
    let place = if same_file { "the file itself" } else { best };
    let why = if newer {
        format!("{place} has a newer version {of}")
    } else {
        format!("{place} has another copy {of} at the same resourceVersion")
    };
    names.truncate(MAX_NAMES_LISTED);
    format!("{}{more} {verb} left out: {why}", names.join(", "))
}
