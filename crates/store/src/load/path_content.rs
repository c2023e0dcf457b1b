//! Recognises what is at one path, and opens it.

use std::ops::ControlFlow;
use std::path::Path;

use super::container::{self, Choice, Chosen, ENTRY_SEPARATOR, name_within};
use super::data_dir;
use super::format::Loading;
use super::formats::{format_of, load_choice, load_image, reading};
use super::gardener;
use super::image::{self, Image};
use super::index_cache::{IndexFile, KeptIndex as Index};
use super::indexed_files::{Loaded, finish, source};
#[cfg(feature = "kine")]
use super::kine;
use super::objects::Objects;
use super::options::{KeyOf, Limits, Reading};
use super::problem::LoadProblem;
#[cfg(feature = "recording")]
use crate::recording::{self, RecordingSource};
use crate::versions::VersionsBuilder;
use crate::{Companion, Error, Result, RevisionSpan, Source, SourceKind};

pub(super) enum PathContent {
    #[cfg(feature = "recording")]
    Recording,
    Directory,
    File(Image),
    /// A database in a folder or an archive of several.
    Entry(Image),
    /// What was chosen of a folder or an archive.
    Chosen(Box<Choice>),
    /// A compressed database that was looked into and is not kept unpacked.
    Packed {
        span: RevisionSpan,
        bytes: u64,
    },
}

