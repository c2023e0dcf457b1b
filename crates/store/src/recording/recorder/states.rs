//! The states of a recording: when one is due, and how it is written.

use std::time::Duration;
use std::{fs, io};

use super::Recorder;
use super::place::failed;
use crate::recording::directory::{name, name_while_written};
use crate::recording::facts::FileKind;
use crate::recording::intake::Cut;
use crate::recording::segment::SegmentWriter;
use crate::{Event, EventKind, KeyValue, Origin, Result, Revision, Sources};

/// Keys of a state are written when they have this many bytes.
const MOST_PENDING: usize = 1 << 20;
/// A new state is due when the last is so old,
const STATE_AGE: Duration = Duration::from_secs(24 * 3600);
/// or the changes since are so many times as large: then states take a fifth of the space.
const STATE_SHARE: u64 = 4;

/// A state that is being written.
pub(super) struct StateWriter {
    segment: SegmentWriter,
    name: String,
    at: i64,
    /// Keys that no chunk has.
    pending: Vec<Event>,
    bytes: usize,
}

impl StateWriter {
    fn write(&mut self, time: i64) -> io::Result<()> {
        self.segment.commit(&Cut { after: self.at, upto: self.at, changes: &self.pending, arrivals: Vec::new() }, time)?;
        self.pending.clear();
        self.bytes = 0;
        Ok(())
    }
}

impl Recorder {
    /// The revisions at one of which the state is needed, as early as can be: no state makes what was recorded last readable, or the last one is
    /// old.
    pub fn wanted_state(&self) -> Option<(Revision, Revision)> {
        let upto = self.intake.upto().filter(|_| self.state.is_none())?;
        let states = self.directory.files.iter().filter(|file| file.kind == FileKind::State);
        let Some(last) = states.filter(|file| file.upto().is_some_and(|at| at >= self.run)).max_by_key(|file| file.upto()) else {
            return Some((Revision(self.run), Revision(upto)));
        };
        let is_old =
            self.options.keep.map_or(STATE_AGE, |keep| keep.state_age(STATE_AGE)).as_millis() as i64 <= self.clock.now() - last.begun;
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
        let number = self.take_number()?;
        let path = self.path.join(name_while_written(number, FileKind::State));
        let (scope, now) = (&self.directory.scope, self.clock.now());
        let segment = SegmentWriter::create(&path, FileKind::State, scope, at.0, now).map_err(failed(&path))?;
        self.state = Some(StateWriter { segment, name: name(number, FileKind::State), at: at.0, pending: Vec::new(), bytes: 0 });
        Ok(())
    }

    /// Takes a key of the state; keys ascend.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn state_entry(&mut self, entry: &KeyValue) -> Result<()> {
        let (Some(state), now) = (&mut self.state, self.clock.now()) else { return Ok(()) };
        state.bytes += entry.key.len() + entry.value.len();
        let (revision, kind, key_value) = (entry.mod_revision, EventKind::Put, entry.clone());
        state.pending.push(Event { revision, sub_revision: 0, kind, key_value, origin: Origin::Live, sources: Sources::default() });
        if state.bytes >= MOST_PENDING {
            state.write(now).map_err(failed(&self.path))?;
        }
        Ok(())
    }

    /// Ends the state: all its keys were taken.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn end_state(&mut self) -> Result<()> {
        let (Some(mut state), now) = (self.state.take(), self.clock.now()) else { return Ok(()) };
        let path = self.path.join(&state.name);
        state.write(now).map_err(failed(&path))?;
        let facts = state.segment.seal(&path, now).map_err(failed(&path))?;
        self.bytes_since_state = 0;
        self.add(facts)
    }

    /// Drops a state that was begun: it cannot be read to its end.
    ///
    /// # Errors
    ///
    /// Its file cannot be removed.
    pub fn drop_state(&mut self) -> Result<()> {
        let Some(StateWriter { segment, name, .. }) = self.state.take() else { return Ok(()) };
        drop(segment);
        let path = self.path.join(format!("{name}.tmp"));
        fs::remove_file(&path).map_err(failed(&path))
    }
}
