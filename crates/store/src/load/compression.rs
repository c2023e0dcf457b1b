//! Compressions of whole files, one row each: the bytes that a file begins with, and what undoes it.

use std::io::{self, Read};

use bytes::{Buf, Bytes};

use super::lz4;

pub(super) type Decoder = Box<dyn Read + Send>;

/// The bytes of memory that an xz file may ask for: `xz -9` asks for 65 MiB, and hardly anybody for more than this.
const XZ_MEMORY: u64 = 256 << 20;

/// The same of a zstd file, as a power of two: `zstd -22` asks for 128 MiB, `--long=31` for 2 GiB.
const ZSTD_WINDOW: u32 = 28;

struct Compression {
    name: &'static str,
    /// How many bytes are undone before the first of them comes out, by those that it begins with.
    block: fn(&[u8]) -> u64,
    /// Whether bytes that begin so are compressed with it.
    begins: fn(&[u8]) -> bool,
    decoder: fn(Bytes) -> io::Result<Decoder>,
}

const ALL_COMPRESSIONS: [Compression; 7] = [
    Compression {
        name: "gzip",
        block: |_| 0,
        begins: |bytes| bytes.starts_with(&[0x1f, 0x8b]),
        decoder: |bytes| Ok(Box::new(GzipMembers { decoder: flate2::bufread::GzDecoder::new(bytes.reader()) })),
    },
    Compression {
        name: "zstd",
        block: |_| 128 << 10,
        begins: |bytes| behind_skippable(bytes).starts_with(&[0x28, 0xb5, 0x2f, 0xfd]),
        decoder: |bytes| {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(bytes.reader())?;
            decoder.window_log_max(ZSTD_WINDOW)?;
            Ok(Box::new(decoder))
        },
    },
    Compression {
        name: "xz",
        block: |_| 0,
        begins: |bytes| bytes.starts_with(b"\xfd7zXZ\0"),
        decoder: |bytes| {
            let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, liblzma::stream::CONCATENATED)?;
            Ok(Box::new(liblzma::bufread::XzDecoder::new_stream(bytes.reader(), stream)))
        },
    },
    Compression {
        name: "lzma",
        block: |_| 0,
        begins: is_lzma,
        decoder: |bytes| {
            let stream = liblzma::stream::Stream::new_lzma_decoder(XZ_MEMORY)?;
            Ok(Box::new(liblzma::bufread::XzDecoder::new_stream(bytes.reader(), stream)))
        },
    },
    Compression {
        name: "lz4",
        block: |_| 4 << 20,
        begins: |bytes| lz4::begins_so(behind_skippable(bytes)),
        decoder: |bytes| Ok(Box::new(lz4::Lz4Reader::new(bytes))),
    },
    Compression {
        name: "bzip2",
        block: |bytes| u64::from(bytes.get(3).map_or(0, |size| size.saturating_sub(b'0'))) * 100_000,
        // The size of its blocks, and the number that begins the first of them or the end.
        begins: |bytes| {
            let block = bytes.get(4..10);
            bytes.starts_with(b"BZh")
                && bytes.get(3).is_some_and(|size| matches!(size, b'1'..=b'9'))
                && BZIP2_BLOCKS.iter().any(|&begins| block == Some(begins))
        },
        decoder: |bytes| Ok(Box::new(Bzip2Streams::new(bytes))),
    },
    Compression {
        name: "zlib",
        block: |_| 0,
        begins: is_zlib,
        decoder: |bytes| Ok(Box::new(flate2::read::ZlibDecoder::new(bytes.reader()))),
    },
];

/// Pi for a block, its square root for the end.
const BZIP2_BLOCKS: [&[u8]; 2] = [&[0x31, 0x41, 0x59, 0x26, 0x53, 0x59], &[0x17, 0x72, 0x45, 0x38, 0x50, 0x90]];

/// Whether bytes that begin so are compressed.
pub(super) fn looks_compressed(beginning: &[u8]) -> bool {
    ALL_COMPRESSIONS.iter().any(|compression| (compression.begins)(beginning))
}

/// What undoes the compression of bytes, and its name; `None` where they are not compressed.
///
/// # Errors
///
/// There is no memory for it.
pub(super) fn decoder(bytes: Bytes) -> io::Result<Option<(&'static str, Decoder)>> {
    let Some(found) = ALL_COMPRESSIONS.iter().find(|compression| (compression.begins)(&bytes)) else { return Ok(None) };
    Ok(Some((found.name, (found.decoder)(bytes)?)))
}

/// How many bytes are undone, at least, before one comes out of bytes that begin so.
pub(super) fn first_block(beginning: &[u8]) -> u64 {
    ALL_COMPRESSIONS.iter().find(|compression| (compression.begins)(beginning)).map_or(0, |compression| (compression.block)(beginning))
}

