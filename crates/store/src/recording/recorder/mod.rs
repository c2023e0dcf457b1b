//! Writes a recording: takes what a listing and a watch of etcd bring, and never asks etcd itself.

mod clock;
mod lock;
mod place;
mod states;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::chunk::IMPOSSIBLE_REVISION;
use super::directory::{Directory, LAST_NUMBER, name, name_while_written};
use super::disk;
use super::facts::{FileFacts, FileKind, MissingRevisions, RecordingScope};
use super::intake::{Disorder, Intake};
use super::keep::{self, Keep};
use super::segment::SegmentWriter;
use crate::{Error, Event, Result, Revision};
use clock::{Clock, wall_clock};
use lock::Lock;
use place::{difference, failed, foreign_file, make, refuse};
use states::StateWriter;

pub(super) use place::of_path;

/// When a file is full, and what is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecorderOptions {
    /// A file is complete when it has this many bytes,
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
///
/// It takes what a watch brings, in order: [`Recorder::arriving`] where it is known when that arrives, [`Recorder::change`] and [`Recorder::pass_over`] for each change, [`Recorder::complete`] where the watch says
/// how far it has come, [`Recorder::pause`] where it has nothing more for now, and [`Recorder::missing`] for a gap.
pub struct Recorder {
    path: PathBuf,
    directory: Directory,
    options: RecorderOptions,
    clock: Clock,
    /// Held as long as the recorder lives.
    _lock: Lock,
    intake: Intake,
    changes: Option<SegmentWriter>,
    changes_name: String,
    state: Option<StateWriter>,
    /// The first revision of what was recorded without a gap up to now: a state at it or later makes it readable.
    run: i64,
    recorded: u64,
    bytes_since_state: u64,
}

impl Recorder {
    /// Begins a recording in a directory, which is made if it is not there, or continues with the one that is in it.
    ///
    /// # Errors
    ///
    /// Another recorder writes there; it is a recording of something else, or damaged so that it is not known of what; files cannot be read or
    /// written.
    pub fn open(path: &Path, scope: &RecordingScope, options: RecorderOptions) -> Result<Self> {
        make(path).map_err(failed(path))?;
        if let Some(foreign) = foreign_file(path).filter(|_| !super::is_recording(path)) {
            return Err(refuse(
                path,
                format!("is not a recording and holds other files ({foreign}); name an empty directory or a new one"),
            ));
        }
        let lock = Lock::take(path)?;
        let mut directory = Directory::read(path).map_err(|unreadable| of_path(path, unreadable.into()))?;
        if !super::is_recording(path) {
            directory.scope = scope.clone();
        } else if let Some(problem) = difference(&directory.scope, scope) {
            return Err(refuse(path, problem));
        }
        let mut recorder = Self {
            path: path.to_owned(),
            directory,
            options,
            clock: Clock { begun: 0, started: Instant::now() },
            _lock: lock,
            intake: Intake::default(),
            changes: None,
            changes_name: String::new(),
            state: None,
            run: 0,
            recorded: 0,
            bytes_since_state: 0,
        };
        recorder.resume()?;
        Ok(recorder)
    }

    fn resume(&mut self) -> Result<()> {
        for leftover in std::mem::take(&mut self.directory.leftover) {
            let path = self.path.join(&leftover);
            if !disk::remove_own(&path).map_err(failed(&path))? {
                self.directory.problems.push(format!("{leftover} was not written by a recorder, so it is left where it is"));
            }
        }
        self.clock.begun = self.directory.files.iter().map(|file| file.ended).max().unwrap_or(0);
        for open in std::mem::take(&mut self.directory.open) {
            self.take_up(&open)?;
        }
        if self.clock.begun == 0 {
            self.clock.begun = wall_clock();
        }
        // Only what is on the disk counts: files that are missing or damaged stay listed, so that what is lost is said.
        let mut runs: Vec<(i64, i64)> =
            self.directory.files.iter().filter(|file| file.kind == FileKind::Changes).flat_map(|file| file.covered.clone()).collect();
        runs.extend(self.changes.iter().flat_map(|segment| segment.facts.covered.clone()));
        runs.sort_unstable();
        let mut reached: Option<i64> = None;
        for (after, upto) in runs {
            if reached.is_none_or(|known| known < after) {
                self.run = after;
            }
            reached = reached.max(Some(upto));
        }
        let missing = self.changes.iter().flat_map(|segment| &segment.facts.missing);
        let missing = self.directory.files.iter().flat_map(|file| &file.missing).chain(missing).map(|missing| missing.to).max();
        if let Some(to) = missing.filter(|&to| reached.is_none_or(|upto| upto < to)) {
            (reached, self.run) = (Some(to), to);
        }
        if let Some(reached) = reached {
            self.intake.begin_after(reached);
        }
        // A file goes on where all others end; one that ends before is complete.
        if self.changes.as_ref().is_some_and(|segment| segment.reached() != reached.unwrap_or(0)) {
            self.complete_file()?;
        }
        self.write_manifest()
    }

