//! Writes databases as etcd would have them of a history: up to a revision, with what a compaction left and, in free pages, what it removed; and such that
//! an etcd begins with.

use std::collections::HashMap;
use std::io::{self, Cursor};

use crate::etcd_file::{EtcdFile, Leaves, Record, Tree, revision};

/// A change of a history as the database records it. The history's type is that of `ketcd_store::Event`, which this crate does not know: `ketcd-store`
/// is tested with it.
#[macro_export]
macro_rules! record {
    ($event:expr) => {{
        let (event, kv) = ($event, &$event.key_value);
        $crate::etcd_file::Record {
            key: &kv.key,
            // A deletion has no version.
            value: if kv.version > 0 { ::std::option::Option::Some(&kv.value) } else { ::std::option::Option::None },
            create_revision: kv.create_revision.0,
            mod_revision: event.revision.0,
            sub_revision: event.sub_revision,
            version: kv.version,
            lease: kv.lease,
        }
    }};
}

/// [`snapshot::database`](crate::snapshot::database) of a slice of `ketcd_store::Event`s.
#[macro_export]
macro_rules! database {
    ($history:expr, $($how:expr),* $(,)?) => {
        $crate::snapshot::database(&$history.iter().map(|event| $crate::record!(event)).collect::<::std::vec::Vec<_>>(), $($how),*)
    };
}

/// A database with the changes of a history up to `newest`, compacted at a revision. `keeps_freed`: what the compaction removed is left in
/// pages that the tree does not reach.
pub fn database(history: &[Record<'_>], newest: i64, compacted: Option<i64>, keeps_freed: bool) -> Vec<u8> {
    written(history, newest, compacted, keeps_freed).expect("nothing fails in memory")
}

fn written(history: &[Record<'_>], newest: i64, compacted: Option<i64>, keeps_freed: bool) -> io::Result<Vec<u8>> {
    let compacted_at = compacted.unwrap_or(0);
    let mut survivors: HashMap<&[u8], i64> = HashMap::new();
    for record in history.iter().filter(|record| record.mod_revision <= compacted_at) {
        survivors.insert(record.key, record.mod_revision);
    }
    let is_kept = |record: &&Record<'_>| {
        let is_survivor = || record.value.is_some() && survivors[record.key] == record.mod_revision;
        record.mod_revision > compacted_at || is_survivor()
    };
    let upto = || history.iter().filter(|record| record.mod_revision <= newest);
    let mut file = EtcdFile::new(Cursor::new(Vec::new()))?;
    if keeps_freed {
        let mut freed = Leaves::new(0);
        for record in upto().filter(|record| !is_kept(record)) {
            freed.push(&record.revision(), &record.message(), &mut file)?;
        }
        freed.flush(&mut file)?;
    }
    let mut keys = Tree::new(0);
    for record in upto().filter(is_kept) {
        keys.push(&record.revision(), &record.message(), &mut file)?;
    }
    let keys = keys.finish(&mut file)?;
    let mut meta = Tree::new(0);
    meta.push(b"consistent_index", &newest.to_be_bytes(), &mut file)?;
    if let Some(compacted) = compacted {
        meta.push(b"finishedCompactRev", &revision(compacted, 0), &mut file)?;
        meta.push(b"scheduledCompactRev", &revision(compacted, 0), &mut file)?;
    }
    let meta = meta.finish(&mut file)?;
    Ok(file.finish(&[("key", keys), ("meta", meta)])?.into_inner())
}

/// A change of a key: its value, or `None` where it is deleted.
pub type Change<'a> = (&'a [u8], Option<&'a [u8]>);

/// The database that an etcd can begin with: these changes, those of one revision together, from revision 2 on, numbered as etcd numbers them. It says that
/// no entry of a log is applied yet, so that etcd applies its own from the first on.
pub fn beginning<'a>(revisions: impl IntoIterator<Item = Vec<Change<'a>>>) -> Vec<u8> {
    begun(&numbered(revisions)).expect("nothing fails in memory")
}

fn numbered<'a>(revisions: impl IntoIterator<Item = Vec<Change<'a>>>) -> Vec<Record<'a>> {
    let mut living: HashMap<&[u8], (i64, i64)> = HashMap::new();
    let mut records = Vec::new();
    for (mod_revision, changes) in (2..).zip(revisions) {
        for (sub_revision, (key, value)) in (0..).zip(changes) {
            let (create_revision, version) = if value.is_some() {
                let (created, version) = living.entry(key).or_insert((mod_revision, 0));
                *version += 1;
                (*created, *version)
            } else {
                assert!(living.remove(key).is_some(), "revision {mod_revision} deletes what is not there");
                (0, 0)
            };
            records.push(Record { key, value, create_revision, mod_revision, sub_revision, version, lease: 0 });
        }
    }
    records
}

fn begun(records: &[Record<'_>]) -> io::Result<Vec<u8>> {
    let mut file = EtcdFile::new(Cursor::new(Vec::new()))?;
    let mut keys = Tree::new(0);
    for record in records {
        keys.push(&record.revision(), &record.message(), &mut file)?;
    }
    let keys = keys.finish(&mut file)?;
    let mut meta = Tree::new(0);
    meta.push(b"consistent_index", &[0; 8], &mut file)?;
    let meta = meta.finish(&mut file)?;
    Ok(file.finish(&[("key", keys), ("meta", meta)])?.into_inner())
}