/// What follows the skippable frames that a file of zstd or LZ4 may begin with (RFC 8878, 3.1.2), as pzstd's do.
fn behind_skippable(mut bytes: &[u8]) -> &[u8] {
    /// Nobody writes more of them at the beginning.
    const MAX_SKIPPABLE_FRAMES: usize = 64;
    for _ in 0..MAX_SKIPPABLE_FRAMES {
        let [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, rest @ ..] = bytes else { break };
        let length = usize::try_from(u32::from_le_bytes([*a, *b, *c, *d])).unwrap_or(usize::MAX);
        let Some(rest) = rest.get(length..) else { break };
        bytes = rest;
    }
    bytes
}

/// Whether bytes are a file of `lzma`, xz' older format, which has no magic number: its usual properties, a dictionary of a usual size, the length or
/// none, and the byte of 0 that the coder begins with.
fn is_lzma(bytes: &[u8]) -> bool {
    let Some(&[0x5d, a, b, c, d, ref length @ .., 0]) = bytes.get(..14) else { return false };
    let dictionary = u32::from_le_bytes([a, b, c, d]);
    let is_usual = dictionary.is_power_of_two() || dictionary % 3 == 0 && (dictionary / 3).is_power_of_two();
    is_usual && dictionary >= 1 << 12 && (length == [0xff; 8] || length[6..] == [0, 0] && length != [0; 8])
}

/// The members of a gzip file, one after another. Zeros behind them, as tapes and block devices leave them, are passed over, as gzip does.
struct GzipMembers {
    decoder: flate2::bufread::GzDecoder<bytes::buf::Reader<Bytes>>,
}

impl Read for GzipMembers {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let length = self.decoder.read(into)?;
            if length > 0 || into.is_empty() {
                return Ok(length);
            }
            let rest = self.decoder.get_ref().get_ref();
            if rest.iter().all(|&byte| byte == 0) {
                return Ok(0);
            }
            self.decoder = flate2::bufread::GzDecoder::new(rest.clone().reader());
        }
    }
}

/// How many small streams a bzip2 file may have, and one more for this many of its bytes. Each has 14 bytes at least, and takes the memory of its blocks and
/// some time even where nothing comes out of it. Those that `pbzip2` writes are not small, however little they are packed to.
const SMALL_STREAMS: usize = 200;
const BYTES_A_SMALL_STREAM: usize = 1 << 10;
/// What comes out of a stream that is not small: half of the smallest block.
const MAX_SMALL_BYTES: usize = 50_000;

/// The streams of a bzip2 file, one after another.
struct Bzip2Streams {
    decoder: bzip2::bufread::BzDecoder<bytes::buf::Reader<Bytes>>,
    /// How much came out of the one that is read.
    length: usize,
    /// How many more small ones there may be.
    left: usize,
}

impl Bzip2Streams {
    fn new(bytes: Bytes) -> Self {
        let left = SMALL_STREAMS + bytes.len() / BYTES_A_SMALL_STREAM;
        Self { decoder: bzip2::bufread::BzDecoder::new(bytes.reader()), length: 0, left }
    }
}

impl Read for Bzip2Streams {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let length = self.decoder.read(into)?;
            if length > 0 || into.is_empty() {
                self.length = self.length.saturating_add(length);
                return Ok(length);
            }
            let rest = self.decoder.get_ref().get_ref();
            if rest.is_empty() {
                return Ok(0);
            }
            if self.length < MAX_SMALL_BYTES {
                let left = self.left.checked_sub(1);
                self.left = left.ok_or_else(|| io::Error::other("it has too many small streams of bzip2; unpack it with bzip2"))?;
            }
            self.length = 0;
            self.decoder = bzip2::bufread::BzDecoder::new(rest.clone().reader());
        }
    }
}

