//! Files mapped into memory, and which of them an address lies in.
//!
//! A file that is cut short while it is mapped answers reads beyond its new end with SIGBUS. A library leaves signals alone, so this only
//! remembers where each file is mapped; the binary's handler asks for the file at the address of the fault and reports it.

use std::fs::File;
use std::io;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use bytes::Bytes;
use memmap2::{Mmap, MmapOptions};

/// A mapping and the file's name. A handler of signals may not take locks, so every field is read alone; a `start` of 0 means no mapping, an `end`
/// of 0 none that is known yet.
struct Region {
    start: AtomicUsize,
    end: AtomicUsize,
    /// `name_length` bytes, never freed.
    name: AtomicPtr<u8>,
    name_length: AtomicUsize,
}

/// How many files mapped at once are known by name.
const MAX_MAPPED_FILES: usize = 64;

static MAPPED_REGIONS: [Region; MAX_MAPPED_FILES] = [const {
    Region { start: AtomicUsize::new(0), end: AtomicUsize::new(0), name: AtomicPtr::new(ptr::null_mut()), name_length: AtomicUsize::new(0) }
}; MAX_MAPPED_FILES];

/// Maps a file for reading.
///
/// # Errors
///
/// It cannot be mapped.
pub(crate) fn map(name: &str, file: &File) -> io::Result<Bytes> {
    map_with_room(name, file, 0)
}

/// Maps a file of which little will be read.
///
/// # Errors
///
/// It cannot be mapped.
pub(super) fn map_lazily(name: &str, file: &File) -> io::Result<Bytes> {
    map_unpopulated(name, file, 0).map(|map| map.map_or_else(Bytes::new, |(map, _)| Bytes::from_owner(map)))
}

/// Maps a file that may grow by `room` bytes while it is mapped. What lies beyond its end must not be touched before.
///
/// # Errors
///
/// It cannot be mapped.
pub(super) fn map_with_room(name: &str, file: &File, room: usize) -> io::Result<Bytes> {
    let Some((map, length)) = map_unpopulated(name, file, room)? else { return Ok(Bytes::new()) };
    populate(&map.map, length);
    Ok(Bytes::from_owner(map))
}

/// A mapping, and the length of the file; `None` where that is empty.
fn map_unpopulated(name: &str, file: &File, room: usize) -> io::Result<Option<(Mapped, usize)>> {
    let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    if length == 0 {
        return Ok(None);
    }
    // Elsewhere nothing beyond the end can be mapped.
    let room = if cfg!(unix) { room } else { 0 };
    // SAFETY: the mapping is read-only and private to us; every reader bounds-checks what it finds and tolerates bytes that change. Of a
    // file that is cut short while it is mapped the binary's handler of SIGBUS makes an error; etcd never shortens its database in place
    // (a defragmentation renames a new file over it).
    let map = Arc::new(unsafe { MmapOptions::new().len(length + room).map(file)? });
    let region = remember(name, &map);
    Ok(Some((Mapped { map, region }, length)))
}

/// A mapping shared with the thread that populates its page table.
struct Mapped {
    map: Arc<Mmap>,
    region: Option<&'static Region>,
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.map
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if let Some(region) = self.region {
            region.end.store(0, Ordering::Release);
            region.start.store(0, Ordering::Release);
        }
    }
}

/// Populates the page table of a large mapping on another thread. The reader touches nearly every page and would otherwise fault on each sixteenth.
#[cfg(target_os = "linux")]
fn populate(map: &Arc<Mmap>, length: usize) {
    /// Smaller files are read before a thread would have started.
    const MIN_POPULATED_BYTES: usize = 64 << 20;
    const PIECE_BYTES: usize = 16 << 20;
    if length < MIN_POPULATED_BYTES {
        return;
    }
    let map = Arc::clone(map);
    std::thread::spawn(move || {
        // Kernels before 5.14 refuse this advice; the reader then faults pages in by itself.
        let fill = |start| map.advise_range(memmap2::Advice::PopulateRead, start, PIECE_BYTES.min(length - start));
        (0..length).step_by(PIECE_BYTES).take_while(|_| Arc::strong_count(&map) > 1).try_for_each(fill)
    });
}

#[cfg(not(target_os = "linux"))]
fn populate(_: &Arc<Mmap>, _: usize) {}

fn remember(name: &str, map: &Mmap) -> Option<&'static Region> {
    let start = map.as_ptr() as usize;
    let take = |region: &&Region| region.start.compare_exchange(0, start, Ordering::AcqRel, Ordering::Relaxed).is_ok();
    let region = MAPPED_REGIONS.iter().find(take)?;
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    region.name.store(name.as_ptr().cast_mut(), Ordering::Relaxed);
    region.name_length.store(name.len(), Ordering::Relaxed);
    region.end.store(start + map.len(), Ordering::Release);
    Some(region)
}

/// The name of the file that is mapped at `address`. It takes no lock and no memory, so that a handler of signals may call it.
pub fn file_at(address: usize) -> Option<&'static str> {
    MAPPED_REGIONS.iter().find_map(|region| {
        let end = region.end.load(Ordering::Acquire);
        if !(region.start.load(Ordering::Relaxed)..end).contains(&address) {
            return None;
        }
        let (name, length) = (region.name.load(Ordering::Relaxed), region.name_length.load(Ordering::Relaxed));
        // SAFETY: `remember` leaked a `str` of this length and stored it before `end`, which is not 0 here.
        Some(unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(name, length)) })
    })
}
