//! The two meta pages: which of them holds, and which transaction is the newest.

use super::page::{FLAG_BRANCH, FLAG_FREELIST, FLAG_LEAF, HEADER_BYTES, PageHeader, PageId};
use crate::load::little_endian::{u32_at, u64_at};

const META_MAGIC: u32 = 0xED0C_DAED;
const META_VERSION: u32 = 2;
const CHECKED_BYTES: usize = 56;

/// The bytes of a meta page that mean something.
pub(super) const META_BYTES: usize = HEADER_BYTES + CHECKED_BYTES + 8;

/// The page sizes tried and accepted, in bytes.
const PAGE_SIZES: [usize; 7] = [4096, 16384, 65536, 8192, 32768, 1024, 2048];

/// The ends of [`PAGE_SIZES`].
pub(super) const SMALLEST_PAGE: usize = 1024;
pub(super) const LARGEST_PAGE: usize = 65536;

/// The freelist's page where none is written (etcd opens bbolt so).
const NO_FREELIST: u64 = u64::MAX;

/// A meta page: the root of all trees as of one transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meta {
    /// Bytes a page.
    pub page_size: usize,
    /// The root of the bucket of buckets; `None` where both meta pages are broken.
    pub root: Option<PageId>,
    /// The page of the list of free pages, if it is kept in the file.
    pub freelist: Option<PageId>,
    /// The first page number that no page has.
    pub high_water: PageId,
    /// The transaction that wrote it.
    pub transaction: u64,
}

/// Picks the meta page to believe, and says what is wrong with the other.
pub(super) fn weigh(file: &[u8]) -> Result<(Meta, Vec<String>), String> {
    let first = read(file, 0);
    let second = match &first {
        Ok(meta) => read(file, meta.page_size),
        Err(_) => PAGE_SIZES
            .iter()
            .map(|&size| read(file, size).and_then(|meta| if meta.page_size == size { Ok(meta) } else { Err("its page size is wrong") }))
            .reduce(|best, next| if best.is_ok() { best } else { next })
            .unwrap_or(Err("it is missing")),
    };
    match (first, second) {
        (Ok(first), Ok(second)) => {
            let in_a_row = (first.transaction.abs_diff(second.transaction) != 1).then(|| not_in_a_row(&first, &second));
            let problems = in_a_row.into_iter().chain(misplaced(file, first.page_size)).collect();
            Ok((if second.transaction > first.transaction { second } else { first }, problems))
        }
        (Ok(meta), Err(why)) => Ok((meta, vec![one_broken(1, why, &meta)])),
        (Err(why), Ok(meta)) => Ok((meta, vec![one_broken(0, why, &meta)])),
        (Err(first), Err(second)) => {
            let broken = format!("both meta pages are broken (page 0: {first}; page 1: {second}), so nothing leads to the data");
            let meta = guess(file).ok_or_else(|| format!("{broken}, and no page of it is left; use another copy or snapshot"))?;
            let shown = format!(
                "{broken}: what is left in pages of {} bytes is shown, whether it was still current or not; use another copy or snapshot",
                meta.page_size
            );
            Ok((meta, vec![shown]))
        }
    }
}

/// What is known without a meta page: the page size, by which the most pages bear their own number.
fn guess(file: &[u8]) -> Option<Meta> {
    /// How many pages decide.
    const LOOKED_AT: u64 = 1 << 16;
    let held = PAGE_SIZES.iter().map(|&size| (pages_with_own_number(file, size, LOOKED_AT).count(), size));
    let (_, page_size) = held.max().filter(|&(pages, _)| pages > 0)?;
    let high_water = file.len().div_ceil(page_size) as PageId;
    Some(Meta { page_size, root: None, freelist: None, high_water, transaction: 0 })
}

/// The pages before `end` that bear their own number, in pages of `size` bytes.
fn pages_with_own_number(file: &[u8], size: usize, end: u64) -> impl Iterator<Item = u64> {
    (2..end.min(file.len() as u64 / size as u64)).filter(move |&id| {
        let header = file.get(id as usize * size..).and_then(PageHeader::read);
        header.is_some_and(|header| header.id == id && matches!(header.flags, FLAG_BRANCH | FLAG_LEAF | FLAG_FREELIST))
    })
}

/// Transactions take turns on the two pages, so the pages are always of two in a row.
fn not_in_a_row(first: &Meta, second: &Meta) -> String {
    format!(
        "the meta pages are of transactions {} and {}, not of two in a row: one of them was replaced, so what is shown may be older than it \
         looks",
        first.transaction, second.transaction
    )
}

/// Says which meta page bears another page's number. bbolt v1.5.0, `tx.go` (`page`), ends the process where a page does.
fn misplaced(file: &[u8], page_size: usize) -> Option<String> {
    let (place, id) = [0, 1].into_iter().find_map(|place| {
        let header = file.get(place * page_size..).and_then(PageHeader::read)?;
        (header.id != place as PageId).then_some((place, header.id))
    })?;
    Some(format!("meta page {place} bears the number {id}: it was replaced or overwritten, so what is shown may be older than it looks"))
}

fn one_broken(page: u8, why: &str, used: &Meta) -> String {
    format!("meta page {page} is broken ({why}); the other one is used, of transaction {}, which may not be the last", used.transaction)
}

pub(super) fn read(file: &[u8], at: usize) -> Result<Meta, &'static str> {
    const SHORT_FILE_ERROR: &str = "the file ends before it";
    let body = file.get(at + HEADER_BYTES..at + HEADER_BYTES + CHECKED_BYTES + 8).ok_or(SHORT_FILE_ERROR)?;
    if u32_at(body, 0) != Some(META_MAGIC) {
        return Err("no magic number");
    }
    if u32_at(body, 4) != Some(META_VERSION) {
        return Err("not version 2");
    }
    if u64_at(body, CHECKED_BYTES) != Some(fnv1a(&body[..CHECKED_BYTES])) {
        return Err("its checksum does not match");
    }
    let page_size = u32_at(body, 8).ok_or(SHORT_FILE_ERROR)? as usize;
    let (root, freelist) = (u64_at(body, 16).ok_or(SHORT_FILE_ERROR)?, u64_at(body, 32).ok_or(SHORT_FILE_ERROR)?);
    let (high_water, transaction) = (u64_at(body, 40).ok_or(SHORT_FILE_ERROR)?, u64_at(body, 48).ok_or(SHORT_FILE_ERROR)?);
    if !PAGE_SIZES.contains(&page_size) {
        return Err("bbolt does not use its page size");
    }
    if root >= high_water {
        return Err("its root lies beyond its last page");
    }
    Ok(Meta { page_size, root: Some(root), freelist: (freelist != NO_FREELIST).then_some(freelist), high_water, transaction })
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

pub(crate) fn begins_with_meta_page(file: &[u8]) -> bool {
    u32_at(file, HEADER_BYTES) == Some(META_MAGIC)
}

/// Whether a file is bbolt's, even if damaged or cut: a meta page's magic number, or pages that bear their own number.
pub(crate) fn looks_like_bolt(file: &[u8]) -> bool {
    let magic = |at: usize| u32_at(file, at + HEADER_BYTES) == Some(META_MAGIC);
    if magic(0) || PAGE_SIZES.iter().any(|&size| magic(size)) {
        return true;
    }
    PAGE_SIZES.iter().any(|&size| pages_with_own_number(file, size, 1024).nth(1).is_some())
}
