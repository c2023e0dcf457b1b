//! Rows made into changes: those of the table, and what they prove of the rows that they replaced.

use std::collections::{BTreeMap, HashMap};

use super::arena::{Images, Span, Whose};
use super::finding::Finding;
use super::row::RowRole;
use super::rows::Row;
use crate::versions::{Layer, StoredChange, VersionsBuilder};
use crate::{EventKind, Origin, Revision, RevisionSpan};

/// A change, with what a row says of it that a change has no place for.
struct Known {
    origin: Origin,
    name: Span,
    name_digest: u64,
    is_deletion: bool,
    is_creation: bool,
    create_revision: i64,
    prev_revision: i64,
    lease: i64,
    value: Span,
    /// Its digest; `None` where there is no value.
    value_digest: Option<u64>,
}

/// No bytes.
const EMPTY_SPAN: Span = Span { whose: Whose::File, start: 0, length: 0 };

impl Known {
    fn of(row: &Row, origin: Origin) -> Self {
        let columns = &row.columns;
        Self {
            origin,
            name: row.name,
            name_digest: row.name_digest,
            is_deletion: columns.deleted,
            is_creation: columns.created,
            create_revision: if columns.created { columns.id } else { columns.create_revision },
            prev_revision: columns.prev_revision,
            lease: columns.lease,
            value: row.value,
            value_digest: Some(row.value_digest),
        }
    }

    /// What `row` proves of the one that it replaced: the value, or that the key had been deleted. Its lease is not known.
    fn replaced_by(row: &Row, origin: Origin) -> Option<Self> {
        let columns = &row.columns;
        let value = if columns.created { EMPTY_SPAN } else { row.old.as_ref().map_or(Some(EMPTY_SPAN), |old| old.place)? };
        Some(Self {
            origin,
            name: row.name,
            name_digest: row.name_digest,
            is_deletion: columns.created,
            is_creation: !columns.created && columns.create_revision == columns.prev_revision,
            create_revision: if columns.created { 0 } else { columns.create_revision },
            prev_revision: 0,
            lease: 0,
            value,
            value_digest: row.old.as_ref().filter(|_| !columns.created).map(|old| old.digest),
        })
    }
}

/// All that is known of a database's changes.
pub(super) struct History {
    known: BTreeMap<i64, Known>,
    compacted: Option<i64>,
    /// The rows that the table must have by its index of names and has lost, each with the digest of its name.
    lost: HashMap<i64, u64>,
}

impl History {
    /// The changes of the table's rows, ascending, and of the ones that they replaced where those are gone.
    pub(super) fn of(rows: &[Row], compacted: Option<i64>, lost: HashMap<i64, u64>) -> Self {
        let mut history = Self { known: BTreeMap::new(), compacted, lost };
        let changes = || rows.iter().filter(|row| row.role == RowRole::Change);
        history.known.extend(changes().map(|row| (row.columns.id, Known::of(row, Origin::Db))));
        changes().for_each(|row| history.add_replaced(row, Origin::OldValue));
        history
    }

    /// Whether a row is among the table's.
    pub(super) fn has(&self, id: i64) -> bool {
        self.known.get(&id).is_some_and(|known| known.origin == Origin::Db)
    }

    fn add_replaced(&mut self, row: &Row, origin: Origin) {
        let prev = row.columns.prev_revision;
        if prev > 0 && !self.known.contains_key(&prev) {
            self.known.extend(Known::replaced_by(row, origin).map(|known| (prev, known)));
        }
    }

    /// Adds rows of unreached pages, ascending, as far as they fit what is known. Above the last compaction they count only where the
    /// table `lacks` rows.
    pub(super) fn add_stale(&mut self, rows: &[Row], lacks: bool) {
        // What replaced a row goes first, as it is evidence of it.
        for row in rows.iter().rev() {
            let id = row.columns.id;
            if self.has(id) || !self.fits(row) || (id > self.compacted.unwrap_or(0) && !lacks) {
                continue;
            }
            // What a later row says of it is certain, the rest of it is not contradicted.
            let origin = self.known.get(&id).map_or(Origin::FreePage, |known| known.origin);
            self.known.insert(id, Known::of(row, origin));
            self.add_replaced(row, Origin::FreePage);
        }
    }

