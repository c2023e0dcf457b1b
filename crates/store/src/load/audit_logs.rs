//! Audit logs among the files that are named: recognised by their content, as everything is, and handed out as streams. Nothing here reads what they say.

use std::io::{self, Cursor, Read};
use std::path::Path;

use bytes::Bytes;

use super::budget::Budget;
use super::compression::Decoder;
use super::container::{self, Body, ContainerEntry, ENTRY_SEPARATOR, EntryKind};
use super::formats::reading;
use super::options::{Limits, Reading};
use super::path_content::{is_known_folder, split};
use super::{image, spool};
use crate::{Error, Result};

/// Audit logs, which are opened when they are read.
#[derive(Clone, Default)]
pub struct AuditLogs {
    files: Vec<(String, ContainerEntry)>,
    limits: Limits,
}

/// What is named: logs, and what else there is to open.
pub struct WithAuditLogs {
    /// The logs.
    pub logs: AuditLogs,
    /// The paths that hold something else; a folder that holds logs and a database is among them.
    pub others: Vec<String>,
}

impl AuditLogs {
    /// Tells audit logs from other files. What is found is kept in `limits` for who opens the others.
    ///
    /// # Errors
    ///
    /// [`Error::File`] and [`Error::Format`], where a folder or an archive cannot be read.
    pub fn among(paths: &[String], limits: &Limits) -> Result<WithAuditLogs> {
        let mut found = WithAuditLogs { logs: Self { files: Vec::new(), limits: limits.clone() }, others: Vec::new() };
        let looking = Limits { finds: limits.finds.keeping(), ..limits.clone() };
        for path in paths {
            let (logs, holds_others) = at(path, &looking)?;
            found.logs.files.extend(logs);
            if holds_others {
                found.others.push(path.clone());
            }
        }
        Ok(found)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The most bytes that may come out of a compressed one, and so of what is worked out of them: [`Limits::unpacked`].
    pub fn most_unpacked(&self) -> u64 {
        self.limits.unpacked
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|(name, _)| name.as_str())
    }

    /// Hands out one after the other, unpacked, with its name. A compressed one is never on disk or in memory whole.
    ///
    /// # Errors
    ///
    /// [`Error::File`], where one cannot be opened.
    pub fn read(&self, each: &mut dyn FnMut(&str, &mut dyn Read)) -> Result<()> {
        for (place, name) in self.names().enumerate() {
            each(name, &mut *self.stream(place)?);
        }
        Ok(())
    }

    /// Opens the one at a place among the names, unpacked as it is read; beyond the last it is empty.
    ///
    /// # Errors
    ///
    /// [`Error::File`], where it cannot be opened.
    pub fn stream(&self, place: usize) -> Result<Box<dyn Read + Send>> {
        match self.files.get(place) {
            Some((_, entry)) => entry.stream(&reading(&self.limits)),
            None => Ok(Box::new(io::empty())),
        }
    }
}

/// A stream that is unpacked, and fails where all that is unpacked becomes too much.
struct CountedStream {
    from: Decoder,
    budget: Budget,
}

impl Read for CountedStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.from.read(into)?;
        self.budget.work(length as u64)?;
        Ok(length)
    }
}

/// The logs at a path, and whether it holds anything else.
fn at(path: &str, limits: &Limits) -> Result<(Vec<(String, ContainerEntry)>, bool)> {
    let (outer, within) = split(path);
    if outer == "-" {
        let bytes = Body::Bytes(image::standard_input(&reading(limits))?);
        return in_file(outer, within, ContainerEntry { name: outer.to_owned(), body: bytes }, limits);
    }
    if !Path::new(outer).exists() || within.is_empty() && image::is_directory(outer) && is_known_folder(Path::new(outer)) {
        return Ok((Vec::new(), true));
    }
    if !image::is_directory(outer) && !Path::new(outer).is_file() {
        return Ok((Vec::new(), true));
    }
    if image::is_directory(outer) {
        #[cfg(feature = "recording")]
        if crate::recording::is_recording(Path::new(outer)) {
            return Ok((Vec::new(), true));
        }
        let entries = container::audit_logs_in_folder(Path::new(outer), within, &reading(limits));
        return Ok(named(outer, "/", entries.map_err(|problem| Error::Format { path: path.to_owned(), problem })?));
    }
    #[cfg(feature = "recording")]
    if crate::recording::is_packed(Path::new(outer)) {
        return Ok((Vec::new(), true));
    }
    in_file(outer, within, ContainerEntry { name: outer.to_owned(), body: Body::File(outer.into()) }, limits)
}

