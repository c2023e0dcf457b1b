//! The index of a large database, kept from one reading to the next: a database of some GB is then open in a few hundredths of a second.
//!
//! It counts for the very file it was made of, as long as device, inode, size, both times of change and the meta pages (of a compressed file its beginning)
//! are the same; and it is written only after the whole file was read and found sound, a snapshot's checksum included. It holds keys and revisions, no values.
//! A user who can write an index decides what is shown of its file, so it is used only if it and its directory are this user's own ([`OwnDirectory`]).

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use prost::Message;
use sha2::{Digest, Sha256};

use super::bolt::{Bolt, looks_like_bolt};
use super::cache_directory::{NotOpened, OwnDirectory};
use super::compression::looks_compressed;
use super::db_file::DatabaseFacts;
use super::image::is_owned_by_etcd;
use super::mapped::map_lazily;
use super::options::{Cache, Limits};
use super::unpacked_copy::Filling;
use crate::versions::{KeptVersions, Versions};
use crate::{Alarm, Member, RevisionSpan};

/// Changes with every change of what is kept.
const INDEX_FORMAT: u32 = 2;

/// The newest indexes that are kept, whatever their files are: those of a month of nightly backups.
pub(super) const MAX_INDEXES_KEPT: usize = 32;

/// The most bytes that they take together. One of 3.6 GB with 442,000 revisions has 26 MB.
const MAX_KEPT_BYTES: u64 = 1 << 30;

/// The CRC-32C that an index ends with, in bytes.
const CHECKSUM_BYTES: usize = 4;

/// How the name of an index ends.
const INDEX_EXTENSION: &str = "index";

/// What is kept of a file.
#[derive(Clone, PartialEq, Message)]
struct IndexMessage {
    #[prost(uint32, tag = "1")]
    format: u32,
    #[prost(bytes = "vec", tag = "2")]
    identity: Vec<u8>,
    #[prost(message, required, tag = "3")]
    facts: KeptFacts,
    #[prost(message, required, tag = "4")]
    versions: KeptVersions,
}

/// What a sound database says besides its revisions.
#[derive(Clone, PartialEq, Message)]
struct KeptFacts {
    #[prost(uint64, tag = "1")]
    file_bytes: u64,
    #[prost(uint64, tag = "2")]
    in_use_bytes: u64,
    #[prost(message, repeated, tag = "3")]
    members: Vec<KeptMember>,
}

/// A member as a database records it.
#[derive(Clone, PartialEq, Message)]
struct KeptMember {
    #[prost(string, tag = "1")]
    endpoint: String,
    #[prost(string, tag = "2")]
    id: String,
    #[prost(string, tag = "3")]
    version: String,
    #[prost(string, tag = "4")]
    name: String,
    #[prost(string, repeated, tag = "5")]
    peer_urls: Vec<String>,
}

pub(super) struct IndexFile {
    file: PathBuf,
    is_compressed: bool,
    smallest: u64,
    identity: Vec<u8>,
    directory: PathBuf,
    name: String,
}

/// What is kept of a file, as far as it counts.
pub(super) enum KeptIndex {
    Index(Box<(Versions, DatabaseFacts)>),
    /// None, or one that is not of the file.
    Nothing,
    /// One that does not count: a sentence.
    Foreign(String),
}

impl IndexFile {
    /// Where the index of the file at `path` is kept; `None` where none is: of a file that is small, no database, or written by etcd.
    pub(super) fn of(path: &str, cache: &Cache) -> Option<Self> {
        if path == "-" {
            return None;
        }
        let file = File::open(path).ok()?;
        let metadata = file.metadata().ok().filter(fs::Metadata::is_file)?;
        let beginning = beginning(&file).ok()?;
        // What comes out of a compressed file may be large.
        let is_compressed = looks_compressed(&beginning);
        let is_large = is_compressed || metadata.len() >= cache.smallest && looks_like_bolt(&beginning);
        if !is_large || is_owned_by_etcd(&file) {
            return None;
        }
        let identity = identity(&file, &beginning).ok()?;
        let name: String = Sha256::digest(&identity[..INODE_BYTES]).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let (directory, name) = (cache.directory.clone(), format!("{name}.{INDEX_EXTENSION}"));
        Some(Self { file: path.into(), is_compressed, smallest: cache.smallest, identity, directory, name })
    }

