//! Writes a recording: takes what a listing and a watch of etcd bring, and never asks etcd itself.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::directory::{Directory, name, name_while_written, sync_directory};
use super::facts::{FileFacts, FileKind, MissingRevisions, Scope};
use super::keep::{self, Keep};
use super::segment::{SegmentWriter, private};
use crate::{Error, Event, EventKind, KeyValue, Result, Revision};

/// When a file is full, and what is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecorderOptions {
    /// A file is complete when it has so many bytes,
    pub file_bytes: u64,
    /// or is so old.
    pub file_age: Duration,
    /// What is kept; everything where it is `None`.
    pub keep: Option<Keep>,
}

impl Default for RecorderOptions {
    fn default() -> Self {
        Self { file_bytes: 64 << 20, file_age: Duration::from_secs(3600), keep: None }
    }
}

/// The most keys of one file: its index is in memory while it is written.
const MOST_KEYS: usize = 100_000;
/// Changes are written when they are so many bytes, however few.
const MOST_PENDING: usize = 1 << 20;
/// A new state is due when the last is so old,
const STATE_AGE: Duration = Duration::from_secs(24 * 3600);
/// or the changes since are so many times as large: then states take a fifth of the space.
const STATE_SHARE: u64 = 4;

/// How far a recording has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// The last revision that is on the disk.
    pub revision: Revision,
    /// The changes that were recorded since the recorder began.
    pub changes: u64,
    /// The bytes of the recording.
    pub bytes: u64,
    /// The files of the recording.
    pub files: usize,
}

/// A recording that is being written. Dropped without [`Recorder::flush`], it loses what was not flushed, as a kill does.
pub struct Recorder {
    path: PathBuf,
    directory: Directory,
    options: RecorderOptions,
    /// Held as long as the recorder lives.
    _lock: File,
    changes: Option<SegmentWriter>,
    changes_name: String,
    state: Option<(SegmentWriter, String, i64)>,
    /// All revisions up to this one are recorded or known to be missing; `None` before anything is.
    upto: Option<i64>,
    /// The last revision whose changes were all taken.
    complete: i64,
    pending: usize,
    /// The first revision of what was recorded without a gap up to now: a state at it or later makes it readable.
    run: i64,
    recorded: u64,
    bytes_since_state: u64,
    /// When the last change was taken that is not flushed yet, in milliseconds since 1970.
    began_pending: Option<i64>,
}

