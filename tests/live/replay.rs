//! Captures written into a real etcd, change by change, so that every revision has its own number again.

use etcd_client::{Client, Txn, TxnOp};
use futures_util::StreamExt;
use ketcd_store::{Event, EventKind, KeyRange, Revision, Until, WatchItem, load};

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
            })
            .collect();
        let answer = writer.txn(Txn::new().and_then(operations)).await.unwrap();
        let written = answer.header().unwrap().revision();
        assert_eq!(written, revision[0].revision.0, "etcd numbers a revision otherwise than the capture");
    }
}
