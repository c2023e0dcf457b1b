//! Writes a slice of a history as a recording in one file: the state at its beginning, the changes after it, and when their revisions were written.
//!
//! It is written into an empty directory and packed when it is complete; what fails before that leaves nothing but that directory. Unlike a recorder it
//! waits for no disk: the packed file is what counts.

use std::io;
use std::path::{Path, PathBuf};

use super::directory::{Manifest, name, name_while_written};
use super::facts::{FORMAT_VERSION, FileFacts, FileKind, MissingRevisions, RecordingScope};
use super::intake::Cut;
use super::packed::{self, MANIFEST_NAME};
use super::segment::SegmentWriter;
use crate::{Arrival, Error, Event, EventKind, KeyValue, Origin, Result, Revision, Sources};

/// A chunk is written when it has this many bytes of changes,
const MAX_PENDING_BYTES: usize = 256 << 10;
/// or this many changes.
const MAX_PENDING_CHANGES: usize = 1000;
/// A file is complete when it has this many bytes,
const MAX_FILE_BYTES: u64 = 64 << 20;
/// or changes of this many keys, as its index is in memory while it is written.
const MAX_FILE_KEYS: usize = 100_000;
/// The recording's own time, which nothing of a slice is measured by: the same slice gives the same bytes.
const NO_TIME: i64 = 0;

/// Between which two moments a revision was written, in microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenBetween {
    /// The earliest.
    pub earliest: i64,
    /// The latest.
    pub latest: i64,
}

/// What a bundle holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bundled {
    /// The keys that were alive at its first revision.
    pub keys: u64,
    /// The changes after it.
    pub changes: u64,
    /// The bytes of the file.
    pub bytes: u64,
    /// The SHA-256 of the file.
    pub sha256: [u8; 32],
}

/// A bundle that is being written.
pub struct BundleWriter {
    directory: PathBuf,
    scope: RecordingScope,
    files: Vec<FileFacts>,
    numbers: u64,
    segment: Option<(SegmentWriter, String)>,
    pending: Vec<Event>,
    pending_bytes: usize,
    arrivals: Vec<Arrival>,
    /// All revisions up to this one are in chunks, or noted as missing.
    upto: i64,
    bundled: Bundled,
}

impl BundleWriter {
    /// Begins a bundle in an empty directory.
    pub fn new(directory: &Path, scope: RecordingScope) -> Self {
        Self {
            directory: directory.to_owned(),
            scope,
            files: Vec::new(),
            numbers: 0,
            segment: None,
            pending: Vec::new(),
            pending_bytes: 0,
            arrivals: Vec::new(),
            upto: 0,
            bundled: Bundled::default(),
        }
    }

