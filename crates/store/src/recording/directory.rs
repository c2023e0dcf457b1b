//! The files of a recording: what the manifest lists, what was completed since it was written, and what is being written. A manifest's names are names of
//! a recording's files, and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::disk;
use super::facts::{FORMAT_VERSION, FileFacts, FileKind, RecordingScope, unknown_format};
use super::file::{RecordingFile, unreadable};
use super::files::RecordingFiles;
use super::packed::MANIFEST_NAME;
use super::segment::hex;

/// The manifest while it is written.
const NEW_MANIFEST: &str = "manifest.json.tmp";
/// The most bytes of a manifest: those of a million files.
const MOST_MANIFEST: u64 = 256 << 20;
/// The largest number that a name holds.
pub(super) const LAST_NUMBER: u64 = 9_999_999_999;

/// What the manifest says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub format: u32,
    #[serde(flatten)]
    pub scope: RecordingScope,
    pub files: Vec<FileFacts>,
}

/// The manifest as it lies in its file, sealed with a hash.
#[derive(Serialize, Deserialize)]
struct Sealed {
    recording: Box<RawValue>,
    sha256: String,
}

/// Why a directory is not a readable recording.
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

/// How far a file has come, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Complete,
    /// Changes that are being written.
    Open,
    /// A state that was not completed.
    Temporary,
}

/// The number, the kind and the stage that a file's name says; `None` where it is not the name of a recording's file.
fn parse(name: &str) -> Option<(u64, FileKind, Stage)> {
    let (number, rest) = name.split_once('.')?;
    let number = number.parse().ok().filter(|_| number.len() == 10 && number.bytes().all(|byte| byte.is_ascii_digit()))?;
    let (kind, stage) = match rest {
        "changes" => (FileKind::Changes, Stage::Complete),
        "changes.open" => (FileKind::Changes, Stage::Open),
        "state" => (FileKind::State, Stage::Complete),
        "state.tmp" => (FileKind::State, Stage::Temporary),
        _ => return None,
    };
    Some((number, kind, stage))
}

/// Whether a file is one that a recorder replaces or removes when it begins.
pub(super) fn is_temporary(name: &str) -> bool {
    name == NEW_MANIFEST || parse(name).is_some_and(|(_, _, stage)| stage == Stage::Temporary)
}

/// Whether a directory is a recording, or what is left of one.
pub(crate) fn is_recording(directory: &Path) -> bool {
    let is_file = |name: &String| parse(name).is_some_and(|(_, _, stage)| stage != Stage::Temporary);
    disk::is_plain(&directory.join(MANIFEST_NAME)) || disk::names(directory).is_ok_and(|names| names.iter().any(is_file))
}

pub(super) struct Directory {
    pub scope: RecordingScope,
    /// The complete files, in the order of their numbers.
    pub files: Vec<FileFacts>,
    /// The names of files of changes that are being written, or were when their writers ended; ascending.
    pub open: Vec<String>,
    /// What is wrong with it, each a sentence.
    pub problems: Vec<String>,
    /// The next file's number.
    pub next_number: u64,
    /// The names of files that do not belong to it any more.
    pub leftover: BTreeSet<String>,
}

impl Directory {
    pub(super) fn read(path: &Path) -> Result<Self, Unreadable> {
        Self::of(path, &RecordingFiles::Directory(path.to_owned()))
    }

    /// Looks at the files at a path, wherever they lie.
    pub(super) fn of(path: &Path, files: &RecordingFiles) -> Result<Self, Unreadable> {
        // The manifest is read before the directory: what is completed between is found in the directory.
        let (manifest, mut problems) = read_manifest(path, files)?;
        let names = files.names().map_err(|cause| Unreadable::Io(path.to_owned(), cause))?;
        let has_scope = problems.is_empty() && names.contains(MANIFEST_NAME);
        problems.extend_from_slice(files.problems());
        let manifest = manifest.unwrap_or_default();
        let scope = manifest.scope;
        let mut directory = Self { scope, files: Vec::new(), open: Vec::new(), problems, next_number: 1, leftover: BTreeSet::new() };
        directory.list(manifest.files, &names);
        directory.find(path, files, &names, has_scope);
        directory.files.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(directory)
    }

