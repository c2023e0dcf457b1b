//! kine's database, in which k3s keeps what other clusters keep in etcd: an SQLite file and its log.
//!
//! Rows of its table are changes. A compaction deletes rows, but the row that replaced one still holds its value (`old_value`), and pages
//! that were freed hold rows whole. Of PostgreSQL and MySQL, which kine writes too, the table is read as they print it.

mod arena;
mod checks;
mod export;
mod files;
mod finding;
mod history;
mod indexes;
mod replica;
mod row;
mod rows;
mod schema;
mod sqlite;
mod stale_rows;
mod table;

use std::collections::HashMap;

use bytes::Bytes;

use super::db_file::DatabaseFacts;
use crate::versions::{Layer, VersionsBuilder};

use arena::{Images, no_room};
use finding::listed;
use history::History;
use row::{Columns, RowRole};
use rows::{Row, RowReader};
use sqlite::{LogIndex, LogMoment, Pages, SQLITE_MAGIC, SqliteLog, Trees, is_log};
use stale_rows::Used;
use table::Table;

pub(super) use export::{Form, begins_as_table, form};
pub(super) use files::{Files, in_directory};
pub(super) use replica::{Committed, Replica, WrittenPages, is_page_size, page_size_of};

/// Whether bytes begin as an SQLite database does.
pub(super) fn is_database(bytes: &[u8]) -> bool {
    bytes.starts_with(SQLITE_MAGIC)
}

pub(super) fn begins_log(bytes: &[u8]) -> bool {
    is_log(bytes)
}

/// Whether bytes are an SQLite database or its log, or pages with rows of kine whose first page is lost.
pub(super) fn looks_like_sqlite(bytes: &[u8]) -> bool {
    bytes.starts_with(SQLITE_MAGIC) || is_log(bytes) || has_rows(bytes)
}

/// Whether some page is a leaf with a row of kine.
fn has_rows(bytes: &[u8]) -> bool {
    let pages = Pages { file: Bytes::new(), log: SqliteLog::none(), size: sqlite::DEFAULT_PAGE };
    let leaves = bytes.chunks_exact(pages.size).filter(|page| page[0] == 13);
    leaves.take(1000).any(|bytes| {
        let place = sqlite::Place { in_log: false, start: 0 };
        let page = sqlite::SqlitePage { number: 2, bytes, place };
        let local = |cell: &sqlite::Cell| {
            cell.payload(&page, &pages, LogMoment::Newest, &mut |_| false)
                .is_ok_and(|payload| Columns::read(cell.row, payload.bytes()).is_ok())
        };
        sqlite::table_cells(&page).iter().any(local)
    })
}

/// Reads a database into `builder`; returns what else it says.
///
/// # Errors
///
/// A fragment, where it is SQLite's but not kine's, or nothing of it can be read.
pub(super) fn read(files: Files, builder: &mut VersionsBuilder) -> Result<DatabaseFacts, String> {
    let mut facts = DatabaseFacts { file_bytes: (files.file.len() + files.log.len()) as u64, ..DatabaseFacts::default() };
    let pages = pages(files, &mut facts);
    read_pages(&pages, facts, builder)
}

/// Reads a database that is made of a file and of pages that were written after it; returns what else it says, added to `facts`.
///
/// # Errors
///
/// As of [`read`].
pub(super) fn read_replica(replica: Replica, mut facts: DatabaseFacts, builder: &mut VersionsBuilder) -> Result<DatabaseFacts, String> {
    let pages = replica.pages();
    facts.damage.extend(header_problems(&pages));
    read_pages(&pages, facts, builder)
}

/// Reads the table in pages into `builder`.
fn read_pages(pages: &Pages, mut facts: DatabaseFacts, builder: &mut VersionsBuilder) -> Result<DatabaseFacts, String> {
    let mut reader = RowReader::new().map_err(no_room)?;
    let mut trees = Trees::new(pages);
    let table = Table::read(pages, &mut trees, &mut reader, &mut facts)?;
    let mut history = History::of(&table.rows, table.compacted(), table.lost.clone());
    let used = Used { trees: &trees.reached, overflow: &table.overflow };
    let stale = stale_rows::read(pages, &mut reader, &used, |id| !history.has(id)).map_err(no_room)?;
    history.add_stale(&stale, !facts.damage.is_empty());
    facts.in_use_bytes = (trees.reached.count() + table.overflow.len() as u64) * pages.size as u64;
    index(&table.rows, &history, [&pages.file, &pages.log.bytes], reader, facts, builder)
}

/// Reads a table that was printed as text.
///
/// # Errors
///
/// A fragment, where nothing of it can be read.
pub(super) fn read_export(bytes: &Bytes, cut: Option<String>, form: Form, builder: &mut VersionsBuilder) -> Result<DatabaseFacts, String> {
    let length = bytes.len() as u64;
    let mut facts =
        DatabaseFacts { file_bytes: length, in_use_bytes: length, damage: cut.into_iter().collect(), ..DatabaseFacts::default() };
    let mut reader = RowReader::new().map_err(no_room)?;
    let (rows, problems) = export::rows(bytes, form, &mut reader).map_err(no_room)?;
    facts.damage.extend(listed(problems, "lines cannot be read"));
    facts.damage.extend(checks::of_rows(&rows, &reader.digests));
    let history = History::of(&rows, table::compacted(&rows), HashMap::new());
    index(&rows, &history, [bytes, &Bytes::new()], reader, facts, builder)
}

