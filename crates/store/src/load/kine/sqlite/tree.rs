//! The trees of a database: tables by their rows' ids, indexes by their entries.

use foldhash::HashSet;

use super::cell::{Cell, PageKind, TreePageHeader};
use super::numbers::PageNumber;
use super::pages::{LogMoment, Pages};

/// Deeper trees than any database has are damage.
const MAX_TREE_DEPTH: usize = 24;

/// A place where a tree is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct SqliteDamage {
    pub(in super::super) page: PageNumber,
    /// What is wrong with it, a fragment.
    pub(in super::super) problem: &'static str,
    /// The rows that it may have held, both ends included, of a table.
    pub(in super::super) rows: Option<(i64, i64)>,
}

/// Pages, each at most once.
#[derive(Default)]
pub(in super::super) struct Reached(HashSet<PageNumber>);

impl Reached {
    /// Adds a page; false where it was there before.
    pub(in super::super) fn add(&mut self, page: PageNumber) -> bool {
        self.0.insert(page)
    }

    pub(in super::super) fn has(&self, page: PageNumber) -> bool {
        self.0.contains(&page)
    }

    pub(in super::super) fn count(&self) -> u64 {
        self.0.len() as u64
    }
}

/// Walks through trees of the newest state.
pub(in super::super) struct Trees<'p> {
    pages: &'p Pages,
    /// The pages that trees reached, without overflow pages.
    pub(in super::super) reached: Reached,
    /// Where they are damaged.
    pub(in super::super) damage: Vec<SqliteDamage>,
}

impl<'p> Trees<'p> {
    pub(in super::super) fn new(pages: &'p Pages) -> Self {
        Self { pages, reached: Reached::default(), damage: Vec::new() }
    }

    /// Visits the rows of a table, ascending.
    pub(in super::super) fn table(&mut self, root: PageNumber, visit: &mut dyn FnMut(Cell)) {
        let mut last = i64::MIN;
        self.visit(root, true, (&mut last, i64::MAX), 0, visit);
    }

    /// Visits the entries of an index; their order is not checked.
    pub(in super::super) fn index(&mut self, root: PageNumber, visit: &mut dyn FnMut(Cell)) {
        let mut last = i64::MIN;
        self.visit(root, false, (&mut last, i64::MAX), 0, visit);
    }

    /// Visits the tree below a page, whose rows are above the last one and not above `highest`.
    fn visit(&mut self, number: PageNumber, is_table: bool, rows: (&mut i64, i64), depth: usize, visit: &mut dyn FnMut(Cell)) {
        let (last, highest) = rows;
        let lost = (is_table && *last < highest).then(|| (last.saturating_add(1), highest));
        let mut damaged = |problem| self.damage.push(SqliteDamage { page: number, problem, rows: lost });
        let Some(page) = self.pages.page(number, LogMoment::Newest) else { return damaged("it is not there") };
        if depth > MAX_TREE_DEPTH || !self.reached.add(number) {
            return damaged("another page refers to it too");
        }
        let header =
            TreePageHeader::read(&page).filter(|header| matches!(header.kind, PageKind::TableLeaf | PageKind::TableBranch) == is_table);
        let Some(TreePageHeader { kind, last_child, cells }) = header else { return damaged("it is not a page of this tree") };
        let mut bad = 0;
        for &at in &cells {
            if kind == PageKind::TableBranch {
                let Some((child, key)) = branch_cell(page.bytes, at).filter(|&(_, key)| *last < key && key <= highest) else {
                    bad += 1;
                    continue;
                };
                self.visit(child, is_table, (&mut *last, key), depth + 1, visit);
                *last = key;
                continue;
            }
            let Some(cell) = Cell::read(&page, kind, at).filter(|cell| !is_table || (*last < cell.row && cell.row <= highest)) else {
                bad += 1;
                continue;
            };
            match super::u32_at(page.bytes, at).filter(|_| kind.is_branch()) {
                Some(child) => self.visit(child, is_table, (&mut *last, highest), depth + 1, visit),
                None => *last = cell.row.max(*last),
            }
            visit(cell);
        }
        if kind.is_branch() {
            self.visit(last_child, is_table, (&mut *last, highest), depth + 1, visit);
        } else if cells.is_empty() && depth > 0 {
            bad += 1;
        }
        if bad > 0 {
            self.damage.push(SqliteDamage { page: number, problem: "cells of it cannot be read", rows: lost });
        }
    }
}

/// The child of a table's branch, and the highest row below it.
fn branch_cell(page: &[u8], at: usize) -> Option<(PageNumber, i64)> {
    let child = super::u32_at(page, at)?;
    let key = super::record::varint(page, &mut (at + 4))?;
    Some((child, key.cast_signed()))
}
