//! Tar archives: plain files and sparse ones. Links and devices in them are passed over.

use std::io::{self, Cursor};

use bytes::Bytes;

use super::super::budget::{Budget, Exceeded, Reservation};
use super::super::{bolt, spool};
use super::entry::{Body, ContainerEntry, LONGEST_NAME, MAX_ENTRIES, memory_of, name_of};

const HEADER_BYTES: usize = 512;

/// Where a header has its checksum: octal digits.
const CHECKSUM_RANGE: std::ops::Range<usize> = 148..156;

/// The longest extension of a header: a name, or what else belongs to one file.
const MAX_EXTENSION_BYTES: u64 = 1 << 20;

/// An archive that was read.
pub(super) struct TarListing {
    pub entries: Vec<ContainerEntry>,
    /// Why it ends early, a sentence.
    pub cut: Option<String>,
}

/// Whether bytes begin with the header of an archive. Of one that is damaged the magic number is enough, which archives of before 1988 lack.
pub(in super::super) fn looks_like_tar(bytes: &[u8]) -> bool {
    let Some(header) = bytes.get(..HEADER_BYTES) else { return false };
    // Every entry has a name; a database begins with page 0.
    if header[0] == 0 || is_sqlite_database(bytes) {
        return false;
    }
    checksum_holds(header) || (&header[257..262] == b"ustar" && !bolt::begins_with_meta_page(bytes))
}

/// Whether bytes begin with the header of an SQLite database: its magic number, and the fractions of pages that never change.
pub(super) fn is_sqlite_database(bytes: &[u8]) -> bool {
    bytes.starts_with(b"SQLite format 3\0") && bytes.get(21..24) == Some(&[64, 32, 32])
}

/// Whether the checksum of a header holds. It is made with spaces in its own place; some programs added signed bytes.
fn checksum_holds(header: &[u8]) -> bool {
    let digits = header[CHECKSUM_RANGE].split(|byte| matches!(byte, 0 | b' ')).find(|digits| !digits.is_empty());
    let written = digits.and_then(|digits| i64::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
    let byte = |(place, &byte): (usize, &u8)| if CHECKSUM_RANGE.contains(&place) { b' ' } else { byte };
    let sum = |of: fn(u8) -> i64| header.iter().enumerate().map(|found| of(byte(found))).sum::<i64>();
    written.is_some_and(|written| written == sum(i64::from) || written == sum(|byte| i64::from(byte.cast_signed())))
}

/// The files of an archive, which take `memory`. What is sparse is filled with zeros.
///
/// # Errors
///
/// A fragment: it is damaged at its beginning, or holds too many.
pub(super) fn entries(archive: &Bytes, budget: &Budget, memory: &mut Reservation) -> Result<TarListing, String> {
    let damaged = |cause: io::Error| format!("its tar archive is damaged or cut short: {cause}");
    // An extension is read into memory whole.
    let is_endless = |_: &Bytes, entry: tar::Entry<'_, Cursor<&[u8]>>| {
        let kind = entry.header().entry_type();
        let is_extension =
            kind.is_gnu_longname() || kind.is_gnu_longlink() || kind.is_pax_local_extensions() || kind.is_pax_global_extensions();
        Ok((is_extension && entry.header().entry_size()? > MAX_EXTENSION_BYTES).then_some(()))
    };
    if !read_up_to(archive, is_endless, true).0.is_empty() {
        return Err("its tar archive has a header of more than 1 MiB: it is damaged".to_owned());
    }
    let (entries, ended, end) = read_up_to(archive, |archive, entry| read_entry(archive, entry, budget, memory), false);
    if let Some(exceeded) = ended.as_ref().and_then(Exceeded::of) {
        return Err(exceeded.to_string());
    }
    if entries.len() > MAX_ENTRIES {
        return Err(format!("is a tar archive of more than {MAX_ENTRIES} files"));
    }
    match ended {
        None => {
            let goes_on = || "its tar archive goes on behind its end, where a header was lost; what follows in it is missing".to_owned();
            Ok(TarListing { entries, cut: goes_on_from(archive, end).then(goes_on) })
        }
        Some(cause) if entries.is_empty() => Err(damaged(cause)),
        Some(cause) => Ok(TarListing { entries, cut: Some(format!("{}; what follows in it is missing", damaged(cause))) }),
    }
}

/// Whether anything is behind the zeros that end an archive.
fn goes_on_from(archive: &Bytes, end: u64) -> bool {
    usize::try_from(end).ok().and_then(|end| archive.get(end..)).is_some_and(|rest| rest.iter().any(|&byte| byte != 0))
}

/// What `take` makes of the entries, why there are no more of them, if that is damage, and where reading ended.
fn read_up_to<T>(
    archive: &Bytes,
    mut take: impl FnMut(&Bytes, tar::Entry<'_, Cursor<&[u8]>>) -> io::Result<Option<T>>,
    is_raw: bool,
) -> (Vec<T>, Option<io::Error>, u64) {
    let mut found = Vec::new();
    let mut tar = tar::Archive::new(Cursor::new(&archive[..]));
    let entries = match tar.entries_with_seek() {
        Ok(entries) => entries.raw(is_raw),
        Err(cause) => return (found, Some(cause), 0),
    };
    for entry in entries {
        match entry.and_then(|entry| take(archive, entry)) {
            Ok(taken) => found.extend(taken),
            Err(cause) => return (found, Some(cause), 0),
        }
        if found.len() > MAX_ENTRIES {
            break;
        }
    }
    (found, None, tar.into_inner().position())
}

/// A file of an archive; `None` for an entry that is not a file.
fn read_entry(
    archive: &Bytes,
    mut entry: tar::Entry<'_, Cursor<&[u8]>>,
    budget: &Budget,
    memory: &mut Reservation,
) -> io::Result<Option<ContainerEntry>> {
    let kind = entry.header().entry_type();
    let path = entry.path_bytes();
    if !(kind.is_file() || kind.is_contiguous() || kind.is_gnu_sparse()) || path.len() > LONGEST_NAME {
        return Ok(None);
    }
    let name = name_of(&path);
    memory.grow(memory_of(&name))?;
    let place = (usize::try_from(entry.raw_file_position()), usize::try_from(entry.size()));
    let (Ok(start), Ok(length)) = place else { return Err(io::ErrorKind::UnexpectedEof.into()) };
    let bytes = match archive.get(start..start.saturating_add(length)) {
        Some(part) if !kind.is_gnu_sparse() => archive.slice_ref(part),
        None if !kind.is_gnu_sparse() => return Err(io::ErrorKind::UnexpectedEof.into()),
        _ => {
            let length = entry.size();
            spool::whole(&name, &mut entry, length, budget)?
        }
    };
    Ok(Some(ContainerEntry { name, body: Body::Bytes(bytes) }))
}
