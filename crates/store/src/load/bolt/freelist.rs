//! The list of free pages, where a file has one: with it, every page is either free or part of a tree, and what is neither is lost.
//!
//! etcd writes none since 3.3 (`NoFreelistSync`). Source: bbolt v1.4.3, `internal/common/page.go` and `tx_check.go`.

use super::page::{FLAG_FREELIST, HEADER_BYTES, PageHeader, PageId};
use super::{Bolt, Visited};
use crate::load::little_endian::u64_at;

/// Where a list is longer than a page header can count, its first entry is its length.
const LONG_LIST_COUNT: usize = 0xffff;

/// Adds the pages of the list itself to those that trees reach. A page that is not of the list, whatever the meta page says, is left to the trees.
pub(crate) fn claim(bolt: &Bolt, reached: &mut Visited) {
    let Some(header) = bolt.meta.freelist.and_then(|page| header(bolt, page)) else { return };
    let last = (header.id + PageId::from(header.overflow)).min(bolt.pages_held());
    for page in header.id..=last {
        reached.insert(page);
    }
}

/// Compares the list of free pages with the pages that trees reach; each problem is a sentence.
pub(crate) fn problems(bolt: &Bolt, reached: &Visited) -> Vec<String> {
    let Some(page) = bolt.meta.freelist else { return Vec::new() };
    let Some(listed) = read(bolt, page) else {
        return vec![format!(
            "page {page} is not the list of free pages, though the meta page says so; nothing that the trees hold depends on it"
        )];
    };
    let mut free = Visited::new(bolt.pages_held());
    // The list of a truncated file names pages that are no longer there.
    let mut is_known = |page: PageId| (2..bolt.meta.high_water).contains(&page) && (page >= bolt.pages_held() || free.insert(page));
    let unknown = listed.iter().copied().filter(|&page| !is_known(page)).count();
    let both = pages(bolt).filter(|&page| reached.contains(page) && free.contains(page));
    let neither = pages(bolt).filter(|&page| !reached.contains(page) && !free.contains(page));
    let mut problems = Vec::new();
    if unknown > 0 {
        problems.push(format!("the list of free pages names {unknown} pages twice, or that do not exist"));
    }
    problems.extend(sentence(both, "in use and listed as free: a write may have replaced what they held"));
    problems.extend(sentence(neither, "neither in use nor listed as free: what they hold is missing"));
    problems
}

fn pages(bolt: &Bolt) -> impl Iterator<Item = PageId> {
    2..bolt.pages_held()
}

fn sentence(mut pages: impl Iterator<Item = PageId>, what: &str) -> Option<String> {
    let first = pages.next()?;
    Some(match pages.count() {
        0 => format!("page {first} is {what}"),
        others => format!("{} pages, the first of them page {first}, are {what}", others + 1),
    })
}

/// The header of the page, if it is that of a list.
fn header(bolt: &Bolt, page: PageId) -> Option<PageHeader> {
    let start = usize::try_from(page).ok()?.checked_mul(bolt.meta.page_size)?;
    bolt.image.get(start..).and_then(PageHeader::read).filter(|header| header.flags == FLAG_FREELIST && header.id == page)
}

fn read(bolt: &Bolt, page: PageId) -> Option<Vec<PageId>> {
    let header = header(bolt, page)?;
    let bytes = bolt.image.get(page as usize * bolt.meta.page_size..)?;
    let (count, first) = match header.count {
        LONG_LIST_COUNT => (usize::try_from(u64_at(bytes, HEADER_BYTES)?).ok()?, HEADER_BYTES + 8),
        count => (count, HEADER_BYTES),
    };
    let length = (header.overflow as usize + 1).checked_mul(bolt.meta.page_size)?;
    let end = count.checked_mul(8)?.checked_add(first).filter(|&end| end <= length)?;
    Some(bytes.get(first..end)?.chunks_exact(8).filter_map(|page| u64_at(page, 0)).collect())
}
