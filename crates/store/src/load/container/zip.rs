//! Zip archives (APPNOTE 6.3.10): what their central directory lists or, where its end is lost, what their local headers say.
//!
//! Nothing that an archive says of itself is trusted: places are held against the bytes that are there, sizes and checksums against what comes out.

use std::io::{self, Read};
use std::ops::Range;

use bytes::Bytes;

use super::super::budget::{Budget, Exceeded, Reservation};
use super::super::little_endian::{u16_at, u32_at, u64_at};
use super::entry::{Body, ContainerEntry, LONGEST_NAME, MAX_ENTRIES, Method, PackedEntry, memory_of, name_of};

const LOCAL_SIGNATURE: &[u8] = b"PK\x03\x04";
const CENTRAL_SIGNATURE: &[u8] = b"PK\x01\x02";
const END_SIGNATURE: &[u8] = b"PK\x05\x06";
const END64_SIGNATURE: &[u8] = b"PK\x06\x06";
const LOCATOR64_SIGNATURE: &[u8] = b"PK\x06\x07";

/// The lengths of headers without what is variable in them.
const LOCAL_LENGTH: usize = 30;
const CENTRAL_LENGTH: usize = 46;
const END_LENGTH: usize = 22;
const END64_LENGTH: usize = 56;
const LOCATOR64_LENGTH: usize = 20;

/// The longest comment at an archive's end.
const MAX_COMMENT_BYTES: usize = 0xffff;

/// Bits of an entry's flags.
const ENCRYPTED_FLAG: u16 = 1;
const DESCRIBED_BEHIND: u16 = 8;

/// Stands for a number that has no room and is in the extra field.
const IN_EXTRA_FIELD: u64 = 0xffff_ffff;

/// An archive that was read.
pub(super) struct ZipListing {
    pub entries: Vec<ContainerEntry>,
    /// Why there may be more, a sentence.
    pub cut: Option<String>,
}

pub(super) fn begins_so(bytes: &[u8]) -> bool {
    bytes.starts_with(LOCAL_SIGNATURE) || bytes.starts_with(END_SIGNATURE)
}

/// Whether bytes are an archive with something before it, such as a program that unpacks it.
pub(super) fn is_behind_something(bytes: &[u8]) -> bool {
    end_record(bytes).is_some_and(|end| central_directory(bytes, end).is_some())
}

/// The files of an archive, which take `memory`.
///
/// # Errors
///
/// A fragment: it is damaged, or holds too many, or some whose bytes overlap.
pub(super) fn entries(archive: &Bytes, budget: &Budget, memory: &mut Reservation) -> Result<ZipListing, String> {
    let Some((directory, count, moved)) = end_record(archive).and_then(|end| central_directory(archive, end)) else {
        let cut = Some("its zip archive is damaged or cut short: the list at its end is lost; what follows in it is missing".to_owned());
        return Ok(ZipListing { entries: walk(archive, budget, memory)?, cut });
    };
    let (mut entries, mut places, mut at) = (Vec::new(), Vec::new(), directory.start);
    for _ in 0..count {
        let Some((entry, next)) = central(archive, at, moved) else {
            let cut = Some(format!("its zip archive is damaged: {} of {count} entries of its list can be read", entries.len()));
            refuse_overlap(places, directory.start)?;
            return Ok(ZipListing { entries, cut });
        };
        if entries.len() >= MAX_ENTRIES {
            return Err(format!("is a zip archive of more than {MAX_ENTRIES} entries"));
        }
        if let Some((entry, place)) = entry {
            memory.grow(memory_of(&entry.name)).map_err(|exceeded| exceeded.to_string())?;
            entries.push(entry);
            places.extend(place);
        }
        at = next;
    }
    refuse_overlap(places, directory.start)?;
    Ok(ZipListing { entries, cut: None })
}

/// Refuses an archive that lists the same bytes more than once, as Info-ZIP's unzip does (6.0, `extract.c`, "overlapped components"): some bytes would
/// become as many as its list has entries. `list` is where that begins.
fn refuse_overlap(mut places: Vec<Range<usize>>, list: usize) -> Result<(), String> {
    places.sort_unstable_by_key(|place| (place.start, place.end));
    let ends = places.iter().map(|place| place.end);
    let nexts = places.iter().skip(1).map(|place| place.start).chain([list]);
    match ends.zip(nexts).find(|(end, next)| end > next) {
        None => Ok(()),
        Some((_, at)) => Err(format!(
            "is a zip archive whose entries overlap, from byte {at} on: no program writes such a one; unpack it with another program, if it is to be trusted"
        )),
    }
}

fn end_record(bytes: &[u8]) -> Option<usize> {
    let first = bytes.len().saturating_sub(END_LENGTH + MAX_COMMENT_BYTES);
    let last = bytes.len().checked_sub(END_LENGTH)?;
    let is_end = |&at: &usize| {
        bytes[at..].starts_with(END_SIGNATURE)
            && u16_at(bytes, at + 20).is_some_and(|comment| at + END_LENGTH + usize::from(comment) <= bytes.len())
    };
    (first..=last).rev().find(is_end)
}