    /// Continues a file that a recorder left; a damaged one is left as it is. If there are several, all but the last are completed.
    fn take_up(&mut self, open_name: &str) -> Result<()> {
        let open = self.path.join(open_name);
        let mut final_name = open_name.trim_end_matches(".open").to_owned();
        if self.path.join(&final_name).symlink_metadata().is_ok() {
            final_name = name(self.take_number()?, FileKind::Changes);
        }
        if let Some(segment) = SegmentWriter::resume(&open).map_err(failed(&open))? {
            self.complete_file()?;
            self.clock.begun = self.clock.begun.max(segment.facts.ended);
            (self.changes, self.changes_name) = (Some(segment), final_name);
            return Ok(());
        }
        let file = super::file::RecordingFile::open_unfinished(&open);
        // Its beginning was being written: it holds nothing yet.
        let is_begun = file.is_err() && fs::metadata(&open).is_ok_and(|data| data.len() < 4096);
        if is_begun && disk::remove_own(&open).map_err(failed(&open))? {
            return Ok(());
        }
        let kept = self.path.join(&final_name);
        match file {
            Ok(file) => {
                fs::rename(&open, &kept).map_err(failed(&open))?;
                self.directory.files.push(FileFacts { name: final_name, ..file.facts });
            }
            Err(problem) => self.directory.problems.push(format!("{open_name} {problem}")),
        }
        Ok(())
    }

    /// What is wrong with what was recorded before, each a sentence.
    pub fn problems(&self) -> &[String] {
        &self.directory.problems
    }

    /// The last revision that was recorded or is known to be missing; `None` where nothing is.
    pub fn reached(&self) -> Option<Revision> {
        self.intake.upto().map(Revision)
    }

    /// Begins with what follows a revision.
    pub fn begin_after(&mut self, revision: Revision) {
        self.intake.begin_after(revision.0);
        self.run = revision.0;
    }

    /// Notes that what comes next arrives at this time, having been committed at most `delay` before; `None` where that is not known.
    pub fn arriving(&mut self, time: SystemTime, delay: Option<Duration>) {
        let micros = |span: Duration| i64::try_from(span.as_micros()).ok();
        let time = time.duration_since(UNIX_EPOCH).ok().and_then(micros);
        self.intake.arriving(time.zip(delay.and_then(micros)).filter(|(time, delay)| delay <= time));
    }

    /// Takes a change; all before its revision are complete.
    ///
    /// # Errors
    ///
    /// It does not follow those before it.
    pub fn change(&mut self, event: &Event) -> Result<()> {
        self.check(event.revision)?;
        self.intake.change(event, self.clock.elapsed()).map_err(|disorder| self.disorder(disorder))
    }

    /// Notes a change that is not to be recorded.
    ///
    /// # Errors
    ///
    /// It does not follow those before it.
    pub fn pass_over(&mut self, revision: Revision) -> Result<()> {
        self.check(revision)?;
        self.intake.begin(revision.0, self.clock.elapsed()).map_err(|disorder| self.disorder(disorder))
    }

    /// Notes that nothing else happened up to a revision. What is due is written.
    ///
    /// # Errors
    ///
    /// What is due cannot be written.
    pub fn complete(&mut self, upto: Revision) -> Result<()> {
        self.check(upto)?;
        self.intake.progress(upto.0, self.clock.elapsed());
        self.flush_if_full()
    }

    /// Refuses what cannot be a revision: nobody could read the recording any more.
    fn check(&self, revision: Revision) -> Result<()> {
        if (0..IMPOSSIBLE_REVISION).contains(&revision.0) {
            return Ok(());
        }
        Err(refuse(&self.path, format!("{revision} cannot be a revision, so it is not recorded")))
    }

    /// Notes that the watch has nothing more for now: it passes on whole revisions, so what was taken is complete. What is due is written.
    ///
    /// # Errors
    ///
    /// What is due cannot be written.
    pub fn pause(&mut self) -> Result<()> {
        self.intake.pause(self.clock.elapsed());
        self.flush_if_full()
    }

    /// When what was taken has to be flushed.
    pub fn flush_due(&self) -> Option<Instant> {
        self.intake.due().map(|due| self.clock.started + due)
    }

