//! Writes databases as etcd would have them of a history: up to a revision, with what a compaction left and, in free pages, what it removed.

mod etcd_file;

use std::collections::HashMap;
use std::io::{self, Cursor};

use etcd_file::{EtcdFile, Leaves, Record, Tree, revision};
use ketcd_store::{Event, EventKind};

/// A database with the changes of a history up to `newest`, compacted at a revision. `keeps_freed`: what the compaction removed is left in
/// pages that the tree does not reach.
pub(crate) fn database(history: &[Event], newest: i64, compacted: Option<i64>, keeps_freed: bool) -> Vec<u8> {
    written(history, newest, compacted, keeps_freed).expect("nothing fails in memory")
}

fn written(history: &[Event], newest: i64, compacted: Option<i64>, keeps_freed: bool) -> io::Result<Vec<u8>> {
    let compacted_at = compacted.unwrap_or(0);
    let mut survivors: HashMap<&[u8], &Event> = HashMap::new();
    for event in history.iter().filter(|event| event.revision.0 <= compacted_at) {
        survivors.insert(&event.key_value.key, event);
    }
    let is_kept = |event: &&Event| {
        let is_survivor = || event.kind == EventKind::Put && survivors[&event.key_value.key[..]].revision == event.revision;
        event.revision.0 > compacted_at || is_survivor()
    };
    let upto = || history.iter().filter(|event| event.revision.0 <= newest);
    let mut file = EtcdFile::new(Cursor::new(Vec::new()))?;
    if keeps_freed {
        let mut freed = Leaves::new(0);
        for event in upto().filter(|event| !is_kept(event)) {
            let (key, value) = pair(event);
            freed.push(&key, &value, &mut file)?;
        }
        freed.flush(&mut file)?;
    }
    let mut keys = Tree::new(0);
    for event in upto().filter(is_kept) {
        let (key, value) = pair(event);
        keys.push(&key, &value, &mut file)?;
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

/// An entry of the bucket `key`.
fn pair(event: &Event) -> (Vec<u8>, Vec<u8>) {
    let kv = &event.key_value;
    let record = Record {
        key: &kv.key,
        value: (event.kind == EventKind::Put).then_some(&kv.value[..]),
        create_revision: kv.create_revision.0,
        mod_revision: event.revision.0,
        sub_revision: event.sub_revision,
        version: kv.version,
        lease: kv.lease,
    };
    (record.revision(), record.message())
}
