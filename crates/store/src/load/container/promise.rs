//! What the name of a file promises, where nothing in it is recognised: a backup whose beginning is damaged is named, and not passed over as some other file.

use super::super::gardener::SnapshotName;
use super::entry::{Body, ContainerEntry, EntryHead};

/// How compressed files end, and what they are.
const COMPRESSED_SUFFIXES: [(&str, &str); 12] = [
    ("gz", "gzip"),
    ("tgz", "gzip"),
    ("zst", "zstd"),
    ("zstd", "zstd"),
    ("tzst", "zstd"),
    ("xz", "xz"),
    ("txz", "xz"),
    ("bz2", "bzip2"),
    ("tbz", "bzip2"),
    ("tbz2", "bzip2"),
    ("lz4", "LZ4"),
    ("lzma", "lzma"),
];

/// How archives end without their compression, and what they are; those that have one name for both are among the compressed.
const ARCHIVE_SUFFIXES: [(&str, &str); 2] = [("tar", "tar archive"), ("zip", "zip archive")];

/// How compressed archives end that have one name for both.
const COMPRESSED_TAR: [&str; 5] = ["tgz", "tzst", "txz", "tbz", "tbz2"];

/// How compressed databases end before that.
const DATABASE_SUFFIXES: [&str; 4] = ["db", "snapshot", "sqlite", "etcd"];

/// Why a file in which nothing is recognised is damaged, or may be: a fragment. `None` where it is just another file.
pub(super) fn broken(entry: &ContainerEntry, look: &EntryHead) -> Option<String> {
    if let Body::Sealed(_) = entry.body {
        return None;
    }
    if let Some(problem) = &look.problem {
        return Some(format!("{problem}; nothing in it is recognised"));
    }
    promised(entry.file_name(), look)
}

/// The same of a file of which the beginning alone is there, so that its compression may end anywhere.
pub(in super::super) fn breaks_promise(entry: &ContainerEntry, look: &EntryHead) -> bool {
    look.problem.is_some() && look.bytes.is_empty() || promised(entry.file_name(), look).is_some()
}

fn promised(name: &str, look: &EntryHead) -> Option<String> {
    let broken = |what: &str| Some(format!("is not the {what} that it is called: its beginning is damaged, or it is something else"));
    let (snapshot, name) = (SnapshotName::of(name), name.to_ascii_lowercase());
    let Some((before, suffix)) = name.rsplit_once('.') else {
        return snapshot.and_then(|_| broken("snapshot"));
    };
    let of = |names: &[(&str, &'static str)], suffix: &str| names.iter().find(|(own, _)| *own == suffix).map(|(_, what)| *what);
    let (compression, inner) = match of(&COMPRESSED_SUFFIXES, suffix) {
        Some(what) => (Some(what), if COMPRESSED_TAR.contains(&suffix) { "tar" } else { before.rsplit('.').next().unwrap_or_default() }),
        None => (None, suffix),
    };
    let archive = of(&ARCHIVE_SUFFIXES, inner);
    if look.bytes.is_empty() && (compression.is_some() || archive.is_some()) {
        return Some("is empty".to_owned());
    }
    match (compression, archive) {
        (Some(what), _) if !look.is_compressed => broken(&format!("{what} file")),
        (_, Some(what)) => broken(what),
        (Some(_), None) if DATABASE_SUFFIXES.contains(&inner) => broken("database"),
        _ => None,
    }
}

/// A name without the suffix of a compression.
pub(super) fn uncompressed(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((before, suffix)) if COMPRESSED_SUFFIXES.iter().any(|(own, _)| *own == suffix) => before,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn a_file_is_held_to_what_its_name_promises() {
        let look = |bytes: &'static [u8], is_compressed| EntryHead { bytes: Bytes::from_static(bytes), problem: None, is_compressed };
        for (name, look, is_broken) in [
            ("night.db.gz", look(b"\0\0", false), true),
            ("night.db.gz", look(b"\0\0", true), true),
            ("NIGHT.TAR", look(b"\0\0", false), true),
            ("night.tgz", look(b"text", true), true),
            ("night.zip", look(b"", false), true),
            ("log.gz", look(b"a line of a log", true), false),
            ("log.gz", look(b"a line of a log", false), true),
            ("thumbs.db", look(b"\xd0\xcf", false), false),
            ("notes.txt", look(b"", false), false),
            ("gz", look(b"text", false), false),
        ] {
            assert_eq!(promised(name, &look).is_some(), is_broken, "{name}");
        }
    }
}
