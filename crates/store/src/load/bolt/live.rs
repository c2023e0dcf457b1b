//! A database that a running etcd writes, read in place through the memory map.
//!
//! bbolt copies on write: transaction N+1 writes to pages that the tree of transaction N does not use, then its meta page, and the pages that
//! it replaced are free to transaction N+2. So whatever was read by the meta page of transaction N was of its tree if that is still the newest
//! meta page afterwards.
//!
//! That an entry still stands where it was says nothing of its value: etcd writes the same leaf to the same pages again when it comes back to
//! them, and then its beginning is there before the rest. So the index keeps a checksum of each value, made while the meta page vouched for it,
//! and what is read later is copied first and believed if the copy has that checksum; if not, it is read again by the newest meta page.
//!
//! Source: bbolt v1.4.3, `tx.go` (`Commit`: pages, then the meta page), `internal/freelist/shared.go` (`ReleasePendingPages`).

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

use bytes::Bytes;

use super::meta::{self, Meta};
use super::page::{self, FLAG_BRANCH, FLAG_FREELIST, FLAG_LEAF, FLAG_META, PageHeader};
use super::{Bolt, Bucket, BucketPair, PageId, step};
use crate::load::OpeningProgress;
use crate::load::mvcc::KeyValuePlaces;
use crate::versions::{IndexedPut, Volatile};
use crate::{Error, Revision};

/// A mapped file that another process writes.
#[derive(Debug)]
pub(crate) struct Live {
    name: String,
    file: File,
    /// The mapping, longer than the file, so that it still covers the file when it has grown.
    map: Bytes,
    page_size: usize,
}

/// How often something is tried again that a commit came between.
const MAX_ATTEMPTS: usize = 200;

impl Live {
    /// A file that is mapped, which may be no database.
    pub(crate) fn new(name: &str, file: File, map: Bytes) -> Self {
        let mut live = Self { name: name.to_owned(), file, map, page_size: 0 };
        live.page_size = live.meta().map_or(meta::SMALLEST_PAGE, |(meta, _)| meta.page_size);
        live
    }

    /// The whole mapping; what lies beyond the end of the file must not be touched.
    pub(crate) fn map(&self) -> &Bytes {
        &self.map
    }

    /// The part of the mapping that the file has by now.
    pub(crate) fn image(&self) -> io::Result<Bytes> {
        let length = usize::try_from(self.file.metadata()?.len()).unwrap_or(usize::MAX);
        Ok(self.map.slice(..self.map.len().min(length)))
    }

    /// The newest meta page, and what is wrong with the other if that does not pass with the next commit.
    pub(super) fn meta(&self) -> Result<(Meta, Vec<String>), String> {
        let pause = Duration::from_millis(1);
        let mut last = Err("its meta pages change all the time; try again".to_owned());
        for _ in 0..MAX_ATTEMPTS {
            step();
            last = self.read_metas().and_then(|pages| meta::weigh(&pages));
            match &last {
                Ok((meta, problems)) if problems.is_empty() && meta.root.is_some() => break,
                _ => std::thread::sleep(pause),
            }
        }
        last
    }

    fn read_metas(&self) -> Result<Vec<u8>, String> {
        // Where the page size is not known, the smallest is assumed.
        let known = self.page_size > meta::SMALLEST_PAGE;
        let length = self.map.len().min(if known { self.page_size + meta::META_BYTES } else { 2 * meta::LARGEST_PAGE });
        let mut pages = vec![0; length];
        let read = self.read_at(&mut pages, 0).map_err(|cause| format!("cannot be read: {cause}"))?;
        pages.truncate(read);
        Ok(pages)
    }

    /// Whether `meta` is still the newest one, so that all pages of its tree are as they were when it was written.
    pub(super) fn is_newest(&self, meta: &Meta) -> bool {
        // What was read from the mapping was read before.
        fence(Ordering::SeqCst);
        step();
        let newest = [0, meta.page_size].into_iter().filter_map(|start| {
            let mut page = [0; meta::META_BYTES];
            let read = self.read_at(&mut page, start as u64).ok()?;
            Some(meta::read(&page[..read], 0).ok()?.transaction)
        });
        newest.max() == Some(meta.transaction)
    }

    #[cfg(unix)]
    fn read_at(&self, buffer: &mut [u8], start: u64) -> io::Result<usize> {
        use std::os::unix::fs::FileExt;
        self.file.read_at(buffer, start)
    }

    #[cfg(windows)]
    fn read_at(&self, buffer: &mut [u8], start: u64) -> io::Result<usize> {
        use std::os::windows::fs::FileExt;
        self.file.seek_read(buffer, start)
    }

    /// The value of an entry whose place was taken by something else since: etcd may have copied it to another page. `None`: the file has it no more.
    ///
    /// # Errors
    ///
    /// A fragment, where the file cannot be read long enough between two commits to say so.
    fn find_again(&self, entry: &IndexedPut<'_>) -> Result<Option<Bytes>, String> {
        let key = entry.revision_key();
        for _ in 0..MAX_ATTEMPTS {
            let (meta, _) = self.meta()?;
            let image = self.image().map_err(|cause| format!("cannot be read: {cause}"))?;
            let (checksum, problems, progress) = (None, Vec::new(), OpeningProgress::default());
            let bolt = Bolt { image, meta, checksum, problems, live: None, progress };
            let message = bolt
                .bucket_named(b"key")
                .and_then(|bucket| descend(&bolt, &bucket, &key))
                .map(|pair| bolt.image.get(pair.value).map(<[u8]>::to_vec).unwrap_or_default());
            // The message was copied before.
            if self.is_newest(&meta) {
                return Ok(message.and_then(|message| value_of(entry, &message)));
            }
        }
        Err(format!("is written too often for revision {} to be read; run the command again", entry.main))
    }
}

