//! Writes etcd's database files page by page: a file of any size takes no more heap than a page of each level of its trees.
//!
//! Sources: bbolt's `page.go`, `node.go` and `meta.go`; etcd's `server/storage/mvcc/revision.go` and `api/mvccpb/kv.proto`.

use std::io::{self, Seek, SeekFrom, Write};

const PAGE_BYTES: usize = 4096;
const HEADER_BYTES: usize = 16;
/// The bytes that an element of a branch or a leaf takes in addition to its key and value.
const ELEMENT_BYTES: usize = 16;
const BRANCH_FLAG: u16 = 1;
const LEAF_FLAG: u16 = 2;
const META_FLAG: u16 = 4;
/// The flag of an element that is a bucket.
const BUCKET_FLAG: u32 = 1;

/// A version of a key, as the bucket `key` holds it.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The key.
    pub key: &'a [u8],
    /// `None`: the key was deleted.
    pub value: Option<&'a [u8]>,
    /// The revision that created the key; 0 for a deletion.
    pub create_revision: i64,
    /// The revision that wrote this version.
    pub mod_revision: i64,
    /// The write's place among those of its revision, from 0.
    pub sub_revision: i64,
    /// 1 at creation, one more with each write; 0 for a deletion.
    pub version: i64,
    /// The lease; 0 for none.
    pub lease: i64,
}

impl Record<'_> {
    /// The key of the entry: the revision.
    pub fn revision(&self) -> Vec<u8> {
        let tombstone: &[u8] = if self.value.is_none() { b"t" } else { b"" };
        [&revision(self.mod_revision, self.sub_revision)[..], tombstone].concat()
    }

    /// The entry: a `KeyValue`; of a deletion the key alone.
    pub fn message(&self) -> Vec<u8> {
        let mut message = Vec::new();
        bytes_field(1, self.key, &mut message);
        let Some(value) = self.value else { return message };
        message.reserve(value.len() + 48);
        for (number, integer) in [(2, self.create_revision), (3, self.mod_revision), (4, self.version)] {
            int_field(number, integer, &mut message);
        }
        bytes_field(5, value, &mut message);
        int_field(6, self.lease, &mut message);
        message
    }
}

/// A revision as etcd writes it.
pub fn revision(main: i64, sub: i64) -> Vec<u8> {
    [&main.to_be_bytes()[..], b"_", &sub.to_be_bytes()].concat()
}

fn int_field(number: u8, value: i64, out: &mut Vec<u8>) {
    if value != 0 {
        out.push(number << 3);
        varint(value as u64, out);
    }
}

fn bytes_field(number: u8, bytes: &[u8], out: &mut Vec<u8>) {
    if !bytes.is_empty() {
        out.push(number << 3 | 2);
        varint(bytes.len() as u64, out);
        out.extend(bytes);
    }
}

fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// A database that is being written.
pub struct EtcdFile<W> {
    out: W,
    /// How many pages were written.
    pages: u64,
}

impl<W: Write + Seek> EtcdFile<W> {
    /// Begins a database; the meta pages are written last.
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(&[0; 2 * PAGE_BYTES])?;
        Ok(Self { out, pages: 2 })
    }

    /// Ends a database of these buckets, ascending by name, each with the root of its tree.
    pub fn finish(mut self, buckets: &[(&str, u64)]) -> io::Result<W> {
        let mut tree = Tree::new(BUCKET_FLAG);
        for (name, root) in buckets {
            tree.push(name.as_bytes(), &[root.to_le_bytes(), [0; 8]].concat(), &mut self)?;
        }
        let root = tree.finish(&mut self)?;
        self.out.seek(SeekFrom::Start(0))?;
        for id in 0..2 {
            self.out.write_all(&meta_page(id, root, self.pages))?;
        }
        self.out.seek(SeekFrom::End(0))?;
        Ok(self.out)
    }

    /// Writes a page, with those that it reaches over; returns its number.
    fn page(&mut self, flags: u16, count: usize, elements: &[u8], data: &[u8]) -> io::Result<u64> {
        let id = self.pages;
        let length = HEADER_BYTES + elements.len() + data.len();
        let pages = length.div_ceil(PAGE_BYTES);
        self.out.write_all(&page_header(id, flags, count, pages - 1))?;
        self.out.write_all(elements)?;
        self.out.write_all(data)?;
        self.out.write_all(&[0; PAGE_BYTES][..pages * PAGE_BYTES - length])?;
        self.pages += pages as u64;
        Ok(id)
    }
}

fn page_header(id: u64, flags: u16, count: usize, overflow: usize) -> Vec<u8> {
    let mut header = id.to_le_bytes().to_vec();
    header.extend(flags.to_le_bytes());
    header.extend((count as u16).to_le_bytes());
    header.extend((overflow as u32).to_le_bytes());
    header
}

