//! A compressed database whose index is known: it is unpacked while it is read, and a reader of bytes that are not there yet waits for them.

use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use bytes::Bytes;

use super::budget::{Budget, with_room};
use super::compression::decoder;
use super::mapped::{map, map_lazily};
use super::pump::{GivenUp, Piece, Pump};
use super::spool::no_room;
use crate::versions::{IndexedPut, Volatile};
use crate::{Error, Result};

/// A file without a name into which another one is unpacked. Dropping it ends that.
#[derive(Debug)]
pub(super) struct Filling {
    path: String,
    map: Bytes,
    progress: Arc<Progress>,
}

/// How far it came.
#[derive(Debug, Default)]
struct Progress {
    state: Mutex<FillingState>,
    changed: Condvar,
    /// Whether nobody waits any more.
    is_stopped: AtomicBool,
}

#[derive(Debug, Default)]
struct FillingState {
    length: u64,
    /// Why there will be no more.
    ended: Option<String>,
}

impl Filling {
    /// Begins to unpack the file at `path`, from which at least `length` bytes come.
    ///
    /// # Errors
    ///
    /// It cannot be read, or nothing can be written.
    pub(super) fn begin(path: &str, length: u64, budget: &Budget) -> Result<Self> {
        let unreadable = |cause| Error::File { path: path.to_owned(), cause };
        let packed = File::open(path).and_then(|file| map(path, &file)).map_err(unreadable)?;
        let (_, decoder) =
            decoder(packed).and_then(|found| found.ok_or_else(|| io::Error::other("it is not compressed"))).map_err(unreadable)?;
        let mut room = budget.unpacked();
        let taken = room.grow(length).and_then(|()| budget.work(length));
        taken.map_err(|exceeded| Error::Format { path: path.to_owned(), problem: exceeded.to_string() })?;
        let file = tempfile::tempfile().and_then(|file| file.set_len(length).map(|()| file)).map_err(|cause| no_room(path, &cause))?;
        let map = with_room(map_lazily(path, &file).map_err(|cause| no_room(path, &cause))?, room);
        let progress = Arc::new(Progress::default());
        let (filled, name) = (Arc::clone(&progress), path.to_owned());
        thread::spawn(move || filled.fill(&name, &file, decoder, length));
        Ok(Self { path: path.to_owned(), map, progress })
    }

    /// The bytes, of which those that are not there yet are zeros.
    pub(super) fn bytes(&self) -> &Bytes {
        &self.map
    }
}

impl Progress {
    /// Writes `length` bytes.
    fn fill(self: Arc<Self>, path: &str, file: &File, decoder: Box<dyn Read + Send>, length: u64) {
        let mut from = Wanted { from: decoder.take(length), is_stopped: &self.is_stopped };
        let written = |length| {
            self.state().length = length;
            self.changed.notify_all();
        };
        let pumped = Pump { file, hashes: false, written: &written }.run(Piece::read(&mut from), &mut from, &mut |_| Ok(()));
        let why = match pumped {
            Ok(pumped) => pumped.ended.map_or_else(|| "it ends early".to_owned(), |cause| cause.to_string()),
            Err(GivenUp::Unwritten(cause)) => no_room(path, &cause).to_string(),
            Err(GivenUp::TooLong(exceeded)) => exceeded.to_string(),
        };
        self.state().ended = Some(why);
        self.changed.notify_all();
    }

    fn state(&self) -> std::sync::MutexGuard<'_, FillingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the first `end` bytes.
    fn wait(&self, end: u64) -> Result<(), String> {
        let is_coming = |state: &mut FillingState| state.length < end && state.ended.is_none();
        let state = self.changed.wait_while(self.state(), is_coming).unwrap_or_else(PoisonError::into_inner);
        if state.length < end { Err(state.ended.clone().unwrap_or_default()) } else { Ok(()) }
    }
}

/// A stream that ends once nobody waits for it.
struct Wanted<'s, R> {
    from: R,
    is_stopped: &'s AtomicBool,
}

impl<R: Read> Read for Wanted<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.is_stopped.load(Ordering::Relaxed) { Ok(0) } else { self.from.read(into) }
    }
}

impl Drop for Filling {
    fn drop(&mut self) {
        self.progress.is_stopped.store(true, Ordering::Relaxed);
    }
}

impl Volatile for Filling {
    fn value(&self, entry: &IndexedPut<'_>) -> Result<Bytes> {
        let failed = |problem| Error::File { path: self.path.clone(), cause: io::Error::other(problem) };
        self.progress.wait(entry.place.end as u64).map_err(failed)?;
        Ok(self.map.slice(entry.place.clone()))
    }
}
