//! Whether the pages of a database are what SQLite would have made of them: every byte of a page and every page of the file in one use.
//!
//! Source of the format: sqlite.org, `fileformat2.html` 1.3 (header), 1.5 (free pages), 1.6 (pages of trees), as of SQLite 3.51. The rules are those that
//! `PRAGMA integrity_check` reports.

use std::ops::Range;

use super::cell::{Cell, PageKind, TreePageHeader};
use super::numbers::{PageNumber, u16_at, u32_at};
use super::pages::{LogMoment, Pages, SqlitePage};
use super::tree::Reached;

/// Where the database's header is, and what a page has in front of its own.
const FILE_HEADER_BYTES: usize = 100;

/// The byte at which SQLite locks: the page that has it holds nothing.
const LOCK_BYTE: usize = 0x4000_0000;

/// More places are not named.
const MAX_PLACES: usize = 20;

/// Returns what contradicts the format, each a sentence. `trees`: the root of each tree.
pub(in super::super) fn contradictions(pages: &Pages, trees: impl Iterator<Item = PageNumber>) -> Vec<String> {
    let mut check = IntegrityCheck { pages, last: last_page(pages), used: Reached::default(), found: Vec::new() };
    check.file_header();
    check.tree(1, 0);
    trees.for_each(|root| check.tree(root, 0));
    check.free_pages();
    check.unused_pages();
    check.found
}

/// The last page that counts. Older versions of SQLite do not keep the header's number up to date, and say so.
fn last_page(pages: &Pages) -> PageNumber {
    let header = pages.page(1, LogMoment::Newest).map(|page| page.bytes);
    let number = |at| header.and_then(|header| u32_at(header, at)).unwrap_or_default();
    let there = PageNumber::try_from(pages.numbers().count()).unwrap_or(PageNumber::MAX);
    Some(number(28)).filter(|&counted| counted > 0 && number(24) == number(92)).or(pages.log.pages).unwrap_or(there).min(there)
}

struct IntegrityCheck<'p> {
    pages: &'p Pages,
    last: PageNumber,
    used: Reached,
    found: Vec<String>,
}

