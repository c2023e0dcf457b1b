//! Tar archives of a member's data dir, of a directory of k3s, or of one database.

use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::data_dir::Parts;
use super::image::Image;
#[cfg(feature = "kine")]
use super::kine;
use super::{bolt, wal};

/// The bytes of a header.
const HEADER: usize = 512;

/// Where a header has its checksum: octal digits.
const CHECKSUM: std::ops::Range<usize> = 148..156;

/// How k3s calls its database.
const K3S: &str = "state.db";

/// Suffixes of the files that SQLite keeps next to a database: its log, the log's index, and the journal that it uses instead of a log.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// What an archive holds.
pub(super) enum ArchiveContent {
    /// A member's data dir, or a part of it.
    Member(Parts),
    /// A database of kine and its log.
    #[cfg(feature = "kine")]
    Kine(kine::Files),
    /// Another database.
    Database(Image),
}

/// An archive that was read.
pub(super) struct Archive {
    pub content: ArchiveContent,
    /// Why it ends early, a sentence.
    pub cut: Option<String>,
    /// The databases in it that are not read, in a sentence.
    pub left_out: Option<String>,
}

/// Whether bytes begin with the header of an archive. Of one that is damaged the magic number is enough, which archives of before 1988 lack.
pub(super) fn looks_like_tar(bytes: &[u8]) -> bool {
    let Some(header) = bytes.get(..HEADER) else { return false };
    // Every entry has a name; a database begins with page 0.
    if header[0] == 0 || is_sqlite_database(bytes) {
        return false;
    }
    checksum_holds(header) || (&header[257..262] == b"ustar" && !bolt::begins_with_meta_page(bytes))
}

/// Whether bytes begin with the header of an SQLite database: its magic number, and the fractions of pages that never change.
fn is_sqlite_database(bytes: &[u8]) -> bool {
    bytes.starts_with(b"SQLite format 3\0") && bytes.get(21..24) == Some(&[64, 32, 32])
}

/// Whether bytes are a database of etcd or of kine. An archive in the archive is neither.
fn is_database(bytes: &[u8]) -> bool {
    (!looks_like_tar(bytes) && bolt::looks_like_bolt(bytes)) || is_of_sqlite(bytes)
}

/// Whether bytes are a database of kine, or its log.
fn is_of_sqlite(bytes: &[u8]) -> bool {
    !looks_like_tar(bytes) && !bolt::looks_like_bolt(bytes) && looks_like_sqlite(bytes)
}

#[cfg(feature = "kine")]
use super::kine::looks_like_sqlite;

#[cfg(not(feature = "kine"))]
fn looks_like_sqlite(bytes: &[u8]) -> bool {
    is_sqlite_database(bytes)
}

/// Whether the checksum of a header holds. It is made with spaces in its own place; some programs added signed bytes.
fn checksum_holds(header: &[u8]) -> bool {
    let digits = header[CHECKSUM].split(|byte| matches!(byte, 0 | b' ')).find(|digits| !digits.is_empty());
    let written = digits.and_then(|digits| i64::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
    let byte = |(place, &byte): (usize, &u8)| if CHECKSUM.contains(&place) { b' ' } else { byte };
    let sum = |of: fn(u8) -> i64| header.iter().enumerate().map(|found| of(byte(found))).sum::<i64>();
    written.is_some_and(|written| written == sum(i64::from) || written == sum(|byte| i64::from(byte.cast_signed())))
}

/// A file in an archive.
struct ArchivedFile {
    path: PathBuf,
    bytes: Bytes,
}

impl ArchivedFile {
    fn name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Whether it is a part of a member's data dir, and not in it by chance.
    fn is_of_member(&self) -> bool {
        self.path.ends_with("snap/db") || wal::is_name(&self.name())
    }

    /// The database that this file of SQLite belongs to.
    fn beside(&self) -> Option<&Path> {
        let path = self.path.to_str()?;
        BESIDE.iter().find_map(|suffix| path.strip_suffix(suffix)).map(Path::new)
    }

    /// Whether it is a database, or a file that k3s keeps with one.
    fn is_of_database(&self) -> bool {
        self.beside().is_some() || self.name() == K3S || is_database(&self.bytes)
    }

    /// The directory that would be a member's.
    fn member(&self) -> Option<&Path> {
        self.path.parent().and_then(Path::parent)
    }
}

/// Finds what is in an archive: the first member of etcd, or else the one database.
///
/// # Errors
///
/// A fragment: the archive is damaged, or holds no database or more than one.
pub(super) fn read(archive: &Bytes) -> Result<Archive, String> {
    let (mut entries, cut) = entries(archive)?;
    let of_member = entries.iter().find(|entry| entry.path.ends_with("snap/db")).or(entries.iter().find(|entry| entry.is_of_member()));
    let member = of_member.and_then(ArchivedFile::member).map(Path::to_owned);
    let content = match &member {
        Some(member) => ArchiveContent::Member(take_member(&mut entries, member)),
        None => take_database(&mut entries)?,
    };
    // A member keeps databases that its leader sent.
    entries.retain(|entry| !member.as_ref().is_some_and(|member| entry.path.starts_with(member)));
    let others = databases(&entries);
    let left_out = (!others.is_empty()).then(|| format!("the archive holds other databases too, which are not read: {}", names(&others)));
    Ok(Archive { content, cut, left_out })
}

/// The files of a member and all databases; and why there may be more.
fn entries(archive: &Bytes) -> Result<(Vec<ArchivedFile>, Option<String>), String> {
    let damaged = |cause: std::io::Error| format!("its tar archive is damaged or cut short: {cause}");
    let mut found: Vec<ArchivedFile> = Vec::new();
    let mut tar = tar::Archive::new(&archive[..]);
    for entry in tar.entries().map_err(damaged)? {
        match entry.and_then(|entry| read_entry(archive, entry)) {
            Ok(entry) => found.extend(entry.filter(|entry| entry.is_of_member() || entry.is_of_database())),
            Err(cause) if found.is_empty() => return Err(damaged(cause)),
            Err(cause) => return Ok((found, Some(format!("{}; what follows in it is missing", damaged(cause))))),
        }
    }
    Ok((found, None))
}

/// A file of an archive; `None` for an entry that is not a file.
fn read_entry(archive: &Bytes, mut entry: tar::Entry<'_, &[u8]>) -> std::io::Result<Option<ArchivedFile>> {
    let kind = entry.header().entry_type();
    if !(kind.is_file() || kind.is_contiguous() || kind.is_gnu_sparse()) {
        return Ok(None);
    }
    let path = entry.path()?.into_owned();
    let (start, length) = (entry.raw_file_position() as usize, entry.size() as usize);
    let bytes = match archive.get(start..start.saturating_add(length)) {
        Some(part) if !kind.is_gnu_sparse() => archive.slice_ref(part),
        _ => {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut entry, &mut bytes)?;
            bytes.into()
        }
    };
    Ok(Some(ArchivedFile { path, bytes }))
}

