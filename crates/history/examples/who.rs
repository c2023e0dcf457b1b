//! Prints who changed an object, and what: `cargo run -p ketcd-history --example who -- FILE /registry/pods/lab/ubuntu`.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "an example is a program: it has arguments and prints")]

use std::error::Error;

use futures_util::TryStreamExt;
use ketcd_history::diff::ManagedFields;
use ketcd_history::{Follower, actor};
use ketcd_kube::Decoder;
use ketcd_store::{KeyRange, KeyValue, Revision, Until, WatchItem, load};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (file, key) = arguments.next().zip(arguments.next()).ok_or("usage: who FILE KEY")?;
    changes(&file, &key).await?.iter().for_each(|change| println!("{change}"));
    Ok(())
}

/// A line for each change of a key: its revision, who made it, and the patch.
async fn changes(file: &str, key: &str) -> ketcd_store::Result<Vec<String>> {
    let source = load::open(&[file.to_owned()], &|_| None)?;
    let decoder = Decoder::new();
    let mut follower = Follower::new(|entry: &KeyValue| decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body);
    let (mut items, mut lines) = (source.watch(KeyRange::key(key), Revision(1), Until::Forever), Vec::new());
    while let Some(item) = items.try_next().await? {
        let WatchItem::Event(event) = item else { continue };
        let change = follower.change(event);
        let who = actor(&change).map_or("unknown".to_owned(), |actor| actor.name);
        let patch = change.patch(ManagedFields::Hidden).map(|patch| patch.to_string()).unwrap_or_default();
        lines.push(format!("{} {} by {who} {patch}", change.revision, change.kind.as_str()));
    }
    Ok(lines)
}

#[tokio::test]
async fn a_pod_is_bound_by_the_scheduler() {
    let file = ketcd_testing::testdata::path("captures/k120-story/snapshot.db.zst");
    let lines = changes(file.to_str().unwrap(), "/registry/pods/lab/ubuntu").await.unwrap();
    assert!(lines.iter().any(|line| line.contains(" MODIFIED by ") && line.contains("/spec/nodeName")), "{lines:#?}");
}