    /// Begins the state at a revision, from which the changes go on: the first, or one behind revisions that are missing.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn begin_state(&mut self, at: Revision) -> Result<()> {
        self.complete_file()?;
        self.upto = at.0;
        self.begin_file(FileKind::State)
    }

    /// Takes a key of the state.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn state_entry(&mut self, entry: KeyValue) -> Result<()> {
        let (revision, kind) = (entry.mod_revision, EventKind::Put);
        self.bundled.keys += 1;
        self.push(Event { revision, sub_revision: 0, kind, key_value: entry, origin: Origin::Live, sources: Sources::default() });
        if self.is_full() { self.write(self.upto) } else { Ok(()) }
    }

    /// Ends the state.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn end_state(&mut self) -> Result<()> {
        self.write(self.upto)?;
        self.complete_file()
    }

    /// Takes a change, and when its revision was written, if that is known. Revisions ascend.
    ///
    /// # Errors
    ///
    /// What came before cannot be written.
    pub fn change(&mut self, event: Event, written: Option<WrittenBetween>) -> Result<()> {
        let is_new = self.pending.last().is_none_or(|last| last.revision < event.revision);
        if is_new && self.is_full() {
            self.flush(event.revision.before())?;
        }
        if let Some(written) = written.filter(|_| is_new) {
            self.dated(event.revision, written);
        }
        self.bundled.changes += 1;
        self.push(event);
        Ok(())
    }

    /// Notes when a revision was written, be it that it changed nothing of what is taken.
    pub fn dated(&mut self, revision: Revision, written: WrittenBetween) {
        let WrittenBetween { earliest, latest } = written;
        let is_next = revision.0 > self.upto && self.arrivals.last().is_none_or(|last| last.to < revision);
        if is_next && 0 <= earliest && earliest <= latest {
            self.arrivals.push(Arrival { from: revision, to: revision, time: latest, delay: latest - earliest });
        }
    }

    /// Notes revisions that cannot be read any more.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn missing(&mut self, missing: &MissingRevisions) -> Result<()> {
        self.flush(Revision(missing.from - 1))?;
        let path = self.directory.clone();
        self.changes_file()?.missing(missing, NO_TIME).map_err(failed(&path))?;
        self.upto = missing.to;
        Ok(())
    }

    /// Notes that all changes up to a revision were taken, writes the bundle into `archive`, and returns what it holds.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn finish(mut self, upto: Revision, archive: &mut dyn io::Write) -> Result<Bundled> {
        self.flush(upto)?;
        self.complete_file()?;
        let manifest = Manifest { format: FORMAT_VERSION, scope: self.scope.clone(), files: self.files.clone() };
        manifest.write(&self.directory).map_err(failed(&self.directory.join(MANIFEST_NAME)))?;
        let names = [MANIFEST_NAME].into_iter().chain(self.files.iter().map(|file| file.name.as_str()));
        let packed::Packed { bytes, sha256 } = packed::pack(&self.directory, names, archive).map_err(failed(&self.directory))?;
        Ok(Bundled { bytes, sha256, ..self.bundled })
    }

    fn push(&mut self, event: Event) {
        self.pending_bytes += event.key_value.key.len() + event.key_value.value.len();
        self.pending.push(event);
    }

    fn is_full(&self) -> bool {
        self.pending_bytes >= MAX_PENDING_BYTES || self.pending.len() >= MAX_PENDING_CHANGES
    }

    /// Writes the changes that were taken, which are all up to a revision.
    fn flush(&mut self, upto: Revision) -> Result<()> {
        if upto.0 <= self.upto {
            return Ok(());
        }
        self.changes_file()?;
        self.write(upto.0)?;
        let is_full =
            |(segment, _): &(SegmentWriter, String)| segment.facts.bytes >= MAX_FILE_BYTES || segment.key_count() >= MAX_FILE_KEYS;
        if self.segment.as_ref().is_some_and(is_full) { self.complete_file() } else { Ok(()) }
    }

    fn write(&mut self, upto: i64) -> Result<()> {
        let Some((segment, _)) = &mut self.segment else { return Ok(()) };
        let arrivals = std::mem::take(&mut self.arrivals);
        let cut = Cut { after: self.upto, upto, changes: &self.pending, arrivals };
        segment.commit(&cut, NO_TIME).map_err(failed(&self.directory))?;
        self.pending.clear();
        (self.pending_bytes, self.upto) = (0, upto);
        Ok(())
    }

    /// The file of changes, begun if there is none.
    fn changes_file(&mut self) -> Result<&mut SegmentWriter> {
        if self.segment.is_none() {
            self.begin_file(FileKind::Changes)?;
        }
        self.segment.as_mut().map(|(segment, _)| segment).ok_or_else(|| unreachable!("a file was just begun"))
    }

    fn begin_file(&mut self, kind: FileKind) -> Result<()> {
        self.numbers += 1;
        let path = self.directory.join(name_while_written(self.numbers, kind));
        let segment = SegmentWriter::create(&path, kind, &self.scope, self.upto, NO_TIME).map_err(failed(&path))?;
        self.segment = Some((segment.without_waiting(), name(self.numbers, kind)));
        Ok(())
    }

    fn complete_file(&mut self) -> Result<()> {
        let Some((segment, name)) = self.segment.take() else { return Ok(()) };
        let path = self.directory.join(name);
        self.files.push(segment.seal(&path, NO_TIME).map_err(failed(&path))?);
        Ok(())
    }
}

