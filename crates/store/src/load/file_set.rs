//! Several files as parts of one history: which of them are read at once, and which are opened when a question needs them.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use super::container::{self, Body, Choice, Chosen, ContainerEntry, name_within};
use super::formats::{format_of, reading};
use super::image::{self, Image};
use super::index_cache::MAX_INDEXES_KEPT;
use super::indexed_files::finish;
use super::objects::Objects;
use super::options::{KeyOf, Limits};
use super::path_content::{Kept, PathContent, load, open_found, open_kept, open_one};
use super::peek::Peek;
use super::search_results::Finds;
use crate::fusion::{Fused, LiveInput, Opener, Part, PartState};
#[cfg(feature = "recording")]
use crate::recording::RecordingSource;
use crate::versions::VersionsBuilder;
use crate::{Companion, Error, Result, Source, SourceKind};

/// Compressed files of together so many bytes, unpacked, are kept so until all are known.
const UNPACKED_AT_ONCE: u64 = 1 << 30;

#[derive(Default)]
pub(super) struct Several {
    /// Each file with its path; for a folder or an archive of databases, each database.
    pub found: Vec<(String, PathContent)>,
    /// What is damaged of the folders and archives, and what was chosen of them, each a sentence.
    damage: Vec<String>,
    left_out: Vec<String>,
    /// The same of files that were not written to their end.
    unfinished: Vec<String>,
    said: Vec<String>,
    /// Configuration that lies with them.
    companions: Vec<Companion>,
    /// The paths that were not named one by one: of these one may be beyond reading, and the others are read.
    chosen: BTreeSet<String>,
    /// Why the first of them could not be read.
    unread: Option<Error>,
}

impl Several {
    pub(super) fn at(paths: &[String], limits: &Limits) -> Result<Self> {
        let mut several = Self::default();
        let mut unpacked = 0;
        for path in paths {
            several.add(path, PathContent::at(path, limits, image::look)?, limits, &mut unpacked)?;
        }
        Ok(several)
    }

    fn add(&mut self, path: &str, at: PathContent, limits: &Limits, unpacked: &mut u64) -> Result<()> {
        let at = match at {
            PathContent::Chosen(choice) if choice.is_several() => {
                let Choice { chosen, damage, unread, unfinished, said, companions, .. } = *choice;
                let named = |sentence: String| format!("{path}: {sentence}");
                self.damage.extend(damage.into_iter().map(named));
                self.left_out.extend(unread.into_iter().map(named));
                self.unfinished.extend(unfinished.into_iter().map(named));
                self.said.extend(said.into_iter().map(named));
                self.companions.extend(companions.into_iter().map(|one| Companion { place: name_within(path, &one.place), ..one }));
                return self.add_chosen(path, chosen, limits, unpacked);
            }
            at => at,
        };
        self.push(path.to_owned(), at, unpacked);
        Ok(())
    }