/// Puts what was read into the index.
fn index(
    rows: &[Row],
    history: &History,
    [file, log]: [&Bytes; 2],
    reader: RowReader,
    mut facts: DatabaseFacts,
    builder: &mut VersionsBuilder,
) -> Result<DatabaseFacts, String> {
    let arena = reader.arena.finish().map_err(no_room)?;
    let mut image = |bytes: &Bytes| builder.image(bytes.clone()).ok_or("too many files at once");
    let images = Images { file: image(file)?, log: image(log)?, arena: image(&arena)? };
    let layer = builder.layer(Layer::default()).ok_or("too many files at once")?;
    rows.iter().filter(|row| row.role != RowRole::Change).for_each(|row| builder.skip(row.columns.id, row.columns.id));
    facts.gap_rows = Some((rows.iter().filter(|row| row.role == RowRole::Gap).count(), rows.len()));
    builder.set_span(layer, history.span(rows.last().map_or(0, |row| row.columns.id)));
    if table::compacted(rows).is_none() {
        facts.damage.push("kine's record of its last compaction (compact_rev_key) is missing".to_owned());
        builder.set_compaction_unknown(layer);
    }
    facts.damage.extend(checks::behind_compaction(rows, table::compacted(rows)));
    if let Some((count, first, last)) = history.push(&images, layer, builder) {
        facts.damage.push(format!(
            "its table has lost {count} changes of revisions {first} to {last} that later rows or pages which it does not reach still hold; they are shown"
        ));
    }
    facts.damage.extend(listed(history.missing(), "revisions are missing"));
    if builder.changes_of(layer).next().is_none() && !facts.damage.is_empty() {
        return Err(format!("nothing of it can be read: {}", facts.damage.join("; ")));
    }
    (facts.span, facts.layer) = (builder.span(layer), Some(layer));
    Ok(facts)
}

/// The pages of the files; what is wrong with them or may be missing from them goes into `facts`.
fn pages(Files { file, log, index, open, problems }: Files, facts: &mut DatabaseFacts) -> Pages {
    facts.damage.extend(problems);
    let of_header = sqlite::u16_at(&file, 16).and_then(|size| sqlite::page_size(size.into()));
    let mut log = SqliteLog::read(log, of_header.unwrap_or(sqlite::DEFAULT_PAGE));
    if let Some([before, after]) = open {
        log.on_their_way = log.written_back_between(before, after);
        // Behind its end the log was written while it was read.
        log.runs.truncate(1);
        log.problems.clear();
        log.unfinished = None;
    } else if let Some(problem) = LogIndex::read(&index).and_then(|index| log.missing_by(index)) {
        log.problems.push(problem);
        log.unfinished = None;
    }
    if let (Some(of_log), Some(own)) = (log.page_size, of_header)
        && of_log != own
        && is_of_size(&file, own)
    {
        facts.damage.append(&mut log.problems);
        facts
            .damage
            .push(format!("the log next to it has pages of {of_log} bytes, the database has pages of {own}: the log belongs to another database and is ignored"));
        log = SqliteLog::none();
    }
    facts.damage.append(&mut log.problems);
    facts.left_out.extend(log.unfinished.take());
    let size = log.page_size.or(of_header).unwrap_or(sqlite::DEFAULT_PAGE);
    let pages = Pages { file, log, size };
    facts.damage.extend(header_problems(&pages));
    pages
}

/// Whether a database's header counts as many pages of this size as the file has.
fn is_of_size(file: &[u8], size: usize) -> bool {
    file.starts_with(SQLITE_MAGIC) && sqlite::u32_at(file, 28).is_some_and(|pages| pages as usize * size == file.len())
}

fn header_problems(pages: &Pages) -> Vec<String> {
    let Some(page) = pages.page(1, LogMoment::Newest) else {
        return vec!["its first page is lost".to_owned()];
    };
    let (bytes, number) = (page.bytes, |at| sqlite::u32_at(page.bytes, at));
    let mut problems = Vec::new();
    if !bytes.starts_with(SQLITE_MAGIC)
        || number(16).map(|words| words >> 16).and_then(sqlite::page_size) != Some(pages.size)
        || bytes[20] != 0
    {
        problems.push("the header of its first page is damaged".to_owned());
    }
    // Older versions of SQLite do not keep the number of pages up to date, and say so.
    let counted = number(28).filter(|_| number(24) == number(92)).or(pages.log.pages);
    let (there, length) = (pages.numbers().count() as u64, pages.file.len());
    if let Some(counted) = counted.filter(|&counted| there < u64::from(counted)) {
        problems.push(format!("it is cut short: {there} of {counted} pages are there"));
    } else if length % pages.size != 0 {
        problems.push(format!("it is cut short: its last page has {} of {} bytes", length % pages.size, pages.size));
    }
    problems
}
