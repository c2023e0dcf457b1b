//! Snapshots of a recorded cluster, as if one was taken each night. The tests of the command make theirs with it too (`tests/cli/fusion.rs`).

use std::fs;
use std::path::PathBuf;

use futures_util::StreamExt;
use ketcd_store::{Event, KeyRange, Revision, Until, WatchItem, load};
use ketcd_testing::{database, testdata};
use tempfile::TempDir;

/// A recorded cluster's whole history.
pub(crate) fn story() -> Vec<Event> {
    let path = testdata::path("captures/k120-story/snapshot.db.zst").to_str().unwrap().to_owned();
    let source = load::open(&[path], &|_| None).unwrap();
    let items = source.watch(KeyRange::all(), Revision(1), Until::Forever).map(Result::unwrap).collect::<Vec<_>>();
    let items = tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(items);
    items.into_iter().filter_map(|item| if let WatchItem::Event(event) = item { Some(event) } else { None }).collect()
}

/// A directory of snapshots.
pub(crate) struct Nights {
    directory: TempDir,
    pub(crate) story: Vec<Event>,
}

impl Nights {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), story: story() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, history: &[Event], newest: i64, compacted: Option<i64>, keeps_freed: bool) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, database!(history, newest, compacted, keeps_freed)).unwrap();
        path
    }

    /// A snapshot of the recorded cluster.
    pub(crate) fn night(&self, name: &str, newest: i64, compacted: Option<i64>) -> PathBuf {
        self.write(name, &self.story, newest, compacted, false)
    }
}