/// The error of a file that cannot be written.
fn failed(path: &Path) -> impl Fn(io::Error) -> Error {
    let path = path.display().to_string();
    move |cause| Error::Write { path: path.clone(), cause }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::super::tests::{alive, events, history, items, range, scope, source};
    use super::*;
    use crate::{KeyRange, LateDamage, Source, WatchItem};

    /// A bundle of a history from a revision on, in a directory of its own.
    fn bundled(history: &[Event], from: i64) -> (tempfile::TempDir, Bundled) {
        let directory = tempfile::tempdir().unwrap();
        let work = directory.path().join("work");
        fs::create_dir(&work).unwrap();
        let mut writer = BundleWriter::new(&work, scope());
        writer.begin_state(Revision(from)).unwrap();
        alive(history, from).into_iter().for_each(|entry| writer.state_entry(entry).unwrap());
        writer.end_state().unwrap();
        for event in history.iter().filter(|event| event.revision.0 > from) {
            let earliest = event.revision.0 * 1_000_000;
            writer.change(event.clone(), Some(WrittenBetween { earliest, latest: earliest + 7 })).unwrap();
        }
        let mut file = File::create(directory.path().join("it.ketcd")).unwrap();
        let bundled = writer.finish(Revision(history.len() as i64 + 1), &mut file).unwrap();
        (directory, bundled)
    }

    #[test]
    fn a_slice_is_read_as_it_was() {
        let history = history(5000);
        for from in [1, 2, 700, 4999, 5000] {
            let (directory, bundled) = bundled(&history, from);
            let path = directory.path().join("it.ketcd");
            assert_eq!(bundled.bytes, fs::metadata(&path).unwrap().len());
            let source = source(&path);
            assert_eq!(source.facts().damage, [""; 0]);
            let shown: Vec<Event> = events(&source, KeyRange::all()).into_iter().filter(|event| event.revision.0 > from).collect();
            assert_eq!(shown, history[(from - 1) as usize..]);
            for at in [from, (from + 5000) / 2, 5000] {
                assert_eq!(range(&source, KeyRange::all(), at).unwrap(), alive(&history, at), "{from} {at}");
            }
            source.read_all();
            assert_eq!(source.late_damage(), [""; 0]);
            let dates = crate::Arrivals::arrivals(&source, Revision(from + 1), Revision(5000));
            assert_eq!(dates.len() as i64, 5000 - from);
            assert!(dates.iter().all(|date| date.time - date.delay == date.from.0 * 1_000_000 && date.delay == 7));
        }
    }

    #[test]
    fn the_same_slice_gives_the_same_bytes() {
        let history = history(300);
        let read = |directory: &tempfile::TempDir| fs::read(directory.path().join("it.ketcd")).unwrap();
        assert_eq!(read(&bundled(&history, 20).0), read(&bundled(&history, 20).0));
    }

    #[test]
    fn whatever_is_cut_off_shows() {
        let history = history(400);
        let (directory, _) = bundled(&history, 20);
        let whole = fs::read(directory.path().join("it.ketcd")).unwrap();
        let path = directory.path().join("cut.ketcd");
        // What is behind the last file's end is padding.
        let mut refused = 0;
        for length in (0..whole.len() - 1536).step_by(61) {
            fs::write(&path, &whole[..length]).unwrap();
            let Ok(source) = crate::load::open(&[path.to_str().unwrap().to_owned()], &|_| None) else {
                refused += 1;
                continue;
            };
            let shown = futures_util::FutureExt::now_or_never(futures_util::StreamExt::collect::<Vec<_>>(source.watch(
                KeyRange::all(),
                Revision(1),
                crate::Until::Forever,
            )));
            let shown = shown.unwrap().into_iter().filter_map(std::result::Result::ok);
            for event in shown.filter_map(|item| if let WatchItem::Event(event) = item { Some(event) } else { None }) {
                assert!(event.revision.0 <= 20 || history.contains(&event), "{length}");
            }
            assert!(!source.damage().is_empty() || !source.late_damage().is_empty(), "{length}");
        }
        assert!(refused > 0);
    }

    #[test]
    fn missing_revisions_are_a_gap_and_the_state_behind_them_is_read() {
        let history = history(300);
        let directory = tempfile::tempdir().unwrap();
        let work = directory.path().join("work");
        fs::create_dir(&work).unwrap();
        let mut writer = BundleWriter::new(&work, scope());
        let state = |writer: &mut BundleWriter, at: i64| {
            writer.begin_state(Revision(at)).unwrap();
            alive(&history, at).into_iter().for_each(|entry| writer.state_entry(entry).unwrap());
            writer.end_state().unwrap();
        };
        state(&mut writer, 1);
        history[..99].iter().for_each(|event| writer.change(event.clone(), None).unwrap());
        writer.missing(&MissingRevisions { from: 101, to: 150, reason: "they were compacted".to_owned() }).unwrap();
        state(&mut writer, 150);
        history[149..].iter().for_each(|event| writer.change(event.clone(), None).unwrap());
        let path = directory.path().join("it.ketcd");
        writer.finish(Revision(300), &mut File::create(&path).unwrap()).unwrap();
        let source = source(&path);
        assert_eq!(source.facts().left_out.len(), 1);
        assert_eq!(range(&source, KeyRange::all(), 100).unwrap(), alive(&history, 100));
        assert_eq!(range(&source, KeyRange::all(), 200).unwrap(), alive(&history, 200));
        assert!(range(&source, KeyRange::all(), 120).is_err());
        let gaps = items(&source, KeyRange::all(), 1).into_iter().filter(|item| matches!(item, WatchItem::Gap { .. })).count();
        assert!(gaps > 0);
    }
}
