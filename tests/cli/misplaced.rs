//! A value of another kind than its key says is told as that, and not shown as an object of the key's kind.

use std::fs;
use std::path::Path;

use futures_util::StreamExt;
use ketcd_store::{Event, EventKind, KeyRange, Origin, Revision, Source, Sources, Until, WatchItem, load};

use crate::ketcd::{all, ketcd};

fn events(source: &dyn Source) -> Vec<Event> {
    let items = source.watch(KeyRange::all(), Revision(1), Until::Forever).map(Result::unwrap).collect::<Vec<_>>();
    let items = tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(items);
    items.into_iter().filter_map(|item| if let WatchItem::Event(event) = item { Some(event) } else { None }).collect()
}

/// A cluster with some more values.
fn with(more: &[(&str, &[u8])]) -> Vec<u8> {
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures/k120-story/snapshot.db.zst");
    let mut events = events(&*load::open(&[capture.to_str().unwrap().to_owned()], &|_| None).unwrap());
    let first = events.last().unwrap().revision.0 + 1;
    for ((key, value), revision) in more.iter().zip(first..) {
        let mut event = events.last().unwrap().clone();
        (event.revision, event.sub_revision, event.kind, event.origin) = (Revision(revision), 0, EventKind::Put, Origin::Db);
        event.sources = Sources::default();
        let kv = &mut event.key_value;
        (kv.key, kv.value) = (key.as_bytes().to_vec().into(), value.to_vec().into());
        (kv.create_revision, kv.mod_revision, kv.version, kv.lease) = (Revision(revision), Revision(revision), 1, 0);
        events.push(event);
    }
    ketcd_testing::database!(&events, first + more.len() as i64, None, false)
}

#[test]
fn a_value_of_another_kind_is_told_and_not_shown_as_its_keys() {
    let json = br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"odd","namespace":"lab"}}"#;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("odd.db");
    fs::write(&file, with(&[("/registry/pods/lab/odd", &json[..])])).unwrap();
    let wanted = "/registry/pods/lab/odd at revision 1788 is broken: stored under the key of a Pod, but it holds a ConfigMap";
    for words in ["ls pods -A", "get pods -A", "get pod/lab/odd -o yaml", "history pod/lab/odd", "triage"] {
        let output = ketcd().arg("-f").arg(&file).args(words.split(' ')).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words}: {}", all(&output));
        assert!(String::from_utf8_lossy(&output.stderr).contains(wanted), "{words}: {}", all(&output));
        assert!(!String::from_utf8_lossy(&output.stdout).contains("0/0"), "{words}: {}", all(&output));
    }
}
