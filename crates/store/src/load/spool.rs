//! Streams into files without a name: what is compressed or comes through a pipe, so that a large database is never on the heap and
//! nothing is left behind.

use std::fs::File;
use std::io::{self, Read};

use bytes::Bytes;

use super::bolt::looks_like_bolt;
use super::budget::{Budget, Exceeded, with_room};
use super::compression::{decoder, looks_compressed};
use super::mapped::map;
use super::options::Reading;
use super::pump::{GivenUp, PIECE_BYTES, Piece, Pump, Pumped};
use crate::{Error, Result};

/// How many bytes of a stream are looked at before it is refused.
pub const RECOGNISED_WITHIN: usize = 4 << 20;

/// A stream's bytes.
pub(super) struct Spooled {
    /// What was read, a mapping.
    pub bytes: Bytes,
    /// Why it ends early, a sentence.
    pub cut: Option<String>,
    /// The SHA-256 of all but the last 32 bytes, where it was computed on the way.
    pub digest: Option<[u8; 32]>,
}

/// Reads a pipe to its end.
///
/// # Errors
///
/// It cannot be read, does not end within the limits, or begins with nothing that ketcd reads.
pub(super) fn stream(path: &str, from: &mut File, reading: &Reading<'_>) -> Result<Bytes> {
    match copy(path, from, reading, |beginning| looks_compressed(beginning) || (reading.may_be_known)(beginning))? {
        (bytes, Pumped { ended: None, .. }) => {
            reading.limits.budget().add_file(bytes.len() as u64);
            Ok(bytes)
        }
        (_, Pumped { ended: Some(cause), .. }) => Err(Error::File { path: path.to_owned(), cause }),
    }
}

/// Undoes compression, as far as it goes, and a second one in it; bytes that are not compressed stay as they are.
///
/// # Errors
///
/// Nothing can be decompressed, or more than the limits allow.
pub(super) fn decompress(path: &str, bytes: Bytes, reading: &Reading<'_>) -> Result<Spooled> {
    let undone = |bytes: Bytes| decoder(bytes).map_err(|cause| Error::File { path: path.to_owned(), cause });
    let Some((what, mut outer)) = undone(bytes.clone())? else { return Ok(Spooled { bytes, cut: None, digest: None }) };
    let known = reading.may_be_known;
    let first = unpack_known(path, what, &mut outer, reading, &|beginning| looks_compressed(beginning) || known(beginning))?;
    let Some((what, mut inner)) = undone(first.bytes.clone())? else { return Ok(first) };
    let second = unpack(path, what, &mut inner, reading)?;
    Ok(Spooled { cut: first.cut.or(second.cut), ..second })
}

/// Reads what a compression, `what`, was undone of.
///
/// # Errors
///
/// As of [`decompress`].
pub(super) fn unpack(path: &str, what: &str, decoder: &mut impl Read, reading: &Reading<'_>) -> Result<Spooled> {
    unpack_known(path, what, decoder, reading, &reading.may_be_known)
}

fn unpack_known(
    path: &str,
    what: &str,
    decoder: &mut impl Read,
    reading: &Reading<'_>,
    is_known: &dyn Fn(&[u8]) -> bool,
) -> Result<Spooled> {
    let (bytes, Pumped { ended, digest }) = copy(path, decoder, reading, is_known)?;
    if let Some(exceeded) = ended.as_ref().and_then(Exceeded::of) {
        return Err(refused(path, exceeded));
    }
    let asks_for_memory = ended.as_ref().is_some_and(|cause| cause.to_string().contains("memory"));
    let cut = ended.map(|cause| format!("its {what} compression is damaged or cut short ({cause})"));
    match cut {
        Some(_) if bytes.is_empty() && asks_for_memory => Err(Error::Format {
            path: path.to_owned(),
            problem: format!(
                "its {what} compression asks for more than 256 MiB of memory; decompress it first ({}) and name that file",
                if what == "zstd" { "zstd -d --long=31 FILE" } else { "xz -d FILE" }
            ),
        }),
        Some(cut) if bytes.is_empty() => Err(Error::Format { path: path.to_owned(), problem: format!("{cut}; copy the file again") }),
        cut => Ok(Spooled {
            cut: cut.map(|cut| format!("{cut} after {} bytes, what follows is missing; copy the file again", bytes.len())),
            bytes,
            digest,
        }),
    }
}

