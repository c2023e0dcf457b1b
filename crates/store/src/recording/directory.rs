//! The files of a recording: what the manifest lists, what was completed since it was written, and the file that is being written.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::facts::{FORMAT, FileFacts, FileKind, Scope};
use super::file::RecordingFile;
use super::segment::{hex, private};

const MANIFEST: &str = "manifest.json";
/// The manifest while it is written.
const NEW_MANIFEST: &str = "manifest.json.tmp";

/// What the manifest says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub format: u32,
    #[serde(flatten)]
    pub scope: Scope,
    pub files: Vec<FileFacts>,
}

/// The manifest as it lies in its file, sealed with a hash.
#[derive(Serialize, Deserialize)]
struct Sealed {
    recording: Box<RawValue>,
    sha256: String,
}

/// Why a directory is no recording that can be read.
#[derive(Debug)]
pub(super) enum Unreadable {
    Io(PathBuf, io::Error),
    Format(String),
}

impl From<Unreadable> for crate::Error {
    fn from(unreadable: Unreadable) -> Self {
        match unreadable {
            Unreadable::Io(path, cause) => Self::File { path: path.display().to_string(), cause },
            Unreadable::Format(problem) => Self::Format { path: String::new(), problem },
        }
    }
}

/// The name of a file.
pub(super) fn name(number: u64, kind: FileKind) -> String {
    match kind {
        FileKind::Changes => format!("{number:010}.changes"),
        FileKind::State => format!("{number:010}.state"),
    }
}

/// The name of a file while it is written. A state that was not completed is of no use; changes are.
pub(super) fn name_while_written(number: u64, kind: FileKind) -> String {
    let suffix = match kind {
        FileKind::Changes => "open",
        FileKind::State => "tmp",
    };
    format!("{}.{suffix}", name(number, kind))
}

/// The number and the kind that a file's name says, and whether it is still being written.
fn parse(name: &str) -> Option<(u64, FileKind, bool)> {
    let (number, rest) = name.split_once('.')?;
    let number = number.parse().ok().filter(|_| number.len() == 10)?;
    let (kind, is_open) = match rest {
        "changes" => (FileKind::Changes, false),
        "changes.open" => (FileKind::Changes, true),
        "state" => (FileKind::State, false),
        _ => return None,
    };
    Some((number, kind, is_open))
}

/// Whether a directory is a recording, or what is left of one.
pub(crate) fn is_recording(directory: &Path) -> bool {
    let is_file = |entry: io::Result<fs::DirEntry>| entry.is_ok_and(|entry| parse(&entry.file_name().to_string_lossy()).is_some());
    directory.join(MANIFEST).is_file() || fs::read_dir(directory).is_ok_and(|mut entries| entries.any(is_file))
}

/// The files of a recording.
pub(super) struct Directory {
    pub scope: Scope,
    /// The complete files, in the order of their numbers.
    pub files: Vec<FileFacts>,
    /// The file that is being written, or was when its writer ended.
    pub open: Option<PathBuf>,
    /// What is wrong with it, each a sentence.
    pub problems: Vec<String>,
    /// The next file's number.
    pub next_number: u64,
    /// Files that are no part of it any more.
    pub leftover: Vec<PathBuf>,
}