/// The place of the central directory, how many entries it has, and how far all is from where the archive says, as something was put before it.
fn central_directory(bytes: &[u8], end: usize) -> Option<(Range<usize>, u64, usize)> {
    let wide = end.checked_sub(LOCATOR64_LENGTH).filter(|&locator| bytes[locator..].starts_with(LOCATOR64_SIGNATURE)).and_then(|locator| {
        let said = usize::try_from(u64_at(bytes, locator + 8)?).ok();
        let near = locator.checked_sub(END64_LENGTH);
        [said, near].into_iter().flatten().find(|&at| bytes.get(at..).is_some_and(|record| record.starts_with(END64_SIGNATURE)))
    });
    let (end, count, size, offset) = match wide {
        Some(wide) => (wide, u64_at(bytes, wide + 32)?, u64_at(bytes, wide + 40)?, u64_at(bytes, wide + 48)?),
        None => (end, u16_at(bytes, end + 10)?.into(), u32_at(bytes, end + 12)?.into(), u32_at(bytes, end + 16)?.into()),
    };
    let start = end.checked_sub(usize::try_from(size).ok()?)?;
    let moved = start.checked_sub(usize::try_from(offset).ok()?)?;
    (count == 0 || bytes[start..].starts_with(CENTRAL_SIGNATURE)).then_some((start..end, count, moved))
}

struct ZipHeader {
    flags: u16,
    method: u16,
    crc: u32,
    packed: u64,
    size: u64,
}

impl ZipHeader {
    /// The fields that both headers have, from `at` on.
    fn read(bytes: &[u8], at: usize) -> Option<Self> {
        Some(Self {
            flags: u16_at(bytes, at)?,
            method: u16_at(bytes, at + 2)?,
            crc: u32_at(bytes, at + 8)?,
            packed: u32_at(bytes, at + 12)?.into(),
            size: u32_at(bytes, at + 16)?.into(),
        })
    }

    /// Takes from the extra field what has no room in the header.
    fn widen(&mut self, extra: &[u8], offset: &mut u64) {
        const ZIP64_EXTRA: u16 = 1;
        let mut at = 0;
        while let (Some(id), Some(length)) = (u16_at(extra, at), u16_at(extra, at + 2)) {
            let field = extra.get(at + 4..(at + 4 + usize::from(length)).min(extra.len())).unwrap_or_default();
            if id == ZIP64_EXTRA {
                let mut numbers = field.chunks_exact(8).filter_map(|number| u64_at(number, 0));
                for number in [&mut self.size, &mut self.packed, offset] {
                    if *number == IN_EXTRA_FIELD {
                        *number = numbers.next().unwrap_or(*number);
                    }
                }
                return;
            }
            at += 4 + usize::from(length);
        }
    }

    fn body(&self, bytes: Bytes, promised: Option<(u64, u32)>) -> Body {
        let method = match self.method {
            _ if self.flags & ENCRYPTED_FLAG != 0 => return Body::Sealed("is encrypted; unpack the archive with its password"),
            0 => Method::Stored,
            8 => Method::Deflate,
            12 | 93 | 95 => Method::Other,
            9 => return Body::Sealed("is compressed with Deflate64, which is not read; unpack the archive"),
            _ => return Body::Sealed("is compressed with a method of zip that is not read; unpack the archive"),
        };
        Body::Packed(PackedEntry { bytes, method, promised })
    }
}

/// An entry of the central directory, if it is a file, with where its header and its bytes are; and the place of the next.
fn central(archive: &Bytes, at: usize, moved: usize) -> Option<(Option<(ContainerEntry, Option<Range<usize>>)>, usize)> {
    let header = archive.get(at..).filter(|header| header.starts_with(CENTRAL_SIGNATURE) && header.len() >= CENTRAL_LENGTH)?;
    let lengths = [28, 30, 32].map(|field| u16_at(header, field).map(usize::from));
    let [Some(name), Some(extra), Some(comment)] = lengths else { return None };
    let rest = header.get(CENTRAL_LENGTH..CENTRAL_LENGTH + name + extra)?;
    let next = at + CENTRAL_LENGTH + name + extra + comment;
    let (mut said, mut offset) = (ZipHeader::read(header, 8)?, u64::from(u32_at(header, 42)?));
    said.widen(&rest[name..], &mut offset);
    if !is_file(&rest[..name], u16_at(header, 4)?, u32_at(header, 38)?) {
        return Some((None, next));
    }
    let (body, place) = match data(archive, offset, moved, said.packed) {
        Some((header, range)) => {
            let place = header..range.end;
            (said.body(archive.slice(range), Some((said.size, said.crc))), Some(place))
        }
        None => (Body::Sealed("lies beyond the archive's end, which is damaged or cut short"), None),
    };
    Some((Some((ContainerEntry { name: name_of(&rest[..name]), body }, place)), next))
}

