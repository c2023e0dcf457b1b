//! What was read and written of a list so far.

use axum::body::Bytes;
use ketcd_render::table::DefaultClass;

use crate::answers::table::RowCells;

/// Rows that are sorted are written when there is so much text of them: a longer table is sorted in runs, as one that is read in pages is.
const SORTED_RUN_BYTES: usize = 4 << 20;

/// The items of a list so far.
#[derive(Default)]
pub(super) struct ListPage {
    /// Items of the list, written or not.
    pub(super) items: u64,
    /// Items whose text is out; those that are to be sorted are not yet.
    written: u64,
    /// Keys read, those that were not wanted included.
    pub(super) keys: u64,
    /// The key of the last item.
    pub(super) last_key: Bytes,
    /// Whether there are more than the page may hold.
    pub(super) has_more: bool,
    /// Rows that wait to be sorted, with what they are sorted by.
    sorted: Vec<(i64, Vec<u8>)>,
    sorted_bytes: usize,
    /// Which row is marked.
    default: Option<DefaultClass>,
}

impl ListPage {
    /// Nothing yet. Rows of the default class are marked, where there is one.
    pub(super) fn new(default: Option<DefaultClass>) -> Self {
        Self { default, ..Self::default() }
    }

    /// Whether no item is out.
    pub(super) fn is_empty(&self) -> bool {
        self.written == 0
    }

    /// Writes what stands before the next item.
    pub(super) fn separate(&mut self, is_yaml: bool, out: &mut Vec<u8>) {
        match (is_yaml, self.written) {
            (true, 0) => out.push(b'\n'),
            (true, _) | (false, 0) => {}
            (false, _) => out.push(b','),
        }
        self.written += 1;
    }

    /// The cells of a row, with the mark of a default.
    pub(super) fn marked(&self, mut cells: RowCells) -> RowCells {
        let name = cells.as_mut().ok().and_then(|cells| cells.first_mut());
        if let Some(name) = name.filter(|name| self.default.as_ref().is_some_and(|default| default.is(name))) {
            name.push_str(DefaultClass::MARK);
        }
        cells
    }

    /// Keeps a row until its turn comes. Those that wait are written where they are many.
    pub(super) fn sort_in(&mut self, rank: i64, row: Vec<u8>, is_yaml: bool, out: &mut Vec<u8>) {
        self.sorted_bytes += row.len();
        self.sorted.push((rank, row));
        if self.sorted_bytes >= SORTED_RUN_BYTES {
            self.write_sorted(is_yaml, out);
        }
    }

    /// Writes the rows that wait.
    pub(super) fn write_sorted(&mut self, is_yaml: bool, out: &mut Vec<u8>) {
        self.sorted_bytes = 0;
        let mut rows = std::mem::take(&mut self.sorted);
        // Rows of one rank stay in the order of their keys.
        rows.sort_by_key(|(rank, _)| *rank);
        for (_, row) in rows {
            self.separate(is_yaml, out);
            out.extend(row);
        }
    }
}
