//! The entries of a folder or an archive with what each is, those of archives among them once more.

use std::path::Path;

use bytes::Bytes;

use super::super::options::Reading;
use super::entry::{Entry, WITHIN};
use super::kind::Kind;
use super::{folder, tape, zip};

/// An entry and what it is.
pub(super) struct Found {
    pub entry: Entry,
    pub kind: Kind,
    /// The archive within the folder or archive that it lies in, as an index; `None` where it lies in none.
    pub inner: Option<usize>,
}

/// What lies in a folder or an archive.
#[derive(Default)]
pub(super) struct Gathered {
    pub found: Vec<Found>,
    /// What is damaged, each a sentence.
    pub damage: Vec<String>,
    /// Archives within that could not be opened, with the reason.
    pub unopened: Vec<String>,
}

/// What lies in an archive, or in one part of it.
///
/// # Errors
///
/// A fragment: nothing of it can be read, or it holds too many entries.
pub(super) fn of_archive(archive: &Bytes, within: &str, reading: &Reading<'_>) -> Result<Gathered, String> {
    let (entries, cut) = listed(archive, reading)?;
    let mut gathered = gather(entries, within, reading);
    gathered.damage.extend(cut);
    Ok(gathered)
}

/// What lies in a folder, or in one part of it.
///
/// # Errors
///
/// As of [`of_archive`].
pub(super) fn of_folder(path: &Path, within: &str, reading: &Reading<'_>) -> Result<Gathered, String> {
    Ok(gather(folder::entries(path)?, within, reading))
}

fn listed(archive: &Bytes, reading: &Reading<'_>) -> Result<(Vec<Entry>, Option<String>), String> {
    if tape::looks_like_tar(archive) {
        let listed = tape::entries(archive, reading.limits.unpacked)?;
        return Ok((listed.entries, listed.cut));
    }
    let listed = zip::entries(archive)?;
    Ok((listed.entries, listed.cut))
}

fn gather(entries: Vec<Entry>, within: &str, reading: &Reading<'_>) -> Gathered {
    let mut gathered = Gathered::default();
    let mut archives = 0;
    for entry in entries.into_iter().filter(|entry| !is_hidden(&entry.name) && may_hold(&entry.name, within)) {
        let bytes = entry.look().unwrap_or_default();
        let kind = Kind::of(&entry, &bytes);
        drop(bytes);
        if kind != Kind::Archive {
            if is_within(&entry.name, within) {
                gathered.found.push(Found { entry, kind, inner: None });
            }
            continue;
        }
        let opened = entry.image(reading).map_err(|error| error.to_string()).and_then(|image| listed(&image.bytes, reading));
        match opened {
            Ok((inner, cut)) => {
                gathered.damage.extend(cut.map(|cut| format!("{}: {cut}", entry.name)));
                gathered.found.extend(inner.into_iter().filter_map(|inner| of_inner(&entry, inner, within, archives)));
                archives += 1;
            }
            Err(problem) => gathered.unopened.push(format!("{} ({problem})", entry.name)),
        }
    }
    gathered
}

/// An entry of an archive within; an archive in that is not opened.
fn of_inner(outer: &Entry, inner: Entry, within: &str, archive: usize) -> Option<Found> {
    if is_hidden(&inner.name) {
        return None;
    }
    let kind = Kind::of(&inner, &inner.look().unwrap_or_default());
    let entry = Entry { name: format!("{}{WITHIN}{}", outer.name, inner.name), body: inner.body };
    is_within(&entry.name, within).then_some(Found { entry, kind, inner: Some(archive) })
}

/// Whether a name is of what programs keep for themselves: hidden files, and those that macOS adds to its archives.
fn is_hidden(name: &str) -> bool {
    name.split('/').any(|part| part == "__MACOSX" || part.starts_with('.') && !matches!(part, "." | ".."))
}

/// Whether an entry is what was asked for, or lies in it.
fn is_within(name: &str, within: &str) -> bool {
    let below = name.strip_prefix(within.trim_end_matches('/'));
    within.is_empty() || below.is_some_and(|below| below.is_empty() || below.starts_with('/') || below.starts_with(WITHIN))
}

/// Whether an entry is what was asked for, lies in it, or is an archive that may hold it.
fn may_hold(name: &str, within: &str) -> bool {
    is_within(name, within) || within.strip_prefix(name).is_some_and(|rest| rest.starts_with(WITHIN))
}
