//! The entries of a folder or an archive with what each is, those of archives among them once more.

use std::path::Path;

use bytes::Bytes;

use super::super::budget::{Budget, Reservation};
use super::super::options::Reading;
use super::super::sql_dump;
use super::entry::{ContainerEntry, ENTRY_SEPARATOR, MAX_ENTRIES};
use super::kind::{EntryKind, may_configure};
use super::{folder, promise, tape, zip};

pub(super) struct Found {
    pub entry: ContainerEntry,
    pub kind: EntryKind,
    /// The archive within the folder or archive that it lies in, as an index; `None` where it lies in none.
    pub inner: Option<usize>,
    /// Why nothing in it is recognised, or what it is that cannot be read: a fragment.
    pub problem: Option<String>,
    /// Whether it may be configuration of the cluster's programs.
    pub may_configure: bool,
}

impl Found {
    /// Whether it is a part of a member's data dir, and not in it by chance.
    pub(super) fn is_of_member(&self) -> bool {
        self.kind == EntryKind::Log || self.entry.name == "snap/db" || self.entry.name.ends_with("/snap/db")
    }
}

pub(super) fn places(found: &[Found], kind: EntryKind) -> Vec<usize> {
    (0..found.len()).filter(|&place| found[place].kind == kind).collect()
}

/// What lies in a folder or an archive.
pub(super) struct Gathered {
    pub found: Vec<Found>,
    /// What is damaged, each a sentence.
    pub damage: Vec<String>,
    /// Archives within that could not be opened, with the reason.
    pub unopened: Vec<String>,
    /// The memory that all of it takes.
    pub memory: Reservation,
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
    let budget = reading.limits.budget();
    let mut memory = budget.index();
    let (entries, cut) = listed(archive, &budget, &mut memory)?;
    let mut gathered = gather(entries, within, reading, memory)?;
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
    gather(folder::entries(path)?, within, reading, reading.limits.budget().index())
}

/// Keeps what was found at a path for who opens it.
pub(super) fn keep(path: &str, within: &str, gathered: Gathered, reading: &Reading<'_>) {
    reading.limits.finds.keep(&place(path, within), || gathered);
}

/// A path with an optional `::NAME` inside it.
fn place(path: &str, within: &str) -> String {
    format!("{path}{ENTRY_SEPARATOR}{within}")
}

/// The entries of an archive, and why there may be more; `memory` is what they take.
fn listed(archive: &Bytes, budget: &Budget, memory: &mut Reservation) -> Result<(Vec<ContainerEntry>, Option<String>), String> {
    if tape::looks_like_tar(archive) {
        let listed = tape::entries(archive, budget, memory)?;
        return Ok((listed.entries, listed.cut));
    }
    let listed = zip::entries(archive, budget, memory)?;
    Ok((listed.entries, listed.cut))
}

/// As many archives in one another are opened below the outermost: a folder holds the archive of a backup, which holds another of its configuration.
const MAX_ARCHIVE_DEPTH: usize = 2;

fn gather(entries: Vec<ContainerEntry>, within: &str, reading: &Reading<'_>, memory: Reservation) -> Result<Gathered, String> {
    let gathered = Gathering::new(within, reading, false, memory).all(entries.clone())?;
    // Where nothing else lies, what is hidden was meant.
    if gathered.found.is_empty() && gathered.unopened.is_empty() {
        return Gathering::new(within, reading, true, gathered.memory).all(entries);
    }
    Ok(gathered)
}

/// Entries are being gathered.
struct Gathering<'g> {
    within: &'g str,
    reading: &'g Reading<'g>,
    takes_hidden: bool,
    gathered: Gathered,
    archives: usize,
    /// How many entries there are, those of archives within among them.
    entries: usize,
    budget: Budget,
}

impl<'g> Gathering<'g> {
    fn new(within: &'g str, reading: &'g Reading<'g>, takes_hidden: bool, memory: Reservation) -> Self {
        let gathered = Gathered { found: Vec::new(), damage: Vec::new(), unopened: Vec::new(), memory };
        Self { within, reading, takes_hidden, gathered, archives: 0, entries: 0, budget: reading.limits.budget() }
    }

    fn all(mut self, entries: Vec<ContainerEntry>) -> Result<Gathered, String> {
        for entry in entries {
            self.add(entry, None, 0)?;
        }
        Ok(self.gathered)
    }

    /// Adds an entry of an archive, or what lies in it if it is one.
    fn add(&mut self, entry: ContainerEntry, inner: Option<usize>, depth: usize) -> Result<(), String> {
        if !may_hold(&entry.name, self.within) || self.is_hidden(&entry.name) {
            return Ok(());
        }
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            return Err(format!(
                "holds more than {MAX_ENTRIES} files, those in archives within it among them; name the one to read: -f PATH::NAME"
            ));
        }
        let look = entry.look(&self.budget).map_err(|exceeded| exceeded.to_string())?;
        let kind = EntryKind::of(&entry, &look.bytes);
        if kind == EntryKind::Archive && depth < MAX_ARCHIVE_DEPTH {
            return self.open(&entry, depth);
        }
        if is_within(&entry.name, self.within) {
            let problem = match kind {
                EntryKind::SqlDump => sql_dump::recognised(entry.file_name(), &look.bytes),
                EntryKind::Other => promise::broken(&entry, &look),
                _ => None,
            };
            let may_configure = matches!(kind, EntryKind::Objects | EntryKind::Other) && may_configure(&look.bytes);
            self.gathered.found.push(Found { entry, kind, inner, problem, may_configure });
        }
        Ok(())
    }

    fn open(&mut self, outer: &ContainerEntry, depth: usize) -> Result<(), String> {
        let image = outer.image(self.reading).map_err(|error| error.to_string());
        let opened = image.and_then(|image| listed(&image.bytes, &self.budget, &mut self.gathered.memory));
        match opened {
            Ok((entries, cut)) => {
                self.gathered.damage.extend(cut.map(|cut| format!("{}: {cut}", outer.name)));
                let archive = self.archives;
                self.archives += 1;
                for entry in entries {
                    let name = format!("{}{ENTRY_SEPARATOR}{}", outer.name, entry.name);
                    self.add(ContainerEntry { name, ..entry }, Some(archive), depth + 1)?;
                }
            }
            Err(problem) => self.gathered.unopened.push(format!("{} ({problem})", outer.name)),
        }
        Ok(())
    }

    /// Whether a name is of what programs keep for themselves: hidden files, unless they are asked for, and those that macOS adds to its archives.
    fn is_hidden(&self, name: &str) -> bool {
        let below = name.strip_prefix(self.within).unwrap_or(name);
        let is_dotted = |part: &str| part.starts_with('.') && !matches!(part, "." | "..") && !self.takes_hidden;
        below
            .split('/')
            .flat_map(|part| part.split(ENTRY_SEPARATOR))
            .any(|part| part == "__MACOSX" || part.starts_with("._") || is_dotted(part))
    }
}

/// Whether an entry is what was asked for, or lies in it.
fn is_within(name: &str, within: &str) -> bool {
    let below = name.strip_prefix(within.trim_end_matches('/'));
    within.is_empty() || below.is_some_and(|below| below.is_empty() || below.starts_with('/') || below.starts_with(ENTRY_SEPARATOR))
}

/// Whether an entry is what was asked for, lies in it, or is an archive that may hold it.
fn may_hold(name: &str, within: &str) -> bool {
    is_within(name, within) || within.strip_prefix(name).is_some_and(|rest| rest.starts_with(ENTRY_SEPARATOR))
}
