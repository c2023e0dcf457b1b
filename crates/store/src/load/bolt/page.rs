//! One page: its header, and the places of its elements.

use std::ops::Range;

use crate::load::little_endian::{u16_at, u32_at, u64_at};

/// A page's number; its place in the file is the number times the page size.
pub(crate) type PageId = u64;

pub(super) const HEADER_BYTES: usize = 16;
pub(super) const ELEMENT_BYTES: usize = 16;

pub(super) const FLAG_BRANCH: u16 = 0x01;
pub(super) const FLAG_LEAF: u16 = 0x02;
pub(super) const FLAG_META: u16 = 0x04;
pub(super) const FLAG_FREELIST: u16 = 0x10;

const LEAF_IS_BUCKET: u32 = 0x01;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageHeader {
    pub id: PageId,
    pub flags: u16,
    pub count: usize,
    /// How many pages follow that belong to this one.
    pub overflow: u32,
}

/// An element of a branch page: the first key below a child.
pub(super) struct BranchElement {
    pub key: Range<usize>,
    pub child: PageId,
}

pub(super) struct LeafElement {
    pub key: Range<usize>,
    pub value: Range<usize>,
    pub is_bucket: bool,
    /// Whether it has flags that bbolt does not know.
    pub has_unknown_flags: bool,
}

impl PageHeader {
    /// Reads the header at the beginning of `page`.
    pub(super) fn read(page: &[u8]) -> Option<Self> {
        Some(Self { id: u64_at(page, 0)?, flags: u16_at(page, 8)?, count: usize::from(u16_at(page, 10)?), overflow: u32_at(page, 12)? })
    }
}

/// Reads element `index` of a branch page; ranges are places within `page`. `None`: it does not lie in the page.
pub(super) fn branch_element(page: &[u8], index: usize) -> Option<BranchElement> {
    let at = HEADER_BYTES + index * ELEMENT_BYTES;
    let (position, key_size, child) = (u32_at(page, at)?, u32_at(page, at + 4)?, u64_at(page, at + 8)?);
    let start = at.checked_add(position as usize)?;
    let end = start.checked_add(key_size as usize)?;
    (end <= page.len()).then_some(BranchElement { key: start..end, child })
}

/// Reads element `index` of a leaf page; ranges are places within `page`. `None`: it does not lie in the page.
pub(super) fn leaf_element(page: &[u8], index: usize) -> Option<LeafElement> {
    let at = HEADER_BYTES + index * ELEMENT_BYTES;
    let (flags, position) = (u32_at(page, at)?, u32_at(page, at + 4)?);
    let (key_size, value_size) = (u32_at(page, at + 8)?, u32_at(page, at + 12)?);
    let start = at.checked_add(position as usize)?;
    let middle = start.checked_add(key_size as usize)?;
    let end = middle.checked_add(value_size as usize)?;
    (end <= page.len()).then_some(LeafElement {
        key: start..middle,
        value: middle..end,
        is_bucket: flags & LEAF_IS_BUCKET != 0,
        has_unknown_flags: flags & !LEAF_IS_BUCKET != 0,
    })
}

/// Whether `count` elements fit into a page of `length` bytes.
pub(super) fn elements_fit(count: usize, length: usize) -> bool {
    count <= length.saturating_sub(HEADER_BYTES) / ELEMENT_BYTES
}