    /// What is kept of the file, if it still is that file, and may be unpacked within `limits`.
    pub(super) fn read(&self, limits: &Limits) -> KeptIndex {
        match OwnDirectory::open(&self.directory).and_then(|directory| directory.file(&self.name)) {
            Ok(index) => self.read_index(&index, limits).map_or(KeptIndex::Nothing, |found| KeptIndex::Index(Box::new(found))),
            Err(NotOpened::Absent) => KeptIndex::Nothing,
            Err(NotOpened::Foreign(why)) => KeptIndex::Foreign(format!("ketcd neither caches nor uses an index of it: {why}")),
        }
    }

    fn read_index(&self, index: &File, limits: &Limits) -> Option<(Versions, DatabaseFacts)> {
        // Mapped, its keys take no memory of their own; a newer index never changes the file, it takes its place.
        let mut bytes = map_lazily(&self.directory.join(&self.name).to_string_lossy(), index).ok()?;
        let checksum = bytes.split_off(bytes.len().checked_sub(CHECKSUM_BYTES)?);
        if crc32c::crc32c(&bytes).to_le_bytes() != *checksum {
            return None;
        }
        let IndexMessage { format, identity, facts, versions } = IndexMessage::decode(bytes).ok()?;
        if format != INDEX_FORMAT || identity != self.identity || self.is_compressed && facts.file_bytes > limits.unpacked {
            return None;
        }
        let path = self.file.to_string_lossy();
        let (versions, at_rest) = if self.is_compressed {
            let filling = Filling::begin(&path, facts.file_bytes, &limits.budget()).ok()?;
            (Versions::of_kept(versions, filling.bytes().clone(), Some(Arc::new(filling)))?, None)
        } else {
            let image = map_lazily(&path, &File::open(&self.file).ok()?).ok()?;
            let at_rest = Bolt::open(image.clone()).ok().and_then(|bolt| bolt.at_rest());
            (Versions::of_kept(versions, image, None)?, at_rest)
        };
        let member = |kept: KeptMember| Member {
            endpoint: kept.endpoint,
            id: kept.id,
            name: kept.name,
            peer_urls: kept.peer_urls,
            version: kept.version,
            ..Member::default()
        };
        let KeptFacts { file_bytes, in_use_bytes, members } = facts;
        let members = members.into_iter().map(member).collect();
        let span: Option<RevisionSpan> = versions.spans().next();
        Some((versions, DatabaseFacts { file_bytes, in_use_bytes, members, span, layer: Some(0), at_rest, ..DatabaseFacts::default() }))
    }

    /// Whether all that the file says fits what is kept of it: a member's alarms and damage are found anew each time; and whether it is large enough.
    pub(super) fn keeps(&self, facts: &DatabaseFacts) -> bool {
        let alarms: &[Alarm] = &facts.alarms;
        alarms.is_empty()
            && facts.damage.is_empty()
            && facts.left_out.is_empty()
            && facts.notes.is_empty()
            && facts.file_bytes >= self.smallest
    }

    /// Keeps the index of a file that was found to be sound; where it cannot be written, none is kept.
    pub(super) fn write(&self, versions: &Versions, facts: &DatabaseFacts) -> io::Result<()> {
        let file = File::open(&self.file)?;
        if identity(&file, &beginning(&file)?)? != self.identity {
            return Ok(());
        }
        let Some(directory) = OwnDirectory::make(&self.directory)? else { return Ok(()) };
        let member = |Member { endpoint, id, name, peer_urls, version, .. }: &Member| KeptMember {
            endpoint: endpoint.clone(),
            id: id.clone(),
            version: version.clone(),
            name: name.clone(),
            peer_urls: peer_urls.clone(),
        };
        let facts = KeptFacts {
            file_bytes: facts.file_bytes,
            in_use_bytes: facts.in_use_bytes,
            members: facts.members.iter().map(member).collect(),
        };
        let kept = IndexMessage { format: INDEX_FORMAT, identity: self.identity.clone(), facts, versions: versions.kept() };
        let mut bytes = kept.encode_to_vec();
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        let mut new = tempfile::NamedTempFile::new_in(directory.path())?;
        new.write_all(&bytes)?;
        new.persist(directory.path().join(&self.name))?;
        remove_oldest(&directory)
    }
}

