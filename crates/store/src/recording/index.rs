//! Where each key of a file is: which of its blocks hold changes of which keys. The index stands at the end of a complete file, in pages with a
//! checksum each, so that one key is looked up without reading the rest.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;

use crate::KeyRange;

const PAGE_BYTES: usize = 4096;
/// What a page holds apart from its checksum.
const IN_PAGE: usize = PAGE_BYTES - 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Where its first chunk begins.
    pub start: u64,
    /// Its bytes in the file, headers included.
    pub length: u64,
    /// It has all changes after this revision,
    pub after: i64,
    /// up to this one.
    pub upto: i64,
}

impl Block {
    fn is_possible(&self) -> bool {
        (0..=self.upto).contains(&self.after) && self.upto < i64::MAX / 2 && self.start.checked_add(self.length).is_some()
    }
}

const BLOCK_BYTES: usize = 32;
/// How many blocks, how many keys, how many pairs of key and block.
const COUNTS_BYTES: usize = 12;

/// Collects where keys are.
#[derive(Default)]
pub(super) struct IndexBuilder {
    pub blocks: Vec<Block>,
    keys: BTreeMap<Vec<u8>, Vec<u32>>,
}

impl IndexBuilder {
    /// Notes that the block that is written now, which is not among `blocks` yet, has a change of `key`.
    pub(super) fn add(&mut self, key: &[u8]) {
        let block = self.blocks.len() as u32;
        match self.keys.get_mut(key) {
            Some(blocks) if blocks.last() == Some(&block) => {}
            Some(blocks) => blocks.push(block),
            None => drop(self.keys.insert(key.to_vec(), vec![block])),
        }
    }

    pub(super) fn key_count(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut content = Vec::new();
        let pairs: usize = self.keys.values().map(Vec::len).sum();
        for count in [self.blocks.len(), self.keys.len(), pairs] {
            content.extend_from_slice(&(count as u32).to_le_bytes());
        }
        for block in &self.blocks {
            for number in [block.start, block.length, block.after.cast_unsigned(), block.upto.cast_unsigned()] {
                content.extend_from_slice(&number.to_le_bytes());
            }
        }
        let (mut key_end, mut pair_end) = (0_u32, 0_u32);
        for (key, blocks) in &self.keys {
            key_end += key.len() as u32;
            pair_end += blocks.len() as u32;
            content.extend_from_slice(&key_end.to_le_bytes());
            content.extend_from_slice(&pair_end.to_le_bytes());
        }
        self.keys.values().flatten().for_each(|block| content.extend_from_slice(&block.to_le_bytes()));
        self.keys.keys().for_each(|key| content.extend_from_slice(key));
        let mut bytes = Vec::with_capacity(content.len() + content.len() / IN_PAGE * 4 + PAGE_BYTES);
        for (number, page) in content.chunks(IN_PAGE).enumerate() {
            bytes.extend_from_slice(page);
            bytes.extend_from_slice(&checksum(number, page).to_le_bytes());
        }
        bytes
    }
}

/// The page's number goes into its checksum: a page in another's place is damage.
fn checksum(number: usize, page: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&(number as u64).to_le_bytes()), page)
}

/// Where an index is read from.
pub(super) trait ReadAt {
    /// The bytes from `start` on; `None` where they cannot be read.
    fn read_at(&self, start: u64, length: usize) -> Option<Bytes>;
}

impl ReadAt for Bytes {
    fn read_at(&self, start: u64, length: usize) -> Option<Bytes> {
        let start = usize::try_from(start).ok()?;
        let end = start.checked_add(length).filter(|&end| end <= self.len())?;
        Some(self.slice(start..end))
    }
}

/// An index, read where it lies. What is damaged of it answers `None`.
pub(super) struct Index<'a> {
    from: &'a dyn ReadAt,
    start: u64,
    length: usize,
    blocks: usize,
    keys: usize,
    pairs: usize,
}

impl<'a> Index<'a> {
    /// The index that lies at `start` and is `length` bytes long.
    pub(super) fn open(from: &'a dyn ReadAt, start: u64, length: usize) -> Option<Self> {
        let mut index = Self { from, start, length, blocks: 0, keys: 0, pairs: 0 };
        let counts = index.content(0, COUNTS_BYTES)?;
        let count = |at: usize| u32_at(&counts, at * 4) as usize;
        (index.blocks, index.keys, index.pairs) = (count(0), count(1), count(2));
        let least = COUNTS_BYTES + index.blocks * BLOCK_BYTES + index.keys * 8 + index.pairs * 4;
        (least <= length).then_some(index)
    }

    /// Bytes of the content, from pages whose checksums hold.
    fn content(&self, start: usize, length: usize) -> Option<Vec<u8>> {
        let mut content = Vec::new();
        let (first, end) = (start / IN_PAGE, (start + length).div_ceil(IN_PAGE));
        for number in first..end {
            let at = number * PAGE_BYTES;
            let page_length = PAGE_BYTES.min(self.length.checked_sub(at)?);
            let page = self.from.read_at(self.start + at as u64, page_length)?;
            let (page, sum) = page.split_at_checked(page_length.checked_sub(4)?)?;
            if sum != checksum(number, page).to_le_bytes() {
                return None;
            }
            content.extend_from_slice(page);
        }
        let skipped = start - first * IN_PAGE;
        Some(content.get(skipped..skipped + length)?.to_vec())
    }

