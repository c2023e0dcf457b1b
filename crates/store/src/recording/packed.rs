//! A recording in one file: a tar archive (ustar, as POSIX.1-1988 has it) of the directory's files, the manifest first. What is in them is compressed,
//! so the archive is not. `tar -x` makes a recording's directory of it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::disk;

/// The file of a recording that says which others belong to it.
pub(super) const MANIFEST_NAME: &str = "manifest.json";

/// The bytes of a header, and what contents are filled up to a multiple of.
const BLOCK_BYTES: u64 = 512;
/// Where a header has its checksum.
const CHECKSUM_RANGE: std::ops::Range<usize> = 148..156;
/// The most members that are read: as many files as a recording of a petabyte has.
const MAX_MEMBERS: usize = 1 << 20;
const MANIFEST_BEGINNING: &[u8] = br#"{"recording":{"#;

/// A file in the archive: where its content begins, and how many bytes of it are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackedMember {
    pub start: u64,
    pub length: u64,
}

#[derive(Debug, Default)]
pub(super) struct PackedMembers {
    pub by_name: BTreeMap<String, PackedMember>,
    /// What is wrong with it, one message per item.
    pub problems: Vec<String>,
}

/// Whether bytes are the beginning of a recording in one file.
pub fn begins_as_packed(beginning: &[u8]) -> bool {
    let Some((header, content)) = beginning.split_at_checked(BLOCK_BYTES as usize) else { return false };
    parse(header).is_some_and(|(name, _)| name == MANIFEST_NAME) && content.starts_with(MANIFEST_BEGINNING)
}

/// Whether a path is that of a recording in one file.
pub(crate) fn is_packed(path: &Path) -> bool {
    let mut beginning = Vec::new();
    let wanted = BLOCK_BYTES + MANIFEST_BEGINNING.len() as u64;
    let read = path.is_file() && File::open(path).is_ok_and(|file| file.take(wanted).read_to_end(&mut beginning).is_ok());
    read && begins_as_packed(&beginning)
}

/// Finds the files in an archive. It may be cut off: what is there of the last file counts.
pub(super) fn members(file: &mut File) -> io::Result<PackedMembers> {
    let length = file.metadata()?.len();
    let (mut found, mut at, mut has_ended) = (PackedMembers::default(), 0, false);
    while !has_ended && at + BLOCK_BYTES <= length && found.by_name.len() < MAX_MEMBERS {
        let mut header = [0; BLOCK_BYTES as usize];
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut header)?;
        let start = at + BLOCK_BYTES;
        match parse(&header) {
            Some((name, said)) => {
                let there = said.min(length - start);
                at = start.saturating_add(said.div_ceil(BLOCK_BYTES).saturating_mul(BLOCK_BYTES));
                // The first of a name counts; the manifest is the first of all.
                found.by_name.entry(name).or_insert(PackedMember { start, length: there });
            }
            None if header.iter().all(|&byte| byte == 0) => has_ended = true,
            None => {
                found.problems.push(format!("its archive is damaged at byte {at}: what follows is not read"));
                return Ok(found);
            }
        }
    }
    if !has_ended {
        found.problems.push("its archive is cut short".to_owned());
    }
    Ok(found)
}

/// An archive that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packed {
    pub bytes: u64,
    pub sha256: [u8; 32],
}

/// Writes on, and hashes what was written.
struct HashingWriter<'w> {
    out: &'w mut dyn Write,
    hash: Sha256,
}

impl Write for HashingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.out.write(bytes)?;
        self.hash.update(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes files of a directory into an archive, in this order.
pub(super) fn pack<'n>(directory: &Path, names: impl IntoIterator<Item = &'n str>, archive: &mut dyn Write) -> io::Result<Packed> {
    let mut archive = HashingWriter { out: archive, hash: Sha256::new() };
    let mut written = 0;
    for name in names {
        let file = disk::open(&directory.join(name))?;
        let length = file.metadata()?.len();
        archive.write_all(&header(name, length))?;
        let copied = io::copy(&mut file.take(length), &mut archive)?;
        if copied != length {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("{name} became shorter while it was read")));
        }
        let padding = length.next_multiple_of(BLOCK_BYTES) - length;
        archive.write_all(&vec![0; padding as usize])?;
        written += BLOCK_BYTES + length + padding;
    }
    // An archive ends with two empty blocks.
    archive.write_all(&[0; 2 * BLOCK_BYTES as usize])?;
    Ok(Packed { bytes: written + 2 * BLOCK_BYTES, sha256: archive.hash.finalize().into() })
}

