//! Copies a stream into a file on several threads: one reads, which mostly is to decompress, one writes, one computes the SHA-256.

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::budget::Exceeded;

/// What is read, written and hashed at once.
pub(super) const PIECE_BYTES: usize = 1 << 20;

/// Pieces that wait for a thread.
const MAX_PIECES_AHEAD: usize = 4;

/// The length of the SHA-256 that a snapshot ends with.
const CHECKSUM_BYTES: usize = 32;

/// Where a stream goes.
pub(super) struct Pump<'p> {
    /// It is written from its position on.
    pub file: &'p File,
    /// Whether a checksum may be at the end.
    pub hashes: bool,
    /// Gets how many bytes are in the file, as they come.
    pub written: &'p (dyn Fn(u64) + Sync),
}

/// How a stream came out.
#[derive(Debug, Default)]
pub(super) struct Pumped {
    /// Why reading ended early, if it did.
    pub ended: Option<io::Error>,
    /// The SHA-256 of all bytes but the last 32.
    pub digest: Option<[u8; CHECKSUM_BYTES]>,
}

/// Why a stream was given up.
#[derive(Debug)]
pub(super) enum GivenUp {
    TooLong(Exceeded),
    Unwritten(io::Error),
}

impl Pump<'_> {
    /// Copies `first` and what follows it in `from`; `take` is asked before a piece that follows is written.
    pub(super) fn run(
        &self,
        first: Piece,
        from: &mut impl Read,
        take: &mut dyn FnMut(u64) -> Result<(), Exceeded>,
    ) -> Result<Pumped, GivenUp> {
        thread::scope(|scope| {
            let (to_file, pieces) = sync_channel(MAX_PIECES_AHEAD);
            let writer = scope.spawn(|| self.write(pieces));
            let hasher = self.hashes.then(|| {
                let (to_hash, pieces) = sync_channel(MAX_PIECES_AHEAD);
                (to_hash, scope.spawn(|| digest(pieces)))
            });
            let mut piece = first;
            let ended = loop {
                let bytes = Bytes::from(piece.bytes);
                // A thread that is gone says why when it is joined.
                let is_sent = to_file.send(bytes.clone()).is_ok();
                hasher.iter().for_each(|(to_hash, _)| drop(to_hash.send(bytes.clone())));
                match piece.end {
                    _ if !is_sent => break None,
                    Some(end) => break end.err(),
                    None => piece = Piece::read(from),
                }
                take(piece.bytes.len() as u64).map_err(GivenUp::TooLong)?;
            };
            drop(to_file);
            writer.join().unwrap_or_else(|_| Err(io::Error::other("the writing thread broke off"))).map_err(GivenUp::Unwritten)?;
            let digest = hasher.and_then(|(to_hash, thread)| {
                drop(to_hash);
                thread.join().ok()
            });
            Ok(Pumped { ended, digest })
        })
    }

    fn write(&self, pieces: Receiver<Bytes>) -> io::Result<()> {
        let (mut file, mut length) = (self.file, 0);
        for piece in pieces {
            file.write_all(&piece)?;
            length += piece.len() as u64;
            (self.written)(length);
        }
        Ok(())
    }
}

/// The SHA-256 of all but the last bytes, which are the checksum if there is one.
fn digest(pieces: Receiver<Bytes>) -> [u8; CHECKSUM_BYTES] {
    let (mut hash, mut last) = (Sha256::new(), Vec::new());
    for piece in pieces {
        let beginning = piece.len().saturating_sub(CHECKSUM_BYTES);
        let known = (last.len() + piece.len()).saturating_sub(CHECKSUM_BYTES).min(last.len());
        hash.update(&last[..known]);
        last.drain(..known);
        hash.update(&piece[..beginning]);
        last.extend_from_slice(&piece[beginning..]);
    }
    hash.finalize().into()
}

/// A part of a stream.
pub(super) struct Piece {
    pub bytes: Vec<u8>,
    /// How the stream ended, if it did.
    pub end: Option<io::Result<()>>,
}

impl Piece {
    /// Reads the next one, shorter than [`PIECE_BYTES`] only at the end.
    pub(super) fn read(from: &mut impl Read) -> Self {
        let mut bytes = vec![0; PIECE_BYTES];
        let mut length = 0;
        let end = loop {
            match from.read(&mut bytes[length..]) {
                Ok(0) => break Some(Ok(())),
                Ok(read) => length += read,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => break Some(Err(cause)),
            }
            if length == PIECE_BYTES {
                break None;
            }
        };
        bytes.truncate(length);
        Self { bytes, end }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, SeekFrom};
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn what_is_copied_is_hashed_without_its_last_bytes() {
        for length in
            [0, 5, 31, 32, 33, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, PIECE_BYTES + 31, PIECE_BYTES + 32, 3 * PIECE_BYTES + 40]
        {
            let data: Vec<u8> = (0..length).map(|index| (index * 7 + index / 251) as u8).collect();
            let mut file = tempfile::tempfile().unwrap();
            let written = AtomicU64::new(0);
            let pump = Pump { file: &file, hashes: true, written: &|upto| written.store(upto, Ordering::Relaxed) };
            let mut from = &data[..];
            let pumped = pump.run(Piece::read(&mut from), &mut from, &mut |_| Ok(())).unwrap();
            assert!(pumped.ended.is_none());
            assert_eq!(pumped.digest.unwrap()[..], Sha256::digest(&data[..length.saturating_sub(CHECKSUM_BYTES)])[..], "{length}");
            assert_eq!(written.into_inner(), length as u64);
            let mut copied = Vec::new();
            file.seek(SeekFrom::Start(0)).unwrap();
            file.read_to_end(&mut copied).unwrap();
            assert!(copied == data, "{length}");
        }
    }

    #[test]
    fn no_more_is_taken_than_asked_for() {
        let file = tempfile::tempfile().unwrap();
        let pump = Pump { file: &file, hashes: false, written: &|_| {} };
        let (data, mut asked) = (vec![0; 3 * PIECE_BYTES], 0);
        let (mut from, exceeded) = (&data[..], Exceeded::Work { most: 7 });
        let mut take = |length| {
            asked += length;
            if asked > PIECE_BYTES as u64 { Err(exceeded) } else { Ok(()) }
        };
        let given_up = pump.run(Piece::read(&mut from), &mut from, &mut take).unwrap_err();
        assert!(matches!(given_up, GivenUp::TooLong(why) if why == exceeded));
        assert_eq!((asked, file.metadata().unwrap().len()), (2 * PIECE_BYTES as u64, 2 * PIECE_BYTES as u64));
    }
}