    /// Adds each of several databases.
    fn add_chosen(&mut self, path: &str, chosen: Chosen, limits: &Limits, unpacked: &mut u64) -> Result<()> {
        match chosen {
            Chosen::Databases(entries) => {
                for entry in entries {
                    if let Err(problem) = self.add_entry(path, &entry, limits, unpacked) {
                        self.damage.push(problem.to_string());
                        self.unread.get_or_insert(problem);
                    }
                }
                Ok(())
            }
            Chosen::Members(members) => {
                members.into_iter().for_each(|(member, parts)| self.push_choice(name_within(path, &member), parts, unpacked));
                Ok(())
            }
            Chosen::Moments(moments) => {
                moments
                    .into_iter()
                    .for_each(|(name, objects)| self.push_choice(name_within(path, &name), Chosen::Objects(objects), unpacked));
                Ok(())
            }
            Chosen::Chains(chains) => {
                for chain in chains {
                    let first = chain.full.as_ref().or(chain.deltas.first().map(|(_, delta)| delta));
                    let name = name_within(path, first.map_or("", |first| &first.name));
                    self.push_choice(name, Chosen::Chain(chain), unpacked);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn add_entry(&mut self, path: &str, entry: &ContainerEntry, limits: &Limits, unpacked: &mut u64) -> Result<()> {
        if let Body::File(file) = &entry.body {
            let file = file.to_string_lossy();
            self.chosen.insert(file.clone().into_owned());
            return self.add(&file, PathContent::at(&file, limits, image::look)?, limits, unpacked);
        }
        let (name, image) = (name_within(path, &entry.name), entry.image(&reading(limits))?);
        self.chosen.insert(name.clone());
        self.push(name, PathContent::Entry(image), unpacked);
        Ok(())
    }

    fn push_choice(&mut self, name: String, chosen: Chosen, unpacked: &mut u64) {
        self.chosen.insert(name.clone());
        self.push(name, PathContent::Chosen(Box::new(Choice::of(chosen))), unpacked);
    }

    fn push(&mut self, path: String, mut at: PathContent, unpacked: &mut u64) {
        let is_entry = matches!(at, PathContent::Entry(_));
        if let Some(peek) = peek(&path, &at).filter(|peek| is_entry || is_packed(&path, peek.bytes())) {
            *unpacked += peek.bytes();
            if *unpacked > UNPACKED_AT_ONCE {
                at = PathContent::Packed { span: peek.span(), bytes: peek.bytes() };
            }
        }
        self.found.push((path, at));
    }

    pub(super) fn fused(mut self, beside: Option<LiveInput>, limits: &Limits, key_of: &KeyOf<'_>) -> Result<Fused> {
        let parts = self.parts(limits, key_of)?;
        Ok(Fused::new(parts, beside)?.saying(self.damage, (self.left_out, self.unfinished), self.said, self.companions))
    }

    /// Opens them, or says of a database file how it is opened when it is needed: where they are many or large. All else is opened at once.
    fn parts(&mut self, limits: &Limits, key_of: &KeyOf<'_>) -> Result<Vec<Part>> {
        let found = std::mem::take(&mut self.found);
        let peeks: Vec<Option<Peek>> = found.iter().map(|(path, found)| peek(path, found)).collect();
        let (closed, bytes) = peeks.iter().flatten().fold((0, 0), |(count, bytes), peek| (count + 1, bytes + peek.bytes()));
        let at_once = closed <= READ_AT_ONCE && bytes <= BYTES_READ_AT_ONCE;
        let keeps_indexes = found.len() <= MAX_INDEXES_KEPT;
        let mut parts = Vec::with_capacity(found.len());
        for ((path, found), peek) in found.into_iter().zip(peeks) {
            let part = match (peek.filter(|_| !at_once), found) {
                (Some(peek), _) => Ok(Part::of_peek(&path, peek, opening(&path, limits, keeps_indexes))),
                (None, PathContent::Packed { span, bytes }) => {
                    let held = PartState::Closed { bytes, open: opening(&path, limits, keeps_indexes), peek: None };
                    Ok(Part::closed(&path, span, held))
                }
                (None, found) => open_part(&path, found, limits, key_of),
            };
            match part {
                Err(problem) if self.chosen.contains(&path) => {
                    self.damage.push(problem.to_string());
                    self.unread.get_or_insert(problem);
                }
                part => parts.push(part?),
            }
        }
        match self.unread.take() {
            Some(problem) if parts.is_empty() => Err(problem),
            _ => Ok(parts),
        }
    }
}

/// Opens what is at one path: of a folder or an archive of databases these as one history.
pub(super) fn open_path(path: &str, limits: &Limits, key_of: &KeyOf<'_>) -> Result<Box<dyn Source>> {
    let kept = match open_kept(path, limits) {
        ControlFlow::Break(source) => return Ok(source),
        ControlFlow::Continue(kept) => kept,
    };
    open_content(path, PathContent::at(path, limits, image::open)?, limits, key_of, kept)
}

/// Opens bytes as if they were a file of that name.
pub(super) fn open_image(name: &str, image: Image, limits: &Limits, key_of: &KeyOf<'_>) -> Result<Box<dyn Source>> {
    let found = PathContent::of_image(name, "", image, &reading(limits))?.unwrap_or_else(PathContent::Entry);
    open_content(name, found, limits, key_of, Kept::default())
}

fn open_content(path: &str, found: PathContent, limits: &Limits, key_of: &KeyOf<'_>, kept: Kept) -> Result<Box<dyn Source>> {
    match found {
        PathContent::Chosen(choice) if choice.is_several() => {
            let mut several = Several::default();
            several.add(path, PathContent::Chosen(choice), limits, &mut 0)?;
            let folders = folders(path, &several.found);
            Ok(Box::new(several.fused(None, limits, key_of).map_err(|error| in_folders(path, &folders, error))?))
        }
        found => open_found(path, found, limits, key_of, kept),
    }
}

/// The folders below `path`, or the names if they are in one, that tell databases apart.
fn folders(path: &str, found: &[(String, PathContent)]) -> Vec<String> {
    let mut names: Vec<Vec<&str>> =
        found.iter().map(|(name, _)| name.strip_prefix(path).unwrap_or(name).trim_start_matches([':', '/']).split('/').collect()).collect();
    while let Some(first) = names.first().and_then(|name| name.first()).copied()
        && names.iter().all(|name| name.len() > 1 && name[0] == first)
    {
        names.iter_mut().for_each(|name| *name = name.split_off(1));
    }
    let mut folders: Vec<String> = names.iter().filter_map(|name| name.first()).map(|name| container::shown(name)).collect();
    folders.sort();
    folders.dedup();
    folders
}

/// The error of databases that are not of one cluster, with the folders that they lie in.
fn in_folders(path: &str, folders: &[String], error: Error) -> Error {
    /// More are counted.
    const MAX_FILES_NAMED: usize = 10;
    let Error::Format { problem, .. } = error else { return error };
    let more = if folders.len() > MAX_FILES_NAMED { format!(" and {} more", folders.len() - MAX_FILES_NAMED) } else { String::new() };
    let named = folders.iter().take(MAX_FILES_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    Error::Format { path: path.to_owned(), problem: format!("holds {named}{more}: {problem}, as -f PATH::NAME") }
}

/// Whether a database of this many bytes, with or without the checksum at its end, was compressed.
fn is_packed(path: &str, bytes: u64) -> bool {
    /// A page at most is left out of what cannot be a whole number of them.
    const MAX_PAGE_REST_BYTES: u64 = 1 << 16;
    std::fs::metadata(path).is_ok_and(|file| file.len().abs_diff(bytes) > MAX_PAGE_REST_BYTES)
}

/// Up to this many database files, and this many bytes together, are read at once, so that their damage is known from the beginning.
const READ_AT_ONCE: usize = 16;
const BYTES_READ_AT_ONCE: u64 = 128 << 20;

/// Returns what opens a file later. An index that is there is used; of more files than have theirs kept none is made, as each would replace another's.
fn opening(path: &str, limits: &Limits, keeps_index: bool) -> Opener {
    let (limits, path) = (Limits { finds: Finds::default(), ..limits.clone() }, path.to_owned());
    Box::new(move || open_one(&path, &limits, &|_| None, keeps_index))
}

/// What a file says of itself that can be opened again later.
fn peek(path: &str, found: &PathContent) -> Option<Peek> {
    let (image, can_be_opened) = match found {
        PathContent::File(image) => (image, path != "-" && Path::new(path).is_file()),
        PathContent::Entry(image) => (image, !path.starts_with('-')),
        _ => return None,
    };
    let is_database = || format_of(&image.bytes).is_some_and(|format| format.kind == Some(SourceKind::Db));
    (can_be_opened && is_database()).then(|| Peek::at(image)).flatten()
}

fn open_part(path: &str, found: PathContent, limits: &Limits, key_of: &KeyOf<'_>) -> Result<Part> {
    #[cfg(feature = "recording")]
    if matches!(found, PathContent::Recording) {
        let recording = RecordingSource::open(path)?;
        let (kind, span, cluster_id) = (recording.kind(), recording.whole_span(), recording.cluster_id().map(str::to_owned));
        return Ok(Part::open(path, kind, cluster_id, span, Box::new(recording)));
    }
    let mut builder = VersionsBuilder::within(&limits.budget());
    let mut objects = Objects::new(key_of, limits.budget());
    let loaded = load(path, found, limits, &mut builder, &mut objects).map_err(|problem| problem.of(path))?;
    let (kind, cluster_id) = (loaded.kind, loaded.cluster_id.map(|id| format!("{id:x}")));
    let source = finish(path.to_owned(), builder, objects, vec![loaded])?;
    let part = Part::open(path, kind, cluster_id, source.whole_span(), Box::new(source));
    Ok(if kind == SourceKind::Objects { part.of_some_keys() } else { part })
}
