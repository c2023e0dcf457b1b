//! Where the files of a recording lie: in a directory, or in one file.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::disk;
use super::index::ReadAt;
use super::packed::{self, PackedMembers};

#[derive(Debug)]
pub(super) enum RecordingFiles {
    Directory(PathBuf),
    /// They lie in one file.
    Packed {
        file: File,
        members: PackedMembers,
    },
}

impl RecordingFiles {
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        if !packed::is_packed(path) {
            return Ok(Self::Directory(path.to_owned()));
        }
        let mut file = File::open(path)?;
        let members = packed::members(&mut file)?;
        Ok(Self::Packed { file, members })
    }

    pub(super) fn names(&self) -> io::Result<BTreeSet<String>> {
        match self {
            Self::Directory(path) => disk::names(path),
            Self::Packed { members, .. } => Ok(members.by_name.keys().cloned().collect()),
        }
    }

    /// What is wrong with how they lie there, one message per item.
    pub(super) fn problems(&self) -> &[String] {
        match self {
            Self::Directory(_) => &[],
            Self::Packed { members, .. } => &members.problems,
        }
    }

    /// The directory, if they lie in one.
    pub(super) fn directory(&self) -> Option<&Path> {
        match self {
            Self::Directory(path) => Some(path),
            Self::Packed { .. } => None,
        }
    }

    pub(super) fn open(&self, name: &str) -> io::Result<FilePart> {
        match self {
            Self::Directory(path) => FilePart::of(disk::open(&path.join(name))?),
            Self::Packed { file, members } => {
                let member = members.by_name.get(name).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
                Ok(FilePart { file: file.try_clone()?, start: member.start, length: member.length })
            }
        }
    }

    /// Reads one of at most `most` bytes.
    pub(super) fn read(&self, name: &str, most: u64) -> io::Result<Vec<u8>> {
        match self {
            Self::Directory(path) => disk::read(&path.join(name), most),
            Self::Packed { .. } => {
                let (part, mut bytes) = (self.open(name)?, Vec::new());
                if part.length > most {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, format!("it is larger than {most} bytes")));
                }
                part.reader().read_to_end(&mut bytes)?;
                Ok(bytes)
            }
        }
    }
}

/// A file, or a part of one, that is read where it lies.
#[derive(Debug)]
pub(super) struct FilePart {
    file: File,
    start: u64,
    pub length: u64,
}

impl FilePart {
    /// A whole file.
    pub(super) fn of(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self { file, start: 0, length })
    }

    /// The same once more.
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { file: self.file.try_clone()?, ..*self })
    }

    /// Its bytes, mapped.
    pub(super) fn map(&self, name: &str) -> io::Result<Bytes> {
        let all = crate::load::map(name, &self.file)?;
        let start = usize::try_from(self.start).unwrap_or(usize::MAX).min(all.len());
        let end = start.saturating_add(usize::try_from(self.length).unwrap_or(usize::MAX)).min(all.len());
        Ok(all.slice(start..end))
    }

    /// Reads it from its beginning; other readers do not disturb it.
    pub(super) fn reader(&self) -> impl Read + '_ {
        PartReader { part: self, at: 0 }
    }
}

impl ReadAt for FilePart {
    fn read_at(&self, start: u64, length: usize) -> Option<Bytes> {
        // Memory is taken for what the file has, not for what an index claims.
        start.checked_add(length as u64).filter(|&end| end <= self.length)?;
        let mut bytes = vec![0; length];
        self.read_exact_at(&mut bytes, self.start + start).ok()?;
        Some(bytes.into())
    }
}

impl FilePart {
    #[cfg(unix)]
    fn read_exact_at(&self, bytes: &mut [u8], start: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, bytes, start)
    }

    #[cfg(not(unix))]
    fn read_exact_at(&self, bytes: &mut [u8], start: u64) -> io::Result<()> {
        use std::io::{Seek, SeekFrom};
        let mut file = &self.file;
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(bytes)
    }
}

struct PartReader<'p> {
    part: &'p FilePart,
    at: u64,
}

impl Read for PartReader<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = usize::try_from(self.part.length - self.at).unwrap_or(usize::MAX).min(bytes.len());
        self.part.read_exact_at(&mut bytes[..count], self.part.start + self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}