impl Recorder {
    /// Begins a recording in a directory, which is made if it is not there, or goes on with the one that is in it.
    ///
    /// # Errors
    ///
    /// Another recorder writes there; it is a recording of something else, or damaged so that it is not known of what; files cannot be read or
    /// written.
    pub fn open(path: &Path, scope: &Scope, options: RecorderOptions) -> Result<Self> {
        make(path).map_err(failed(path))?;
        let lock_path = path.join("lock");
        let lock = private().create(true).open(&lock_path).map_err(failed(&lock_path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(refuse(path, "another ketcd record writes to it".to_owned())),
            Err(TryLockError::Error(cause)) => return Err(failed(&lock_path)(cause)),
        }
        let mut directory = Directory::read(path).map_err(|unreadable| of_path(path, unreadable.into()))?;
        let is_new = directory.files.is_empty() && directory.open.is_none() && !super::is_recording(path);
        let foreign = is_new.then(|| foreign_file(path)).flatten();
        if let Some(foreign) = foreign {
            return Err(refuse(path, format!("is no recording and holds other files ({foreign}); name an empty directory or a new one")));
        }
        if is_new {
            directory.scope = scope.clone();
        } else if let Some(problem) = difference(&directory.scope, scope) {
            return Err(refuse(path, problem));
        }
        let mut recorder = Self {
            path: path.to_owned(),
            directory,
            options,
            _lock: lock,
            changes: None,
            changes_name: String::new(),
            state: None,
            upto: None,
            complete: 0,
            pending: 0,
            run: 0,
            recorded: 0,
            bytes_since_state: 0,
            began_pending: None,
        };
        recorder.resume()?;
        Ok(recorder)
    }

    /// Takes up what is in the directory.
    fn resume(&mut self) -> Result<()> {
        for leftover in std::mem::take(&mut self.directory.leftover) {
            match fs::remove_file(&leftover) {
                Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(failed(&leftover)(cause)),
                _ => {}
            }
        }
        if let Some(open) = self.directory.open.take() {
            self.take_up(&open)?;
        }
        // Only what is on the disk counts: files that are missing or damaged stay listed, so that what is lost is said.
        let mut runs: Vec<(i64, i64)> =
            self.directory.files.iter().filter(|file| file.kind == FileKind::Changes).flat_map(|file| file.covered.clone()).collect();
        runs.extend(self.changes.iter().flat_map(|segment| segment.facts.covered.clone()));
        runs.sort_unstable();
        for (after, upto) in runs {
            if self.upto.is_none_or(|known| known < after) {
                self.run = after;
            }
            self.upto = self.upto.max(Some(upto));
        }
        let missing = self.changes.iter().flat_map(|segment| &segment.facts.missing);
        let missing = self.directory.files.iter().flat_map(|file| &file.missing).chain(missing).map(|missing| missing.to).max();
        if let Some(to) = missing.filter(|&to| self.upto.is_none_or(|upto| upto < to)) {
            (self.upto, self.run) = (Some(to), to);
        }
        self.complete = self.upto.unwrap_or(0);
        self.write_manifest()
    }

    /// Goes on with the file that a recorder left; one that is damaged is left as it is.
    fn take_up(&mut self, open: &Path) -> Result<()> {
        let open_name = open.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let final_name = open_name.trim_end_matches(".open").to_owned();
        if fs::metadata(open).is_ok_and(|data| data.len() == 0) {
            return fs::remove_file(open).map_err(failed(open));
        }
        if let Some(segment) = SegmentWriter::resume(open).map_err(failed(open))? {
            (self.changes, self.changes_name) = (Some(segment), final_name);
            return Ok(());
        }
        let kept = self.path.join(&final_name);
        fs::rename(open, &kept).map_err(failed(open))?;
        match super::file::RecordingFile::open_unknown(&kept) {
            Ok(file) => self.directory.files.push(FileFacts { name: final_name, ..file.facts }),
            // Its beginning was being written: it holds nothing yet.
            Err(_) if fs::metadata(&kept).is_ok_and(|data| data.len() < 4096) => fs::remove_file(&kept).map_err(failed(&kept))?,
            Err(problem) => self.directory.problems.push(format!("{final_name} {problem}")),
        }
        Ok(())
    }

    /// What is wrong with what was recorded before, each a sentence.
    pub fn problems(&self) -> &[String] {
        &self.directory.problems
    }

    /// The last revision that was recorded or is known to be missing; `None` where nothing is.
    pub fn reached(&self) -> Option<Revision> {
        self.upto.map(Revision)
    }

    /// Begins with what follows a revision.
    pub fn begin_after(&mut self, revision: Revision) {
        (self.upto, self.run, self.complete) = (Some(revision.0), revision.0, revision.0);
    }

    /// The revisions at one of which the state is needed, as early as can be: no state makes what was recorded last readable, or the last one is
    /// old.
    pub fn wanted_state(&self) -> Option<(Revision, Revision)> {
        let upto = self.upto.filter(|_| self.state.is_none())?;
        let states = self.directory.files.iter().filter(|file| file.kind == FileKind::State);
        let Some(last) = states.filter(|file| file.upto().is_some_and(|at| at >= self.run)).max_by_key(|file| file.upto()) else {
            return Some((Revision(self.run), Revision(upto)));
        };
        let is_old = self.options.keep.map_or(STATE_AGE, |keep| keep.state_age(STATE_AGE)).as_millis() as i64 <= now() - last.begun;
        let least = self.options.keep.map_or(self.options.file_bytes, |keep| keep.state_bytes(self.options.file_bytes));
        let is_far = self.bytes_since_state >= (STATE_SHARE * last.bytes).max(least);
        (last.upto() < Some(upto) && (is_old || is_far)).then_some((Revision(upto), Revision(upto)))
    }

    /// Begins the state at a revision; one that was begun before is dropped.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn begin_state(&mut self, at: Revision) -> Result<()> {
        self.drop_state()?;
        let number = self.take_number();
        let path = self.path.join(name_while_written(number, FileKind::State));
        let scope = &self.directory.scope;
        let segment = SegmentWriter::create(&path, FileKind::State, scope, at.0, now()).map_err(failed(&path))?;
        self.state = Some((segment, name(number, FileKind::State), at.0));
        Ok(())
    }