impl PathContent {
    /// Looks at a path; `open` opens a file.
    pub(super) fn at(path: &str, limits: &Limits, open: fn(&str, &Reading<'_>) -> Result<Image>) -> Result<Self> {
        #[cfg(feature = "recording")]
        if is_recording(path) {
            return Ok(Self::Recording);
        }
        let (path, within) = split(path);
        let reading = reading(limits);
        if image::is_directory(path) {
            if within.is_empty() && is_known_folder(Path::new(path)) {
                return Ok(Self::Directory);
            }
            let choice = container::of_folder(Path::new(path), within, &reading).map_err(|problem| problem.of(path))?;
            return Ok(Self::Chosen(Box::new(choice)));
        }
        if let Some(chain) = gardener::of_lzw_file(Path::new(path)).filter(|_| within.is_empty()) {
            return Ok(Self::Chosen(Box::new(Choice::of(Chosen::Chain(chain)))));
        }
        Self::of_image(path, within, open(path, &reading)?, &reading).map(|found| found.unwrap_or_else(Self::File))
    }

    /// What is chosen of an image that is an archive; or else the image.
    pub(super) fn of_image(path: &str, within: &str, image: Image, reading: &Reading<'_>) -> Result<std::result::Result<Self, Image>> {
        let is_archive = !image.bytes.is_empty() && format_of(&image.bytes).is_some_and(|format| format.kind.is_none());
        if !is_archive && !within.is_empty() {
            let problem = format!("is not an archive, so {} cannot be read in it", container::shown(within));
            return Err(Error::Format { path: path.to_owned(), problem });
        }
        if !is_archive {
            return Ok(Err(image));
        }
        let mut choice = container::of_archive(path, &image.bytes, within, reading).map_err(|problem| problem.of(path))?;
        choice.damage.extend(image.cut);
        Ok(Ok(Self::Chosen(Box::new(choice))))
    }

    /// Whether it is nothing that etcd or kine wrote.
    pub(super) fn is_objects(&self) -> bool {
        let bytes = match self {
            Self::File(Image { bytes, .. }) => bytes,
            Self::Chosen(choice) => return matches!(choice.chosen, Chosen::Objects(_) | Chosen::Keys(_)),
            _ => return false,
        };
        !bytes.is_empty() && format_of(bytes).is_some_and(|format| format.kind == Some(SourceKind::Objects))
    }
}

/// Where the index of a file is kept.
#[derive(Default)]
pub(super) struct Kept {
    place: Option<IndexFile>,
    /// Why an index that is there does not count.
    foreign: Option<String>,
}

/// Opens a large database by the index that was kept of it; where none was, says where one may be.
pub(super) fn open_kept(path: &str, limits: &Limits) -> ControlFlow<Box<dyn Source>, Kept> {
    // A pipe can be opened once.
    let place = limits.cache.as_ref().filter(|_| Path::new(path).is_file()).and_then(|cache| IndexFile::of(path, cache));
    let mut foreign = None;
    match place.as_ref().map(|place| place.read(limits)) {
        Some(Index::Index(found)) => {
            let (versions, facts) = *found;
            return ControlFlow::Break(Box::new(source(
                path.to_owned(),
                versions,
                vec![Loaded { is_kept: true, ..Loaded::new(SourceKind::Db, path.to_owned(), facts) }],
            )));
        }
        Some(Index::Foreign(why)) => foreign = Some(why),
        Some(Index::Nothing) | None => {}
    }
    ControlFlow::Continue(Kept { place, foreign })
}

/// Opens what is at one path; of a large database by the index that was kept of it. Where none was, one is made if `keeps_index`.
pub(super) fn open_one(path: &str, limits: &Limits, key_of: &KeyOf<'_>, keeps_index: bool) -> Result<Box<dyn Source>> {
    match open_kept(path, limits) {
        ControlFlow::Break(source) => Ok(source),
        ControlFlow::Continue(kept) => {
            let kept = Kept { place: kept.place.filter(|_| keeps_index), ..kept };
            open_found(path, PathContent::at(path, limits, image::open)?, limits, key_of, kept)
        }
    }
}

/// Opens what was found at a path, and keeps its index.
pub(super) fn open_found(path: &str, found: PathContent, limits: &Limits, key_of: &KeyOf<'_>, kept: Kept) -> Result<Box<dyn Source>> {
    let Kept { place, foreign } = kept;
    #[cfg(feature = "recording")]
    if matches!(found, PathContent::Recording) {
        return Ok(Box::new(RecordingSource::open(path)?));
    }
    let (mut builder, mut objects) = (VersionsBuilder::within(&limits.budget()), Objects::new(key_of, limits.budget()));
    let mut loaded = load(path, found, limits, &mut builder, &mut objects).map_err(|problem| problem.of(path))?;
    let keeps = place.filter(|place| loaded.kind == SourceKind::Db && !loaded.is_archived && place.keeps(&loaded.facts));
    let keeps = keeps.map(|place| (place, loaded.facts.clone()));
    // Whether the index would have been of the file is not looked at.
    loaded.facts.notes.extend(foreign.filter(|_| keeps.is_some()));
    let source = finish(path.to_owned(), builder, objects, vec![loaded])?;
    Ok(Box::new(match keeps {
        // An index that cannot be kept is made again.
        Some((place, facts)) => source.when_sound(move |versions| drop(place.write(versions, &facts))),
        None => source,
    }))
}

/// The path of a folder or an archive, and the name of what is meant in it; empty where all of it is.
pub(super) fn split(path: &str) -> (&str, &str) {
    if path == "-" || Path::new(path).exists() {
        return (path, "");
    }
    let places = path.match_indices(ENTRY_SEPARATOR).map(|(at, _)| (&path[..at], &path[at + ENTRY_SEPARATOR.len()..]));
    places.into_iter().find(|(before, _)| Path::new(before).exists()).unwrap_or((path, ""))
}

/// Whether a folder is a member's data dir or a k3s server's, whose other files are not databases of their own.
pub(super) fn is_known_folder(path: &Path) -> bool {
    #[cfg(feature = "kine")]
    if kine::in_directory(path).is_some() {
        return true;
    }
    data_dir::is_there(path)
}

#[cfg(feature = "recording")]
fn is_recording(path: &str) -> bool {
    let path = Path::new(path);
    match path.is_dir() {
        true => !data_dir::is_there(path) && recording::is_recording(path),
        false => recording::is_packed(path),
    }
}

pub(super) fn load(
    path: &str,
    found: PathContent,
    limits: &Limits,
    builder: &mut VersionsBuilder,
    objects: &mut Objects<'_>,
) -> Result<Loaded, LoadProblem> {
    let mut loading = Loading { reading: reading(limits), builder, objects, has_path: true };
    match found {
        PathContent::File(image) => load_image(&mut loading, path, image),
        PathContent::Entry(image) => {
            loading.has_path = false;
            load_image(&mut loading, path, image)
        }
        PathContent::Chosen(choice) => load_choice(&mut loading, path, *choice),
        PathContent::Packed { .. } => {
            let image = image::open(path, &loading.reading)?;
            load_image(&mut loading, path, image)
        }
        #[cfg(feature = "recording")]
        PathContent::Recording => load_directory(&mut loading, path),
        PathContent::Directory => load_directory(&mut loading, path),
    }
}

/// Loads a member's data dir, or a directory of k3s, with the configuration that lies in it.
fn load_directory(loading: &mut Loading<'_, '_>, path: &str) -> Result<Loaded, LoadProblem> {
    let companions = container::of_known_folder(Path::new(path), &loading.reading);
    let companions = companions.into_iter().map(|one| Companion { place: name_within(path, &one.place), ..one }).collect();
    Ok(Loaded { companions, ..load_known_folder(loading, path)? })
}

fn load_known_folder(loading: &mut Loading<'_, '_>, path: &str) -> Result<Loaded, LoadProblem> {
    #[cfg(feature = "kine")]
    if let Some(database) = kine::in_directory(Path::new(path)).filter(|_| !data_dir::is_there(Path::new(path))) {
        // Only its leftovers may be there.
        let image = if database.exists() { image::open(&database.to_string_lossy(), &loading.reading)? } else { image::none() };
        let path = database.to_string_lossy();
        let files = kine::Files::with_log(&path, image, &loading.reading)?;
        return super::formats::kine(loading, &path, files);
    }
    let (facts, cluster_id) = data_dir::read(Path::new(path), &loading.reading, loading.builder)?;
    Ok(Loaded { cluster_id, ..Loaded::new(SourceKind::DataDir, path.to_owned(), facts) })
}
