//! All log files of a member, as runs of raft entries without holes.

use std::collections::HashSet;
use std::path::Path;
use std::{fs, io};

use bytes::Bytes;
use prost::Message;

use super::administration::MembershipRequest;
use super::entry::RaftEntry;
use super::record::{CRC_RECORD, ENTRY_RECORD, METADATA_RECORD, Next, Records, SNAPSHOT_RECORD, STATE_RECORD};
use super::request::WalRequest;
use crate::Result;
use crate::load::image;
use crate::load::options::Reading;
use crate::proto::etcdserverpb::Metadata;
use crate::proto::raftpb::{self, ConfChangeType, HardState};
use crate::proto::walpb::{Record, Snapshot};

#[derive(Default)]
pub(crate) struct RaftLog {
    /// The files' bytes, in order.
    pub files: Vec<Bytes>,
    /// Entries without holes; more than one run where the log is damaged or a snapshot from the leader came between.
    pub runs: Vec<EntryRun>,
    /// The last index known to be committed.
    pub commit: u64,
    /// Raft's term.
    pub term: u64,
    /// The last entry that a snapshot stands for.
    pub snapshot: u64,
    /// The first entry that a snapshot stands for, of those that stand for any.
    first_snapshot: Option<u64>,
    /// The cluster's id.
    pub cluster_id: Option<u64>,
    /// Whether its last file ends right after a record, without the zeros that etcd keeps ready for more.
    pub has_no_room: bool,
    /// Each a sentence.
    pub problems: Vec<String>,
    /// Where the log contradicts itself, each a sentence.
    pub contradictions: Vec<String>,
}

/// Entries with consecutive indexes.
#[derive(Default)]
pub(crate) struct EntryRun {
    /// The index of the first.
    pub first: u64,
    /// In order of their indexes.
    pub entries: Vec<RaftEntry>,
    /// Whether it repeats entries that an earlier run has and that were committed.
    pub is_refused: bool,
}