    /// Takes a key of the state; keys ascend.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn state_entry(&mut self, entry: &KeyValue) -> Result<()> {
        let Some((segment, _, at)) = &mut self.state else { return Ok(()) };
        segment.change(EventKind::Put, 0, entry);
        if segment.pending_bytes() >= MOST_PENDING {
            segment.chunk(*at, now()).map_err(failed(&self.path))?;
        }
        Ok(())
    }

    /// Ends the state: all its keys were taken.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn end_state(&mut self) -> Result<()> {
        let Some((mut segment, name, at)) = self.state.take() else { return Ok(()) };
        let path = self.path.join(&name);
        let facts = segment.chunk(at, now()).and_then(|()| segment.seal(&path, now())).map_err(failed(&path))?;
        self.bytes_since_state = 0;
        self.add(facts)
    }

    /// Drops a state that was begun: it cannot be read to its end.
    ///
    /// # Errors
    ///
    /// Its file cannot be removed.
    pub fn drop_state(&mut self) -> Result<()> {
        let Some((segment, name, _)) = self.state.take() else { return Ok(()) };
        drop(segment);
        let path = self.path.join(format!("{name}.tmp"));
        fs::remove_file(&path).map_err(failed(&path))
    }

    /// Takes a change. Those of one revision come one after the other; [`Recorder::complete`] says that they are all there.
    ///
    /// # Errors
    ///
    /// A file cannot be made.
    pub fn change(&mut self, event: &Event) -> Result<()> {
        self.began_pending.get_or_insert_with(now);
        self.pending += 1;
        let segment = self.changes_file()?;
        segment.change(event.kind, event.sub_revision, &event.key_value);
        Ok(())
    }

    /// Says that all changes up to a revision were taken. What is due is written.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn complete(&mut self, upto: Revision) -> Result<()> {
        if upto.0 > self.complete {
            self.complete = upto.0;
            self.began_pending.get_or_insert_with(now);
        }
        let is_due = self.pending >= 100 || self.changes.as_ref().is_some_and(|segment| segment.pending_bytes() >= MOST_PENDING);
        if is_due { self.flush() } else { Ok(()) }
    }

    /// When what was taken has to be flushed, in milliseconds since 1970.
    pub fn flush_due(&self) -> Option<i64> {
        self.began_pending.map(|began| began + 1000)
    }

    /// Notes that revisions cannot be recorded any more.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn missing(&mut self, missing: MissingRevisions) -> Result<()> {
        self.complete(Revision(missing.from - 1))?;
        self.flush()?;
        let (to, path) = (missing.to, self.path.clone());
        let segment = self.changes_file()?;
        segment.missing(missing, now()).and_then(|()| segment.sync()).map_err(failed(&path))?;
        (self.upto, self.run, self.complete) = (Some(to), to, to);
        Ok(())
    }

    /// Writes what was taken up to the last complete revision; it is on the disk when this returns.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn flush(&mut self) -> Result<()> {
        self.began_pending = None;
        if self.upto.is_none_or(|upto| self.complete > upto) {
            let (complete, path, pending) = (self.complete, self.path.clone(), std::mem::take(&mut self.pending));
            let segment = self.changes_file()?;
            let before = segment.facts.bytes;
            segment.chunk(complete, now()).and_then(|()| segment.sync()).map_err(failed(&path))?;
            self.bytes_since_state += segment.facts.bytes - before;
            self.upto = Some(complete);
            self.recorded += pending as u64;
        }
        self.rotate()
    }

    /// Completes the file of changes if it is full, and removes what is not kept.
    fn rotate(&mut self) -> Result<()> {
        let RecorderOptions { file_bytes, file_age, .. } = self.options;
        let is_full = |segment: &SegmentWriter| {
            let age = now() - segment.facts.begun;
            segment.facts.bytes >= file_bytes || age >= file_age.as_millis() as i64 || segment.key_count() >= MOST_KEYS
        };
        let Some(segment) = self.changes.take_if(|segment| is_full(segment)) else { return Ok(()) };
        let path = self.path.join(&self.changes_name);
        let facts = segment.seal(&path, now()).map_err(failed(&path))?;
        self.add(facts)
    }

    /// Lists a file that is complete.
    fn add(&mut self, facts: FileFacts) -> Result<()> {
        sync_directory(&self.path).map_err(failed(&self.path))?;
        self.directory.files.push(facts);
        self.directory.files.sort_by(|one, other| one.name.cmp(&other.name));
        let removed = self.options.keep.map_or_else(Vec::new, |keep| keep::removed(&self.directory.files, keep, now()));
        for &file in &removed {
            self.directory.files[file].removed = true;
        }
        self.write_manifest()?;
        if removed.is_empty() {
            return Ok(());
        }
        for file in removed {
            let path = self.path.join(&self.directory.files[file].name);
            fs::remove_file(&path).map_err(failed(&path))?;
        }
        self.directory.files.retain(|file| !file.removed);
        self.write_manifest()
    }

    fn write_manifest(&self) -> Result<()> {
        self.directory.manifest().write(&self.path).map_err(failed(&self.path.join("manifest.json")))
    }

    fn take_number(&mut self) -> u64 {
        self.directory.next_number += 1;
        self.directory.next_number - 1
    }

    /// The file of changes, begun if there is none.
    fn changes_file(&mut self) -> Result<&mut SegmentWriter> {
        if self.changes.is_none() {
            let number = self.take_number();
            let path = self.path.join(name_while_written(number, FileKind::Changes));
            let after = self.upto.unwrap_or(0);
            let segment = SegmentWriter::create(&path, FileKind::Changes, &self.directory.scope, after, now()).map_err(failed(&path))?;
            sync_directory(&self.path).map_err(failed(&self.path))?;
            (self.changes, self.changes_name) = (Some(segment), name(number, FileKind::Changes));
        }
        self.changes.as_mut().ok_or_else(|| unreachable!("a file was just begun"))
    }

    /// How far it has come.
    pub fn recorded(&self) -> Recorded {
        let open = self.changes.iter().map(|segment| segment.facts.bytes);
        let bytes = self.directory.files.iter().map(|file| file.bytes).chain(open).sum();
        let files = self.directory.files.len() + usize::from(self.changes.is_some());
        Recorded { revision: Revision(self.upto.unwrap_or(0)), changes: self.recorded, bytes, files }
    }
}