    /// Notes that revisions cannot be recorded any more.
    ///
    /// # Errors
    ///
    /// They are not those that follow what was taken; or they cannot be noted.
    pub fn missing(&mut self, missing: MissingRevisions) -> Result<()> {
        self.check(Revision(missing.to))?;
        let reached = self.intake.upto().unwrap_or(0);
        if missing.from <= reached || missing.to < missing.from {
            return Err(self.disorder(Disorder { revision: missing.from, reached }));
        }
        self.complete(Revision(missing.from - 1))?;
        self.flush()?;
        let (path, now) = (self.path.clone(), self.clock.now());
        self.changes_file()?.missing(&missing, now).map_err(failed(&path))?;
        self.begin_after(Revision(missing.to));
        Ok(())
    }

    /// Writes what was taken up to the last complete revision; it is on the disk when this returns.
    ///
    /// # Errors
    ///
    /// It cannot be written. It is still to be written then, and nothing says that it is recorded.
    pub fn flush(&mut self) -> Result<()> {
        self.intake.postpone(self.clock.elapsed());
        if self.intake.cut().is_some() {
            self.changes_file()?;
            self.write_cut().map_err(failed(&self.path))?;
        }
        self.rotate()
    }

    fn flush_if_full(&mut self) -> Result<()> {
        if self.intake.is_full() { self.flush() } else { Ok(()) }
    }

    fn write_cut(&mut self) -> io::Result<()> {
        let (Some(segment), Some(cut)) = (&mut self.changes, self.intake.cut()) else { return Ok(()) };
        let before = segment.facts.bytes;
        segment.commit(&cut, self.clock.now())?;
        self.bytes_since_state += segment.facts.bytes - before;
        self.recorded += self.intake.written(self.clock.elapsed()) as u64;
        Ok(())
    }

    /// The error of changes that do not follow each other: nothing of them can be said.
    fn disorder(&self, Disorder { revision, reached }: Disorder) -> Error {
        refuse(&self.path, format!("a change of revision {revision} came after all of revision {reached} had come, so it is not recorded"))
    }

    /// Completes the file of changes if it is full, and removes what is not kept.
    fn rotate(&mut self) -> Result<()> {
        let RecorderOptions { file_bytes, file_age, .. } = self.options;
        let is_full = |segment: &SegmentWriter| {
            let age = self.clock.now() - segment.facts.begun;
            segment.facts.bytes >= file_bytes || age >= file_age.as_millis() as i64 || segment.key_count() >= MOST_KEYS
        };
        if self.changes.as_ref().is_some_and(is_full) { self.complete_file() } else { Ok(()) }
    }

    /// Completes the file of changes, if there is one.
    fn complete_file(&mut self) -> Result<()> {
        let Some(segment) = self.changes.take() else { return Ok(()) };
        let path = self.path.join(&self.changes_name);
        let facts = segment.seal(&path, self.clock.now()).map_err(failed(&path))?;
        self.add(facts)
    }

    /// Lists a file that is complete.
    fn add(&mut self, facts: FileFacts) -> Result<()> {
        disk::sync_directory(&self.path).map_err(failed(&self.path))?;
        self.directory.files.push(facts);
        self.directory.files.sort_by(|one, other| one.name.cmp(&other.name));
        let removed = self.options.keep.map_or_else(Vec::new, |keep| keep::removed(&self.directory.files, keep, self.clock.now()));
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

    fn take_number(&mut self) -> Result<u64> {
        if self.directory.next_number > LAST_NUMBER {
            return Err(refuse(&self.path, "has no number left for another file; record into another directory".to_owned()));
        }
        self.directory.next_number += 1;
        Ok(self.directory.next_number - 1)
    }

    /// The file of changes, begun if there is none.
    fn changes_file(&mut self) -> Result<&mut SegmentWriter> {
        if self.changes.is_none() {
            let number = self.take_number()?;
            let path = self.path.join(name_while_written(number, FileKind::Changes));
            let (after, now) = (self.intake.upto().unwrap_or(0), self.clock.now());
            let segment = SegmentWriter::create(&path, FileKind::Changes, &self.directory.scope, after, now).map_err(failed(&path))?;
            disk::sync_directory(&self.path).map_err(failed(&self.path))?;
            (self.changes, self.changes_name) = (Some(segment), name(number, FileKind::Changes));
        }
        self.changes.as_mut().ok_or_else(|| unreachable!("a file was just begun"))
    }

    /// How far it has come.
    pub fn recorded(&self) -> Recorded {
        let open = self.changes.iter().map(|segment| segment.facts.bytes);
        let bytes = self.directory.files.iter().map(|file| file.bytes).chain(open).sum();
        let files = self.directory.files.len() + usize::from(self.changes.is_some());
        Recorded { revision: Revision(self.intake.upto().unwrap_or(0)), changes: self.recorded, bytes, files }
    }
}
