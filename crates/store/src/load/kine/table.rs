//! kine's table in its newest state: every row that its tree reaches, compared with its index and its counter.

use std::collections::HashMap;

use super::super::db_file::DatabaseFacts;
use super::arena::no_room;
use super::checks;
use super::finding::{Finding, listed};
use super::indexes;
use super::row::RowRole;
use super::rows::{self, Row, RowReader, TableRows};
use super::schema::{self, Schema};
use super::sqlite::{self, PageNumber, Pages, SqliteDamage, Trees};

/// The rows, and the pages that they go on in.
pub(super) struct Table {
    /// Ascending.
    pub(super) rows: Vec<Row>,
    /// The row of each overflow page.
    pub(super) overflow: HashMap<PageNumber, i64>,
    /// The rows that it has by its index of names and that cannot be read, each with the digest of its name.
    pub(super) lost: HashMap<i64, u64>,
    /// The id that the table's counter gave out last.
    last_id: Option<i64>,
}

impl Table {
    /// Walks through all trees; what is wrong goes into `facts`.
    ///
    /// # Errors
    ///
    /// A fragment, where the database is whole and not kine's, or there is no room for values.
    pub(super) fn read(pages: &Pages, trees: &mut Trees<'_>, reader: &mut RowReader, facts: &mut DatabaseFacts) -> Result<Self, String> {
        let schema = Schema::read(trees, pages);
        if schema.kine.is_none() {
            if trees.damage.is_empty() && facts.damage.is_empty() {
                return Err("is an SQLite database without kine's table; name k3s's /var/lib/rancher/k3s/server/db/state.db".to_owned());
            }
            facts.damage.push("the list of kine's pages is lost, so ketcd takes rows from pages that look like its table".to_owned());
        }
        schema.walk_others(trees);
        let names = schema.names.map(|root| schema::names(root, trees, pages));
        let last_id = schema.last_id(trees, pages);
        let mut cells = Vec::new();
        schema.kine.into_iter().for_each(|root| trees.table(root, &mut |cell| cells.push(cell)));
        let TableRows { rows, problems, overflow } = rows::read(&cells, pages, trees, reader).map_err(no_room)?;
        facts.damage.extend(damage_sentences(&trees.damage));
        facts.damage.extend(listed(problems, "rows cannot be read"));
        facts.damage.extend(checks::of_rows(&rows, &reader.digests));
        facts.damage.extend(names.iter().flat_map(|names| checks::of_names(&rows, names, &reader.digests)));
        let lost = names.iter().flat_map(|names| checks::lost(&rows, names, &reader.digests)).collect();
        let table = Self { rows, overflow, lost, last_id };
        facts.damage.extend(table.counter_problem());
        // Where something is known to be damaged, the rest follows from it; where pages are being written, they are not of one moment.
        if facts.damage.is_empty() && pages.log.on_their_way.is_empty() {
            facts.damage.extend(indexes::contradictions(&schema.indexes, &table.rows, pages, &reader.digests));
            facts.damage.extend(sqlite::contradictions(pages, schema.roots()));
        }
        Ok(table)
    }

    /// The revision of the last compaction; `None` where kine's record of it is lost.
    pub(super) fn compacted(&self) -> Option<i64> {
        compacted(&self.rows)
    }

    /// The last row's id.
    pub(super) fn newest(&self) -> i64 {
        self.rows.last().map_or(0, |row| row.columns.id)
    }

    fn counter_problem(&self) -> Option<String> {
        let (last, newest) = (self.last_id?, self.newest());
        if last < newest {
            return Some(format!("its counter says that {last} was its last row, though there is a row {newest}"));
        }
        let is_lost = last > newest.max(self.compacted().unwrap_or(0));
        is_lost.then(|| {
            format!("its counter says that {last} was its last row, and the last that its table has is {newest}: what is between is lost")
        })
    }
}

/// The revision of the last compaction, as rows say.
pub(super) fn compacted(rows: &[Row]) -> Option<i64> {
    rows.iter().filter(|row| row.role == RowRole::Compaction).map(|row| row.columns.prev_revision).max()
}

fn damage_sentences(damage: &[SqliteDamage]) -> Vec<String> {
    let finding = |SqliteDamage { page, problem, rows }: &SqliteDamage| {
        let lost = match *rows {
            Some((from, i64::MAX)) if from <= 1 => "; rows may be missing".to_owned(),
            Some((from, i64::MAX)) => format!("; rows from {from} on may be missing"),
            Some((from, to)) => format!("; rows {} to {to} may be missing", from.max(1)),
            None => String::new(),
        };
        Finding::new([], format!("page {page} is damaged: {problem}{lost}"))
    };
    listed(damage.iter().map(finding).collect(), "places are damaged")
}
