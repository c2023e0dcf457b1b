//! Several files as parts of one history: which of them are read at once, and which are opened when a question needs them.

use std::path::Path;

use super::formats::format_of;
use super::image;
use super::loaded::finish;
use super::objects::Objects;
use super::one::{PathContent, load, open_one};
use super::options::Limits;
use super::peek::Peek;
use crate::fusion::{Opener, Part, PartState};
#[cfg(feature = "recording")]
use crate::recording::RecordingSource;
use crate::versions::VersionsBuilder;
use crate::{Result, SourceKind};

/// Compressed files of together so many bytes, unpacked, are kept so until all are known.
const UNPACKED_AT_ONCE: u64 = 1 << 30;

/// What is at each of some paths.
pub(super) fn found_at(paths: &[String], limits: &Limits) -> Result<Vec<(String, PathContent)>> {
    let mut unpacked = 0;
    let mut found = Vec::new();
    for path in paths {
        let mut at = PathContent::at(path, limits, image::look)?;
        if let Some(peek) = peek(path, &at).filter(|peek| is_packed(path, peek.bytes())) {
            unpacked += peek.bytes();
            if unpacked > UNPACKED_AT_ONCE {
                at = PathContent::Packed { span: peek.span(), bytes: peek.bytes() };
            }
        }
        found.push((path.clone(), at));
    }
    Ok(found)
}

/// Whether a database of so many bytes, with or without the checksum at its end, was compressed.
fn is_packed(path: &str, bytes: u64) -> bool {
    /// A page at most is left out of what cannot be a whole number of them.
    const REST: u64 = 1 << 16;
    std::fs::metadata(path).is_ok_and(|file| file.len().abs_diff(bytes) > REST)
}

/// Up to this many database files, and this many bytes together, are read at once, so that their damage is known from the beginning.
const READ_AT_ONCE: usize = 16;
const BYTES_READ_AT_ONCE: u64 = 128 << 20;

/// How many large files have their indexes kept.
const FEW: usize = 4;

/// Makes parts of what was found: database files are opened when they are needed where they are many or large, all else at once.
pub(super) fn parts(found: Vec<(String, PathContent)>, limits: &Limits) -> Result<Vec<Part>> {
    let peeks: Vec<Option<Peek>> = found.iter().map(|(path, found)| peek(path, found)).collect();
    let (closed, bytes) = peeks.iter().flatten().fold((0, 0), |(count, bytes), peek| (count + 1, bytes + peek.bytes()));
    let at_once = closed <= READ_AT_ONCE && bytes <= BYTES_READ_AT_ONCE;
    let are_many = found.len() > FEW;
    found
        .into_iter()
        .zip(peeks)
        .map(|((path, found), peek)| match (peek.filter(|_| !at_once), found) {
            (Some(peek), _) => Ok(Part::of_peek(&path, peek, opening(&path, limits, are_many))),
            (None, PathContent::Packed { span, bytes }) => {
                let held = PartState::Closed { bytes, open: opening(&path, limits, are_many), peek: None };
                Ok(Part::closed(&path, span, held))
            }
            (None, found) => open_part(&path, found, limits),
        })
        .collect()
}

/// Returns what opens a file later. With many files no index is kept: each would replace another's.
fn opening(path: &str, limits: &Limits, is_one_of_many: bool) -> Opener {
    let cache = limits.cache.clone().filter(|_| !is_one_of_many);
    let (limits, path) = (Limits { cache, ..limits.clone() }, path.to_owned());
    Box::new(move || open_one(&path, &limits, &|_| None))
}

/// What a file says of itself that can be opened again later.
fn peek(path: &str, found: &PathContent) -> Option<Peek> {
    let PathContent::File(image) = found else { return None };
    let is_database = || format_of(&image.bytes).is_some_and(|format| format.kind == Some(SourceKind::Db));
    (path != "-" && Path::new(path).is_file() && is_database()).then(|| Peek::at(image)).flatten()
}

fn open_part(path: &str, found: PathContent, limits: &Limits) -> Result<Part> {
    #[cfg(feature = "recording")]
    if matches!(found, PathContent::Recording) {
        let recording = RecordingSource::open(path)?;
        let (span, cluster_id) = (recording.whole_span(), recording.cluster_id().map(str::to_owned));
        return Ok(Part::open(path, SourceKind::Recording, cluster_id, span, Box::new(recording)));
    }
    let mut builder = VersionsBuilder::default();
    let loaded = load(path, found, limits, &mut builder, &mut Objects::new(&|_| None)).map_err(|problem| problem.of(path))?;
    let (kind, cluster_id) = (loaded.kind, loaded.cluster_id.map(|id| format!("{id:x}")));
    let source = finish(path.to_owned(), builder, Objects::new(&|_| None), vec![loaded])?;
    Ok(Part::open(path, kind, cluster_id, source.whole_span(), Box::new(source)))
}