impl Directory {
    /// Looks at a directory.
    pub(super) fn read(path: &Path) -> Result<Self, Unreadable> {
        let failed = |cause| Unreadable::Io(path.to_owned(), cause);
        // The manifest is read before the directory: what is completed between is found in the directory.
        let (manifest, mut problems) = read_manifest(path)?;
        let names = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>).map_err(failed)?;
        let names: BTreeSet<String> = names.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        let is_new = !names.contains(MANIFEST);
        let manifest = manifest.unwrap_or_default();
        let mut directory =
            Self { scope: manifest.scope, files: Vec::new(), open: None, problems: Vec::new(), next_number: 1, leftover: Vec::new() };
        let mut has_scope = problems.is_empty() && !is_new;
        for facts in manifest.files {
            if facts.removed {
                directory.leftover.push(path.join(&facts.name));
            } else if parse(&facts.name).is_none_or(|(_, kind, is_open)| is_open || kind != facts.kind) {
                problems.push(format!("the manifest lists {:?}, which is not the name of a recording's file", facts.name));
            } else {
                if !names.contains(&facts.name) {
                    problems.push(format!("{} is missing", facts.name));
                }
                directory.files.push(facts);
            }
        }
        let listed: BTreeSet<String> = directory.files.iter().map(|facts| facts.name.clone()).collect();
        for name in &names {
            let Some((number, kind, is_open)) = parse(name) else {
                if name.ends_with(".tmp") {
                    directory.leftover.push(path.join(name));
                }
                continue;
            };
            directory.next_number = directory.next_number.max(number + 1);
            if is_open {
                // Where the file was given its name, this one is gone a moment later.
                if !names.contains(&super::directory::name(number, kind)) {
                    directory.open = Some(path.join(name));
                }
            } else if !listed.contains(name) && !directory.leftover.contains(&path.join(name)) {
                match RecordingFile::open_unknown(&path.join(name)) {
                    Ok(file) => {
                        problems.extend(file.problems.iter().map(|problem| format!("{name} {problem}")));
                        if let Some(head) = file.head.filter(|_| !has_scope) {
                            (directory.scope, has_scope) = (head.scope, true);
                        }
                        directory.files.push(file.facts);
                    }
                    Err(problem) => problems.push(format!("{name} {problem}")),
                }
            }
        }
        directory.files.sort_by(|one, other| one.name.cmp(&other.name));
        directory.problems = problems;
        Ok(directory)
    }

    /// What the manifest says of it.
    pub(super) fn manifest(&self) -> Manifest {
        Manifest { format: FORMAT, scope: self.scope.clone(), files: self.files.clone() }
    }
}

/// Reads the manifest; what is wrong with it where it cannot be read.
fn read_manifest(directory: &Path) -> Result<(Option<Manifest>, Vec<String>), Unreadable> {
    let path = directory.join(MANIFEST);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok((None, Vec::new())),
        Err(cause) if cause.kind() == io::ErrorKind::InvalidData => String::new(),
        Err(cause) => return Err(Unreadable::Io(path, cause)),
    };
    let sealed: Option<Sealed> = serde_json::from_str(&text).ok();
    let holds = |sealed: &Sealed| sealed.sha256 == hex(Sha256::digest(sealed.recording.get()).as_slice());
    let manifest: Option<Manifest> = sealed.filter(holds).and_then(|sealed| serde_json::from_str(sealed.recording.get()).ok());
    match manifest {
        Some(Manifest { format, .. }) if format != FORMAT => {
            Err(Unreadable::Format(format!("is of version {format} of the recordings' format; this ketcd reads version {FORMAT}")))
        }
        Some(manifest) => Ok((Some(manifest), Vec::new())),
        None => Ok((None, vec![format!("{MANIFEST} is damaged: its SHA-256 does not hold; its files were read in its place")])),
    }
}

impl Manifest {
    /// Replaces the manifest of a directory; on the disk when it returns.
    pub(super) fn write(&self, directory: &Path) -> io::Result<()> {
        let recording = serde_json::value::to_raw_value(self)?;
        let sha256 = hex(Sha256::digest(recording.get()).as_slice());
        let text = serde_json::to_vec(&Sealed { recording, sha256 })?;
        let new = directory.join(NEW_MANIFEST);
        if let Err(cause) = fs::remove_file(&new)
            && cause.kind() != io::ErrorKind::NotFound
        {
            return Err(cause);
        }
        let mut file = private().create_new(true).open(&new)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&new, directory.join(MANIFEST))?;
        sync_directory(directory)
    }
}

/// Waits until the names in a directory are on the disk.
pub(super) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}
