//! Streams into files without a name: what is compressed or comes through a pipe, so that a large database is never on the heap and
//! nothing is left behind.

use std::fs::File;
use std::io::{self, Read, Write};

use bytes::Bytes;

use super::Limits;
use super::bolt::looks_like_bolt;
use super::mapped::map;
use super::wal::looks_like_log;
use crate::{Error, Result};

const GZIP: &[u8] = &[0x1f, 0x8b];
/// What kine's databases begin with.
const SQLITE: &[u8] = b"SQLite format 3\0";
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// A stream's bytes.
pub(super) struct Spooled {
    /// What was read, a mapping.
    pub bytes: Bytes,
    /// Why it ends early, a sentence.
    pub cut: Option<String>,
}

/// Reads a pipe to its end.
///
/// # Errors
///
/// It cannot be read, does not end within `limits`, or begins with nothing that ketcd reads.
pub(super) fn stream(path: &str, from: &mut File, limits: &Limits) -> Result<Bytes> {
    match copy(path, from, limits, recognise)? {
        (spooled, None) => map(path, &spooled).map_err(|cause| no_room(path, &cause)),
        (_, Some(cause)) => Err(Error::File { path: path.to_owned(), cause }),
    }
}

/// Undoes compression, as far as it goes; bytes that are not compressed stay as they are.
///
/// # Errors
///
/// Nothing can be decompressed, or more than `limits` allow.
pub(super) fn decompress(path: &str, bytes: Bytes, limits: &Limits) -> Result<Spooled> {
    if bytes.starts_with(GZIP) {
        unpack(path, "gzip", flate2::read::MultiGzDecoder::new(&bytes[..]), limits)
    } else if bytes.starts_with(ZSTD) {
        let decoder = zstd::stream::read::Decoder::with_buffer(&bytes[..]).map_err(|cause| Error::File { path: path.to_owned(), cause })?;
        unpack(path, "zstd", decoder, limits)
    } else {
        Ok(Spooled { bytes, cut: None })
    }
}

fn unpack(path: &str, what: &str, mut decoder: impl Read, limits: &Limits) -> Result<Spooled> {
    let (file, ended) = copy(path, &mut decoder, limits, |_| true)?;
    let bytes = map(path, &file).map_err(|cause| no_room(path, &cause))?;
    let cut = ended.map(|cause| format!("its {what} compression is damaged or cut short ({cause})"));
    match cut {
        Some(cut) if bytes.is_empty() => Err(Error::Format { path: path.to_owned(), problem: format!("{cut}; copy the file again") }),
        cut => Ok(Spooled {
            cut: cut.map(|cut| format!("{cut} after {} bytes, what follows is missing; copy the file again", bytes.len())),
            bytes,
        }),
    }
}

/// Copies a stream into a file without a name; returns too why reading ended early, if it did. `is_known` is asked once about the
/// beginning of the stream.
fn copy(path: &str, from: &mut impl Read, limits: &Limits, is_known: impl Fn(&[u8]) -> bool) -> Result<(File, Option<io::Error>)> {
    /// The beginning of a stream: enough to find the second meta page of a database whose first one is damaged.
    const BEGINNING: usize = 1 << 20;
    let format = |problem: String| Error::Format { path: path.to_owned(), problem };
    let mut file = tempfile::tempfile().map_err(|cause| no_room(path, &cause))?;
    let mut buffer = vec![0; BEGINNING];
    let (mut length, mut in_buffer) = (0_u64, 0);
    let ended = loop {
        let read = match from.read(&mut buffer[in_buffer..]) {
            Ok(read) => read,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
            Err(cause) => break Some(cause),
        };
        in_buffer += read;
        if read > 0 && in_buffer < buffer.len() {
            continue;
        }
        if length == 0 && in_buffer == BEGINNING && !is_known(&buffer) {
            return Err(format("is neither an etcd database nor API objects, plain or compressed".to_owned()));
        }
        length += in_buffer as u64;
        if length > limits.unpacked {
            return Err(format(format!(
                "more than {} bytes come out of it, and no more are taken; if it is really that large, raise --max-unpacked-size",
                limits.unpacked
            )));
        }
        file.write_all(&buffer[..in_buffer]).map_err(|cause| no_room(path, &cause))?;
        if read == 0 {
            return Ok((file, None));
        }
        in_buffer = 0;
    };
    file.write_all(&buffer[..in_buffer]).map_err(|cause| no_room(path, &cause))?;
    Ok((file, ended))
}

/// Whether a stream that begins so can be anything ketcd reads; an endless stream of anything else is not waited for.
fn recognise(beginning: &[u8]) -> bool {
    beginning.starts_with(GZIP)
        || beginning.starts_with(ZSTD)
        || looks_like_bolt(beginning)
        || beginning.starts_with(SQLITE)
        || beginning.get(257..262) == Some(b"ustar")
        || looks_like_log(beginning)
        || !beginning.contains(&0)
}

fn no_room(path: &str, cause: &io::Error) -> Error {
    let directory = tempfile::env::temp_dir();
    Error::Format {
        path: path.to_owned(),
        problem: format!("cannot be unpacked into {}: {cause}; set TMPDIR to a directory with more space", directory.display()),
    }
}
