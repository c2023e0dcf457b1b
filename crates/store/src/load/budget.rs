//! What one command may take of the machine to read files: the bytes that it unpacks, the memory that it holds and the work that it does, whatever the
//! nesting, the number of entries, their overlap or their format. All limits of that are in this file.
//!
//! A small file may ask for little; a large one may be as large as it is, so its length raises what an index and the work on it may take.

use std::fmt;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::mapped::map_lazily;

/// What files may take besides the bytes that are unpacked of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileLimits {
    /// The bytes of small unpacked files that stay on the heap at once; more of them lie in files without a name.
    pub heap: u64,
    /// The bytes that the indexes of all files may take at once, and the lists of what archives hold.
    pub index: u64,
    /// The bytes that are unpacked of all files only to recognise them.
    pub looks: u64,
}

impl Default for FileLimits {
    fn default() -> Self {
        Self { heap: 64 << 20, index: 768 << 20, looks: 2 << 30 }
    }
}

/// By each byte of the files themselves, so many more bytes may be unpacked in all, be unpacked to recognise what is in them, and be taken by an index.
const WORK_A_BYTE: u64 = 256;
const LOOKS_A_BYTE: u64 = 64;
const INDEX_A_BYTE: u64 = 4;

/// What of `--max-unpacked-size` indexes may take, and looks, where that is more than [`FileLimits`] has: who raises it raises these too.
const INDEX_OF_UNPACKED: u64 = 22;
const LOOKS_OF_UNPACKED: u64 = 8;

/// Small unpacked files share a file without a name of this length: there may be more of them than a process may have mappings.
const CHUNK_BYTES: usize = 64 << 20;

/// What was taken so far. Clones share it, so that everything one command reads counts together.
#[derive(Clone, Debug, Default)]
pub struct Spent(Arc<Meters>);

#[derive(Debug, Default)]
struct Meters {
    unpacked: AtomicU64,
    /// The most of it at once.
    peak: AtomicU64,
    heap: AtomicU64,
    index: AtomicU64,
    looks: AtomicU64,
    work: AtomicU64,
    /// The bytes of the files themselves.
    files: AtomicU64,
    /// How often more was asked for than is allowed.
    refusals: AtomicU64,
    chunk: Mutex<Option<SharedFile>>,
}

impl Spent {
    /// The most bytes of unpacked files that were there at once.
    pub fn most_unpacked(&self) -> u64 {
        self.0.peak.load(Ordering::Relaxed)
    }

    /// All bytes that were unpacked, to read files and to recognise them.
    pub fn worked(&self) -> u64 {
        self.0.work.load(Ordering::Relaxed) + self.0.looks.load(Ordering::Relaxed)
    }
}

/// A file without a name that small files share.
#[derive(Debug)]
struct SharedFile {
    file: File,
    map: Bytes,
    used: usize,
}

/// What may be taken, and what was.
#[derive(Clone, Debug)]
pub struct Budget {
    unpacked: u64,
    bounds: FileLimits,
    spent: Spent,
}

/// More was asked for than is allowed; says so as a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exceeded {
    /// The bytes that are unpacked at once.
    Unpacked {
        /// How many may be.
        most: u64,
        /// Whether others than those of one file are among them.
        with_others: bool,
    },
    /// The memory for indexes.
    Index {
        /// How many bytes may be taken.
        most: u64,
    },
    /// The bytes that are unpacked in all.
    Work {
        /// How many may be.
        most: u64,
    },
    /// The bytes that are unpacked to recognise files.
    Looks {
        /// How many may be.
        most: u64,
    },
}

impl fmt::Display for Exceeded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Unpacked { most, with_others: false } => write!(
                formatter,
                "it unpacks to more than {most} bytes, and ketcd stops there; if it is really that large, raise --max-unpacked-size"
            ),
            Self::Unpacked { most, with_others: true } => write!(
                formatter,
                "with what was unpacked before it, it unpacks to more than {most} bytes, and ketcd stops there; if all of it is really that large, raise \
                 --max-unpacked-size"
            ),
            Self::Index { most } => write!(
                formatter,
                "an index of it takes more than {most} bytes of memory, and ketcd stops there; read a part of it, or raise --max-unpacked-size"
            ),
            Self::Work { most } => write!(
                formatter,
                "reading it needs more than {most} unpacked bytes, and ketcd stops there; if it is really that large, raise --max-unpacked-size"
            ),
            Self::Looks { most } => write!(
                formatter,
                "seeing what is in it needs more than {most} unpacked bytes, and ketcd stops there; name the entry to read (-f PATH::NAME), or raise \
                 --max-unpacked-size"
            ),
        }
    }
}

