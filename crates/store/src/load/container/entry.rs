//! What lies in a folder or an archive: a name, which is data and never a path, and its bytes, which are unpacked when they are wanted.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bytes::{Buf, Bytes};

use super::super::budget::{Budget, Exceeded};
use super::super::compression::{decoder, first_block};
use super::super::image::{self, Image};
use super::super::mapped::map_lazily;
use super::super::options::Reading;
use super::super::spool::{self, Spooled};
use crate::{Error, Result};

/// What separates the path of an archive from the name of an entry in it.
pub(in super::super) const ENTRY_SEPARATOR: &str = "::";

/// More entries than these are not looked at: a folder that holds as many is not one of backups.
pub(super) const MAX_ENTRIES: usize = 200_000;

/// The longest name, in bytes, that an entry may have.
pub(super) const LONGEST_NAME: usize = 4096;

/// As many bytes of an entry tell what it is.
const LOOKED_AT: u64 = 256 << 10;

/// What lies in a folder or an archive.
#[derive(Clone)]
pub(in super::super) struct ContainerEntry {
    /// Its path below the folder, or its name in the archive.
    pub name: String,
    pub body: Body,
}

/// Where its bytes are.
#[derive(Clone)]
pub(in super::super) enum Body {
    File(PathBuf),
    /// In an archive, as they are.
    Bytes(Bytes),
    /// In a zip archive, compressed.
    Packed(PackedEntry),
    /// In an archive, out of reach: a fragment says why.
    Sealed(&'static str),
}

/// What a zip archive holds compressed.
#[derive(Clone)]
pub(in super::super) struct PackedEntry {
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

impl PackedEntry {
    /// How many bytes are undone before the first of them comes out.
    fn first_block(&self) -> u64 {
        if self.method == Method::Other { first_block(&self.bytes) } else { 0 }
    }

    /// What undoes the compression.
    pub(in super::super) fn decoder(&self) -> io::Result<Box<dyn Read + Send>> {
        let bytes = self.bytes.clone();
        Ok(match self.method {
            Method::Stored => Box::new(bytes.reader()),
            Method::Deflate => Box::new(flate2::bufread::DeflateDecoder::new(bytes.reader())),
            Method::Other => decoder(bytes)?.ok_or_else(|| io::Error::other("its compression is unknown"))?.1,
        })
    }
}

/// Holds what comes out of an entry against what the archive says of it.
struct CheckedReader<R> {
    from: R,
    promised: Option<(u64, u32)>,
    length: u64,
    crc: flate2::Crc,
}

impl<R: Read> Read for CheckedReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.from.read(into)?;
        self.length += length as u64;
        self.crc.update(&into[..length]);
        let is_end = length == 0 && !into.is_empty();
        match self.promised {
            Some((size, _)) if self.length > size => Err(io::Error::other("it unpacks to more than the archive says")),
            Some((size, _)) if is_end && self.length < size => Err(io::Error::other("it unpacks to less than the archive says")),
            Some((_, crc)) if is_end && self.crc.sum() != crc => Err(io::Error::other("its CRC-32 does not match")),
            _ => Ok(length),
        }
    }
}

