//! Compressions of whole files, one row each: the bytes that a file begins with, and what undoes it.

use std::io::{self, Read};

use bytes::{Buf, Bytes};

use super::lz4;

/// What undoes a compression.
pub(super) type Decoder = Box<dyn Read + Send>;

/// The bytes of memory that an xz file may ask for: `xz -9` asks for 65 MiB, and hardly anybody for more than this.
const XZ_MEMORY: u64 = 256 << 20;

/// A compression.
struct Compression {
    name: &'static str,
    /// Whether bytes that begin so are compressed with it.
    begins: fn(&[u8]) -> bool,
    decoder: fn(Bytes) -> io::Result<Decoder>,
}

const COMPRESSIONS: [Compression; 6] = [
    Compression {
        name: "gzip",
        begins: |bytes| bytes.starts_with(&[0x1f, 0x8b]),
        decoder: |bytes| Ok(Box::new(flate2::read::MultiGzDecoder::new(bytes.reader()))),
    },
    Compression {
        name: "zstd",
        begins: |bytes| bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]),
        decoder: |bytes| Ok(Box::new(zstd::stream::read::Decoder::with_buffer(bytes.reader())?)),
    },
    Compression {
        name: "xz",
        begins: |bytes| bytes.starts_with(b"\xfd7zXZ\0"),
        decoder: |bytes| {
            let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, liblzma::stream::CONCATENATED)?;
            Ok(Box::new(liblzma::bufread::XzDecoder::new_stream(bytes.reader(), stream)))
        },
    },
    Compression { name: "lz4", begins: |bytes| bytes.starts_with(&lz4::MAGIC), decoder: |bytes| Ok(Box::new(lz4::Frames::new(bytes))) },
    Compression {
        name: "bzip2",
        // The size of its blocks, and the number that begins the first of them or the end.
        begins: |bytes| {
            let block = bytes.get(4..10);
            bytes.starts_with(b"BZh")
                && bytes.get(3).is_some_and(|size| matches!(size, b'1'..=b'9'))
                && BZIP2_BLOCKS.iter().any(|&begins| block == Some(begins))
        },
        decoder: |bytes| Ok(Box::new(bzip2::read::MultiBzDecoder::new(bytes.reader()))),
    },
    Compression { name: "zlib", begins: is_zlib, decoder: |bytes| Ok(Box::new(flate2::read::ZlibDecoder::new(bytes.reader()))) },
];

/// Pi for a block, its square root for the end.
const BZIP2_BLOCKS: [&[u8]; 2] = [&[0x31, 0x41, 0x59, 0x26, 0x53, 0x59], &[0x17, 0x72, 0x45, 0x38, 0x50, 0x90]];

/// Whether bytes that begin so are compressed.
pub(super) fn looks_compressed(beginning: &[u8]) -> bool {
    COMPRESSIONS.iter().any(|compression| (compression.begins)(beginning))
}

/// What undoes the compression of bytes, and its name; `None` where they are not compressed.
///
/// # Errors
///
/// There is no memory for it.
pub(super) fn decoder(bytes: Bytes) -> io::Result<Option<(&'static str, Decoder)>> {
    let Some(found) = COMPRESSIONS.iter().find(|compression| (compression.begins)(&bytes)) else { return Ok(None) };
    Ok(Some((found.name, (found.decoder)(bytes)?)))
}

/// Whether bytes are a stream of zlib: two of them say so (RFC 1950), which text may have too, so its beginning must not be text and must decompress.
fn is_zlib(bytes: &[u8]) -> bool {
    /// As many are enough for a block's tables.
    const TRIED: usize = 4096;
    let Some(&[method, flags, ..]) = bytes.get(..2) else { return false };
    if method != 0x78 || flags & 0x20 != 0 || (u16::from(method) << 8 | u16::from(flags)) % 31 != 0 {
        return false;
    }
    if bytes.iter().take(64).all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) {
        return false;
    }
    let mut first = [0];
    flate2::read::ZlibDecoder::new(&bytes[..bytes.len().min(TRIED)]).read_exact(&mut first).is_ok()
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
    const XZ: &[u8] = b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4F\x02\0!\x01\x16\0\0\0t/\xe5\xa3\x01\0\x04hello\0\0\0\0\xb17\xb9\xdb\xe5\xda\x1e\x9b\
        \0\x01\x1d\x05\xb8-\x80\xaf\x1f\xb6\xf3}\x01\0\0\0\0\x04YZ";

    #[test]
    fn what_is_compressed_several_times_in_a_row_comes_out_whole() {
        let (one, other) = (bzip2(b"hello "), bzip2(b"world"));
        let (name, bytes) = undone([one.clone(), other].concat());
        assert_eq!((name, &bytes.unwrap()[..]), ("bzip2", &b"hello world"[..]));
        assert_eq!(undone([XZ, XZ].concat()).1.unwrap(), b"hellohello");
        for packed in [&one[..], XZ] {
            assert!(undone(packed[..packed.len() - 5].to_vec()).1.is_err());
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
        let (name, bytes) = undone(XZ.to_vec());
        assert_eq!(name, "xz");
        assert_eq!(bytes.unwrap(), b"hello");
        let mut bomb = XZ.to_vec();
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