    pub(super) fn blocks(&self) -> Option<Vec<Block>> {
        let bytes = self.content(COUNTS_BYTES, self.blocks * BLOCK_BYTES)?;
        let number = |bytes: &[u8], at: usize| u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32;
        let block = |bytes: &[u8]| Block {
            start: number(bytes, 0),
            length: number(bytes, 8),
            after: number(bytes, 16).cast_signed(),
            upto: number(bytes, 24).cast_signed(),
        };
        let blocks: Vec<Block> = bytes.chunks_exact(BLOCK_BYTES).map(block).collect();
        blocks.iter().all(Block::is_possible).then_some(blocks)
    }

    /// The numbers of the blocks that hold changes of keys of a range, ascending.
    pub(super) fn blocks_with(&self, keys: &KeyRange) -> Option<Vec<u32>> {
        if keys.start.as_slice() <= &[0][..] && keys.end.is_none() {
            return Some((0..self.blocks as u32).collect());
        }
        let first = self.lower_bound(&keys.start)?;
        let end = keys.end.as_deref().map_or(Some(self.keys), |end| self.lower_bound(end))?;
        if end <= first {
            return Some(Vec::new());
        }
        let pairs = self.ends(first)?.1..self.ends(end)?.1;
        let start = COUNTS_BYTES + self.blocks * BLOCK_BYTES + self.keys * 8 + pairs.start * 4;
        let bytes = self.content(start, pairs.end.checked_sub(pairs.start)? * 4)?;
        let mut found: Vec<u32> = bytes.chunks_exact(4).map(|bytes| u32_at(bytes, 0)).collect();
        found.sort_unstable();
        found.dedup();
        found.iter().all(|&block| (block as usize) < self.blocks).then_some(found)
    }

    /// The first key that is not less than `wanted`.
    fn lower_bound(&self, wanted: &[u8]) -> Option<usize> {
        let (mut low, mut high) = (0, self.keys);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.key(middle)?.as_slice() < wanted { low = middle + 1 } else { high = middle }
        }
        Some(low)
    }

    fn key(&self, number: usize) -> Option<Vec<u8>> {
        let Range { start, end } = self.ends(number)?.0..self.ends(number + 1)?.0;
        let keys = COUNTS_BYTES + self.blocks * BLOCK_BYTES + self.keys * 8 + self.pairs * 4;
        self.content(keys + start, end.checked_sub(start)?)
    }

    /// Where the keys and the pairs before key `number` end.
    fn ends(&self, number: usize) -> Option<(usize, usize)> {
        let Some(before) = number.checked_sub(1) else { return Some((0, 0)) };
        let bytes = self.content(COUNTS_BYTES + self.blocks * BLOCK_BYTES + before * 8, 8)?;
        Some((u32_at(&bytes, 0) as usize, u32_at(&bytes, 4) as usize))
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builder() -> IndexBuilder {
        let mut builder = IndexBuilder::default();
        for block in 0..5_u32 {
            for key in 0..2000 {
                if key % 5 == block || key == 7 {
                    builder.add(format!("/registry/pods/lab/pod-{key:04}").as_bytes());
                }
            }
            let block = i64::from(block);
            builder.blocks.push(Block { start: 48, length: 100, after: block, upto: block + 1 });
        }
        builder
    }

    fn key(number: u32) -> KeyRange {
        KeyRange::key(format!("/registry/pods/lab/pod-{number:04}"))
    }

    #[test]
    fn keys_are_found_in_their_blocks() {
        let (builder, bytes) = (builder(), Bytes::from(builder().bytes()));
        let index = Index::open(&bytes, 0, bytes.len()).unwrap();
        assert_eq!(index.blocks().unwrap(), builder.blocks);
        for number in 0..2000 {
            let expected = if number == 7 { vec![0, 1, 2, 3, 4] } else { vec![number % 5] };
            assert_eq!(index.blocks_with(&key(number)).unwrap(), expected);
        }
        assert_eq!(index.blocks_with(&KeyRange::key("/registry/pods/lab/pod-20000")).unwrap(), [0; 0]);
        assert_eq!(index.blocks_with(&KeyRange::prefix("/registry/pods/lab/pod-001")).unwrap(), [0, 1, 2, 3, 4]);
        assert_eq!(index.blocks_with(&KeyRange::prefix("/registry/leases/")).unwrap(), [0; 0]);
        let none = Bytes::from(IndexBuilder::default().bytes());
        assert_eq!(Index::open(&none, 0, none.len()).unwrap().blocks_with(&key(1)).unwrap(), [0; 0]);
    }

    #[test]
    fn a_changed_byte_makes_no_wrong_answer() {
        let good = builder().bytes();
        for at in (0..good.len()).step_by(37) {
            let mut bytes = good.clone();
            bytes[at] ^= 0x10;
            let bytes = Bytes::from(bytes);
            for number in [0, 7, 1234, 1999] {
                let found = Index::open(&bytes, 0, bytes.len()).and_then(|index| index.blocks_with(&key(number)));
                let expected = if number == 7 { vec![0, 1, 2, 3, 4] } else { vec![number % 5] };
                assert!(found.is_none_or(|found| found == expected), "byte {at}");
            }
        }
    }
}
