//! Rows that no tree reaches: of pages that a compaction freed or damage cut off, and of older copies of pages in the log and below it.
//!
//! SQLite frees pages without wiping them. Such a leaf is read as it stands; the cells that were deleted from pages still in use have lost
//! their ids and are not. A value that goes on in other pages is believed only where these cannot have been written since.

use std::collections::{HashMap, HashSet};
use std::io;

use super::row::{Columns, RowRole};
use super::rows::{Row, RowReader, place_of};
use super::sqlite::{Cell, LogMoment, PageNumber, Pages, Reached, SqlitePage, table_cells};

/// The pages that the newest state uses.
pub(super) struct Used<'a> {
    pub(super) trees: &'a Reached,
    /// The row of each overflow page.
    pub(super) overflow: &'a HashMap<PageNumber, i64>,
}

impl Used<'_> {
    fn has(&self, page: PageNumber) -> bool {
        self.trees.has(page) || self.overflow.contains_key(&page)
    }
}

/// The rows of unreached pages whose ids are wanted, ascending; copies that contradict each other are none to believe.
pub(super) fn read(pages: &Pages, reader: &mut RowReader, used: &Used<'_>, wanted: impl Fn(i64) -> bool) -> io::Result<Vec<Row>> {
    let mut stale = StaleRows { pages, reader, used, copies: HashMap::new(), claims: HashMap::new(), contested: HashSet::new() };
    for number in pages.numbers().filter(|&number| !used.has(number)) {
        stale.page(number, LogMoment::Newest, &wanted)?;
    }
    // A page may have been copied while it was written in place.
    let is_torn = |number: &PageNumber| pages.committed().holds_within(*number, &pages.log.on_their_way);
    for number in pages.committed().pages().filter(|number| !is_torn(number)) {
        stale.page(number, LogMoment::File, &wanted)?;
    }
    for (run, frames) in pages.log.runs.iter().enumerate() {
        for (frame, &(number, start)) in frames.frames.iter().enumerate() {
            if run > 0 || frames.newest(number) != Some(start) {
                stale.page(number, LogMoment::Frame { run, frame }, &wanted)?;
            }
        }
    }
    let StaleRows { copies, contested, .. } = stale;
    let mut rows: Vec<Row> = copies.into_iter().filter(|(id, _)| !contested.contains(id)).filter_map(|(_, row)| row).collect();
    rows.sort_unstable_by_key(|row| row.columns.id);
    Ok(rows)
}

struct StaleRows<'a> {
    pages: &'a Pages,
    reader: &'a mut RowReader,
    used: &'a Used<'a>,
    copies: HashMap<i64, Option<Row>>,
    /// The row that goes on in each free page.
    claims: HashMap<PageNumber, i64>,
    /// Rows that go on in the same page as another one.
    contested: HashSet<i64>,
}

impl StaleRows<'_> {
    fn page(&mut self, number: PageNumber, moment: LogMoment, wanted: &impl Fn(i64) -> bool) -> io::Result<()> {
        let Some(page) = self.pages.page(number, moment) else { return Ok(()) };
        for cell in table_cells(&page).iter().filter(|cell| wanted(cell.row)) {
            self.cell(&page, cell, moment)?;
        }
        Ok(())
    }

    fn cell(&mut self, page: &SqlitePage<'_>, cell: &Cell, moment: LogMoment) -> io::Result<()> {
        let pages = self.pages;
        let mut chain = Vec::new();
        let mut take = |number| {
            let is_known = chain.contains(&number);
            chain.push(number);
            !is_known && self.is_untouched(number, moment)
        };
        let Ok(payload) = cell.payload(page, pages, moment, &mut take) else { return Ok(()) };
        let Ok(columns) = Columns::read(cell.row, payload.bytes()) else { return Ok(()) };
        if moment == LogMoment::Newest {
            for number in chain {
                let other = *self.claims.entry(number).or_insert(cell.row);
                if other != cell.row {
                    self.contested.extend([other, cell.row]);
                }
            }
        }
        let row = self.reader.row(columns, &payload, place_of(page, cell), |_| true)?;
        if row.role == RowRole::Change {
            let copy = self.copies.entry(cell.row).or_insert_with(|| Some(row.clone()));
            if copy.as_ref().is_some_and(|copy| !is_same(copy, &row)) {
                *copy = None;
            }
        }
        Ok(())
    }

    /// Whether an overflow page is still as it was at the moment.
    fn is_untouched(&self, number: PageNumber, moment: LogMoment) -> bool {
        let log = &self.pages.log;
        match moment {
            LogMoment::Newest => !self.used.has(number),
            // The log may have been written back into the file in part.
            LogMoment::File => !log.runs[0].holds(number),
            LogMoment::Frame { run: 0, .. } => log.runs[0].holds(number) || !self.used.has(number),
            LogMoment::Frame { run, .. } => log.runs[run].holds(number) || (!log.runs[0].holds(number) && !self.used.has(number)),
        }
    }
}

fn is_same(one: &Row, other: &Row) -> bool {
    let facts = |row: &Row| {
        let Columns { created, deleted, create_revision, prev_revision, lease, .. } = row.columns;
        (created, deleted, create_revision, prev_revision, lease, row.name_digest, row.value_digest, row.old.as_ref().map(|old| old.digest))
    };
    facts(one) == facts(other)
}
