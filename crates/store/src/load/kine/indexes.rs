//! Whether the indexes of kine's table have an entry for each row, what the row says, in order. SQLite finds rows by them, so what an index lost is lost to
//! kine, and what was written to neither is damage of one.

use super::row::Digests;
use super::rows::Row;
use super::sqlite::{Field, PageNumber, Pages, Trees};

#[derive(Debug)]
pub(super) struct KineIndex {
    pub(super) root: PageNumber,
    name: String,
    /// Its columns, and whether they descend; `None` where it has others than kine's.
    columns: Option<Vec<(Column, bool)>>,
    /// Whether it has an entry for some rows alone.
    is_partial: bool,
}

/// A column that an index may have. Values are in none: a row that replaced another one proves them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Id,
    Name,
    Created,
    Deleted,
    CreateRevision,
    PrevRevision,
    Lease,
}

/// A column's value in the order of SQLite: nothing, numbers, texts, bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Null,
    Integer(i64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

impl KineIndex {
    pub(super) fn read(root: PageNumber, name: &[u8], statement: &[u8]) -> Self {
        let statement = String::from_utf8_lossy(statement);
        let (_, list) = statement.split_once('(').unwrap_or_default();
        let (list, behind) = list.split_once(')').unwrap_or_default();
        Self {
            root,
            name: String::from_utf8_lossy(name).into_owned(),
            columns: list.split(',').map(column).collect(),
            is_partial: behind.to_ascii_uppercase().contains("WHERE"),
        }
    }

    /// Says where its entries and the rows of the table, ascending, contradict each other.
    fn contradiction(&self, rows: &[Row], pages: &Pages, digests: &Digests) -> Option<String> {
        let columns = self.columns.as_ref()?;
        let (mut last, mut count, mut wrong) = (None::<Vec<Value>>, 0, None);
        Trees::new(pages).index(self.root, &mut |cell| {
            count += 1;
            if wrong.is_some() {
                return;
            }
            let Some(entry) = cell.fields(pages, columns.len() + 1).and_then(|(fields, payload)| values(&fields, &payload)) else {
                return wrong = Some(format!("page {} has an entry that cannot be read", cell.page));
            };
            let Some((Value::Integer(id), entry_columns)) = entry.split_last().filter(|(_, rest)| rest.len() == columns.len()) else {
                return wrong = Some(format!("page {} has an entry of another index", cell.page));
            };
            let row = rows.binary_search_by_key(id, |row| row.columns.id).ok().map(|place| &rows[place]);
            if row.is_none_or(|row| columns.iter().zip(entry_columns).any(|((column, _), value)| !column.is_of(row, value, digests))) {
                wrong = Some(format!("its entry of revision {id} is not what the row says"));
            } else if last.as_ref().is_some_and(|last| !self.is_behind(last, &entry)) {
                wrong = Some(format!("its entry of revision {id} is not in its place"));
            }
            last = Some(entry);
        });
        let is_short = !self.is_partial && count != rows.len();
        let problem = wrong.or_else(|| is_short.then(|| format!("it has {count} entries for {} rows", rows.len())))?;
        Some(format!("the index {} and its table contradict each other, so one of them was changed: {problem}", self.name))
    }

    /// Whether an entry comes after another one.
    fn is_behind(&self, before: &[Value], entry: &[Value]) -> bool {
        let descends = self.columns.iter().flatten().map(|(_, descends)| *descends).chain([false]);
        let order = descends.zip(before.iter().zip(entry)).map(|(descends, (before, entry))| match descends {
            true => entry.cmp(before),
            false => before.cmp(entry),
        });
        order.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then).is_lt()
    }
}

impl Column {
    fn is_of(self, row: &Row, value: &Value, digests: &Digests) -> bool {
        let columns = &row.columns;
        let number = match self {
            Self::Name => return matches!(value, Value::Text(name) | Value::Blob(name) if digests.of(name) == row.name_digest),
            Self::Id => columns.id,
            Self::Created => columns.created.into(),
            Self::Deleted => columns.deleted.into(),
            Self::CreateRevision => columns.create_revision,
            Self::PrevRevision => columns.prev_revision,
            Self::Lease => columns.lease,
        };
        // Rows have 0 where a column is NULL.
        match value {
            Value::Null => number == 0,
            Value::Integer(value) => *value == number,
            Value::Text(_) | Value::Blob(_) => false,
        }
    }
}

/// Says where the indexes of the table contradict its rows, one sentence each.
pub(super) fn contradictions(indexes: &[KineIndex], rows: &[Row], pages: &Pages, digests: &Digests) -> Vec<String> {
    indexes.iter().filter_map(|index| index.contradiction(rows, pages, digests)).collect()
}

/// The column that a part of a list names, and whether it descends.
fn column(part: &str) -> Option<(Column, bool)> {
    let mut words = part.split_ascii_whitespace();
    let column = match words.next()?.trim_matches('"').to_ascii_lowercase().as_str() {
        "id" => Column::Id,
        "name" => Column::Name,
        "created" => Column::Created,
        "deleted" => Column::Deleted,
        "create_revision" => Column::CreateRevision,
        "prev_revision" => Column::PrevRevision,
        "lease" => Column::Lease,
        _ => return None,
    };
    match words.next().map(str::to_ascii_uppercase).as_deref() {
        None | Some("ASC") => Some((column, false)),
        Some("DESC") => Some((column, true)),
        Some(_) => None,
    }
}

fn values(fields: &[Field], payload: &[u8]) -> Option<Vec<Value>> {
    let value = |field: &Field| match field {
        Field::Null => Some(Value::Null),
        Field::Integer(number) => Some(Value::Integer(*number)),
        Field::Text(place) => Some(Value::Text(payload[place.clone()].to_vec())),
        Field::Blob(place) => Some(Value::Blob(payload[place.clone()].to_vec())),
        Field::Real => None,
    };
    fields.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_of_kine_and_its_forks_are_read() {
        let read = |statement: &str| KineIndex::read(4, b"an_index", statement.as_bytes());
        let names = read("CREATE UNIQUE INDEX k8s_dqlite_name_del_index ON kine (name ASC, id DESC, deleted)");
        assert_eq!(names.columns, Some(vec![(Column::Name, false), (Column::Id, true), (Column::Deleted, false)]));
        let partial = read("CREATE INDEX i ON kine(id, name, prev_revision) WHERE name != 'compact_rev_key' AND prev_revision != 0");
        assert!(partial.is_partial && partial.columns.is_some_and(|columns| columns.len() == 3));
        for other in ["CREATE INDEX i ON kine (length(value))", "CREATE INDEX i ON kine (name COLLATE NOCASE)", ""] {
            assert_eq!(read(other).columns, None, "{other}");
        }
    }

    #[test]
    fn entries_are_in_the_order_of_sqlite() {
        let index = KineIndex::read(4, b"i", b"CREATE INDEX i ON kine (name, id DESC)");
        let entry = |name: &str, id| [Value::Text(name.into()), Value::Integer(id), Value::Integer(id)];
        assert!(index.is_behind(&entry("a", 2), &entry("a", 1)) && index.is_behind(&entry("a", 1), &entry("b", 9)));
        assert!(!index.is_behind(&entry("a", 1), &entry("a", 1)) && !index.is_behind(&entry("b", 1), &entry("a", 1)));
        assert!(Value::Null < Value::Integer(i64::MIN) && Value::Integer(i64::MAX) < Value::Text(vec![]));
    }
}
