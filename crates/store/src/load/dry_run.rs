//! A format that only tests read, to show what a new one takes: this file, and a row of `formats`.
//!
//! A line is a change: its revision, its key and its value, or no value where the key was deleted.

use bytes::Bytes;

use super::db_file::DatabaseFacts;
use super::format::Loading;
use super::image::Image;
use super::indexed_files::Loaded;
use super::problem::LoadProblem;
use crate::versions::{Layer, Location, StoredChange};
use crate::{EventKind, Origin, Revision, RevisionSpan, SourceKind};

const FILE_MAGIC: &[u8] = b"#changes\n";

/// Whether bytes begin as a file of changes does.
pub(super) fn is_one(beginning: &[u8]) -> bool {
    beginning.starts_with(FILE_MAGIC)
}

/// Loads the changes of a file.
pub(super) fn load(loading: &mut Loading<'_, '_>, path: &str, image: Image) -> Result<Loaded, LoadProblem> {
    let too_many = || "too many files at once".to_owned();
    let bytes: Bytes = image.bytes;
    let file = loading.builder.image(bytes.clone()).ok_or_else(too_many)?;
    let layer = loading.builder.layer(Layer::default()).ok_or_else(too_many)?;
    let (mut newest, mut damage, mut start) = (1, Vec::new(), FILE_MAGIC.len());
    for line in bytes[FILE_MAGIC.len()..].split(|&byte| byte == b'\n') {
        match change(line, start, file) {
            Some(change) => {
                newest = newest.max(change.main);
                loading.builder.push(layer, change);
            }
            None if line.is_empty() => {}
            None => damage.push(format!("the line at byte {start} is not a change")),
        }
        start += line.len() + 1;
    }
    let span = RevisionSpan { oldest: Revision(1), newest: Revision(newest), compacted: None };
    loading.builder.set_span(layer, span);
    let facts = DatabaseFacts { file_bytes: bytes.len() as u64, span: Some(span), layer: Some(layer), damage, ..DatabaseFacts::default() };
    Ok(Loaded::new(SourceKind::Db, path.to_owned(), facts))
}

/// The change of a line that begins at a byte of the file.
fn change(line: &[u8], start: usize, file: u16) -> Option<StoredChange> {
    let mut words = line.splitn(3, |&byte| byte == b' ');
    let (revision, key, value) = (words.next()?, words.next()?, words.next());
    let main = std::str::from_utf8(revision).ok()?.parse().ok()?;
    let place = |start: usize, word: &[u8]| Location { image: file, start: start as u64, length: word.len() as u32 };
    let (key_at, kind) = (start + revision.len() + 1, if value.is_some() { EventKind::Put } else { EventKind::Delete });
    let (key, value) = (place(key_at, key), place(key_at + key.len() + 1, value.unwrap_or_default()));
    Some(StoredChange {
        main,
        sub: 0,
        kind,
        origin: Origin::Db,
        key,
        value,
        create_revision: main,
        version: 1,
        replaced: 0,
        lease: 0,
        crc: 0,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use futures_util::{FutureExt, TryStreamExt};

    use super::*;
    use crate::load::{Limits, open, open_bytes};
    use crate::{At, Event, KeyRange, Source, Until, Want, WatchItem};

    fn events(source: &dyn Source) -> Vec<Event> {
        let items = source.watch(KeyRange::all(), Revision(1), Until::Revision(newest(source))).try_collect::<Vec<_>>();
        let items = items.now_or_never().unwrap().unwrap().into_iter();
        items.filter_map(|item| if let WatchItem::Event(event) = item { Some(event) } else { None }).collect()
    }

    fn newest(source: &dyn Source) -> Revision {
        source.span().now_or_never().unwrap().unwrap().newest
    }

    #[test]
    fn a_new_format_is_read_as_any_other() {
        let text = b"#changes\n2 /a one\n3 /b two\nwhat\n4 /a\n";
        for bytes in [text.to_vec(), zstd::encode_all(&text[..], 1).unwrap()] {
            let source = open_bytes("night.changes", bytes.into(), &Limits::default(), &|_| None).unwrap();
            assert_eq!(source.damage(), ["night.changes: the line at byte 27 is not a change"]);
            let alive = |revision| {
                let listing = source.range(KeyRange::all(), At::Revision(Revision(revision)), Want::Values).now_or_never().unwrap();
                let entries: Vec<_> = listing.unwrap().entries.try_collect().now_or_never().unwrap().unwrap();
                entries.into_iter().map(|entry| (entry.key, entry.value)).collect::<Vec<_>>()
            };
            assert_eq!(alive(3), [("/a".into(), "one".into()), ("/b".into(), "two".into())]);
            assert_eq!(alive(4), [("/b".into(), "two".into())]);
            assert_eq!(events(&*source).len(), 3);
        }
    }

    #[test]
    fn several_files_of_it_are_one_source() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let paths = [write("a.changes", "#changes\n2 /a one\n3 /b two\n"), write("b.changes", "#changes\n2 /a one\n3 /b two\n4 /a\n")];
        let source = open(&paths, &|_| None).unwrap();
        assert_eq!(events(&*source).iter().map(|event| event.revision.0).collect::<Vec<_>>(), [2, 3, 4]);
    }

    /// Finds the lines outside this file that speak of it, each with its file.
    fn mentions(folder: &Path, found: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                mentions(&path, found);
            } else if path.file_name().is_some_and(|name| name != "dry_run.rs") {
                let (name, text) = (path.file_name().unwrap().display().to_string(), std::fs::read_to_string(&path).unwrap());
                let lines = text.lines().filter(|line| line.contains("dry_run")).map(|line| (name.clone(), line.trim().to_owned()));
                found.extend(lines);
            }
        }
    }

    #[test]
    fn a_new_format_is_a_file_of_a_hundred_lines_and_a_row() {
        let code = include_str!("dry_run.rs").split("#[cfg(test)]").next().unwrap();
        assert!(code.lines().count() <= 100);
        let mut found = Vec::new();
        mentions(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
        found.sort();
        let lines: Vec<(&str, &str)> = found.iter().map(|(file, line)| (file.as_str(), line.as_str())).collect();
        let [("formats.rs", row), ("mod.rs", "mod dry_run;")] = lines[..] else { panic!("{lines:?}") };
        assert!(row.starts_with("Format {"), "{row}");
    }
}
