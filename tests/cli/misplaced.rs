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

/// The value stored last below a prefix.
fn value_below<'e>(events: &'e [Event], prefix: &str) -> &'e [u8] {
    let event = events.iter().rev().find(|event| event.kind == EventKind::Put && event.key_value.key.starts_with(prefix.as_bytes()));
    &event.unwrap().key_value.value
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
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures/k120-story/snapshot.db.zst");
    let of_capture = events(&*load::open(&[capture.to_str().unwrap().to_owned()], &|_| None).unwrap());
    let (map, pod) = (value_below(&of_capture, "/registry/configmaps/"), value_below(&of_capture, "/registry/pods/"));
    let json = br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"odd","namespace":"lab"}}"#;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("odd.db");
    for (key, value, expected, found, address) in [
        ("/registry/pods/lab/odd", map, "Pod", "a ConfigMap", "pod/lab/odd"),
        ("/registry/pods/lab/odd", json, "Pod", "a ConfigMap", "pod/lab/odd"),
        ("/registry/minions/odd", pod, "Node", "a Pod", "node/odd"),
        ("/registry/deployments/lab/odd", map, "Deployment", "a ConfigMap", "deploy/lab/odd"),
        ("/registry/services/specs/lab/odd", pod, "Service", "a Pod", "svc/lab/odd"),
    ] {
        fs::write(&file, with(&[(key, value)])).unwrap();
        let wanted = format!("{key} at revision 1788 is broken: stored under the key of a {expected}, but it holds {found}");
        let resource = address.split('/').next().unwrap();
        let list = format!("{resource}s -A");
        let (list, address) = (list.replace("deploys", "deploy").replace("svcs", "svc"), address.to_owned());
        let mut words = vec![format!("ls {list}"), format!("get {list}"), format!("get {address} -o yaml"), format!("history {address}")];
        if resource == "pod" || resource == "node" {
            words.push("triage".to_owned());
        }
        for words in words {
            let output = ketcd().arg("-f").arg(&file).args(words.split(' ')).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{words}: {}", all(&output));
            assert!(String::from_utf8_lossy(&output.stderr).contains(&wanted), "{words}: {}", all(&output));
            assert!(!String::from_utf8_lossy(&output.stdout).contains("0/0"), "{words}: {}", all(&output));
        }
    }
}
