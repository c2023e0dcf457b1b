//! Which tables and indexes the database has, and what its counter says.

use super::indexes::KineIndex;
use super::sqlite::{Field, PageNumber, Pages, Trees};

/// The trees of a database that matter, and the others.
#[derive(Debug, Default)]
pub(super) struct Schema {
    /// The table `kine`.
    pub(super) kine: Option<PageNumber>,
    /// The index of names, previous revisions and rows, which kine has since 2021.
    pub(super) names: Option<PageNumber>,
    /// The table of counters.
    sequence: Option<PageNumber>,
    /// All indexes of the table `kine`.
    pub(super) indexes: Vec<KineIndex>,
    /// All other trees, with whether they are tables.
    others: Vec<(PageNumber, bool)>,
}

impl Schema {
    pub(super) fn read(trees: &mut Trees<'_>, pages: &Pages) -> Self {
        let mut schema = Self::default();
        let mut cells = Vec::new();
        trees.table(1, &mut |cell| cells.push(cell));
        for (fields, payload) in cells.iter().filter_map(|cell| cell.fields(pages, 5)) {
            let text = |field: usize| fields.get(field).and_then(Field::bytes).map(|place| &payload[place]);
            let root = fields.get(3).and_then(Field::number).and_then(|root| PageNumber::try_from(root).ok()).filter(|&root| root > 1);
            let (Some(kind), Some(name), Some(root)) = (text(0), text(1), root) else { continue };
            if kind == b"index" && text(2) == Some(b"kine") {
                schema.indexes.push(KineIndex::read(root, name, text(4).unwrap_or_default()));
            }
            match (kind, name) {
                (b"table", b"kine") => schema.kine = Some(root),
                (b"table", b"sqlite_sequence") => schema.sequence = Some(root),
                (b"index", b"kine_name_prev_revision_uindex") => schema.names = Some(root),
                _ => schema.others.push((root, kind == b"table")),
            }
        }
        schema
    }

    pub(super) fn roots(&self) -> impl Iterator<Item = PageNumber> + '_ {
        [self.kine, self.names, self.sequence].into_iter().flatten().chain(self.others.iter().map(|(root, _)| *root))
    }

    /// Walks through the trees that hold no rows of kine, so that it is known which pages they take.
    pub(super) fn walk_others(&self, trees: &mut Trees<'_>) {
        for &(root, is_table) in &self.others {
            if is_table { trees.table(root, &mut |_| ()) } else { trees.index(root, &mut |_| ()) }
        }
    }

    /// The id that the table's counter gave out last.
    pub(super) fn last_id(&self, trees: &mut Trees<'_>, pages: &Pages) -> Option<i64> {
        let mut cells = Vec::new();
        trees.table(self.sequence?, &mut |cell| cells.push(cell));
        let mut rows = cells.iter().filter_map(|cell| cell.fields(pages, 2));
        let of_kine = rows.find(|(fields, payload)| fields.first().and_then(Field::bytes).is_some_and(|name| &payload[name] == b"kine"));
        of_kine.and_then(|(fields, _)| fields.get(1)?.number())
    }
}

pub(super) struct NameEntry {
    pub(super) name: Vec<u8>,
    /// The revision of the row before.
    pub(super) prev_revision: i64,
    pub(super) id: i64,
}

pub(super) fn names(root: PageNumber, trees: &mut Trees<'_>, pages: &Pages) -> Vec<NameEntry> {
    let mut entries = Vec::new();
    trees.index(root, &mut |cell| {
        let entry = cell.fields(pages, 3).and_then(|(fields, payload)| {
            let [name, prev_revision, id] = &fields[..] else { return None };
            Some(NameEntry { name: payload[name.bytes()?].to_vec(), prev_revision: prev_revision.number()?, id: id.number()? })
        });
        entries.extend(entry);
    });
    entries
}