/// The databases among files: of one that is lost its log.
fn databases(entries: &[ArchivedFile]) -> Vec<&ArchivedFile> {
    let is_there = |path: &Path| entries.iter().any(|entry| entry.path == path);
    let is_one = |entry: &&ArchivedFile| match entry.beside() {
        Some(database) => entry.path.to_string_lossy().ends_with(BESIDE[0]) && !is_there(database),
        None => entry.is_of_database(),
    };
    entries.iter().filter(is_one).collect()
}

/// Takes the files of a member out of those of an archive.
fn take_member(entries: &mut Vec<ArchivedFile>, member: &Path) -> Parts {
    let of_member = |entry: &mut ArchivedFile| entry.is_of_member() && entry.member() == Some(member);
    let (db, log): (Vec<_>, Vec<_>) = entries.extract_if(.., of_member).partition(|entry| entry.path.ends_with("snap/db"));
    Parts {
        db: db.into_iter().next().map(|entry| Image::plain(entry.bytes)),
        log: wal::Log::of_files(log.into_iter().map(|entry| (entry.name(), entry.bytes)).collect()),
    }
}

/// Takes the one database out of the files of an archive; of several k3s' own.
fn take_database(entries: &mut Vec<ArchivedFile>) -> Result<ArchiveContent, String> {
    let databases = databases(entries);
    let of_k3s = || databases.iter().copied().filter(|entry| entry.name().starts_with(K3S));
    let path = match (&databases[..], &of_k3s().collect::<Vec<_>>()[..]) {
        ([], _) => return Err("is a tar archive without a database or log of etcd or kine; unpack it and name what is in it".to_owned()),
        ([only], _) | (_, [only]) => only.path.clone(),
        _ => {
            let (count, names) = (databases.len(), names(&databases));
            return Err(format!("is a tar archive of {count} databases ({names}); unpack it and name each with -f"));
        }
    };
    let mut take = |suffix: &str| {
        let mut name = path.clone().into_os_string();
        name.push(suffix);
        entries.extract_if(.., |entry| entry.path.as_os_str() == name).next().map(|entry| entry.bytes)
    };
    let (file, beside) = (take("").unwrap_or_default(), BESIDE.map(take));
    if !is_of_sqlite(&file) && beside[0].is_none() {
        return Ok(ArchiveContent::Database(Image::plain(file)));
    }
    kine_of(file, beside)
}

#[cfg(feature = "kine")]
fn kine_of(file: Bytes, beside: [Option<Bytes>; 3]) -> Result<ArchiveContent, String> {
    Ok(ArchiveContent::Kine(kine::Files::of_archive(file, beside)))
}

#[cfg(not(feature = "kine"))]
fn kine_of(_: Bytes, _: [Option<Bytes>; 3]) -> Result<ArchiveContent, String> {
    Err("is a tar archive of a database of kine, which is not read without the feature kine".to_owned())
}

/// The names of the first entries, and how many more there are.
fn names(entries: &[&ArchivedFile]) -> String {
    const MOST: usize = 5;
    const LONGEST: usize = 100;
    let name = |entry: &ArchivedFile| entry.path.to_string_lossy().escape_debug().take(LONGEST).collect::<String>();
    let mut names: Vec<String> = entries.iter().take(MOST).map(|entry| name(entry)).collect();
    if entries.len() > MOST {
        names.push(format!("{} more", entries.len() - MOST));
    }
    names.join(", ")
}