impl IntegrityCheck<'_> {
    fn says(&mut self, page: PageNumber, problem: &str) {
        if self.found.len() < MAX_PLACES {
            self.found.push(format!("page {page} is damaged: {problem}"));
        }
    }

    fn take(&mut self, number: PageNumber) -> bool {
        if !(1..=self.last).contains(&number) {
            self.says(number, "it is used, and lies behind the last page");
            return false;
        }
        let is_free = self.used.add(number);
        if !is_free {
            self.says(number, "it has two uses");
        }
        is_free
    }

    /// The fields of the header that have few values. SQLite does not open a database with others.
    fn file_header(&mut self) {
        let Some(page) = self.pages.page(1, LogMoment::Newest) else { return };
        let is_right = page.bytes.get(..FILE_HEADER_BYTES).is_some_and(|header| {
            let word = |at| u32_at(header, at).unwrap_or_default();
            matches!(header[18..24], [1 | 2, 1 | 2, 0, 64, 32, 32]) && (1..=4).contains(&word(44)) && (1..=3).contains(&word(56))
        });
        if !is_right {
            self.says(1, "the file's header has values that SQLite does not write");
        }
    }

    fn tree(&mut self, number: PageNumber, depth: usize) {
        /// Deeper trees than any database has are damage, which the walk has reported.
        const MAX_DEPTH: usize = 24;
        if depth > MAX_DEPTH || !self.take(number) {
            return;
        }
        let Some(page) = self.pages.page(number, LogMoment::Newest) else { return };
        let Some(TreePageHeader { kind, last_child, cells }) = TreePageHeader::read(&page) else { return };
        let mut extents = Vec::with_capacity(cells.len());
        for &at in &cells {
            match (kind, Cell::read(&page, kind, at)) {
                // A table's branch has no payloads: a page and a row.
                (PageKind::TableBranch, _) => extents.extend(branch_extent(&page, at)),
                (_, Some(cell)) => {
                    extents.push(at..cell.end().max(at + 4));
                    if kind == PageKind::IndexBranch || kind == PageKind::IndexLeaf || kind == PageKind::TableLeaf {
                        self.overflow(&page, &cell);
                    }
                }
                (_, None) => {}
            }
            if let Some(child) = u32_at(page.bytes, at).filter(|_| kind.is_branch()) {
                self.tree(child, depth + 1);
            }
        }
        if kind.is_branch() {
            self.tree(last_child, depth + 1);
        }
        if let Some(problem) = layout(&page, kind, extents) {
            self.says(number, problem);
        }
    }

    /// Takes the pages in which a payload goes on.
    fn overflow(&mut self, page: &SqlitePage<'_>, cell: &Cell) {
        let pages = self.pages;
        let payload = cell.payload(page, pages, LogMoment::Newest, &mut |number| self.take(number));
        if let Err(problem) = payload {
            self.says(page.number, &problem);
        }
    }

    /// Follows the list of free pages: trunks with the numbers of leaves.
    fn free_pages(&mut self) {
        let header = self.pages.page(1, LogMoment::Newest).map(|page| page.bytes);
        let number = |at| header.and_then(|header| u32_at(header, at)).unwrap_or_default();
        let (mut trunk, listed) = (number(32), number(36));
        let mut there = 0_u32;
        while trunk != 0 {
            let Some(page) = self.pages.page(trunk, LogMoment::Newest) else {
                return self.says(trunk, "it is listed as free, and is not there");
            };
            if !self.take(trunk) {
                return;
            }
            let word = |place: usize| u32_at(page.bytes, 4 * place).unwrap_or_default();
            let leaves = word(1) as usize;
            if 8 + 4 * leaves > page.bytes.len() {
                return self.says(trunk, "it lists more free pages than it has room for");
            }
            for leaf in (0..leaves).map(|place| word(2 + place)) {
                self.take(leaf);
            }
            there += 1 + leaves as u32;
            trunk = word(0);
        }
        if there != listed {
            self.says(1, &format!("the header counts {listed} free pages, and the list has {there}"));
        }
    }

    /// Every page of the file is in a tree, goes on with a payload or is listed as free; all but those of databases that vacuum themselves.
    fn unused_pages(&mut self) {
        let header = self.pages.page(1, LogMoment::Newest).map(|page| page.bytes);
        let number = |at| header.and_then(|header| u32_at(header, at)).unwrap_or_default();
        // Such a database has pages that map others: the first of them is page 2.
        if number(52) != 0 {
            if self.used.has(2) {
                self.says(1, "the header says that page 2 maps others, and it is in a tree");
            }
            return;
        }
        let lock = (LOCK_BYTE / self.pages.size) as PageNumber + 1;
        let unused: Vec<PageNumber> = (1..=self.last).filter(|&page| page != lock && !self.used.has(page)).collect();
        if let Some(&first) = unused.first() {
            self.says(first, &format!("nothing leads to it, nor to {} more", unused.len() - 1));
        }
    }
}

fn branch_extent(page: &SqlitePage<'_>, at: usize) -> Option<Range<usize>> {
    let mut end = at + 4;
    super::record::varint(page.bytes, &mut end)?;
    Some(at..end)
}

/// Says what is wrong with how a page's bytes are shared out among its cells, its free blocks and fragments too small for one.
fn layout(page: &SqlitePage<'_>, kind: PageKind, mut taken: Vec<Range<usize>>) -> Option<&'static str> {
    let start = if page.number == 1 { FILE_HEADER_BYTES } else { 0 };
    let number = |at: usize| u16_at(page.bytes, at).map(usize::from);
    let content = match number(start + 5)? {
        // 65,536 does not fit.
        0 => 0x1_0000,
        content => content,
    };
    let pointers_end = start + if kind.is_branch() { 12 } else { 8 } + 2 * taken.len();
    if content < pointers_end || content > page.bytes.len() {
        return Some("its cells begin where they cannot");
    }
    let mut block = number(start + 1)?;
    while block != 0 {
        let (Some(next), Some(length)) = (number(block), number(block + 2)) else { return Some("a free block is not in it") };
        if length < 4 || block + length > page.bytes.len() || (next != 0 && next < block + length + 4) {
            return Some("its free blocks are not a list");
        }
        taken.push(block..block + length);
        block = next;
    }
    taken.sort_unstable_by_key(|range| range.start);
    let (mut end, mut fragments) = (content, 0);
    for range in taken {
        if range.start < end || range.end > page.bytes.len() {
            return Some("two of its cells or free blocks share bytes");
        }
        fragments += range.start - end;
        end = range.end;
    }
    fragments += page.bytes.len() - end;
    (fragments != usize::from(*page.bytes.get(start + 7)?)).then_some("its free bytes are not as many as it says")
}
