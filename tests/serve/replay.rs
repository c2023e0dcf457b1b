//! `--replay`: time passes. When watches see what, the tests of `ketcd-serve` hold.

use std::collections::BTreeMap;

use ketcd_testing::wait::until;
use serde_json::Value;

use crate::ketcd::ketcd;
use crate::server::{Server, capture};

const STORY_CAPTURE: &str = "k136-story/snapshot.db.zst";

fn revision(object: &Value) -> i64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

/// The moment asked for moves on; the others stay what they are. At the end nothing happens any more.
#[test]
fn the_clock_runs_to_the_end_and_stops() {
    let server = Server::start_with(STORY_CAPTURE, &["--rev", "2500"], &["--replay", "1000000x"]);
    let newest = server.found("/newest/api/v1/pods");
    until(|| (revision(&server.found("/api/v1/pods")) == revision(&newest)).then_some(()));
    let names = |list: &Value| -> BTreeMap<String, i64> {
        list["items"].as_array().unwrap().iter().map(|pod| (pod["metadata"]["uid"].as_str().unwrap().to_owned(), revision(pod))).collect()
    };
    assert_eq!(names(&server.found("/api/v1/pods")), names(&newest));
    assert_eq!(revision(&server.found("/rev/2500/api/v1/pods")), 2500);
    let last = revision(&newest);
    assert!(server.changes(&format!("/api/v1/pods?watch=true&resourceVersion={last}"), "application/json").is_empty());
}

#[test]
fn speeds_and_sources_that_cannot_be_replayed_are_refused() {
    let run = |arguments: &[&str]| {
        let output = ketcd().args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let file = capture(STORY_CAPTURE);
    for speed in ["0x", "-1x", "fast", "NaN", "infx", ""] {
        let (code, text) = run(&["-f", file.to_str().unwrap(), "serve", &format!("--replay={speed}"), "--", "true"]);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains("how many times as fast"), "{speed}: {text}");
    }
    let (code, text) = run(&["--endpoints", "127.0.0.1:1", "serve", "--replay", "2x", "--", "true"]);
    assert_eq!(code, Some(2));
    assert!(text.contains("--replay replays a file"), "{text}");
}
