//! Rows of kine's table: each is a change, its id the revision.
//!
//! Source: kine v0.17.5, `pkg/drivers/sqlite/sqlite.go` (the table), `pkg/drivers/generic/generic.go` (what is written into it).

use std::hash::BuildHasher;
use std::ops::Range;

use super::sqlite::{Field, record};

/// kine's own row, whose `prev_revision` is the revision of the last compaction.
pub(super) const COMPACTION_KEY: &[u8] = b"compact_rev_key";

/// How the names begin of rows that stand for revisions which no transaction took.
const GAP_PREFIX: &[u8] = b"gap-";

/// No store gets this far; what claims to is damaged.
const MAX_REVISION: i64 = i64::MAX / 2;

const COLUMN_COUNT: usize = 9;

/// The columns of a row, texts and blobs as places in its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Columns {
    pub(super) id: i64,
    pub(super) name: Range<usize>,
    pub(super) created: bool,
    pub(super) deleted: bool,
    /// The revision that made the key; 0 where this one did.
    pub(super) create_revision: i64,
    /// The revision of the row that this one replaced; 0 where the key had none.
    pub(super) prev_revision: i64,
    /// The lease: with kine, the seconds that the key lives.
    pub(super) lease: i64,
    pub(super) value: Range<usize>,
    /// The value of the row that this one replaced; `None` where it is NULL.
    pub(super) old_value: Option<Range<usize>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowRole {
    Change,
    /// kine's record of its last compaction.
    Compaction,
    /// A revision that no transaction took.
    Gap,
}

impl Columns {
    /// Reads the payload of the row `id`.
    ///
    /// # Errors
    ///
    /// A fragment that says what is wrong with it.
    pub(super) fn read(id: i64, payload: &[u8]) -> Result<Self, &'static str> {
        let fields = record(payload, COLUMN_COUNT).ok_or("it is not a record of nine columns")?;
        let Ok([own_id, name, created, deleted, create_revision, prev_revision, lease, value, old_value]) =
            <[Field; COLUMN_COUNT]>::try_from(fields)
        else {
            return Err("it is not a record of nine columns");
        };
        let number = |field: &Field| field.number().ok_or("a column holds another type");
        let flag =
            |field: &Field| number(field).and_then(|number| matches!(number, 0 | 1).then_some(number == 1).ok_or("a flag is not 0 or 1"));
        let place = |field: &Field| field.bytes().ok_or("a column holds another type");
        if own_id != Field::Null || !matches!(name, Field::Text(_) | Field::Blob(_)) {
            return Err("a column holds another type");
        }
        let columns = Self {
            id,
            name: place(&name)?,
            created: flag(&created)?,
            deleted: flag(&deleted)?,
            create_revision: number(&create_revision)?,
            prev_revision: number(&prev_revision)?,
            lease: number(&lease)?,
            value: place(&value)?,
            old_value: if old_value == Field::Null { None } else { Some(place(&old_value)?) },
        };
        columns.is_plausible(&payload[columns.name.clone()]).then_some(columns).ok_or("its numbers contradict each other")
    }

    /// Whether the numbers are consistent.
    pub(super) fn is_plausible(&self, name: &[u8]) -> bool {
        let Self { id, created, deleted, create_revision, prev_revision, lease, .. } = *self;
        if !(1..MAX_REVISION).contains(&id) || name.is_empty() || lease < 0 {
            return false;
        }
        match role(name) {
            // It was written once and is updated in its place.
            RowRole::Compaction => prev_revision >= 0,
            RowRole::Gap => create_revision == 0 && prev_revision == 0 && deleted,
            RowRole::Change if created => !deleted && create_revision == 0 && (0..id).contains(&prev_revision),
            // The deletion of a key that is not there is written too.
            RowRole::Change if deleted && prev_revision == 0 => create_revision == 0,
            RowRole::Change => (1..id).contains(&prev_revision) && (1..=prev_revision).contains(&create_revision),
        }
    }
}

pub(super) fn role(name: &[u8]) -> RowRole {
    match name {
        COMPACTION_KEY => RowRole::Compaction,
        name if name.starts_with(GAP_PREFIX) => RowRole::Gap,
        _ => RowRole::Change,
    }
}

/// Digests of names and values, to compare them without reading them again.
#[derive(Clone, Default)]
pub(super) struct Digests(foldhash::fast::RandomState);

impl Digests {
    pub(super) fn of(&self, bytes: &[u8]) -> u64 {
        self.0.hash_one(bytes)
    }
}