/// The header of a file. It says neither a time nor an owner: the same recording gives the same archive.
fn header(name: &str, length: u64) -> [u8; BLOCK_BYTES as usize] {
    let mut header = [0; BLOCK_BYTES as usize];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, name.as_bytes());
    put(100, b"0000600\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{length:011o}\0").as_bytes());
    put(136, b"00000000000\0");
    put(CHECKSUM_RANGE.start, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    let sum = checksum(&header);
    header[CHECKSUM_RANGE].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

/// The name and the length that a header says; `None` where it is not the header of a plain file.
fn parse(header: &[u8]) -> Option<(String, u64)> {
    let text = |range: std::ops::Range<usize>| header.get(range)?.split(|&byte| byte == 0).next();
    let octal = |range| {
        let digits = std::str::from_utf8(text(range)?).ok()?.trim();
        u64::from_str_radix(digits, 8).ok()
    };
    let is_plain = matches!(header.get(156)?, b'0' | 0) && header.get(257..262)? == b"ustar";
    if !is_plain || octal(CHECKSUM_RANGE)? != checksum(header) {
        return None;
    }
    let name = std::str::from_utf8(text(0..100)?).ok()?;
    Some((name.strip_prefix("./").unwrap_or(name).to_owned(), octal(124..136)?))
}

/// The sum of a header's bytes, with spaces where the sum itself stands.
fn checksum(header: &[u8]) -> u64 {
    let byte = |(at, &byte): (usize, &u8)| u64::from(if CHECKSUM_RANGE.contains(&at) { b' ' } else { byte });
    header.iter().enumerate().map(byte).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_holds_what_was_packed_and_tar_reads_it() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(MANIFEST_NAME), br#"{"recording":{}}"#).unwrap();
        std::fs::write(directory.path().join("0000000001.state"), vec![7; 512]).unwrap();
        let path = directory.path().join("packed");
        let mut file = File::create(&path).unwrap();
        let bytes = pack(directory.path(), [MANIFEST_NAME, "0000000001.state"], &mut file).unwrap().bytes;
        assert_eq!(bytes, file.metadata().unwrap().len());
        assert!(is_packed(&path) && !is_packed(directory.path()) && !is_packed(&directory.path().join(MANIFEST_NAME)));
        let found = members(&mut File::open(&path).unwrap()).unwrap();
        assert_eq!(found.problems, [""; 0]);
        assert_eq!(found.by_name[MANIFEST_NAME], PackedMember { start: 512, length: 16 });
        assert_eq!(found.by_name["0000000001.state"], PackedMember { start: 1536, length: 512 });
        let mut archive = tar::Archive::new(File::open(&path).unwrap());
        let names: Vec<String> = archive.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().display().to_string()).collect();
        assert_eq!(names, [MANIFEST_NAME, "0000000001.state"]);
    }

    #[test]
    fn an_archive_that_is_cut_off_or_damaged_says_so() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(MANIFEST_NAME), br#"{"recording":{}}"#).unwrap();
        let mut whole = Vec::new();
        pack(directory.path(), [MANIFEST_NAME], &mut whole).unwrap();
        let path = directory.path().join("packed");
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let found = members(&mut File::open(&path).unwrap()).unwrap();
            assert_eq!(found.problems.is_empty(), length >= 1536, "{length}");
            assert!(found.by_name.values().all(|member| member.start + member.length <= length as u64), "{length}");
        }
        whole[600..].fill(1);
        std::fs::write(&path, &whole).unwrap();
        let found = members(&mut File::open(&path).unwrap()).unwrap();
        assert_eq!(found.problems, ["its archive is damaged at byte 1024: what follows is not read"]);
    }
}