    /// Whether a row of an unreached page is what later rows say of it, and replaced what it says.
    fn fits(&self, row: &Row) -> bool {
        let columns = &row.columns;
        let known = self.known.get(&columns.id).is_none_or(|known| {
            let digest = if known.is_deletion { None } else { Some(row.value_digest) };
            let create_revision = if columns.created { columns.id } else { columns.create_revision };
            known.name_digest == row.name_digest
                && known.is_deletion == columns.deleted
                && (known.is_deletion || known.create_revision == create_revision)
                && known.value_digest.is_none_or(|known| Some(known) == digest)
        });
        let before = self.known.get(&columns.prev_revision).is_none_or(|before| {
            let old = row.old.as_ref().map(|old| old.digest);
            before.name_digest == row.name_digest
                && before.is_deletion == columns.created
                && (columns.created || before.value_digest.is_none_or(|digest| old.is_none_or(|old| old == digest)))
        });
        known && before
    }

    /// Puts the changes into the index: into `layer` those that the newest state must have, the others into a layer that answers for no
    /// revision. Returns how many of the first kind the table itself lacks, and the first and last of them.
    pub(super) fn push(&self, images: &Images, layer: usize, builder: &mut VersionsBuilder) -> Option<(usize, i64, i64)> {
        let numbers = self.numbers();
        let must_be = self.kept_by_compaction();
        let recovered = builder.layer(Layer::default());
        let mut lost: Option<(usize, i64, i64)> = None;
        for (&id, known) in &self.known {
            let change = StoredChange {
                main: id,
                sub: 0,
                kind: if known.is_deletion { EventKind::Delete } else { EventKind::Put },
                origin: known.origin,
                key: images.locate(known.name),
                value: images.locate(if known.is_deletion { EMPTY_SPAN } else { known.value }),
                create_revision: if known.is_deletion { 0 } else { known.create_revision },
                version: numbers.get(&id).copied().unwrap_or_default(),
                replaced: if known.is_deletion || known.is_creation { 0 } else { known.prev_revision },
                lease: if known.is_deletion { 0 } else { known.lease },
                crc: 0,
            };
            let is_in_index = self.lost.get(&id) == Some(&known.name_digest);
            let is_lost = known.origin != Origin::Db && (id > self.compacted.unwrap_or(0) || must_be.contains_key(&id) || is_in_index);
            if is_lost {
                let (count, first, _) = lost.unwrap_or((0, id, id));
                lost = Some((count + 1, first, id));
            }
            match recovered {
                Some(recovered) if known.origin != Origin::Db && !is_lost => builder.push(recovered, change),
                _ => builder.push(layer, change),
            }
        }
        lost
    }

    /// The version numbers that etcd would count: 1 where a key was made, one more with each row that replaces another one. kine counts none
    /// (`pkg/logstructured/sqllog/sql.go` leaves them 0), so where the first rows are gone they are not known.
    fn numbers(&self) -> HashMap<i64, i64> {
        let mut numbers = HashMap::new();
        for (&id, known) in self.known.iter().filter(|(_, known)| !known.is_deletion) {
            let before = numbers.get(&known.prev_revision).copied().filter(|_| {
                let before = &self.known[&known.prev_revision];
                before.name_digest == known.name_digest && (before.origin != Origin::FreePage || known.origin == Origin::FreePage)
            });
            let second = (known.prev_revision > 0 && known.prev_revision == known.create_revision).then_some(2);
            let number = if known.is_creation { Some(1) } else { second.or(before.map(|before: i64| before + 1)) };
            numbers.extend(number.map(|number| (id, number)));
        }
        numbers
    }

    /// The rows not above the last compaction that it must have kept, each with the row that replaced it later.
    fn kept_by_compaction(&self) -> HashMap<i64, i64> {
        let Some(compacted) = self.compacted else { return HashMap::new() };
        let later = self.known.range(compacted + 1..);
        later
            .filter(|(_, known)| known.origin == Origin::Db && !known.is_creation && (1..=compacted).contains(&known.prev_revision))
            .map(|(&id, known)| (known.prev_revision, id))
            .collect()
    }

    /// The rows that the last compaction must have kept and nothing has.
    pub(super) fn missing(&self) -> Vec<Finding> {
        let mut missing: Vec<(i64, i64)> =
            self.kept_by_compaction().into_iter().filter(|(kept, _)| !self.known.contains_key(kept)).collect();
        missing.sort_unstable();
        let sentence = |kept, by| format!("revision {kept} is missing, which revision {by} replaced and the compaction kept");
        missing.into_iter().map(|(kept, by)| Finding::new([kept], sentence(kept, by))).collect()
    }

    /// The revisions at which the whole key space can be read.
    pub(super) fn span(&self, newest: i64) -> RevisionSpan {
        let compacted = self.compacted.filter(|&compacted| compacted > 0).map(Revision);
        let last = self.known.keys().next_back().copied().unwrap_or(1);
        let newest = Revision(newest.max(last).max(compacted.map_or(1, |compacted| compacted.0)));
        RevisionSpan { oldest: compacted.unwrap_or(Revision(1)), newest, compacted }
    }
}
