//! What proves that rows were changed or lost: kine writes most of a row twice, into the rows that replace it and into an index.

use std::collections::HashMap;

use super::finding::{Finding, listed};
use super::row::{Digests, RowRole};
use super::rows::Row;
use super::schema::NameEntry;

/// Where rows, ascending, contradict the rows that they replaced; each a sentence.
pub(super) fn of_rows(rows: &[Row], digests: &Digests) -> Vec<String> {
    let nothing = digests.of(b"");
    let by_id: HashMap<i64, &Row> = rows.iter().map(|row| (row.columns.id, row)).collect();
    let mut last: HashMap<u64, i64> = HashMap::new();
    let mut found = Vec::new();
    for row in rows.iter().filter(|row| row.role == RowRole::Change) {
        let (id, prev) = (row.columns.id, row.columns.prev_revision);
        let before = last.insert(row.name_digest, id);
        if before.is_some_and(|before| before > prev) {
            let between = before.unwrap_or_default();
            let sentence = format!("revision {id} says that it replaced {prev}, though revision {between} of its key lies between");
            found.push(Finding::new([id, prev, between], sentence));
        }
        let Some(replaced) = by_id.get(&prev) else { continue };
        let made = if replaced.columns.created { prev } else { replaced.columns.create_revision };
        let problem = if replaced.name_digest != row.name_digest {
            "is of another key"
        } else if replaced.columns.deleted != row.columns.created {
            "cannot precede it: only an absent key can be created, and only a present one written or deleted"
        } else if row.columns.created {
            continue;
        } else if row.columns.create_revision != made {
            "says that the key was made at another revision"
        } else if row.old.as_ref().map_or(nothing, |old| old.digest) != replaced.value_digest {
            "has another value than it says"
        } else {
            continue;
        };
        let sentence =
            format!("revisions {id} and {prev}, which it replaced, contradict each other, so one of them was changed: {prev} {problem}");
        found.push(Finding::new([id, prev], sentence));
    }
    listed(found, "revisions contradict the one that they replaced")
}

/// Says that rows, ascending, are lost where the last compaction lies behind the newest of them. kine compacts up to 1000 revisions before its newest
/// row (kine 0.17.5, `pkg/logstructured/sqllog/sql.go`, `compact`), so that row, and what came before it, were there then.
pub(super) fn behind_compaction(rows: &[Row], compacted: Option<i64>) -> Option<String> {
    let (newest, compacted) = (rows.last()?.columns.id, compacted?);
    (compacted > newest).then(|| {
        format!("its last compaction was at revision {compacted}, and the last row that its table has is {newest}: what came after is lost")
    })
}

/// The rows, each with the digest of its name, that the index of names has and that are not among rows, ascending: a row that is compacted leaves both.
pub(super) fn lost(rows: &[Row], names: &[NameEntry], digests: &Digests) -> Vec<(i64, u64)> {
    let is_there = |id: i64| rows.binary_search_by_key(&id, |row| row.columns.id).is_ok();
    names.iter().filter(|entry| !is_there(entry.id)).map(|entry| (entry.id, digests.of(&entry.name))).collect()
}

/// Where rows, ascending, and the index of names contradict each other; each a sentence.
pub(super) fn of_names(rows: &[Row], names: &[NameEntry], digests: &Digests) -> Vec<String> {
    let mut entries: HashMap<i64, &NameEntry> = names.iter().map(|entry| (entry.id, entry)).collect();
    let mut found = Vec::new();
    for row in rows {
        let id = row.columns.id;
        match entries.remove(&id) {
            None => {
                let sentence = format!("the row of revision {id} is not in the index of names, so one of them was changed");
                found.push(Finding::new([id], sentence));
            }
            Some(entry) if (digests.of(&entry.name), entry.prev_revision) != (row.name_digest, row.columns.prev_revision) => {
                let key = String::from_utf8_lossy(&entry.name);
                let prev = entry.prev_revision;
                let sentence = format!(
                    "the row of revision {id} is another one in the index of names ({key}, which replaced {prev}), so one of them was changed"
                );
                found.push(Finding::new([id, prev, row.columns.prev_revision], sentence));
            }
            Some(_) => {}
        }
    }
    let mut lost: Vec<&NameEntry> = entries.into_values().collect();
    lost.sort_unstable_by_key(|entry| entry.id);
    found.extend(lost.into_iter().map(|entry| {
        let (id, key) = (entry.id, String::from_utf8_lossy(&entry.name));
        Finding::new([id], format!("the row of revision {id} is lost; the index of names says that it was of {key}"))
    }));
    listed(found, "rows differ from the index of names")
}
