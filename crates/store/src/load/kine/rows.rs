//! The rows of kine's table as the newest state has them, read from its tree, and from the payloads that go on elsewhere.

use std::collections::HashMap;
use std::io;

use super::arena::{Arena, Span, Whose};
use super::finding::Finding;
use super::row::{Columns, Digests, RowRole, role};
use super::sqlite::{Cell, LogMoment, PageNumber, Pages, Payload, SqlitePage, Trees};

/// A row, its name and value as places.
#[derive(Clone)]
pub(super) struct Row {
    /// Its columns; the places in them are of its payload.
    pub(super) columns: Columns,
    pub(super) role: RowRole,
    /// Where its name lies.
    pub(super) name: Span,
    pub(super) name_digest: u64,
    /// Where its value lies.
    pub(super) value: Span,
    pub(super) value_digest: u64,
    /// The value of the row that it replaced; `None` where it is NULL.
    pub(super) old: Option<Old>,
}

/// The value of the row that another one replaced.
#[derive(Clone)]
pub(super) struct Old {
    pub(super) digest: u64,
    /// Where it lies, if it was kept.
    pub(super) place: Option<Span>,
}

/// Reads rows; what lies in no file in one piece goes into the arena.
pub(super) struct RowReader {
    pub(super) arena: Arena,
    pub(super) digests: Digests,
}

impl RowReader {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { arena: Arena::new()?, digests: Digests::default() })
    }

    /// Makes a row of its payload. The value that it replaced is kept where `keeps_old` says so.
    pub(super) fn row(
        &mut self,
        columns: Columns,
        payload: &Payload<'_>,
        at: (Whose, usize),
        keeps_old: impl Fn(&Columns) -> bool,
    ) -> io::Result<Row> {
        let bytes = payload.bytes();
        let (whose, start) = at;
        let mut place = |range: &std::ops::Range<usize>| match payload {
            Payload::InPage(_) => Ok(Span { whose, start: (start + range.start) as u64, length: range.len() as u32 }),
            Payload::Joined(_) => self.arena.add(&bytes[range.clone()]),
        };
        let (name, value) = (place(&columns.name)?, place(&columns.value)?);
        let old = match &columns.old_value {
            None => None,
            Some(range) => {
                let place = if keeps_old(&columns) { Some(place(range)?) } else { None };
                Some(Old { digest: self.digests.of(&bytes[range.clone()]), place })
            }
        };
        let (name_digest, value_digest) = (self.digests.of(&bytes[columns.name.clone()]), self.digests.of(&bytes[columns.value.clone()]));
        Ok(Row { role: role(&bytes[columns.name.clone()]), name, name_digest, value, value_digest, old, columns })
    }
}

/// Where the payload of a cell that lies in its page begins.
pub(super) fn place_of(page: &SqlitePage<'_>, cell: &Cell) -> (Whose, usize) {
    (if page.place.in_log { Whose::Log } else { Whose::File }, page.place.start + cell.start())
}

/// The rows of the table whose tree was walked, ascending, and what is wrong with others, each a sentence.
pub(super) struct TableRows {
    pub(super) rows: Vec<Row>,
    pub(super) problems: Vec<Finding>,
    /// The row of each overflow page.
    pub(super) overflow: HashMap<PageNumber, i64>,
}

/// Reads the rows of `cells`, all trees having been walked.
pub(super) fn read(cells: &[Cell], pages: &Pages, trees: &Trees<'_>, reader: &mut RowReader) -> io::Result<TableRows> {
    let ids: Vec<i64> = cells.iter().map(|cell| cell.row).collect();
    let mut read = TableRows { rows: Vec::with_capacity(cells.len()), problems: Vec::new(), overflow: HashMap::new() };
    for cell in cells {
        let Some(page) = pages.page(cell.page, LogMoment::Newest) else { continue };
        let mut empty = None;
        let mut shared = None;
        let mut take = |number| {
            let holds = read.overflow.insert(number, cell.row);
            shared = shared.or(holds);
            empty = empty.or(is_empty(pages, number).then_some(number));
            holds.is_none() && !trees.reached.has(number)
        };
        let payload = cell.payload(&page, pages, LogMoment::Newest, &mut take);
        let columns = payload.and_then(|payload| Ok((Columns::read(cell.row, payload.bytes())?, payload)));
        let id = cell.row;
        if let Some(other) = shared {
            let sentence =
                format!("the rows of revisions {other} and {id} continue in the same page, so one of them is not what was written");
            read.problems.push(Finding::new([other, id], sentence));
        }
        match columns {
            // A value that is still in its own row need not be kept a second time.
            Ok((columns, payload)) => {
                let keeps_old = |columns: &Columns| ids.binary_search(&columns.prev_revision).is_err();
                if let Some(number) = empty.filter(|_| !cell.is_local()) {
                    let prev = columns.prev_revision;
                    let sentence = format!(
                        "page {number} is all zeros; it held the rest of revision {id}: what is shown of {id}, and of {prev}, which it replaced, may be wrong"
                    );
                    read.problems.push(Finding::new([id, prev], sentence));
                }
                read.rows.push(reader.row(columns, &payload, place_of(&page, cell), keeps_old)?);
            }
            Err(problem) => read.problems.push(Finding::new([id], format!("the row of revision {id} cannot be read: {problem}"))),
        }
    }
    Ok(read)
}

/// Whether a page holds nothing but zeros, as a page does that was lost.
fn is_empty(pages: &Pages, number: PageNumber) -> bool {
    pages.page(number, LogMoment::Newest).is_some_and(|page| page.bytes.iter().all(|&byte| byte == 0))
}
