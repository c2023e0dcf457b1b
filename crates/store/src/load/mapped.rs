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

/// A mapping and the file's name. A handler of signals may not take locks, so every field is read alone; an `end` of 0 is no mapping.
struct Region {
    start: AtomicUsize,
    end: AtomicUsize,
    /// Of `name_length` bytes, never freed.
    name: AtomicPtr<u8>,
    name_length: AtomicUsize,
}

/// More files than are ever mapped at once; of others the name is not known.
const MOST: usize = 64;

static REGIONS: [Region; MOST] = [const {
    Region { start: AtomicUsize::new(0), end: AtomicUsize::new(0), name: AtomicPtr::new(ptr::null_mut()), name_length: AtomicUsize::new(0) }
}; MOST];

/// How many of [`REGIONS`] were ever used.
static USED: AtomicUsize = AtomicUsize::new(0);

/// Maps a file for reading.
///
/// # Errors
///
/// It cannot be mapped.
pub(crate) fn map(name: &str, file: &File) -> io::Result<Bytes> {
    map_with_room(name, file, 0)
}

/// Maps a file that may grow by `room` bytes while it is mapped. What lies beyond its end must not be touched before.
///
/// # Errors
///
/// It cannot be mapped.
pub(super) fn map_with_room(name: &str, file: &File, room: usize) -> io::Result<Bytes> {
    let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    if length == 0 {
        return Ok(Bytes::new());
    }
    let map = mapping(name, file, length, room)?;
    populate(&map, length);
    Ok(Bytes::from_owner(Mapped(map)))
}

/// Maps a file of which little will be read.
///
/// # Errors
///
/// It cannot be mapped.
pub(super) fn map_lazily(name: &str, file: &File) -> io::Result<Bytes> {
    let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    Ok(Bytes::from_owner(Mapped(mapping(name, file, length, 0)?)))
}

fn mapping(name: &str, file: &File, length: usize, room: usize) -> io::Result<Arc<Mmap>> {
    // Elsewhere nothing beyond the end can be mapped.
    let room = if cfg!(unix) { room } else { 0 };
    // SAFETY: the mapping is read-only and private to us; every reader bounds-checks what it finds and tolerates bytes that change. Of a
    // file that is cut short while it is mapped the binary's handler of SIGBUS makes an error; etcd never shortens its database in place
    // (a defragmentation renames a new file over it).
    let map = Arc::new(unsafe { MmapOptions::new().len(length + room).map(file)? });
    remember(name, &map);
    Ok(map)
}

/// A mapping shared with the thread that populates its page table.
struct Mapped(Arc<Mmap>);

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Populates the page table of a large mapping on another thread. The reader touches nearly every page and would otherwise fault on each sixteenth.
#[cfg(target_os = "linux")]
fn populate(map: &Arc<Mmap>, length: usize) {
    /// Smaller files are read before a thread would have started.
    const LARGE: usize = 64 << 20;
    const PIECE: usize = 16 << 20;
    if length < LARGE {
        return;
    }
    let map = Arc::clone(map);
    std::thread::spawn(move || {
        // Kernels before 5.14 refuse this advice; the reader then faults pages in by itself.
        let fill = |start| map.advise_range(memmap2::Advice::PopulateRead, start, PIECE.min(length - start));
        (0..length).step_by(PIECE).take_while(|_| Arc::strong_count(&map) > 1).try_for_each(fill)
    });
}

#[cfg(not(target_os = "linux"))]
fn populate(_: &Arc<Mmap>, _: usize) {}

fn remember(name: &str, map: &Mmap) {
    let Some(region) = REGIONS.get(USED.fetch_add(1, Ordering::Relaxed)) else { return };
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    let start = map.as_ptr() as usize;
    region.name.store(name.as_ptr().cast_mut(), Ordering::Relaxed);
    region.name_length.store(name.len(), Ordering::Relaxed);
    region.start.store(start, Ordering::Relaxed);
    region.end.store(start + map.len(), Ordering::Release);
}

/// The name of the file that is, or was, mapped at `address`. It takes no lock and no memory, so that a handler of signals may call it.
pub fn file_at(address: usize) -> Option<&'static str> {
    let used = USED.load(Ordering::Relaxed).min(MOST);
    // The newest mapping first: an address may have been another's before.
    REGIONS[..used].iter().rev().find_map(|region| {
        let end = region.end.load(Ordering::Acquire);
        if !(region.start.load(Ordering::Relaxed)..end).contains(&address) {
            return None;
        }
        let (name, length) = (region.name.load(Ordering::Relaxed), region.name_length.load(Ordering::Relaxed));
        // SAFETY: `remember` leaked a `str` of this length and stored it before `end`, which is not 0 here.
        Some(unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(name, length)) })
    })
}