impl std::error::Error for Exceeded {}

impl From<Exceeded> for io::Error {
    fn from(exceeded: Exceeded) -> Self {
        Self::other(exceeded)
    }
}

impl Exceeded {
    /// What is behind an error of reading, if it is this.
    pub(super) fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Unpacked,
    Heap,
    Index,
}

/// A part of a budget that is in use, and given back when it is dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: Budget,
    of: Of,
    bytes: u64,
}

impl Reservation {
    /// Takes more.
    ///
    /// # Errors
    ///
    /// The limit is reached; what was taken stays taken.
    pub fn grow(&mut self, bytes: u64) -> Result<(), Exceeded> {
        let (meter, most) = self.budget.meter(self.of);
        if !take(meter, bytes, most) {
            let with_others = meter.load(Ordering::Relaxed) > self.bytes;
            return Err(self.budget.refuse(match self.of {
                Of::Unpacked => Exceeded::Unpacked { most, with_others },
                Of::Heap | Of::Index => Exceeded::Index { most },
            }));
        }
        self.bytes += bytes;
        if self.of == Of::Unpacked {
            self.budget.spent.0.peak.fetch_max(meter.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.meter(self.of).0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Takes from a meter, if that leaves it within `most`.
fn take(meter: &AtomicU64, bytes: u64, most: u64) -> bool {
    let taken = |taken: u64| taken.checked_add(bytes).filter(|&taken| taken <= most);
    bytes == 0 || meter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_ok()
}

impl Budget {
    /// A budget of `unpacked` bytes that are unpacked at once.
    pub fn new(unpacked: u64, bounds: FileLimits, spent: Spent) -> Self {
        Self { unpacked, bounds, spent }
    }

    /// Reserves room for bytes that are unpacked, whether they lie on the heap or in TMPDIR; none yet.
    pub fn unpacked(&self) -> Reservation {
        self.reservation(Of::Unpacked)
    }

    /// Reserves memory for an index; none yet.
    pub fn index(&self) -> Reservation {
        self.reservation(Of::Index)
    }

    fn reservation(&self, of: Of) -> Reservation {
        Reservation { budget: self.clone(), of, bytes: 0 }
    }

    fn meter(&self, of: Of) -> (&AtomicU64, u64) {
        let Meters { unpacked, heap, index, .. } = &*self.spent.0;
        match of {
            Of::Unpacked => (unpacked, self.unpacked),
            Of::Heap => (heap, self.bounds.heap),
            Of::Index => (index, self.raised(self.bounds.index.max(self.unpacked / INDEX_OF_UNPACKED), INDEX_A_BYTE)),
        }
    }

    /// A limit that the length of the files themselves raises.
    fn raised(&self, most: u64, a_byte: u64) -> u64 {
        most.saturating_add(self.spent.0.files.load(Ordering::Relaxed).saturating_mul(a_byte))
    }

    /// Counts a file that is there as it is: the more, the more may be made of it.
    pub(super) fn add_file(&self, bytes: u64) {
        self.spent.0.files.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts bytes that were unpacked, whatever becomes of them.
    ///
    /// # Errors
    ///
    /// They are too many.
    pub fn work(&self, bytes: u64) -> Result<(), Exceeded> {
        let most = self.raised(self.unpacked, WORK_A_BYTE);
        if take(&self.spent.0.work, bytes, most) { Ok(()) } else { Err(self.refuse(Exceeded::Work { most })) }
    }

    /// Counts bytes that were unpacked only to recognise a file.
    ///
    /// # Errors
    ///
    /// They are too many.
    pub(super) fn look(&self, bytes: u64) -> Result<(), Exceeded> {
        let most = self.raised(self.bounds.looks.max(self.unpacked / LOOKS_OF_UNPACKED), LOOKS_A_BYTE);
        if take(&self.spent.0.looks, bytes, most) { Ok(()) } else { Err(self.refuse(Exceeded::Looks { most })) }
    }

    fn refuse(&self, exceeded: Exceeded) -> Exceeded {
        self.spent.0.refusals.fetch_add(1, Ordering::Relaxed);
        exceeded
    }

    /// How often more was asked for than is allowed.
    #[cfg(any(test, feature = "objects"))]
    pub(super) fn refusals(&self) -> u64 {
        self.spent.0.refusals.load(Ordering::Relaxed)
    }

    /// Keeps a small file that was unpacked: on the heap, or with others in a file without a name.
    ///
    /// # Errors
    ///
    /// There is no room in TMPDIR.
    pub(super) fn keep(&self, mut bytes: Vec<u8>, room: Reservation) -> io::Result<Bytes> {
        let mut heap = self.reservation(Of::Heap);
        // Where it is full, the bytes go to a file.
        let (meter, most) = self.meter(Of::Heap);
        if take(meter, bytes.len() as u64, most) {
            heap.bytes = bytes.len() as u64;
            bytes.shrink_to_fit();
            return Ok(HeldBytes::bytes(bytes.into(), vec![room, heap]));
        }
        self.spent.0.with_others(&bytes).map(|bytes| HeldBytes::bytes(bytes, vec![room]))
    }
}

impl Meters {
    fn with_others(&self, bytes: &[u8]) -> io::Result<Bytes> {
        let mut held = self.chunk.lock().unwrap_or_else(PoisonError::into_inner);
        if held.as_ref().is_none_or(|chunk| chunk.used + bytes.len() > chunk.map.len()) {
            let file = tempfile::tempfile()?;
            file.set_len(CHUNK_BYTES.max(bytes.len()) as u64)?;
            *held = Some(SharedFile { map: map_lazily("unpacked files", &file)?, file, used: 0 });
        }
        let Some(chunk) = held.as_mut() else { return Err(io::ErrorKind::Other.into()) };
        let place = chunk.used..chunk.used + bytes.len();
        chunk.file.seek(SeekFrom::Start(place.start as u64))?;
        chunk.file.write_all(bytes)?;
        chunk.used = place.end;
        Ok(chunk.map.slice(place))
    }
}

/// Bytes, and what they take.
struct HeldBytes {
    bytes: Bytes,
    _rooms: Vec<Reservation>,
}

impl HeldBytes {
    fn bytes(bytes: Bytes, rooms: Vec<Reservation>) -> Bytes {
        Bytes::from_owner(Self { bytes, _rooms: rooms })
    }
}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Bytes that take room as long as somebody has them.
pub(super) fn with_room(bytes: Bytes, room: Reservation) -> Bytes {
    HeldBytes::bytes(bytes, vec![room])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(unpacked: u64, bounds: FileLimits) -> Budget {
        Budget::new(unpacked, bounds, Spent::default())
    }

    #[test]
    fn what_is_held_counts_together_and_is_given_back() {
        let all = budget(100, FileLimits::default());
        let (mut one, mut other) = (all.unpacked(), all.clone().unpacked());
        assert_eq!(one.grow(60), Ok(()));
        assert_eq!(one.grow(60), Err(Exceeded::Unpacked { most: 100, with_others: false }));
        assert_eq!(other.grow(60), Err(Exceeded::Unpacked { most: 100, with_others: true }));
        assert_eq!(other.grow(u64::MAX), Err(Exceeded::Unpacked { most: 100, with_others: true }));
        drop(one);
        assert_eq!((other.grow(60), all.refusals()), (Ok(()), 3));
    }

    #[test]
    fn work_is_never_given_back_and_a_large_file_may_take_more() {
        let all = budget(100, FileLimits { looks: 10, ..FileLimits::default() });
        assert_eq!((all.work(100), all.work(1)), (Ok(()), Err(Exceeded::Work { most: 100 })));
        assert_eq!((all.look(12), all.look(1)), (Ok(()), Err(Exceeded::Looks { most: 12 })));
        all.add_file(1);
        assert_eq!((all.work(WORK_A_BYTE), all.look(LOOKS_A_BYTE)), (Ok(()), Ok(())));
    }

    #[test]
    fn small_files_lie_together_where_the_heap_is_full() {
        let all = budget(1 << 30, FileLimits { heap: 10, ..FileLimits::default() });
        let kept: Vec<Bytes> = (0..200_u8).map(|number| all.keep(vec![number; 8], all.unpacked()).unwrap()).collect();
        assert!(kept.iter().zip(0..200_u8).all(|(bytes, number)| bytes[..] == [number; 8]));
        assert_eq!(all.spent.0.heap.load(Ordering::Relaxed), 8);
        drop(kept);
        assert_eq!(all.spent.0.heap.load(Ordering::Relaxed), 0);
    }
}
