//! bbolt's file format, read-only: two meta pages, and trees of pages in which buckets keep their pairs in key order.
//!
//! Nothing in the file is believed: every offset is checked against the file, every page is visited at most once, and what
//! does not hold together is reported as [`Damage`] while the rest is read. Source of the format: bbolt v1.4.3, `internal/common`.

pub(super) mod freelist;
mod layout;
mod meta;
mod page;
mod stale;
#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;
mod walk;

use std::ops::Range;

use bytes::Bytes;

pub(super) use meta::{Meta, looks_like_bolt};
pub(super) use page::PageId;
pub(super) use stale::StalePage;
pub(super) use walk::{Damage, Visited, Walk};

use page::read_u64;

/// A database file whose meta pages have been weighed.
pub(super) struct Bolt {
    /// The whole file, without the checksum that a snapshot appends.
    pub image: Bytes,
    /// The meta page of the newest transaction that holds.
    pub meta: Meta,
    /// The SHA-256 that `etcdctl snapshot save` appended, if the length says there is one.
    pub checksum: Option<[u8; 32]>,
    /// Each a sentence: a meta page that does not hold.
    pub problems: Vec<String>,
}

/// A pair found in a bucket, as places in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    /// Where the key lies.
    pub key: Range<usize>,
    /// Where the value lies.
    pub value: Range<usize>,
    /// Whether the value is a bucket's header rather than plain bytes.
    pub is_bucket: bool,
}

/// Where a bucket's pairs are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Bucket {
    /// In the tree below this page.
    Tree(PageId),
    /// In one small leaf page that lies in the bucket's own value.
    Inline(Range<usize>),
}

impl Bolt {
    /// Weighs both meta pages of `image`, which may have lost its end.
    ///
    /// # Errors
    ///
    /// A fragment that says why this is no database, or why it cannot be read: both metas broken.
    pub(super) fn open(image: Bytes) -> Result<Self, String> {
        let (meta, mut problems) = meta::weigh(&image)?;
        let page_size = meta.page_size;
        let needed = meta.high_water.saturating_mul(page_size as u64);
        let (pages, rest) = (image.len() / page_size, image.len() % page_size);
        let (length, checksum) = match rest {
            CHECKSUM if needed <= (pages * page_size) as u64 => (pages * page_size, image[pages * page_size..].try_into().ok()),
            _ => (image.len(), None),
        };
        if needed > length as u64 {
            problems.push(format!(
                "truncated: the database has {} pages of {page_size} bytes ({needed} bytes), the file holds {length} bytes, so what was \
                 after its first {pages} pages is missing; copy the file again or take a new snapshot",
                meta.high_water
            ));
        } else if rest != 0 && checksum.is_none() {
            problems.push(format!(
                "its {length} bytes are no whole number of {page_size}-byte pages, with or without a snapshot's checksum; copy the file again \
                 or take a new snapshot"
            ));
        }
        Ok(Self { image: image.slice(..length), meta, checksum, problems })
    }

    /// How many of its pages the file holds, whatever number its meta page claims.
    pub(super) fn pages_held(&self) -> PageId {
        self.meta.high_water.min((self.image.len() / self.meta.page_size) as PageId)
    }

    /// The bucket of all named buckets.
    pub(super) fn root(&self) -> Bucket {
        Bucket::Tree(self.meta.root)
    }

    /// Reads the header of a bucket from the pair that holds it.
    ///
    /// # Errors
    ///
    /// A fragment, where the value is too short for a header.
    pub(super) fn bucket_of(&self, pair: &Pair) -> Result<Bucket, String> {
        let header = &self.image[pair.value.clone()];
        let root = read_u64(header, 0).filter(|_| header.len() >= BUCKET_HEADER).ok_or("a bucket's header is cut short")?;
        Ok(match root {
            0 => Bucket::Inline(pair.value.start + BUCKET_HEADER..pair.value.end),
            _ => Bucket::Tree(root),
        })
    }
}

/// The bytes of a SHA-256.
const CHECKSUM: usize = 32;

/// A bucket's header: root page and sequence number, 8 bytes each.
const BUCKET_HEADER: usize = 16;