/// Whether an entry is a file, neither a folder nor, where Unix made it, a link.
fn is_file(name: &[u8], made_by: u16, attributes: u32) -> bool {
    const UNIX_SYSTEMS: [u16; 2] = [3, 19];
    const MODE_KIND_MASK: u32 = 0o170_000;
    const MODE_PLAIN_FILE: u32 = 0o100_000;
    let kind = if UNIX_SYSTEMS.contains(&(made_by >> 8)) { attributes >> 16 & MODE_KIND_MASK } else { 0 };
    !name.ends_with(b"/") && !name.is_empty() && name.len() <= LONGEST_NAME && (kind == 0 || kind == MODE_PLAIN_FILE)
}

/// Where the local header of an entry begins, and where its bytes are behind that.
fn data(archive: &[u8], offset: u64, moved: usize, length: u64) -> Option<(usize, Range<usize>)> {
    let at = usize::try_from(offset).ok()?.checked_add(moved)?;
    let header = archive.get(at..).filter(|header| header.starts_with(LOCAL_SIGNATURE))?;
    let start = at + LOCAL_LENGTH + usize::from(u16_at(header, 26)?) + usize::from(u16_at(header, 28)?);
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    (end <= archive.len()).then_some((at, start..end))
}

/// The entries in the order of their local headers, as far as one follows the other.
fn walk(archive: &Bytes, budget: &Budget, memory: &mut Reservation) -> Result<Vec<ContainerEntry>, String> {
    let (mut entries, mut at) = (Vec::new(), 0);
    let refused = |exceeded: Exceeded| exceeded.to_string();
    while let Some((entry, next)) = local(archive, at, budget).map_err(refused)? {
        if entries.len() >= MAX_ENTRIES {
            return Err(format!("is a zip archive of more than {MAX_ENTRIES} entries"));
        }
        if let Some(entry) = entry {
            memory.grow(memory_of(&entry.name)).map_err(refused)?;
            entries.push(entry);
        }
        at = next;
    }
    Ok(entries)
}

/// The entry at a local header, if it is a file, and the place of the next; `None` where no header is.
///
/// # Errors
///
/// Finding its end took more than is allowed.
fn local(archive: &Bytes, at: usize, budget: &Budget) -> Result<Option<(Option<ContainerEntry>, usize)>, Exceeded> {
    let Some((said, name, start)) = local_header(archive, at) else { return Ok(None) };
    let is_behind = said.flags & DESCRIBED_BEHIND != 0;
    let length = match is_behind {
        true => described_behind(&archive[start..], &said, budget)?,
        false => usize::try_from(said.packed).unwrap_or(usize::MAX),
    };
    let end = start.saturating_add(length).min(archive.len());
    let next = if is_behind {
        (end..archive.len().min(end + 25)).find(|&at| archive[at..].starts_with(LOCAL_SIGNATURE)).unwrap_or(end)
    } else {
        end
    };
    let promised = (!is_behind).then_some((said.size, said.crc));
    // Whether it is a link is said at the end, which is lost.
    let body = said.body(archive.slice(start..end), promised);
    Ok(Some((is_file(name, 0, 0).then(|| ContainerEntry { name: name_of(name), body }), next)))
}

/// What a local header says, the name in it, and where what it is of begins.
fn local_header(archive: &[u8], at: usize) -> Option<(ZipHeader, &[u8], usize)> {
    let header = archive.get(at..).filter(|header| header.starts_with(LOCAL_SIGNATURE))?;
    let mut said = ZipHeader::read(header, 6)?;
    let (name, extra) = (usize::from(u16_at(header, 26)?), usize::from(u16_at(header, 28)?));
    let rest = header.get(LOCAL_LENGTH..LOCAL_LENGTH + name + extra)?;
    said.widen(&rest[name..], &mut 0);
    Some((said, &rest[..name], at + LOCAL_LENGTH + name + extra))
}

/// How many bytes an entry takes whose size is behind it: they are unpacked to find out.
fn described_behind(bytes: &[u8], said: &ZipHeader, budget: &Budget) -> Result<usize, Exceeded> {
    const PIECE_BYTES: usize = 64 << 10;
    match said.method {
        0 => return Ok(stored_length(bytes).unwrap_or(bytes.len())),
        8 => {}
        _ => return Ok(bytes.len()),
    }
    let (mut decoder, mut piece) = (flate2::bufread::DeflateDecoder::new(bytes), vec![0; PIECE_BYTES]);
    loop {
        match decoder.read(&mut piece) {
            Ok(0) => return Ok(usize::try_from(decoder.total_in()).unwrap_or(bytes.len())),
            Ok(length) => budget.look(length as u64)?,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Ok(bytes.len()),
        }
    }
}

/// How many bytes come before the first descriptor that says as many: of what is stored nothing else tells.
fn stored_length(bytes: &[u8]) -> Option<usize> {
    const DESCRIPTOR_SIGNATURE: &[u8] = b"PK\x07\x08";
    let says_so = |&at: &usize| {
        let sizes = [u32_at(bytes, at + 8).map(u64::from), u64_at(bytes, at + 8)];
        sizes.contains(&u64::try_from(at).ok())
    };
    memchr::memmem::find_iter(bytes, DESCRIPTOR_SIGNATURE).find(says_so)
}