fn meta_page(id: u64, root: u64, high_water: u64) -> Vec<u8> {
    let mut page = page_header(id, META_FLAG, 0, 0);
    page.extend(0xED0C_DAED_u32.to_le_bytes());
    page.extend(2_u32.to_le_bytes());
    page.extend((PAGE_BYTES as u32).to_le_bytes());
    page.extend([0; 4]);
    // The root bucket with its sequence, no list of free pages (etcd keeps none), and the transaction.
    for number in [root, 0, u64::MAX, high_water, 40 + id] {
        page.extend(number.to_le_bytes());
    }
    let sum =
        page[HEADER_BYTES..].iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    page.extend(sum.to_le_bytes());
    page.resize(PAGE_BYTES, 0);
    page
}

/// A page: its first key and its number.
pub type Child = (Vec<u8>, u64);

/// Leaves that no branch leads to yet.
pub struct Leaves {
    flags: u32,
    entries: Vec<(Vec<u8>, Vec<u8>)>,
    bytes: usize,
}

impl Leaves {
    /// No leaves yet; each entry has these flags.
    pub fn new(flags: u32) -> Self {
        Self { flags, entries: Vec::new(), bytes: HEADER_BYTES }
    }

    /// Adds the next entry; returns the leaf before it, if that was full.
    pub fn push<W: Write + Seek>(&mut self, key: &[u8], value: &[u8], file: &mut EtcdFile<W>) -> io::Result<Option<Child>> {
        let bytes = ELEMENT_BYTES + key.len() + value.len();
        let full = if self.bytes + bytes > PAGE_BYTES && !self.entries.is_empty() { Some(self.flush(file)?) } else { None };
        self.bytes += bytes;
        self.entries.push((key.to_vec(), value.to_vec()));
        Ok(full)
    }

    /// Writes the last leaf.
    pub fn flush<W: Write + Seek>(&mut self, file: &mut EtcdFile<W>) -> io::Result<Child> {
        let entries = std::mem::take(&mut self.entries);
        let (mut elements, mut data) = (Vec::with_capacity(ELEMENT_BYTES * entries.len()), Vec::with_capacity(self.bytes));
        self.bytes = HEADER_BYTES;
        for (index, (key, value)) in entries.iter().enumerate() {
            elements.extend(self.flags.to_le_bytes());
            elements.extend(((ELEMENT_BYTES * (entries.len() - index) + data.len()) as u32).to_le_bytes());
            elements.extend((key.len() as u32).to_le_bytes());
            elements.extend((value.len() as u32).to_le_bytes());
            data.extend_from_slice(key);
            data.extend_from_slice(value);
        }
        let id = file.page(LEAF_FLAG, entries.len(), &elements, &data)?;
        Ok((entries.into_iter().next().map(|(key, _)| key).unwrap_or_default(), id))
    }
}

/// A tree that grows at its end.
pub struct Tree {
    leaves: Leaves,
    /// The children of the last branch of each level, the lowest first.
    levels: Vec<Vec<Child>>,
}

impl Tree {
    /// An empty tree, each entry of which has these flags.
    pub fn new(flags: u32) -> Self {
        Self { leaves: Leaves::new(flags), levels: vec![Vec::new()] }
    }

    /// Adds the next entry. Entries come ascending by key.
    pub fn push<W: Write + Seek>(&mut self, key: &[u8], value: &[u8], file: &mut EtcdFile<W>) -> io::Result<()> {
        match self.leaves.push(key, value, file)? {
            Some(leaf) => self.add(0, leaf, file),
            None => Ok(()),
        }
    }

    /// Writes what is not written yet; returns the root.
    pub fn finish<W: Write + Seek>(mut self, file: &mut EtcdFile<W>) -> io::Result<u64> {
        let last = self.leaves.flush(file)?;
        self.add(0, last, file)?;
        for level in 0.. {
            let children = std::mem::take(&mut self.levels[level]);
            if let ([(_, root)], true) = (&children[..], level + 1 == self.levels.len()) {
                return Ok(*root);
            }
            let branch = branch(&children, file)?;
            self.add(level + 1, branch, file)?;
        }
        unreachable!("the highest level has one branch in the end");
    }

    fn add<W: Write + Seek>(&mut self, level: usize, child: Child, file: &mut EtcdFile<W>) -> io::Result<()> {
        if level == self.levels.len() {
            self.levels.push(Vec::new());
        }
        let taken = |children: &[Child]| children.iter().map(|(key, _)| ELEMENT_BYTES + key.len()).sum::<usize>();
        if HEADER_BYTES + taken(&self.levels[level]) + ELEMENT_BYTES + child.0.len() > PAGE_BYTES {
            let children = std::mem::take(&mut self.levels[level]);
            let full = branch(&children, file)?;
            self.add(level + 1, full, file)?;
        }
        self.levels[level].push(child);
        Ok(())
    }
}

fn branch<W: Write + Seek>(children: &[Child], file: &mut EtcdFile<W>) -> io::Result<Child> {
    let (mut elements, mut data) = (Vec::new(), Vec::new());
    for (index, (key, child)) in children.iter().enumerate() {
        elements.extend(((ELEMENT_BYTES * (children.len() - index) + data.len()) as u32).to_le_bytes());
        elements.extend((key.len() as u32).to_le_bytes());
        elements.extend(child.to_le_bytes());
        data.extend_from_slice(key);
    }
    let id = file.page(BRANCH_FLAG, children.len(), &elements, &data)?;
    Ok((children[0].0.clone(), id))
}