impl ContainerEntry {
    pub(in super::super) fn file_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or_default()
    }

    pub(super) fn folder(&self) -> &str {
        self.name.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// The first bytes, decompressed.
    ///
    /// # Errors
    ///
    /// Looking at this and others took more than is allowed.
    pub(in super::super) fn look(&self, budget: &Budget) -> Result<EntryHead, Exceeded> {
        /// A log may be compressed when it is rotated, and again when it is packed.
        const MAX_LAYERS: usize = 2;
        let mut look = match &self.body {
            Body::File(path) => match File::open(path).and_then(|file| map_lazily(&self.name, &file)) {
                Ok(bytes) => {
                    budget.add_file(bytes.len() as u64);
                    EntryHead { bytes, ..EntryHead::default() }
                }
                Err(cause) => EntryHead { problem: Some(format!("cannot be read: {cause}")), ..EntryHead::default() },
            },
            Body::Bytes(bytes) => EntryHead { bytes: bytes.clone(), ..EntryHead::default() },
            Body::Packed(packed) => EntryHead::within("zip", packed.decoder(), packed.first_block(), budget)?,
            Body::Sealed(why) => EntryHead { problem: Some((*why).to_owned()), ..EntryHead::default() },
        };
        for _ in 0..MAX_LAYERS {
            let (what, decoder) = match decoder(look.bytes.clone()) {
                Ok(None) => break,
                Ok(Some((what, decoder))) => (what, Ok(decoder)),
                Err(cause) => ("", Err(cause)),
            };
            let within = EntryHead::within(what, decoder, first_block(&look.bytes), budget)?;
            // What is packed may end here only because no more of it was looked at.
            let is_whole = look.bytes.len() as u64 != LOOKED_AT;
            look = EntryHead { problem: look.problem.or(within.problem.filter(|_| is_whole)), is_compressed: true, ..within };
        }
        Ok(look)
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
                let unpacked = self.unpacked(packed, reading)?;
                let image = Image::of_bytes(&self.name, unpacked.bytes, reading)?;
                Ok(Image { cut: unpacked.cut.or(image.cut), digest: image.digest.or(unpacked.digest), ..image })
            }
            Body::Sealed(why) => Err(self.sealed(why)),
        }
    }

    /// All of a file that its program never compresses, such as a log: what it begins with does not make another thing of it.
    ///
    /// # Errors
    ///
    /// It cannot be read, or more comes out of it than the limits allow.
    pub(in super::super) fn plain_image(&self, reading: &Reading<'_>) -> Result<Image> {
        match &self.body {
            Body::File(path) => image::open_plain(&path.to_string_lossy(), reading),
            Body::Bytes(bytes) => Ok(Image::plain(bytes.clone())),
            Body::Packed(packed) => {
                let Spooled { bytes, cut, .. } = self.unpacked(packed, reading)?;
                Ok(Image { cut, ..Image::plain(bytes) })
            }
            Body::Sealed(why) => Err(self.sealed(why)),
        }
    }

    /// What a zip archive holds compressed, as it was put there.
    fn unpacked(&self, packed: &PackedEntry, reading: &Reading<'_>) -> Result<Spooled> {
        let failed = |cause| Error::File { path: self.name.clone(), cause };
        let from = packed.decoder().map_err(failed)?;
        let mut checked = CheckedReader { from, promised: packed.promised, length: 0, crc: flate2::Crc::new() };
        let anything = Reading { may_be_known: |_| true, ..*reading };
        spool::unpack(&self.name, "zip", &mut checked, &anything)
    }

    fn sealed(&self, why: &str) -> Error {
        Error::Format { path: self.name.clone(), problem: why.to_owned() }
    }

    /// [`Self::plain_image`] of a file that another program may shorten while it is read.
    ///
    /// # Errors
    ///
    /// As of [`Self::plain_image`].
    #[cfg(feature = "kine")]
    pub(in super::super) fn copied_image(&self, reading: &Reading<'_>) -> Result<Image> {
        match &self.body {
            Body::File(path) => image::open_copied(&path.to_string_lossy(), reading),
            Body::Bytes(_) | Body::Packed(_) | Body::Sealed(_) => self.plain_image(reading),
        }
    }
}

#[derive(Default)]
pub(in super::super) struct EntryHead {
    /// The first bytes, decompressed; all of them, where they are not.
    pub bytes: Bytes,
    /// Why no more bytes came than are there, a fragment.
    pub problem: Option<String>,
    /// Whether it is compressed.
    pub is_compressed: bool,
}

impl EntryHead {
    /// The first bytes of a stream, as far as it goes; `block` are undone before any.
    fn within(what: &str, from: io::Result<Box<dyn Read + Send>>, block: u64, budget: &Budget) -> Result<Self, Exceeded> {
        let mut bytes = Vec::new();
        let read = from.and_then(|from| from.take(LOOKED_AT).read_to_end(&mut bytes));
        let length = bytes.len() as u64;
        budget.look(if length < LOOKED_AT { length } else { block.max(length) })?;
        let problem = read.err().map(|cause| format!("its {what} compression is damaged or cut short ({cause})"));
        Ok(Self { bytes: bytes.into(), problem, is_compressed: what != "zip" })
    }
}

/// What an entry of the folder or archive at a path is called.
pub(in super::super) fn name_within(path: &str, name: &str) -> String {
    let separator = if Path::new(path).is_dir() { "/" } else { ENTRY_SEPARATOR };
    format!("{path}{separator}{name}")
}

/// The memory that an entry of a name takes, here and where it is found to be something.
pub(super) fn memory_of(name: &str) -> u64 {
    const ENTRY_OVERHEAD_BYTES: u64 = 400;
    ENTRY_OVERHEAD_BYTES + 2 * name.len() as u64
}

/// A name that may be shown and compared: bytes that are not text are replaced.
pub(super) fn name_of(bytes: &[u8]) -> String {
    let name = String::from_utf8_lossy(bytes).replace('\\', "/");
    name.strip_prefix("./").map(str::to_owned).unwrap_or(name)
}

pub(in super::super) fn shown(name: &str) -> String {
    const MAX_NAME_BYTES: usize = 200;
    name.escape_debug().take(MAX_NAME_BYTES).collect()
}

/// The first names, and how many more there are.
pub(super) fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    const MAX_ENTRIES_LISTED: usize = 5;
    let names: Vec<&str> = names.collect();
    let mut told: Vec<String> = names.iter().take(MAX_ENTRIES_LISTED).map(|name| shown(name)).collect();
    if names.len() > MAX_ENTRIES_LISTED {
        told.push(format!("{} more", names.len() - MAX_ENTRIES_LISTED));
    }
    told.join(", ")
}