impl RaftLog {
    /// Reads the files of a `wal` directory.
    ///
    /// # Errors
    ///
    /// A file or the directory cannot be read.
    pub(crate) fn read(directory: &Path, reading: &Reading<'_>) -> Result<Self> {
        /// etcd removes the oldest files while it runs.
        const MAX_READ_ATTEMPTS: usize = 5;
        for _ in 1..MAX_READ_ATTEMPTS {
            match Self::read_once(directory, reading) {
                Err(crate::Error::File { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {}
                read => return read,
            }
        }
        Self::read_once(directory, reading)
    }

    fn read_once(directory: &Path, reading: &Reading<'_>) -> Result<Self> {
        let file_error = |cause| crate::Error::File { path: directory.display().to_string(), cause };
        let mut names = Vec::new();
        for entry in fs::read_dir(directory).map_err(file_error)? {
            let name = entry.map_err(file_error)?.file_name().to_string_lossy().into_owned();
            names.extend(sequence(&name).map(|sequence| (sequence, name)));
        }
        names.sort_unstable();
        let Some((_, last)) = names.pop() else { return Ok(Self::default()) };
        let path = |name: &str| directory.join(name).to_string_lossy().into_owned();
        let mut files = Vec::new();
        for (_, name) in names {
            let bytes = image::open_plain(&path(&name), reading)?.bytes;
            files.push((name, bytes));
        }
        let (image, is_written) = image::open_written(&path(&last), reading)?;
        files.push((last, image.bytes));
        Ok(Self::of(files, is_written))
    }

    /// Whether the files of a log lie in this directory.
    pub(crate) fn is_in(directory: &Path) -> bool {
        let names = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.file_name());
        names.into_iter().any(|name| sequence(&name.to_string_lossy()).is_some())
    }

    /// Reads one file of a log, whatever it is called.
    pub(crate) fn of_file(bytes: Bytes) -> Self {
        const FIRST_LOG_NAME: &str = "0000000000000000-0000000000000000.wal";
        Self::of_files(vec![(FIRST_LOG_NAME.to_owned(), bytes)])
    }

    /// Counts the members that vote, by the changes that a log from the cluster's beginning holds. One that is removed by an entry of which it is not known
    /// whether it was committed is counted.
    pub(crate) fn voters(&self) -> Option<usize> {
        let run = self.runs.first().filter(|run| run.first <= 1)?;
        let mut voters = HashSet::new();
        for (entry, index) in run.entries.iter().zip(run.first..) {
            if let Some(WalRequest::Membership(MembershipRequest::ConfChange(change, member))) = WalRequest::of_entry(entry) {
                match change {
                    ConfChangeType::ConfChangeAddNode => {
                        voters.insert(member);
                    }
                    ConfChangeType::ConfChangeRemoveNode if index <= self.commit => {
                        voters.remove(&member);
                    }
                    _ => {}
                }
            }
        }
        Some(voters.len())
    }

    /// Whether the member was restored from a snapshot: its log begins with the members that it was given, and at once stands for what the
    /// snapshot held (etcd v3.4.23, `clientv3/snapshot/v3_snapshot.go`, `saveWALAndSnap`; v3.7.3, `etcdutl/snapshot/v3_snapshot.go`).
    pub(crate) fn is_restored(&self) -> bool {
        let (Some(run), Some(first)) = (self.runs.first().filter(|run| run.first <= 1), self.first_snapshot) else { return false };
        run.entries.iter().take(first as usize).all(|entry| entry.kind != raftpb::EntryType::EntryNormal as i32)
    }

    /// Reads the files of a log, each with its name; others than a log's are left out.
    pub(crate) fn of_files(files: Vec<(String, Bytes)>) -> Self {
        Self::of(files, false)
    }

    /// The same, of a log that a running etcd may be writing.
    fn of(files: Vec<(String, Bytes)>, is_written: bool) -> Self {
        let mut files: Vec<_> = files.into_iter().filter_map(|(name, bytes)| Some((sequence(&name)?, name, bytes))).collect();
        files.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
        let mut log = Self::default();
        let (mut crc, mut before) = (0, None);
        for (index, (sequence, name, bytes)) in files.iter().enumerate() {
            if before.is_some_and(|before| before + 1 != *sequence) {
                log.problems.push(format!("wal/{name}: the file before it is missing"));
                log.runs.push(EntryRun::default());
                crc = 0;
            }
            before = Some(*sequence);
            let is_last = index + 1 == files.len();
            let records = if is_last && is_written { Records::of_written(bytes, crc) } else { Records::new(bytes, crc, is_last) };
            crc = log.file(name, records, index, is_last);
        }
        log.runs.retain(|run| !run.entries.is_empty() && !run.is_refused);
        let last = log.runs.last().map_or(0, |run| run.end() - 1).max(log.snapshot);
        if last < log.commit {
            let sentence =
                format!("the log ends with entry {last}, but entries up to {} were committed; the later ones are missing", log.commit);
            log.problems.push(sentence);
        }
        log.files = files.into_iter().map(|(_, _, bytes)| bytes).collect();
        log
    }

    /// Reads one file; returns the CRC that the next goes on from.
    fn file(&mut self, name: &str, mut records: Records<'_>, file: usize, is_last: bool) -> u32 {
        loop {
            match records.next() {
                Next::End | Next::Torn => return records.crc,
                Next::EndOfFile => {
                    self.has_no_room = is_last;
                    return records.crc;
                }
                Next::Cut { at } => {
                    self.problems
                        .push(format!("wal/{name} ends within a record, at byte {at}: it was cut short, and what followed is missing"));
                    return if is_last { records.crc } else { 0 };
                }
                Next::Damaged { at, goes_on } => {
                    self.problems.push(format!("wal/{name} is damaged at byte {at}; changes of the record there are missing"));
                    self.runs.push(EntryRun::default());
                    if !goes_on {
                        return 0;
                    }
                }
                Next::Record(record) => {
                    let kind = record.r#type;
                    if self.record(record, file).is_none() {
                        self.problems.push(format!("wal/{name} holds a record that cannot be read"));
                        // Other records say nothing of the entries around them.
                        if kind == ENTRY_RECORD {
                            self.runs.push(EntryRun::default());
                        }
                    }
                }
            }
        }
    }

    /// Reads the data of a record; `None` if they are not what its type says.
    fn record(&mut self, record: Record, file: usize) -> Option<()> {
        match record.r#type {
            METADATA_RECORD => self.cluster_id = Some(Metadata::decode(record.data).ok()?.cluster_id),
            ENTRY_RECORD => return self.entry(raftpb::Entry::decode(record.data).ok()?, file),
            STATE_RECORD => {
                let state = HardState::decode(record.data).ok()?;
                // What was committed stays so.
                (self.commit, self.term) = (self.commit.max(state.commit), state.term);
            }
            SNAPSHOT_RECORD => {
                let index = Snapshot::decode(record.data).ok()?.index;
                self.snapshot = self.snapshot.max(index);
                self.first_snapshot = self.first_snapshot.or(Some(index)).filter(|&first| first > 0);
            }
            _ => {}
        }
        Some(())
    }

