//! A database file by its meta pages, and where its buckets lie.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::live::{self, Live};
use super::meta::{self, Meta};
use super::page::PageId;
use crate::load::OpeningProgress;
use crate::load::little_endian::u64_at;

/// A database file whose meta pages have been weighed.
pub(in crate::load) struct Bolt {
    /// The whole file, without the checksum that a snapshot appends.
    pub image: Bytes,
    /// The meta page of the newest transaction that holds, or what is known without one.
    pub meta: Meta,
    /// The SHA-256 that `etcdctl snapshot save` appended, if the length says there is one.
    pub checksum: Option<[u8; 32]>,
    /// Each a sentence: a meta page that does not hold.
    pub problems: Vec<String>,
    /// The file, where a running etcd writes it.
    pub live: Option<Arc<Live>>,
    /// Counts the pages that are read.
    pub progress: OpeningProgress,
}

/// A pair found in a bucket, as places in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::load) struct BucketPair {
    /// Where the key lies.
    pub key: Range<usize>,
    /// Where the value lies.
    pub value: Range<usize>,
    /// Whether the value is a bucket's header rather than plain bytes.
    pub is_bucket: bool,
}

/// Where a bucket's pairs are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::load) enum Bucket {
    Tree(PageId),
    /// In one small leaf page that lies in the bucket's own value.
    Inline(Range<usize>),
}

impl Bolt {
    /// Weighs both meta pages of `image`, which may have lost its end.
    ///
    /// # Errors
    ///
    /// A fragment that says why it cannot be read: both meta pages are broken, and no other page is to be found.
    pub(in crate::load) fn open(image: Bytes) -> Result<Self, String> {
        let (meta, mut problems) = meta::weigh(&image)?;
        let page_size = meta.page_size;
        let needed = meta.high_water.saturating_mul(page_size as u64);
        let (pages, rest) = (image.len() / page_size, image.len() % page_size);
        let (length, checksum) = match rest {
            CHECKSUM_BYTES if needed <= (pages * page_size) as u64 => (pages * page_size, image[pages * page_size..].try_into().ok()),
            _ => (image.len(), None),
        };
        if needed > length as u64 {
            problems.push(format!(
                "truncated: the database has {} pages of {page_size} bytes ({needed} bytes), the file holds {length} bytes, so its \
                 last {} pages are missing; copy the file again or take a new snapshot",
                meta.high_water,
                meta.high_water - pages as PageId
            ));
        } else if rest != 0 && checksum.is_none() {
            problems.push(format!(
                "its {length} bytes are not a whole number of {page_size}-byte pages, with or without a snapshot's checksum; copy the file again \
                 or take a new snapshot"
            ));
        }
        Ok(Self { image: image.slice(..length), meta, checksum, problems, live: None, progress: OpeningProgress::default() })
    }

    /// Begins with the newest transaction of a file that a running etcd writes; `None` where etcd itself could not read it, as neither meta page holds.
    ///
    /// # Errors
    ///
    /// A fragment that says why it cannot be read.
    pub(in crate::load) fn of_live(live: Arc<Live>) -> Result<Option<Self>, String> {
        if live.meta().is_ok_and(|(meta, _)| meta.root.is_none()) {
            return Ok(None);
        }
        let mut bolt = Self {
            image: Bytes::new(),
            meta: Meta::default(),
            checksum: None,
            problems: Vec::new(),
            live: Some(live),
            progress: OpeningProgress::default(),
        };
        bolt.catch_up()?;
        Ok(Some(bolt))
    }

    /// Goes on to the newest transaction.
    ///
    /// # Errors
    ///
    /// As of [`Self::of_live`].
    pub(in crate::load) fn catch_up(&mut self) -> Result<(), String> {
        let Some(live) = &self.live else { return Ok(()) };
        (self.meta, self.problems) = live.meta()?;
        self.image = live.image().map_err(|cause| format!("cannot be read: {cause}"))?;
        let needed = self.meta.high_water.saturating_mul(self.meta.page_size as u64);
        if needed > self.image.len() as u64 {
            return Err(format!("it grew from {} to {needed} bytes while it was read; run the command again", live.map().len()));
        }
        Ok(())
    }

    /// How many pages the file may have before it is read to its end.
    pub(in crate::load) fn room(&self) -> PageId {
        self.live.as_ref().map_or(self.pages_held(), |live| (live.map().len() / self.meta.page_size) as PageId)
    }

    /// How many of its pages the file holds, whatever number its meta page claims.
    pub(in crate::load) fn pages_held(&self) -> PageId {
        self.meta.high_water.min((self.image.len() / self.meta.page_size) as PageId)
    }

    /// The bucket of this name, found from the root down.
    pub(in crate::load) fn bucket_named(&self, name: &[u8]) -> Option<Bucket> {
        live::find(self, name).and_then(|pair| self.bucket_of(&pair).ok())
    }

    /// The bucket of all named buckets, where a meta page leads to it.
    pub(in crate::load) fn root(&self) -> Option<Bucket> {
        self.meta.root.map(Bucket::Tree)
    }

    /// The first page after that of its beginning in which `value` goes on and which holds nothing but zeros.
    pub(in crate::load) fn zeroed_page(&self, value: &Range<usize>) -> Option<PageId> {
        let size = self.meta.page_size;
        let is_zeroed = |&start: &usize| self.image[start..self.image.len().min(start + size)].iter().all(|&byte| byte == 0);
        let mut starts = (value.start.next_multiple_of(size)..value.end).step_by(size);
        starts.find(is_zeroed).map(|start| (start / size) as PageId)
    }

    /// Reads the header of a bucket from the pair that holds it.
    ///
    /// # Errors
    ///
    /// A fragment, where the value is too short for a header.
    pub(in crate::load) fn bucket_of(&self, pair: &BucketPair) -> Result<Bucket, String> {
        let header = &self.image[pair.value.clone()];
        let root = u64_at(header, 0).filter(|_| header.len() >= BUCKET_HEADER).ok_or("a bucket's header is cut short")?;
        Ok(match root {
            0 => Bucket::Inline(pair.value.start + BUCKET_HEADER..pair.value.end),
            _ => Bucket::Tree(root),
        })
    }
}

/// The bytes of a SHA-256.
const CHECKSUM_BYTES: usize = 32;

/// A bucket's header: root page and sequence number, 8 bytes each.
const BUCKET_HEADER: usize = 16;
