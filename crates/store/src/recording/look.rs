//! A look at a recording's directory: what its manifest says, and its files as they are at that moment.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::directory::Directory;
use super::facts::{FileFacts, RecordingScope};
use super::file::RecordingFile;
use super::files::{FilePart, RecordingFiles};
use super::recorder::of_path;
use crate::{Error, Result};

/// How many files, the oldest, are opened with a recording.
const MAX_OPEN_FILES: usize = 64;

pub(super) struct RecordedFile {
    pub facts: FileFacts,
    /// A file that was being written when the recording was opened, as it was then.
    pub open: Option<Arc<RecordingFile>>,
    /// A complete one that was opened with the recording, so that it can be read when it was removed.
    pub held: Option<FilePart>,
}

pub(super) struct DirectoryListing {
    /// What the recording is of.
    pub scope: RecordingScope,
    /// What is wrong, one message per item.
    pub problems: Vec<String>,
    /// The files, in the order of their revisions.
    pub files: Vec<RecordedFile>,
}

impl DirectoryListing {
    /// Looks at the directory at `path`.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub(super) fn at(path: &Path) -> Result<Self> {
        // A file that is completed or removed between two looks at the directory is missing in the first.
        let mut looked = Self::once(path)?;
        for _ in 0..5 {
            if looked.problems.is_empty() {
                break;
            }
            looked = Self::once(path)?;
        }
        Ok(looked)
    }

    /// Looks at the directory, reads the files that are being written and opens those that may be removed soon.
    fn once(path: &Path) -> Result<Self> {
        let location = RecordingFiles::at(path).map_err(|cause| Error::File { path: path.display().to_string(), cause })?;
        let mut directory = Directory::of(path, &location).map_err(|unreadable| of_path(path, unreadable.into()))?;
        // Only what is complete is put into one file.
        let open = location.directory().map_or_else(Vec::new, |path| unfinished(path, &mut directory));
        let mut held = oldest(&location, &mut directory);
        let complete = |facts: FileFacts| RecordedFile { held: held.remove(&facts.name), facts, open: None };
        let mut files: Vec<RecordedFile> = directory.files.into_iter().map(complete).collect();
        files.extend(open.into_iter().map(|file| RecordedFile { facts: file.facts.clone(), open: Some(Arc::new(file)), held: None }));
        files.sort_by_key(|file| (file.facts.covered.first().copied(), file.facts.name.clone()));
        Ok(Self { scope: directory.scope, problems: directory.problems, files })
    }
}

/// Reads the files that are being written.
fn unfinished(path: &Path, directory: &mut Directory) -> Vec<RecordingFile> {
    let mut open = Vec::new();
    for name in &directory.open {
        match RecordingFile::open_unfinished(&path.join(name)) {
            Ok(file) => {
                directory.problems.extend(file.problems.iter().map(|problem| format!("{name} {problem}")));
                if let Some(head) = file.head.as_ref().filter(|_| directory.files.is_empty() && open.is_empty()) {
                    directory.scope = head.scope.clone();
                }
                open.push(file);
            }
            // Its beginning is being written.
            Err(_) if std::fs::symlink_metadata(path.join(name)).is_ok_and(|data| data.is_file() && data.len() == 0) => {}
            Err(problem) => directory.problems.push(format!("{name} {problem}")),
        }
    }
    open
}

/// Opens the oldest files: where less is kept, they go first.
fn oldest(location: &RecordingFiles, directory: &mut Directory) -> BTreeMap<String, FilePart> {
    let mut held = BTreeMap::new();
    for facts in directory.files.iter().take(MAX_OPEN_FILES) {
        match location.open(&facts.name) {
            Ok(file) => drop(held.insert(facts.name.clone(), file)),
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
                let sentence = format!("{} is missing", facts.name);
                if !directory.problems.contains(&sentence) {
                    directory.problems.push(sentence);
                }
            }
            // Reading it reports that.
            Err(_) => {}
        }
    }
    held
}
