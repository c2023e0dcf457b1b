//! Audit logs among the files that are named: recognised by their content, as everything is, and handed out as streams. Nothing here reads what they say.

use std::io::{self, Cursor, Read};
use std::path::Path;

use bytes::Bytes;

use super::container::{self, Body, Entry, Kind, WITHIN};
use super::formats::reading;
use super::image;
use super::one::{is_known_folder, split};
use super::options::Limits;
use crate::{Error, Result};

/// Audit logs, which are opened when they are read.
#[derive(Default)]
pub struct AuditLogs {
    files: Vec<(String, Entry)>,
    /// The most bytes that come out of a compressed one.
    most: u64,
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
        let mut found = WithAuditLogs { logs: Self { files: Vec::new(), most: limits.unpacked }, others: Vec::new() };
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
        for (name, entry) in &self.files {
            let from = entry.stream().map_err(|cause| Error::File { path: name.clone(), cause })?;
            each(name, &mut Bounded { from, left: self.most });
        }
        Ok(())
    }
}

/// A stream that fails where it becomes too long.
struct Bounded<R> {
    from: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.from.read(into)?;
        self.left =
            self.left.checked_sub(length as u64).ok_or_else(|| io::Error::other("more comes out of it than --max-unpacked-size allows"))?;
        Ok(length)
    }
}

/// The logs at a path, and whether it holds anything else.
fn at(path: &str, limits: &Limits) -> Result<(Vec<(String, Entry)>, bool)> {
    let (outer, within) = split(path);
    if outer == "-" {
        let bytes = Body::Bytes(image::standard_input(&reading(limits))?);
        return in_file(outer, within, Entry { name: outer.to_owned(), body: bytes }, limits);
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
    in_file(outer, within, Entry { name: outer.to_owned(), body: Body::File(outer.into()) }, limits)
}

/// The same of a file.
fn in_file(outer: &str, within: &str, file: Entry, limits: &Limits) -> Result<(Vec<(String, Entry)>, bool)> {
    match Kind::of(&file, &file.look().unwrap_or_default()) {
        Kind::AuditLog => Ok((vec![(outer.to_owned(), file)], false)),
        Kind::Archive => {
            let archive = image::look(outer, &reading(limits))?.bytes;
            let entries = container::audit_logs_in_archive(outer, &archive, within, &reading(limits));
            // What is wrong with it is said by who opens it.
            Ok(entries.map_or((Vec::new(), true), |entries| named(outer, WITHIN, entries)))
        }
        _ => Ok((Vec::new(), true)),
    }
}

fn named(outer: &str, separator: &str, (logs, holds_others): (Vec<Entry>, bool)) -> (Vec<(String, Entry)>, bool) {
    let outer = outer.trim_end_matches('/');
    (logs.into_iter().map(|entry| (format!("{outer}{separator}{}", entry.name), entry)).collect(), holds_others)
}

impl Entry {
    /// All of it, decompressed while it is read.
    fn stream(&self) -> io::Result<Box<dyn Read + Send>> {
        let bytes = match &self.body {
            Body::File(path) => container::file_bytes(&self.name, path)?,
            Body::Bytes(bytes) => bytes.clone(),
            Body::Packed(packed) => return unpacked_again(packed.decoder()?),
            Body::Sealed(why) => return Err(io::Error::other(*why)),
        };
        decompressed(bytes)
    }
}

/// What comes out of an archive may be compressed itself: a log that was rotated and then packed. Of that the compressed bytes are held.
fn unpacked_again(mut from: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    const LOOKED_AT: u64 = 64;
    let mut beginning = Vec::new();
    (&mut from).take(LOOKED_AT).read_to_end(&mut beginning)?;
    if !super::compression::looks_compressed(&beginning) {
        return Ok(Box::new(Cursor::new(beginning).chain(from)));
    }
    from.read_to_end(&mut beginning)?;
    decompressed(beginning.into())
}

fn decompressed(bytes: Bytes) -> io::Result<Box<dyn Read + Send>> {
    Ok(match super::compression::decoder(bytes.clone())? {
        Some((_, decoder)) => decoder,
        None => Box::new(Cursor::new(bytes)),
    })
}