/// Makes the directory, for its owner alone.
fn make(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// A file that is not a recorder's.
fn foreign_file(path: &Path) -> Option<String> {
    let names = fs::read_dir(path).ok()?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    // A file system's own directory is no file of anybody.
    names.into_iter().find(|name| !["lock", "lost+found"].contains(&name.as_str()) && !name.ends_with(".tmp"))
}

/// What the recording is of that is not what is to be recorded.
fn difference(recorded: &Scope, wanted: &Scope) -> Option<String> {
    let all = |prefixes: &[String]| if prefixes.is_empty() { "all keys".to_owned() } else { format!("keys under {}", prefixes.join(", ")) };
    let without = |scope: &Scope| match scope.left_out.is_empty() {
        true => all(&scope.prefixes),
        false => format!("{} without {}", all(&scope.prefixes), scope.left_out.join(", ")),
    };
    match (&recorded.cluster_id, &wanted.cluster_id) {
        (Some(recorded), Some(wanted)) if recorded != wanted => {
            return Some(format!("is a recording of cluster {recorded}, and this is cluster {wanted}; name another directory"));
        }
        _ => {}
    }
    let (recorded, wanted) = (without(recorded), without(wanted));
    (recorded != wanted).then(|| format!("is a recording of {recorded}, not of {wanted}; record the same, or name another directory"))
}

fn failed(path: &Path) -> impl Fn(io::Error) -> Error {
    let path = path.display().to_string();
    move |cause| Error::Write { path: path.clone(), cause }
}

fn refuse(path: &Path, problem: String) -> Error {
    Error::Format { path: path.display().to_string(), problem }
}

/// Names the directory in an error that does not.
pub(super) fn of_path(path: &Path, error: Error) -> Error {
    match error {
        Error::Format { problem, .. } => refuse(path, problem),
        other => other,
    }
}

/// Milliseconds since 1970.
pub(super) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_millis() as i64)
}
