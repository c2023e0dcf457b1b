//! The cells of a b-tree page, and the payloads that go on in overflow pages.

use std::ops::Range;

use super::numbers::{PageNumber, u16_at, u32_at};
use super::pages::{LogMoment, Pages, SqlitePage};
use super::record::{Field, record, varint};

/// What kind of page it is, by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageKind {
    TableBranch,
    TableLeaf,
    IndexBranch,
    IndexLeaf,
}

impl PageKind {
    pub(super) fn of(byte: u8) -> Option<Self> {
        match byte {
            5 => Some(Self::TableBranch),
            13 => Some(Self::TableLeaf),
            2 => Some(Self::IndexBranch),
            10 => Some(Self::IndexLeaf),
            _ => None,
        }
    }

    pub(super) fn is_branch(self) -> bool {
        matches!(self, Self::TableBranch | Self::IndexBranch)
    }
}

/// The header of a b-tree page, and where its cells begin.
pub(super) struct TreePageHeader {
    pub(super) kind: PageKind,
    /// The child behind the last cell, of branches.
    pub(super) last_child: PageNumber,
    /// Where each cell begins in the page, as the page says.
    pub(super) cells: Vec<usize>,
}

impl TreePageHeader {
    /// Reads the header; `None` where the page is none of a b-tree.
    pub(super) fn read(page: &SqlitePage<'_>) -> Option<Self> {
        // The database's own header stands before that of its first page.
        let start = if page.number == 1 { 100 } else { 0 };
        let bytes = page.bytes;
        let kind = PageKind::of(*bytes.get(start)?)?;
        let first = start + if kind.is_branch() { 12 } else { 8 };
        let count = usize::from(u16_at(bytes, start + 3)?);
        let cells = (0..count).map(|cell| u16_at(bytes, first + 2 * cell).map(usize::from)).collect::<Option<Vec<_>>>()?;
        let behind = first + 2 * count;
        cells.iter().all(|&cell| cell >= behind).then_some(())?;
        Some(Self { kind, last_child: if kind.is_branch() { u32_at(bytes, start + 8)? } else { 0 }, cells })
    }
}

#[derive(Clone, Debug)]
pub(in super::super) struct Cell {
    /// The row's id, in leaves of tables; 0 elsewhere.
    pub(in super::super) row: i64,
    pub(in super::super) page: PageNumber,
    /// Bytes of the payload.
    pub(in super::super) length: usize,
    /// The part of it that stands in the page.
    local: Range<usize>,
    /// The first overflow page; 0 for none.
    overflow: PageNumber,
}

/// The payload of a cell: where it lies in one piece, or its pieces joined.
#[derive(Debug)]
pub(in super::super) enum Payload<'p> {
    InPage(&'p [u8]),
    /// Joined from the page and the overflow pages behind it.
    Joined(Vec<u8>),
}

impl Payload<'_> {
    pub(in super::super) fn bytes(&self) -> &[u8] {
        match self {
            Self::InPage(bytes) => bytes,
            Self::Joined(bytes) => bytes,
        }
    }
}

impl Cell {
    /// Reads the cell of `kind` that begins at `at`.
    pub(super) fn read(page: &SqlitePage<'_>, kind: PageKind, at: usize) -> Option<Self> {
        let bytes = page.bytes;
        let mut at = if kind == PageKind::IndexBranch { at + 4 } else { at };
        let length = usize::try_from(varint(bytes, &mut at)?).ok().filter(|&length| length <= i32::MAX as usize)?;
        let row = if kind == PageKind::TableLeaf { varint(bytes, &mut at)?.cast_signed() } else { 0 };
        let in_page = local_length(length, bytes.len(), kind == PageKind::TableLeaf);
        let local = at..at + in_page;
        if local.end > bytes.len() {
            return None;
        }
        let overflow = if in_page < length { u32_at(bytes, local.end)? } else { 0 };
        Some(Self { row, page: page.number, length, local, overflow })
    }

    /// Whether all of the payload stands in the page.
    pub(in super::super) fn is_local(&self) -> bool {
        self.local.len() == self.length
    }

    /// Where in its page the payload begins.
    pub(in super::super) fn start(&self) -> usize {
        self.local.start
    }

    /// Where in its page it ends.
    pub(super) fn end(&self) -> usize {
        self.local.end + if self.is_local() { 0 } else { 4 }
    }

    /// The fields of its record in the newest state, `most` at most, and the payload that they lie in.
    pub(in super::super) fn fields(&self, pages: &Pages, most: usize) -> Option<(Vec<Field>, Vec<u8>)> {
        let page = pages.page(self.page, LogMoment::Newest)?;
        let payload = self.payload(&page, pages, LogMoment::Newest, &mut |_| true).ok()?;
        Some((record(payload.bytes(), most)?, payload.bytes().to_vec()))
    }

    /// The payload as it was at `moment`, joined from the overflow pages that `take` allows.
    ///
    /// # Errors
    ///
    /// A fragment that says what is wrong with its overflow pages.
    pub(in super::super) fn payload<'p>(
        &self,
        page: &SqlitePage<'p>,
        pages: &Pages,
        moment: LogMoment,
        take: &mut dyn FnMut(PageNumber) -> bool,
    ) -> Result<Payload<'p>, String> {
        let local = page.bytes.get(self.local.clone()).ok_or("its page is too short")?;
        if self.is_local() {
            return Ok(Payload::InPage(local));
        }
        // What a cell claims to be long is allocated as it is found.
        let mut joined = local.to_vec();
        let mut next = self.overflow;
        while joined.len() < self.length {
            let number = next;
            if !take(number) {
                return Err(format!("page {number}, where it continues, also holds something else"));
            }
            let page = pages.page(number, moment).ok_or_else(|| format!("page {number}, where it continues, is missing"))?;
            next = u32_at(page.bytes, 0).unwrap_or_default();
            let content = &page.bytes[4..];
            joined.extend_from_slice(&content[..content.len().min(self.length - joined.len())]);
        }
        if next != 0 {
            return Err(format!("it continues in page {next}, beyond its end"));
        }
        Ok(Payload::Joined(joined))
    }
}

/// How much of a payload stands in the page; the rest goes on in overflow pages.
fn local_length(length: usize, page: usize, is_table_leaf: bool) -> usize {
    let most = if is_table_leaf { page - 35 } else { (page - 12) * 64 / 255 - 23 };
    if length <= most {
        return length;
    }
    let least = (page - 12) * 32 / 255 - 23;
    let wanted = least + (length - least) % (page - 4);
    if wanted <= most { wanted } else { least }
}

/// The cells of a page that looks like a leaf of a table; none of another page.
pub(in super::super) fn table_cells(page: &SqlitePage<'_>) -> Vec<Cell> {
    let header = TreePageHeader::read(page).filter(|header| header.kind == PageKind::TableLeaf);
    let cells = |header: TreePageHeader| header.cells.into_iter().filter_map(|at| Cell::read(page, header.kind, at)).collect();
    header.map_or_else(Vec::new, cells)
}