    fn list(&mut self, files: Vec<FileFacts>, names: &BTreeSet<String>) {
        let mut listed = BTreeSet::new();
        for facts in files {
            let is_name = parse(&facts.name).is_some_and(|(_, kind, stage)| stage == Stage::Complete && kind == facts.kind);
            if !is_name {
                self.problems.push(format!("the manifest lists {:?}, which is not the name of a recording's file", facts.name));
            } else if !facts.are_possible() || !listed.insert(facts.name.clone()) {
                self.problems.push(format!("what the manifest says of {} cannot be true", facts.name));
            } else if facts.removed {
                self.leftover.insert(facts.name);
            } else {
                if !names.contains(&facts.name) {
                    self.problems.push(format!("{} is missing", facts.name));
                }
                self.files.push(facts);
            }
        }
    }

    /// Finds what the manifest does not list.
    fn find(&mut self, path: &Path, files: &RecordingFiles, names: &BTreeSet<String>, mut has_scope: bool) {
        let listed: BTreeSet<String> = self.files.iter().map(|facts| facts.name.clone()).collect();
        for name in names {
            let Some((number, _, stage)) = parse(name) else {
                self.leftover.extend(is_temporary(name).then(|| name.clone()));
                continue;
            };
            self.next_number = self.next_number.max(number + 1);
            match stage {
                Stage::Open => self.open.push(name.clone()),
                Stage::Temporary => drop(self.leftover.insert(name.clone())),
                Stage::Complete if listed.contains(name) || self.leftover.contains(name) => {}
                Stage::Complete => {
                    match files.open(name).map_err(unreadable).and_then(|part| RecordingFile::open_unknown(&path.join(name), part)) {
                        Ok(file) => {
                            self.problems.extend(file.problems.iter().map(|problem| format!("{name} {problem}")));
                            if let Some(head) = file.head.filter(|_| !has_scope) {
                                (self.scope, has_scope) = (head.scope, true);
                            }
                            self.files.push(file.facts);
                        }
                        Err(problem) => self.problems.push(format!("{name} {problem}")),
                    }
                }
            }
        }
    }

    pub(super) fn manifest(&self) -> Manifest {
        Manifest { format: FORMAT_VERSION, scope: self.scope.clone(), files: self.files.clone() }
    }
}

/// Reads the manifest; what is wrong with it where it cannot be read.
fn read_manifest(path: &Path, files: &RecordingFiles) -> Result<(Option<Manifest>, Vec<String>), Unreadable> {
    let text = match files.read(MANIFEST_NAME, MOST_MANIFEST) {
        Ok(text) => text,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok((None, Vec::new())),
        Err(cause) => return Err(Unreadable::Io(path.join(MANIFEST_NAME), cause)),
    };
    let sealed: Option<Sealed> = serde_json::from_slice(&text).ok();
    let holds = |sealed: &Sealed| sealed.sha256 == hex(Sha256::digest(sealed.recording.get()).as_slice());
    let manifest: Option<Manifest> = sealed.filter(holds).and_then(|sealed| serde_json::from_str(sealed.recording.get()).ok());
    match manifest {
        Some(manifest) => match unknown_format(manifest.format) {
            Some(problem) => Err(Unreadable::Format(problem)),
            None => Ok((Some(manifest), Vec::new())),
        },
        None => Ok((None, vec![format!("{MANIFEST_NAME} is damaged: its SHA-256 does not match; its files were read in its place")])),
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
        let mut file = disk::create(&new)?;
        disk::append(&mut file, &text)?;
        disk::rename(&mut file, &new, &directory.join(MANIFEST_NAME))?;
        disk::sync_directory(directory)
    }
}