    /// Adds an entry. An index seen before replaces that entry and all after it: a new leader overwrote what was not committed (etcd v3.6,
    /// `server/storage/wal/wal.go`, `ReadAll`).
    fn entry(&mut self, entry: raftpb::Entry, file: usize) -> Option<()> {
        let index = entry.index;
        // An index that no log reaches is not an index.
        if index == 0 || index > u64::MAX / 2 {
            return None;
        }
        let entry = RaftEntry { file, kind: entry.r#type, data: entry.data };
        let run = match self.runs.last_mut() {
            Some(run) if run.entries.is_empty() || (run.first..=run.end()).contains(&index) => run,
            _ => {
                self.runs.push(EntryRun::default());
                self.runs.last_mut()?
            }
        };
        if run.entries.is_empty() {
            run.first = index;
            self.begin(index);
        }
        let run = self.runs.last_mut()?;
        run.entries.truncate(usize::try_from(index.checked_sub(run.first)?).ok()?);
        run.entries.push(entry);
        Some(())
    }

    /// Begins the last run behind damage, with an entry that an earlier run may have too. What was committed is never overwritten: a run that begins
    /// there is of another log.
    fn begin(&mut self, index: u64) {
        let commit = self.commit;
        let Some((last, earlier)) = self.runs.split_last_mut() else { return };
        let repeated = earlier.iter_mut().filter(|run| !run.is_refused && run.end() > index);
        let mut repeated: Vec<&mut EntryRun> = repeated.collect();
        if repeated.iter().any(|run| !run.entries.is_empty() && run.first.max(index) <= commit) {
            last.is_refused = true;
            self.contradictions.push(format!(
                "the log has entries from {index} on twice, though those up to {commit} were committed and cannot change: the second ones are left out"
            ));
            return;
        }
        repeated.iter_mut().for_each(|run| run.entries.truncate(index.saturating_sub(run.first) as usize));
    }
}

impl EntryRun {
    /// The index after the last.
    pub(crate) fn end(&self) -> u64 {
        self.first + self.entries.len() as u64
    }
}

/// Whether a file that begins so is a log's: each begins with the checksum that the one before it ended with, and with who wrote it.
pub(crate) fn looks_like_log(beginning: &[u8]) -> bool {
    let beginning = Bytes::copy_from_slice(&beginning[..beginning.len().min(4096)]);
    let mut records = Records::new(&beginning, 0, false);
    let mut is_next = |kind: i64| matches!(records.next(), Next::Record(record) if record.r#type == kind);
    is_next(CRC_RECORD) && is_next(METADATA_RECORD)
}

/// Whether a log's files are called so.
pub(crate) fn is_name(name: &str) -> bool {
    sequence(name).is_some()
}

/// The sequence number in `<sequence>-<index>.wal`; `None` for the files prepared for later.
fn sequence(name: &str) -> Option<u64> {
    let (sequence, index) = name.strip_suffix(".wal")?.split_once('-')?;
    u64::from_str_radix(index, 16).ok()?;
    u64::from_str_radix(sequence, 16).ok()
}