/// The bytes of an identity that say which file it is, whatever is in it.
const INODE_BYTES: usize = 32;

/// Device and inode, size and both times of change, and the pages that say which transaction came last.
fn identity(file: &File, beginning: &[u8]) -> io::Result<Vec<u8>> {
    let mut identity: Vec<u8> = numbers(&file.metadata()?)?.into_iter().flat_map(i128::to_le_bytes).collect();
    identity.extend(Sha256::digest(beginning));
    Ok(identity)
}

/// Both meta pages, of pages of any size, of a file that was just opened.
fn beginning(file: &File) -> io::Result<Vec<u8>> {
    const BEGINNING_BYTES: u64 = 128 << 10;
    let mut beginning = Vec::new();
    file.take(BEGINNING_BYTES).read_to_end(&mut beginning)?;
    Ok(beginning)
}

#[cfg(unix)]
fn numbers(of: &fs::Metadata) -> io::Result<[i128; 5]> {
    use std::os::unix::fs::MetadataExt;
    let time = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    let times = [time(of.mtime(), of.mtime_nsec()), time(of.ctime(), of.ctime_nsec())];
    Ok([of.dev().into(), of.ino().into(), of.len().into(), times[0], times[1]])
}

#[cfg(not(unix))]
fn numbers(_: &fs::Metadata) -> io::Result<[i128; 5]> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Keeps the newest indexes only; what is not this user's own is left as it is.
fn remove_oldest(directory: &OwnDirectory) -> io::Result<()> {
    let mut indexes: Vec<(SystemTime, PathBuf, u64)> = Vec::new();
    for entry in fs::read_dir(directory.path())? {
        let entry = entry?;
        let is_index = entry.path().extension().is_some_and(|extension| extension == INDEX_EXTENSION);
        if let (true, Ok(index)) = (is_index, directory.file(&entry.file_name().to_string_lossy())) {
            let metadata = index.metadata()?;
            indexes.push((metadata.modified()?, entry.path(), metadata.len()));
        }
    }
    surplus(indexes, MAX_INDEXES_KEPT, MAX_KEPT_BYTES).iter().try_for_each(fs::remove_file)
}

/// The oldest of some indexes, those that are more than `most` or than fit into `bytes`. The newest always stays.
fn surplus(mut indexes: Vec<(SystemTime, PathBuf, u64)>, most: usize, bytes: u64) -> Vec<PathBuf> {
    indexes.sort_unstable();
    let (mut held, mut surplus) = (0, Vec::new());
    for (place, (_, path, length)) in indexes.into_iter().rev().enumerate() {
        held += length;
        if place > 0 && (place >= most || held > bytes) {
            surplus.push(path);
        }
    }
    surplus
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_oldest_are_surplus() {
        let index = |age: u64, bytes: u64| (SystemTime::UNIX_EPOCH + Duration::from_secs(100 - age), PathBuf::from(age.to_string()), bytes);
        let surplus = |indexes: &[(u64, u64)], most, bytes| {
            let mut found = surplus(indexes.iter().map(|&(age, bytes)| index(age, bytes)).collect(), most, bytes);
            found.sort();
            found.into_iter().map(|path| path.to_string_lossy().parse::<u64>().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(surplus(&[(3, 10), (1, 10), (2, 10)], 2, 100), [3]);
        assert_eq!(surplus(&[(3, 10), (1, 10), (2, 10)], 3, 20), [3]);
        assert_eq!(surplus(&[(3, 10), (1, 10), (2, 10)], 3, 30), Vec::<u64>::new());
        // One that is too large alone is of use as long as no other is made.
        assert_eq!(surplus(&[(1, 100), (2, 1)], 3, 30), [2]);
    }
}