fn value_of(entry: &IndexedPut<'_>, message: &[u8]) -> Option<Bytes> {
    let read = KeyValuePlaces::read(message)?;
    let is_it = read.mod_revision == entry.main && &message[read.key] == entry.key;
    is_it.then(|| Bytes::copy_from_slice(&message[read.value]))
}

pub(super) fn find(bolt: &Bolt, name: &[u8]) -> Option<BucketPair> {
    descend(bolt, &bolt.root()?, name).filter(|pair| pair.is_bucket)
}

/// Searches a bucket for a key, from its root down.
fn descend(bolt: &Bolt, bucket: &Bucket, key: &[u8]) -> Option<BucketPair> {
    /// More levels has no tree.
    const MAX_TREE_DEPTH: usize = 64;
    let (image, size) = (&bolt.image, bolt.meta.page_size);
    let mut place = match bucket {
        Bucket::Inline(place) => place.clone(),
        Bucket::Tree(root) => page_at(image, size, *root)?,
    };
    for _ in 0..MAX_TREE_DEPTH {
        step();
        let page = image.get(place.clone())?;
        let header = PageHeader::read(page)?;
        let last_upto = |key_of: &dyn Fn(usize) -> Option<Range<usize>>| {
            let is_upto = |index: usize| key_of(index).and_then(|place| page.get(place)).is_some_and(|found| found <= key);
            let (mut low, mut high) = (0, header.count);
            while low < high {
                let middle = low + (high - low) / 2;
                if is_upto(middle) { low = middle + 1 } else { high = middle }
            }
            low.checked_sub(1)
        };
        match header.flags {
            FLAG_BRANCH => {
                let index = last_upto(&|index| page::branch_element(page, index).map(|element| element.key))?;
                place = page_at(image, size, page::branch_element(page, index)?.child)?;
            }
            FLAG_LEAF => {
                let index = last_upto(&|index| page::leaf_element(page, index).map(|element| element.key))?;
                let element = page::leaf_element(page, index)?;
                let absolute = |range: Range<usize>| place.start + range.start..place.start + range.end;
                let pair = BucketPair { key: absolute(element.key), value: absolute(element.value), is_bucket: element.is_bucket };
                return image.get(pair.key.clone()).is_some_and(|found| found == key).then_some(pair);
            }
            _ => return None,
        }
    }
    None
}

/// Where a page lies, with those it reaches over.
fn page_at(image: &[u8], size: usize, id: PageId) -> Option<Range<usize>> {
    let start = usize::try_from(id).ok()?.checked_mul(size)?;
    let header = PageHeader::read(image.get(start..)?).filter(|header| header.id == id)?;
    let end = start.checked_add(size.checked_mul(header.overflow as usize + 1)?)?;
    (end <= image.len()).then_some(start..end)
}

impl Live {
    fn copy(&self, place: &Range<usize>) -> Option<Bytes> {
        let bytes = self.map.get(place.clone())?;
        let mut copy = Vec::with_capacity(bytes.len());
        for piece in bytes.chunks(PIECE_BYTES) {
            step();
            copy.extend_from_slice(piece);
        }
        fence(Ordering::SeqCst);
        step();
        Some(copy.into())
    }

    /// Whether the entry's beginning stands before its value, and no other page begins within that.
    fn has_beginning(&self, entry: &IndexedPut<'_>) -> bool {
        let head = entry.head();
        let before = entry.place.start.checked_sub(head.len()).and_then(|start| self.map.get(start..entry.place.start));
        let page_size = self.page_size;
        let begins_in = |start: usize| {
            let header = self.map.get(start..).and_then(PageHeader::read);
            let is_kind = |flags| matches!(flags, FLAG_BRANCH | FLAG_LEAF | FLAG_META | FLAG_FREELIST);
            header.is_some_and(|header| header.id == (start / page_size) as PageId && is_kind(header.flags))
        };
        let mut starts = (entry.place.start.next_multiple_of(page_size)..entry.place.end).step_by(page_size);
        before == Some(&head) && !starts.any(begins_in)
    }
}

/// How many bytes are copied at once.
const PIECE_BYTES: usize = 4096;

impl Volatile for Live {
    fn value(&self, entry: &IndexedPut<'_>) -> crate::Result<Bytes> {
        // The checksum alone would take one wrong value in four billion for the right one.
        let in_place = self.copy(&entry.place).filter(|copy| crc32c::crc32c(copy) == entry.crc && self.has_beginning(entry));
        if let Some(value) = in_place {
            return Ok(value);
        }
        let revision = Revision(entry.main);
        let gone =
            || format!("the running etcd that writes it has compacted revision {revision} away since it was opened; run the command again");
        let found = self.find_again(entry).and_then(|found| found.ok_or_else(gone));
        found.map_err(|problem| Error::Format { path: self.name.clone(), problem })
    }
}