/// Whether bytes are a stream of zlib: two of them say so (RFC 1950), which text may have too, so its beginning must not be text and must decompress.
fn is_zlib(bytes: &[u8]) -> bool {
    /// As many are enough for a block's tables.
    const MAX_TRIED_BYTES: usize = 4096;
    let Some(&[method, flags, ..]) = bytes.get(..2) else { return false };
    if method != 0x78 || flags & 0x20 != 0 || (u16::from(method) << 8 | u16::from(flags)) % 31 != 0 {
        return false;
    }
    if bytes.iter().take(64).all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) {
        return false;
    }
    let mut first = [0];
    flate2::read::ZlibDecoder::new(&bytes[..bytes.len().min(MAX_TRIED_BYTES)]).read_exact(&mut first).is_ok()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn undone(bytes: Vec<u8>) -> (&'static str, io::Result<Vec<u8>>) {
        let (name, mut decoder) = decoder(bytes.into()).unwrap().unwrap();
        let mut found = Vec::new();
        (name, decoder.read_to_end(&mut found).map(|_| found))
    }

    fn bzip2(text: &[u8]) -> Vec<u8> {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// What `printf hello | xz` writes.
    const HELLO_XZ: &[u8] =
        b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4F\x02\0!\x01\x16\0\0\0t/\xe5\xa3\x01\0\x04hello\0\0\0\0\xb17\xb9\xdb\xe5\xda\x1e\x9b\
        \0\x01\x1d\x05\xb8-\x80\xaf\x1f\xb6\xf3}\x01\0\0\0\0\x04YZ";

    #[test]
    fn what_is_compressed_several_times_in_a_row_comes_out_whole() {
        let (one, other) = (bzip2(b"hello "), bzip2(b"world"));
        let (name, bytes) = undone([one.clone(), other].concat());
        assert_eq!((name, &bytes.unwrap()[..]), ("bzip2", &b"hello world"[..]));
        assert_eq!(undone([HELLO_XZ, HELLO_XZ].concat()).1.unwrap(), b"hellohello");
        for packed in [&one[..], HELLO_XZ] {
            assert!(undone(packed[..packed.len() - 5].to_vec()).1.is_err());
        }
    }

    #[test]
    fn bzip2_has_only_so_many_small_streams() {
        let (empty, large) = (bzip2(b""), bzip2(&vec![0; MAX_SMALL_BYTES]));
        let many = |stream: &[u8], count: usize| [stream.repeat(count), bzip2(b"end")].concat();
        assert_eq!(undone(many(&empty, SMALL_STREAMS)).1.unwrap(), b"end");
        assert_eq!(undone(many(&large, 2 * SMALL_STREAMS)).1.unwrap().len(), 2 * SMALL_STREAMS * MAX_SMALL_BYTES + 3);
        let error = undone(many(&empty, 2 * SMALL_STREAMS)).1.unwrap_err();
        assert!(error.to_string().contains("too many small streams"), "{error}");
        assert!(undone([&many(&empty, 1)[..], b"rubbish"].concat()).1.is_err());
    }

    #[test]
    fn zeros_behind_gzip_are_passed_over_and_rubbish_is_not() {
        let member = |text: &[u8]| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(text).unwrap();
            encoder.finish().unwrap()
        };
        let two = [member(b"hello "), member(b""), member(b"world")].concat();
        for behind in [&b""[..], &[0; 700]] {
            assert_eq!(undone([&two, behind].concat()).1.unwrap(), b"hello world");
        }
        for behind in [&b"rubbish"[..], &[0x1f, 0x8b], &[0, 0, 1]] {
            assert!(undone([&two, behind].concat()).1.is_err());
        }
    }

    /// What `printf hello | lzma` writes, and a frame that is to be passed over before one of zstd.
    #[test]
    fn older_and_rarer_forms_are_recognised() {
        let (name, bytes) = undone(
            b"\x5d\x00\x00\x80\x00\xff\xff\xff\xff\xff\xff\xff\xff\x00\x34\x19\x49\xee\x8e\x68\x21\xff\xff\xff\xb9\xe0\x00\x00".to_vec(),
        );
        assert_eq!((name, bytes.unwrap()), ("lzma", b"hello".to_vec()));
        let zstd = [&[0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3][..], &zstd::encode_all(&b"hello"[..], 1).unwrap()].concat();
        let (name, bytes) = undone(zstd);
        assert_eq!((name, bytes.unwrap()), ("zstd", b"hello".to_vec()));
        for other in [&[0x53, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff, 1][..], b"]\0\0\0\0 text and text", b"]\0\0\x80\0"] {
            assert!(!looks_compressed(other), "{other:?}");
        }
    }

    #[test]
    fn text_is_not_taken_for_compressed() {
        for text in ["x\u{1}", "x^2: 1\n", "BZh9: a\n", "x", "", "kind: List\n"] {
            assert!(!looks_compressed(text.as_bytes()), "{text:?}");
        }
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(b"hello").unwrap();
        let (name, bytes) = undone(zlib.finish().unwrap());
        assert_eq!((name, bytes.unwrap()), ("zlib", b"hello".to_vec()));
    }

    /// A dictionary of 4 GiB is asked for before a byte comes out of it.
    #[test]
    fn an_xz_file_that_asks_for_much_memory_is_refused() {
        let (name, bytes) = undone(HELLO_XZ.to_vec());
        assert_eq!(name, "xz");
        assert_eq!(bytes.unwrap(), b"hello");
        let mut bomb = HELLO_XZ.to_vec();
        // The size of its dictionary, and the checksum of the block's header.
        bomb[16] = 40;
        let crc = crc32(&bomb[12..20]);
        bomb[20..24].copy_from_slice(&crc.to_le_bytes());
        let error = undone(bomb).1.unwrap_err();
        assert!(error.to_string().contains("mem"), "{error}");
    }

    fn crc32(bytes: &[u8]) -> u32 {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        crc.sum()
    }
}