/// The same of a file.
fn in_file(outer: &str, within: &str, file: ContainerEntry, limits: &Limits) -> Result<(Vec<(String, ContainerEntry)>, bool)> {
    // What is wrong with it is said by who opens it.
    let Ok(look) = file.look(&limits.budget()) else { return Ok((Vec::new(), true)) };
    match EntryKind::of(&file, &look.bytes) {
        EntryKind::AuditLog => Ok((vec![(outer.to_owned(), file)], false)),
        EntryKind::Archive => {
            let archive = image::look(outer, &reading(limits))?.bytes;
            let entries = container::audit_logs_in_archive(outer, &archive, within, &reading(limits));
            Ok(entries.map_or((Vec::new(), true), |entries| named(outer, ENTRY_SEPARATOR, entries)))
        }
        _ => Ok((Vec::new(), true)),
    }
}

fn named(outer: &str, separator: &str, (logs, holds_others): (Vec<ContainerEntry>, bool)) -> (Vec<(String, ContainerEntry)>, bool) {
    let outer = outer.trim_end_matches('/');
    (logs.into_iter().map(|entry| (format!("{outer}{separator}{}", entry.name), entry)).collect(), holds_others)
}

impl ContainerEntry {
    /// All of it, decompressed while it is read.
    fn stream(&self, reading: &Reading<'_>) -> Result<Decoder> {
        let failed = |cause| Error::File { path: self.name.clone(), cause };
        let bytes = match &self.body {
            Body::File(path) => container::file_bytes(&self.name, path).map_err(failed)?,
            Body::Bytes(bytes) => bytes.clone(),
            Body::Packed(packed) => return self.unpacked_again(packed.decoder().map_err(failed)?, reading),
            Body::Sealed(why) => return Err(failed(io::Error::other(*why))),
        };
        self.decompressed(bytes, reading)
    }

    /// What comes out of an archive may be compressed itself: a log that was rotated and then packed. Of that the compressed bytes are kept.
    fn unpacked_again(&self, mut from: Decoder, reading: &Reading<'_>) -> Result<Decoder> {
        const LOOKED_AT: u64 = 64;
        let mut beginning = Vec::new();
        let read = (&mut from).take(LOOKED_AT).read_to_end(&mut beginning);
        read.map_err(|cause| Error::File { path: self.name.clone(), cause })?;
        let is_compressed = super::compression::looks_compressed(&beginning);
        let mut from: Decoder = Box::new(Cursor::new(beginning).chain(from));
        if !is_compressed {
            return Ok(Box::new(CountedStream { from, budget: reading.limits.budget() }));
        }
        let anything = Reading { may_be_known: |_| true, ..*reading };
        let unpacked = spool::unpack(&self.name, "zip", &mut from, &anything)?;
        self.decompressed(unpacked.bytes, reading)
    }

    fn decompressed(&self, bytes: Bytes, reading: &Reading<'_>) -> Result<Decoder> {
        let decoder = super::compression::decoder(bytes.clone()).map_err(|cause| Error::File { path: self.name.clone(), cause })?;
        Ok(match decoder {
            Some((_, from)) => Box::new(CountedStream { from, budget: reading.limits.budget() }),
            None => Box::new(Cursor::new(bytes)),
        })
    }
}
