//! The entries of a folder or an archive with what each is, those of archives among them once more.

use std::path::Path;

use bytes::Bytes;

use super::super::options::{Limits, Reading};
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

impl Found {
    /// Whether it is a part of a member's data dir, and not in it by chance.
    pub(super) fn is_of_member(&self) -> bool {
        self.kind == Kind::Log || self.entry.name == "snap/db" || self.entry.name.ends_with("/snap/db")
    }
}

/// The places of the entries of a kind.
pub(super) fn places(found: &[Found], kind: Kind) -> Vec<usize> {
    (0..found.len()).filter(|&place| found[place].kind == kind).collect()
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
pub(super) fn of_archive(path: &str, archive: &Bytes, within: &str, reading: &Reading<'_>) -> Result<Gathered, String> {
    if let Some(gathered) = reading.limits.finds.take(&place(path, within)) {
        return Ok(gathered);
    }
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
    if let Some(gathered) = reading.limits.finds.take(&place(&path.to_string_lossy(), within)) {
        return Ok(gathered);
    }
    Ok(gather(folder::entries(path)?, within, reading))
}

/// Keeps what was found at a path for who opens it.
pub(super) fn keep(path: &str, within: &str, gathered: Gathered, reading: &Reading<'_>) {
    reading.limits.finds.keep(&place(path, within), || gathered);
}

/// A path and what of it is meant.
fn place(path: &str, within: &str) -> String {
    format!("{path}{WITHIN}{within}")
}

fn listed(archive: &Bytes, reading: &Reading<'_>) -> Result<(Vec<Entry>, Option<String>), String> {
    if tape::looks_like_tar(archive) {
        let listed = tape::entries(archive, reading.limits.unpacked)?;
        return Ok((listed.entries, listed.cut));
    }
    let listed = zip::entries(archive)?;
    Ok((listed.entries, listed.cut))
}

/// As many archives in one another are opened below the outermost: a folder holds the archive of a backup, which holds another of its configuration.
const DEEPEST: usize = 2;

fn gather(entries: Vec<Entry>, within: &str, reading: &Reading<'_>) -> Gathered {
    let gathered = Gathering::new(within, reading, false).all(entries.clone());
    // Where nothing else lies, what is hidden was meant.
    if gathered.found.is_empty() && gathered.unopened.is_empty() { Gathering::new(within, reading, true).all(entries) } else { gathered }
}

/// Entries are being gathered.
struct Gathering<'g> {
    within: &'g str,
    reading: &'g Reading<'g>,
    takes_hidden: bool,
    gathered: Gathered,
    archives: usize,
    /// The bytes that may still be unpacked of the archives in one entry.
    left: u64,
}

impl<'g> Gathering<'g> {
    fn new(within: &'g str, reading: &'g Reading<'g>, takes_hidden: bool) -> Self {
        Self { within, reading, takes_hidden, gathered: Gathered::default(), archives: 0, left: 0 }
    }

    fn all(mut self, entries: Vec<Entry>) -> Gathered {
        for entry in entries {
            self.left = self.reading.limits.unpacked;
            self.add(entry, None, 0);
        }
        self.gathered
    }

    /// Adds an entry of an archive, or what lies in it if it is one.
    fn add(&mut self, entry: Entry, inner: Option<usize>, depth: usize) {
        if !may_hold(&entry.name, self.within) || self.is_hidden(&entry.name) {
            return;
        }
        let kind = Kind::of(&entry, &entry.look().unwrap_or_default());
        if kind == Kind::Archive && depth < DEEPEST {
            return self.open(&entry, depth);
        }
        if is_within(&entry.name, self.within) {
            self.gathered.found.push(Found { entry, kind, inner });
        }
    }

    fn open(&mut self, outer: &Entry, depth: usize) {
        let limits = Limits { unpacked: self.left, ..Limits::default() };
        let image = outer.image(&Reading { limits: &limits, ..*self.reading });
        let opened = image.map_err(|error| error.to_string()).and_then(|image| {
            if !outer.is_as_long_as(&image.bytes) {
                self.left = self.left.saturating_sub(image.bytes.len() as u64);
            }
            listed(&image.bytes, &Reading { limits: &limits, ..*self.reading })
        });
        match opened {
            Ok((entries, cut)) => {
                self.gathered.damage.extend(cut.map(|cut| format!("{}: {cut}", outer.name)));
                let archive = self.archives;
                self.archives += 1;
                for entry in entries {
                    let name = format!("{}{WITHIN}{}", outer.name, entry.name);
                    self.add(Entry { name, ..entry }, Some(archive), depth + 1);
                }
            }
            Err(problem) => self.gathered.unopened.push(format!("{} ({problem})", outer.name)),
        }
    }

    /// Whether a name is of what programs keep for themselves: hidden files, unless they are asked for, and those that macOS adds to its archives.
    fn is_hidden(&self, name: &str) -> bool {
        let below = name.strip_prefix(self.within).unwrap_or(name);
        let is_dotted = |part: &str| part.starts_with('.') && !matches!(part, "." | "..") && !self.takes_hidden;
        below.split('/').flat_map(|part| part.split(WITHIN)).any(|part| part == "__MACOSX" || part.starts_with("._") || is_dotted(part))
    }
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
