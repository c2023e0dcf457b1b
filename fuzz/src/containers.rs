//! What people keep a database in: archives, and the files that programs write around it.

use std::fs;

use sha2::{Digest, Sha256};

use super::files::{directory, hold, open};

/// A database of kine, the snapshot below dqlite's log.
const WHOLE_DATABASE: &[u8] = include_bytes!("../seeds/kine/whole");

/// What lies next to an archive in a folder.
const NEIGHBOUR_OBJECT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: z\n  namespace: z\n  resourceVersion: \"1\"\n";

/// A zip archive.
pub fn zip(data: &[u8]) {
    archive(data);
}

/// A tar archive.
pub fn tar(data: &[u8]) {
    archive(data);
}

/// An archive, alone and in a folder.
fn archive(data: &[u8]) {
    let directory = directory();
    let path = directory.path().join("archive");
    fs::write(&path, data).unwrap();
    if let Ok(contents) = open(&path) {
        hold(&contents);
    }
    fs::write(directory.path().join("z.yaml"), NEIGHBOUR_OBJECT).unwrap();
    if let Ok(contents) = open(directory.path()) {
        hold(&contents);
    }
    let left: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "something was unpacked: {left:?}");
}

/// Changes that Gardener's sidecar wrote: alone, and after no full snapshot.
pub fn gardener_delta(data: &[u8]) {
    let directory = directory();
    let path = directory.path().join("Incr-00000005-00000009-1795547363");
    fs::write(&path, data).unwrap();
    for path in [&*path, directory.path()] {
        if let Ok(contents) = open(path) {
            hold(&contents);
        }
    }
}

/// Gives the changes the SHA-256 at their end that holds.
pub fn mend_delta(data: &mut Vec<u8>) {
    let end = data.len().saturating_sub(32);
    let sum = Sha256::digest(&data[..end]);
    data.truncate(end);
    data.extend_from_slice(&sum);
}

/// A segment of dqlite's log, which was being written, after a snapshot; and a file that may be a snapshot.
pub fn dqlite(data: &[u8]) {
    let directory = directory();
    let mut snapshot = [1u64, 1].map(u64::to_le_bytes).concat();
    snapshot.extend(b"k8s\0\0\0\0\0");
    snapshot.extend([WHOLE_DATABASE.len() as u64, 0].map(u64::to_le_bytes).concat());
    snapshot.extend(WHOLE_DATABASE);
    fs::write(directory.path().join("snapshot-1-4-1"), snapshot).unwrap();
    fs::write(directory.path().join("open-1"), data).unwrap();
    if let Ok(contents) = open(directory.path()) {
        hold(&contents);
    }
    fs::remove_file(directory.path().join("open-1")).unwrap();
    fs::write(directory.path().join("snapshot-1-5-2"), data).unwrap();
    let counts_databases = data.get(8..16).is_some_and(|count| count[0] > 0 && count[2..] == [0; 6]);
    match open(directory.path()) {
        Ok(contents) => hold(&contents),
        // It may be a snapshot of something other than kine.
        Err(error) => assert!(counts_databases, "a damaged snapshot takes away the one before it: {error}"),
    }
}

/// Gives the batches of a segment the checksums that hold.
pub fn mend_segment(data: &mut [u8]) {
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let mut at = 8;
    while let Some(count) = data.get(at + 8..at + 16).map(number).filter(|&count| (1..1000).contains(&count)) {
        let start = at + 16 + 16 * count as usize;
        let Some(header) = data.get(at + 8..start) else { return };
        let size = |entry: &[u8]| u32::from_le_bytes(entry[12..16].try_into().expect("four bytes")) as usize;
        let length: usize = header[8..].chunks_exact(16).map(size).sum();
        let Some(payloads) = data.get(start..start.saturating_add(length)) else { return };
        let sums = [crc32(header), crc32(payloads)].map(u32::to_le_bytes).concat();
        data[at..at + 8].copy_from_slice(&sums);
        at = start + length;
    }
}

/// dqlite's checksum, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum >> 31 == 1 { sum << 1 ^ 0x04c1_1db7 } else { sum << 1 };
    bytes.iter().fold(0, |sum, &byte| (0..8).fold(sum ^ u32::from(byte) << 24, step))
}

/// Gives the headers of a tar archive the checksums that hold.
pub fn mend_tar(data: &mut [u8]) {
    const CHECKSUM_RANGE: std::ops::Range<usize> = 148..156;
    let mut at = 0;
    while let Some(header) = data.get_mut(at..at + 512).filter(|header| header[0] != 0) {
        header[CHECKSUM_RANGE].fill(b' ');
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[CHECKSUM_RANGE].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let size = std::str::from_utf8(&header[124..135]).ok().and_then(|digits| usize::from_str_radix(digits, 8).ok()).unwrap_or(0);
        at += 512 + size.next_multiple_of(512);
    }
}
