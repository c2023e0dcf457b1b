//! What lies in a folder or an archive: a name, which is data and never a path, and its bytes, which are unpacked when they are wanted.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bytes::{Buf, Bytes};

use super::super::compression::decoder;
use super::super::image::{self, Image};
use super::super::mapped::map_lazily;
use super::super::options::Reading;
use super::super::spool;
use crate::{Error, Result};

/// What separates the path of an archive from the name of an entry in it.
pub(in super::super) const WITHIN: &str = "::";

/// More entries than these are not looked at: a folder that holds as many is not one of backups.
pub(super) const MOST: usize = 200_000;

/// The longest name, in bytes, that an entry may have.
pub(super) const LONGEST_NAME: usize = 4096;

/// As many bytes of an entry tell what it is.
const LOOKED_AT: u64 = 256 << 10;

/// What lies in a folder or an archive.
#[derive(Clone)]
pub(in super::super) struct Entry {
    /// Its path below the folder, or its name in the archive.
    pub name: String,
    pub body: Body,
}

/// Where its bytes are.
#[derive(Clone)]
pub(in super::super) enum Body {
    /// In a file of their own.
    File(PathBuf),
    /// In an archive, as they are.
    Bytes(Bytes),
    /// In a zip archive, compressed.
    Packed(Packed),
    /// In an archive, out of reach: a fragment says why.
    Sealed(&'static str),
}

/// What a zip archive holds compressed.
#[derive(Clone)]
pub(in super::super) struct Packed {
    pub bytes: Bytes,
    pub method: Method,
    /// The size that comes out of it and its CRC-32, where they are known before.
    pub promised: Option<(u64, u32)>,
}

/// How an entry of a zip archive is compressed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Method {
    Stored,
    Deflate,
    /// By something that shows in the first bytes.
    Other,
}

impl Packed {
    /// What undoes the compression.
    pub(in super::super) fn decoder(&self) -> io::Result<Box<dyn Read + Send>> {
        let bytes = self.bytes.clone();
        Ok(match self.method {
            Method::Stored => Box::new(bytes.reader()),
            Method::Deflate => Box::new(flate2::bufread::DeflateDecoder::new(bytes.reader())),
            Method::Other => decoder(bytes)?.ok_or_else(|| io::Error::other("its compression is not known"))?.1,
        })
    }
}

/// Holds what comes out of an entry against what the archive says of it.
struct Checked<R> {
    from: R,
    promised: Option<(u64, u32)>,
    length: u64,
    crc: flate2::Crc,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.from.read(into)?;
        self.length += length as u64;
        self.crc.update(&into[..length]);
        let is_end = length == 0 && !into.is_empty();
        match self.promised {
            Some((size, _)) if self.length > size => Err(io::Error::other("more comes out of it than the archive says")),
            Some((size, _)) if is_end && self.length < size => Err(io::Error::other("less comes out of it than the archive says")),
            Some((_, crc)) if is_end && self.crc.sum() != crc => Err(io::Error::other("its CRC-32 does not hold")),
            _ => Ok(length),
        }
    }
}

impl Entry {
    /// The last part of its name.
    pub(in super::super) fn file_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or_default()
    }

    /// The folder that it lies in.
    pub(super) fn folder(&self) -> &str {
        self.name.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Whether as many bytes lie in it, so that they are those themselves and nothing was unpacked.
    pub(super) fn is_as_long_as(&self, bytes: &[u8]) -> bool {
        match &self.body {
            Body::File(path) => path.metadata().is_ok_and(|file| file.len() == bytes.len() as u64),
            Body::Bytes(held) => held.len() == bytes.len(),
            Body::Packed(_) | Body::Sealed(_) => false,
        }
    }

    /// The first bytes, decompressed; `None` where they cannot be read.
    pub(in super::super) fn look(&self) -> Option<Bytes> {
        let bytes = match &self.body {
            Body::File(path) => map_lazily(&self.name, &File::open(path).ok()?).ok()?,
            Body::Bytes(bytes) => bytes.clone(),
            Body::Packed(packed) => beginning(packed.decoder().ok()?),
            Body::Sealed(_) => return None,
        };
        let Some((_, outer)) = decoder(bytes.clone()).ok()? else { return Some(bytes) };
        let bytes = beginning(outer);
        match decoder(bytes.clone()).ok()? {
            Some((_, inner)) => Some(beginning(inner)),
            None => Some(bytes),
        }
    }

    /// All of it, decompressed, as far as that goes.
    ///
    /// # Errors
    ///
    /// It cannot be read, nothing can be decompressed, or more comes out of it than the limits allow.
    pub(in super::super) fn image(&self, reading: &Reading<'_>) -> Result<Image> {
        match &self.body {
            Body::File(path) => image::open(&path.to_string_lossy(), reading),
            Body::Bytes(bytes) => Image::of_bytes(&self.name, bytes.clone(), reading),
            Body::Packed(packed) => {
                let failed = |cause| Error::File { path: self.name.clone(), cause };
                let from = packed.decoder().map_err(failed)?;
                let mut checked = Checked { from, promised: packed.promised, length: 0, crc: flate2::Crc::new() };
                let anything = Reading { may_be_known: |_| true, ..*reading };
                let unpacked = spool::unpack(&self.name, "zip", &mut checked, &anything)?;
                let image = Image::of_bytes(&self.name, unpacked.bytes, reading)?;
                Ok(Image { cut: unpacked.cut.or(image.cut), digest: image.digest.or(unpacked.digest), ..image })
            }
            Body::Sealed(why) => Err(Error::Format { path: self.name.clone(), problem: (*why).to_owned() }),
        }
    }
}

/// The first bytes of a stream, as far as it goes.
fn beginning(from: impl Read) -> Bytes {
    let mut bytes = Vec::new();
    let _ = from.take(LOOKED_AT).read_to_end(&mut bytes);
    bytes.into()
}

/// What an entry of the folder or archive at a path is called.
pub(in super::super) fn name_within(path: &str, name: &str) -> String {
    let separator = if Path::new(path).is_dir() { "/" } else { WITHIN };
    format!("{path}{separator}{name}")
}

/// A name that may be shown and compared: bytes that are not text are replaced.
pub(super) fn name_of(bytes: &[u8]) -> String {
    let name = String::from_utf8_lossy(bytes).replace('\\', "/");
    name.strip_prefix("./").map(str::to_owned).unwrap_or(name)
}

/// A name as it may be shown.
pub(in super::super) fn shown(name: &str) -> String {
    const LONGEST: usize = 200;
    name.escape_debug().take(LONGEST).collect()
}

/// The first names, and how many more there are.
pub(super) fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    const MOST: usize = 5;
    let names: Vec<&str> = names.collect();
    let mut told: Vec<String> = names.iter().take(MOST).map(|name| shown(name)).collect();
    if names.len() > MOST {
        told.push(format!("{} more", names.len() - MOST));
    }
    told.join(", ")
}
