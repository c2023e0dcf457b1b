//! Watches: a list and what a watch brings after it are the list at the end.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::server::{Server, name};

const JSON_ACCEPT: &str = "application/json";
const STORY_CAPTURE: &str = "k136-story/snapshot.db.zst";

/// Objects without what items of lists lack, by name.
fn by_name(items: impl IntoIterator<Item = Value>) -> BTreeMap<String, Value> {
    let bare = |mut item: Value| {
        let members = item.as_object_mut().unwrap();
        members.remove("kind");
        members.remove("apiVersion");
        (name(&item), item)
    };
    items.into_iter().map(bare).collect()
}

/// Applies frames to a store as an informer does, and holds each against what the store has.
fn apply(store: &mut BTreeMap<String, Value>, frames: Vec<Value>) -> usize {
    let mut last = 0;
    let count = frames.len();
    for frame in frames {
        let object = frame["object"].clone();
        let revision: i64 = object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
        assert!(revision >= last, "{revision} after {last}");
        last = revision;
        let (key, object) = by_name([object]).pop_first().unwrap();
        match frame["type"].as_str().unwrap() {
            "ADDED" => assert!(store.insert(key.clone(), object).is_none(), "{key} was there"),
            "MODIFIED" => assert!(store.insert(key.clone(), object).is_some(), "{key} was not there"),
            "DELETED" => assert!(store.remove(&key).is_some(), "{key} was not there"),
            other => panic!("{other}"),
        }
    }
    count
}

#[test]
fn a_list_and_its_watch_are_the_list_at_the_end() {
    const LISTED_REVISIONS: [i64; 2] = [50, 1_700];
    let server = Server::start(STORY_CAPTURE, &[]);
    for revision in LISTED_REVISIONS {
        let list = server.found(&format!("/api/v1/pods?resourceVersion={revision}&resourceVersionMatch=Exact"));
        assert_eq!(list["metadata"]["resourceVersion"], revision.to_string());
    }
    for (path, query) in [
        ("/api/v1/pods", ""),
        ("/api/v1/namespaces/lab/pods", "&labelSelector=app"),
        ("/api/v1/pods", "&fieldSelector=status.phase%3DRunning"),
        ("/api/v1/pods", "&fieldSelector=spec.nodeName%3Dnode2"),
        ("/apis/events.k8s.io/v1/events", ""),
        ("/apis/apps/v1/replicasets", ""),
        ("/apis/autoscaling/v1/horizontalpodautoscalers", ""),
        ("/apis/example.com/v1beta1/gadgets", ""),
        ("/api/v1/nodes", "&fieldSelector=metadata.name%3Dnode1"),
    ] {
        let (mut changes, end) = (0, by_name(server.items(&format!("{path}?{}", query.trim_start_matches('&')))));
        for revision in LISTED_REVISIONS {
            // Definitions are those of the server's moment, so custom resources have lists of any revision.
            let mut store = by_name(server.items(&format!("{path}?resourceVersion={revision}&resourceVersionMatch=Exact{query}")));
            changes += apply(&mut store, server.changes(&format!("{path}?watch=true&resourceVersion={revision}{query}"), JSON_ACCEPT));
            assert_eq!(store, end, "{path} {query} from {revision}");
        }
        assert!(changes > 0, "{path} {query} shows nothing");
    }
}

#[test]
fn a_watch_says_that_the_moment_looked_at_is_reached() {
    let server = Server::start(STORY_CAPTURE, &["--rev", "1700"]);
    let mut changes = 0;
    for frame in server.watch("/api/v1/pods?watch=true&resourceVersion=1600&allowWatchBookmarks=true", JSON_ACCEPT) {
        let revision: i64 = frame["object"]["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
        if frame["type"] == "BOOKMARK" {
            assert_eq!(revision, 1700);
            break;
        }
        assert!((1601..=1700).contains(&revision), "{frame}");
        changes += 1;
    }
    assert!(changes > 0);
}

/// However long a watch is asked for, it begins.
#[test]
fn a_watch_may_be_asked_for_without_end() {
    let server = Server::start(STORY_CAPTURE, &[]);
    for seconds in ["9223372036854775807", "18446744073709551615", "9223372036", "315576000000"] {
        let path = format!("/api/v1/pods?watch=true&resourceVersion=1000&timeoutSeconds={seconds}");
        assert_eq!(server.watch(&path, JSON_ACCEPT).next().unwrap()["object"]["kind"], "Pod", "{seconds}");
    }
    let (code, status) = server.get("/api/v1/pods?watch=true&timeoutSeconds=18446744073709551616");
    assert_eq!((code, &status["reason"]), (400, &json!("BadRequest")));
}

#[test]
fn initial_events_are_the_list_and_end_with_a_bookmark() {
    let server = Server::start(STORY_CAPTURE, &[]);
    let list = by_name(server.items("/api/v1/pods"));
    // Without a revision the objects come first too, without a mark.
    for (options, mark) in [("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", json!("true")), ("", Value::Null)] {
        let mut frames = server.watch(&format!("/api/v1/pods?watch=true&allowWatchBookmarks=true{options}"), JSON_ACCEPT);
        let mut objects = Vec::new();
        let bookmark = loop {
            let frame = frames.next().unwrap();
            match frame["type"].as_str() {
                Some("ADDED") => objects.push(frame["object"].clone()),
                _ => break frame,
            }
        };
        assert_eq!(by_name(objects), list, "{options}");
        assert_eq!(
            (&bookmark["type"], &bookmark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"]),
            (&json!("BOOKMARK"), &mark)
        );
    }
}

#[test]
fn what_cannot_be_watched_is_an_error_in_the_stream() {
    let server = Server::start("k136-story/compacted.db.zst", &[]);
    let only = |path: &str| {
        let frames: Vec<Value> = server.watch(path, JSON_ACCEPT).collect();
        assert_eq!(frames.len(), 1, "{frames:?}");
        assert_eq!(frames[0]["type"], "ERROR");
        frames[0]["object"].clone()
    };
    let expired = only("/api/v1/pods?watch=true&resourceVersion=100");
    assert_eq!((&expired["code"], &expired["reason"]), (&json!(410), &json!("Expired")));
    assert_eq!(expired["message"], "too old resource version: 100 (1920)");
    assert_eq!(only("/api/v1/pods?watch=true&resourceVersion=99999")["code"], 504);
}

#[test]
fn tables_are_watched_row_by_row() {
    let server = Server::start(STORY_CAPTURE, &[]);
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let frames = server.changes("/api/v1/namespaces/web/pods?watch=true&resourceVersion=1000", table);
    assert!(frames.len() > 1);
    for (index, frame) in frames.iter().enumerate() {
        let object = &frame["object"];
        assert_eq!((&object["kind"], object["rows"].as_array().unwrap().len()), (&json!("Table"), 1));
        assert_eq!(object["columnDefinitions"].is_array(), index == 0);
        assert_eq!(object["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    }
}
