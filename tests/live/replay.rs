//! Captures in a real etcd, in which every revision has its own number again: written change by change, or in the database that it begins with.

use etcd_client::{Client, Txn, TxnOp};
use futures_util::StreamExt;
use ketcd_store::{Event, EventKind, KeyRange, KeyValue, Revision, Until, WatchItem, load};
use ketcd_testing::snapshot::{Change, beginning};

use crate::etcd::{Etcd, EtcdRelease, Transport};

/// The path of a capture's snapshot.
pub(crate) fn snapshot(capture: &str) -> String {
    format!("{}/testdata/captures/{capture}/snapshot.db.zst", env!("CARGO_MANIFEST_DIR"))
}

/// Every change of a capture, in order.
pub(crate) async fn changes(capture: &str) -> Vec<Event> {
    changes_in(&snapshot(capture)).await
}

/// Every change in a file, in order.
pub(crate) async fn changes_in(path: &str) -> Vec<Event> {
    let source = load::open(&[path.to_owned()], &|_| None).unwrap();
    let mut changes = Vec::new();
    let mut watch = source.watch(KeyRange::all(), Revision(2), Until::Forever);
    while let Some(item) = watch.next().await {
        match item.unwrap() {
            WatchItem::Event(event) => changes.push(event),
            WatchItem::Gap { from, to } => panic!("{path} cannot be replayed: revisions {from} to {to} are missing"),
            WatchItem::Progress(_) => {}
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        }
    }
    changes
}

/// Writes changes, one transaction a revision. The first must be the revision after etcd's newest. Leases are left out: etcd would
/// let them end.
pub(crate) async fn write(writer: &mut Client, changes: &[Event]) {
    for revision in changes.chunk_by(|a, b| a.revision == b.revision) {
        let operations: Vec<TxnOp> = revision
            .iter()
            .map(|event| match event.kind {
                EventKind::Put => TxnOp::put(event.key_value.key.to_vec(), event.key_value.value.to_vec(), None),
                EventKind::Delete => TxnOp::delete(event.key_value.key.to_vec(), None),
                #[cfg(not(ketcd_exhaustive))]
                _ => unreachable!("of another version"),
            })
            .collect();
        let answer = writer.txn(Txn::new().and_then(operations)).await.unwrap();
        let written = answer.header().unwrap().revision();
        assert_eq!(written, revision[0].revision.0, "etcd numbers a revision otherwise than the capture");
    }
}

/// An etcd that begins with these changes, for tests that ask it alone: [`write`] takes a hundred times as long, but fills the log too, which other members
/// and readers of the data dir need. Leases are left out here too.
pub(crate) async fn etcd_of(changes: &[Event], release: EtcdRelease, transport: Transport) -> Etcd {
    Etcd::start_on(&beginning(revisions_of(changes)), release, transport).await
}

/// The changes of each revision; the first must be of revision 2, and none may be missing.
pub(crate) fn revisions_of(changes: &[Event]) -> impl Iterator<Item = Vec<Change<'_>>> {
    let revisions = changes.chunk_by(|a, b| a.revision == b.revision);
    (2_i64..).zip(revisions).map(|(number, revision)| {
        assert_eq!(revision[0].revision.0, number, "etcd numbers a revision otherwise than the capture");
        revision.iter().map(change).collect::<Vec<_>>()
    })
}

fn change(event: &Event) -> Change<'_> {
    let KeyValue { key, value, .. } = &event.key_value;
    (&key[..], (event.kind == EventKind::Put).then_some(&value[..]))
}
