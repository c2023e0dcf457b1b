//! Lists that are longer than what is read at once, page by page.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use super::client::Client;

/// More objects than a first page reads, and than the pages behind it.
const OBJECTS: usize = 6_500;

/// The arguments of the call that goes on.
fn next_call(blocks: &[String]) -> Option<Value> {
    let rest = blocks.iter().find_map(|block| block.strip_prefix("Cut here. It goes on with "))?;
    let call: Value = serde_json::Deserializer::from_str(rest).into_iter().next()?.ok()?;
    Some(call["arguments"].clone())
}

#[test]
fn a_long_list_is_counted_and_read_to_its_end() {
    let object = |number: usize| {
        let metadata = json!({"name": format!("cm-{number:05}"), "namespace": "lab", "uid": number.to_string(), "creationTimestamp": "2026-11-20T22:00:00Z"});
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    };
    let items: Vec<Value> = (0..OBJECTS).map(object).collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("objects.json");
    fs::write(&file, json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()).unwrap();
    let mut client = Client::begun(&file);
    let (mut arguments, mut names, mut calls) = (json!({"address": "configmaps"}), BTreeSet::new(), 0);
    loop {
        let (blocks, is_refused) = client.call("get", arguments.clone());
        assert!(!is_refused, "{blocks:?}");
        calls += 1;
        if calls == 1 {
            assert!(blocks[0].starts_with(&format!("{OBJECTS} objects; lines 1 to ")), "{}", blocks[0]);
        }
        let rows: Vec<&str> = blocks[1].lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with("cm-"))).collect();
        assert!(!rows.is_empty() && rows.iter().all(|name| names.insert((*name).to_owned())), "{arguments}: {}", blocks[1]);
        let Some(next) = next_call(&blocks) else { break };
        arguments = next;
    }
    assert_eq!(names.len(), OBJECTS);
    assert!(calls > 5, "{calls}");
    for skip in [0, 5_000] {
        let (blocks, _) = client.call("get", json!({"address": "configmaps", "format": "json", "skip": skip}));
        assert!(blocks[0].starts_with(&format!("{OBJECTS} items of `items`, {} to ", skip + 1)), "{}", blocks[0]);
        let document: Value = serde_json::from_str(&blocks[1]).unwrap();
        assert_eq!(document["items"][0]["metadata"]["name"], format!("cm-{skip:05}"));
    }
    let (blocks, is_refused) = client.call("timeline", json!({"address": "configmaps"}));
    assert!(
        is_refused && blocks[1].contains(&format!("the timeline of {OBJECTS} objects")) && blocks[1].contains("`around`"),
        "{blocks:?}"
    );
    let one = client.told("get", json!({"address": "configmap/lab/cm-00042"}));
    assert!(one.starts_with("2 lines, 1 to 2 follow."), "{one}");
}