/// Reads a stream, a long one into a file without a name, if it may be anything that ketcd reads, by what `is_known` says of its beginning: nothing else is
/// waited for or unpacked.
fn copy(path: &str, from: &mut impl Read, reading: &Reading<'_>, is_known: impl Fn(&[u8]) -> bool) -> Result<(Bytes, Pumped)> {
    let budget = reading.limits.budget();
    let mut first = Piece::read(from);
    budget.work(first.bytes.len() as u64).map_err(|exceeded| refused(path, exceeded))?;
    // A database may have lost its beginning.
    while first.end.is_none() && !is_known(&first.bytes) {
        if first.bytes.len() >= RECOGNISED_WITHIN {
            let problem = "is neither an etcd database nor API objects, plain or compressed".to_owned();
            return Err(Error::Format { path: path.to_owned(), problem });
        }
        let Piece { bytes, end } = Piece::read(from);
        budget.work(bytes.len() as u64).map_err(|exceeded| refused(path, exceeded))?;
        first.bytes.extend(bytes);
        first.end = end;
    }
    let mut room = budget.unpacked();
    room.grow(first.bytes.len() as u64).map_err(|exceeded| refused(path, exceeded))?;
    // What is short needs no file of its own: an archive may hold thousands of such files.
    let first = match first {
        Piece { bytes, end: Some(end) } if bytes.len() <= PIECE_BYTES => {
            let bytes = budget.keep(bytes, room).map_err(|cause| no_room(path, &cause))?;
            return Ok((bytes, Pumped { ended: end.err(), digest: None }));
        }
        first => first,
    };
    let file = tempfile::tempfile().map_err(|cause| no_room(path, &cause))?;
    let pump = Pump { file: &file, hashes: looks_like_bolt(&first.bytes), written: &|_| {} };
    let mut take = |length| room.grow(length).and_then(|()| budget.work(length));
    let pumped = pump.run(first, from, &mut take).map_err(|given_up| match given_up {
        GivenUp::Unwritten(cause) => no_room(path, &cause),
        GivenUp::TooLong(exceeded) => refused(path, exceeded),
    })?;
    let bytes = map(path, &file).map_err(|cause| no_room(path, &cause))?;
    Ok((with_room(bytes, room), pumped))
}

/// Reads a stream of a known length, whatever it is.
///
/// # Errors
///
/// It cannot be read, or takes more than the budget has.
pub(super) fn whole(name: &str, from: &mut impl Read, length: u64, budget: &Budget) -> io::Result<Bytes> {
    let mut room = budget.unpacked();
    room.grow(length).and_then(|()| budget.work(length))?;
    let mut from = from.take(length);
    let first = Piece::read(&mut from);
    if let Piece { bytes, end: Some(end) } = first {
        return end.and_then(|()| budget.keep(bytes, room));
    }
    let file = tempfile::tempfile()?;
    let pumped = Pump { file: &file, hashes: false, written: &|_| {} }.run(first, &mut from, &mut |_| Ok(()));
    match pumped {
        Ok(Pumped { ended: Some(cause), .. }) | Err(GivenUp::Unwritten(cause)) => return Err(cause),
        Err(GivenUp::TooLong(exceeded)) => return Err(exceeded.into()),
        Ok(_) => {}
    }
    Ok(with_room(map(name, &file)?, room))
}

/// The error of a file that takes more than its budget has.
fn refused(path: &str, exceeded: Exceeded) -> Error {
    Error::Format { path: path.to_owned(), problem: exceeded.to_string() }
}

/// The error of a file that has no room for what is unpacked.
pub(super) fn no_room(path: &str, cause: &io::Error) -> Error {
    if let Some(exceeded) = Exceeded::of(cause) {
        return refused(path, exceeded);
    }
    let directory = tempfile::env::temp_dir();
    Error::Format {
        path: path.to_owned(),
        problem: format!("cannot be unpacked into {}: {cause}; set TMPDIR to a directory with more space", directory.display()),
    }
}
