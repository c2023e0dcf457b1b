//! The details that a click opens, deflated as they are added: the text of many objects' versions would be many times a page.

use std::io;

use flate2::{Compress, Compression, FlushCompress};
use serde::Serialize;

/// The last block of a deflate stream, empty.
const DEFLATE_END: [u8; 2] = [0x03, 0x00];

/// Deflates texts one by one. Each ends at a whole byte and refers to no other, so that some of them, one after the other, are one stream.
pub(super) struct Packer(Compress);

impl Packer {
    pub(super) fn new() -> Self {
        Self(Compress::new(Compression::default(), false))
    }

    /// Appends a text to a stream.
    pub(super) fn append(&mut self, text: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        /// More than deflate adds to what it cannot make smaller, and to a flush.
        const SPARE_BYTES: usize = 64;
        self.0.reset();
        let mut taken = 0;
        let mut packed = Vec::with_capacity(text.len() / 3 + SPARE_BYTES);
        // A flush is complete once it leaves room.
        while taken < text.len() || packed.len() == packed.capacity() {
            packed.reserve(SPARE_BYTES + text.len() / 8);
            self.0.compress_vec(&text[taken..], &mut packed, FlushCompress::Sync).map_err(io::Error::other)?;
            taken = self.0.total_in() as usize;
        }
        out.reserve_exact(packed.len());
        out.extend_from_slice(&packed);
        Ok(())
    }

    /// Ends a stream.
    pub(super) fn end(out: &mut Vec<u8>) {
        out.extend(DEFLATE_END);
    }
}

/// Documents of one list, separated by commas.
#[derive(Default)]
pub(crate) struct Packed {
    /// The first ones, deflated.
    bytes: Vec<u8>,
    /// The text of those that follow.
    text: Vec<u8>,
    count: usize,
}

impl Packed {
    /// Adds a document; returns how long its text is.
    pub(super) fn push(&mut self, document: &impl Serialize) -> io::Result<usize> {
        let before = self.text.len();
        if self.count > 0 {
            self.text.push(b',');
        }
        serde_json::to_writer(&mut self.text, document)?;
        self.count += 1;
        Ok(self.text.len() - before)
    }

    /// How many documents there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// How many bytes they take.
    pub(super) fn held(&self) -> usize {
        self.bytes.len() + self.text.len()
    }

    /// Deflates what is text still.
    pub(super) fn pack(&mut self, packer: &mut Packer) -> io::Result<()> {
        let text = std::mem::take(&mut self.text);
        if text.is_empty() { Ok(()) } else { packer.append(&text, &mut self.bytes) }
    }

    /// Appends the documents to a text; what is deflated already goes to `out` behind the text so far.
    pub(super) fn write(&self, text: &mut Vec<u8>, packer: &mut Packer, out: &mut Vec<u8>) -> io::Result<()> {
        if !self.bytes.is_empty() {
            packer.append(text, out)?;
            text.clear();
            out.extend_from_slice(&self.bytes);
        }
        text.extend_from_slice(&self.text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::DeflateDecoder;

    use super::*;

    #[test]
    fn pieces_are_one_stream() {
        let mut packer = Packer::new();
        let (mut stream, mut text, mut list) = (Vec::new(), b"[".to_vec(), Packed::default());
        let documents = ["", "<a>", &"no two alike ".repeat(9), &(0..9_000).map(|n| n.to_string()).collect::<String>(), "last"];
        for (index, document) in documents.iter().enumerate() {
            list.push(document).unwrap();
            if index < 4 {
                list.pack(&mut packer).unwrap();
            }
        }
        list.write(&mut text, &mut packer, &mut stream).unwrap();
        text.push(b']');
        packer.append(&text, &mut stream).unwrap();
        Packer::end(&mut stream);
        let mut text = String::new();
        DeflateDecoder::new(&*stream).read_to_string(&mut text).unwrap();
        assert_eq!(serde_json::from_str::<Vec<String>>(&text).unwrap(), documents);
        assert_eq!(list.count(), documents.len());
    }
}
