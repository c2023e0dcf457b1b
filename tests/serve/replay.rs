//! `--replay`: time passes, and watches see what happens when it happens.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::ketcd::ketcd;
use crate::server::{Server, capture};

const STORY: &str = "k136-story/snapshot.db.zst";

/// The changes of pods, each with when it was made.
fn recorded() -> Vec<(i64, Timestamp)> {
    let output = ketcd().arg("-f").arg(capture(STORY)).args(["history", "pods", "-A", "-o", "ndjson"]).output().unwrap();
    let changes = String::from_utf8(output.stdout).unwrap();
    let changes = changes.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    changes.map(|change| (change["revision"].as_i64().unwrap(), change["time"].as_str().unwrap().parse().unwrap())).collect()
}

fn revision(object: &Value) -> i64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

/// Each change of the next seconds comes once, in order, when it is due: never before, and hardly after, as far as a busy machine lets it.
#[test]
fn a_watch_sees_each_change_when_it_is_due() {
    const SPEED: i32 = 20;
    const SLACK: Duration = Duration::from_secs(2);
    // Read before the clock runs, which takes a while.
    let recorded = recorded();
    let server = Server::start_with(STORY, &["--rev", "900"], &["--replay", "20x"]);
    let list = server.found("/api/v1/pods");
    let from = revision(&list);
    let mut wanted = recorded.into_iter().filter(|(revision, _)| *revision > from);
    let (frames, mut seen) = (server.watch(&format!("/api/v1/pods?watch=true&resourceVersion={from}&timeoutSeconds=8")), 0);
    let mut first = None;
    for (arrived, frame) in frames {
        let (revision, made) = (revision(&frame["object"]), wanted.next().expect("no more changes than there were"));
        assert_eq!(revision, made.0, "{frame}");
        let (first_arrived, first_made) = *first.get_or_insert((arrived, made.1));
        let due = Duration::try_from(made.1.duration_since(first_made)).unwrap() / SPEED as u32;
        let since = arrived.duration_since(first_arrived);
        // The first one may have come late by as much.
        assert!(since + SLACK >= due && since <= due + SLACK, "r{revision} came after {since:?}, due at {due:?}");
        seen += 1;
    }
    assert!(seen > 20, "only {seen} changes");
    // What a list shows by then is what the watch brought.
    let after = revision(&server.found("/api/v1/pods"));
    assert!(after >= from + seen);
}

/// The moment asked for moves on; the others stay what they are. At the end nothing happens any more.
#[test]
fn the_clock_runs_to_the_end_and_stops() {
    let server = Server::start_with(STORY, &["--rev", "2500"], &["--replay", "1000000x"]);
    let newest = server.found("/newest/api/v1/pods");
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while revision(&server.found("/api/v1/pods")) < revision(&newest) {
        assert!(std::time::Instant::now() < deadline);
    }
    let names = |list: &Value| -> BTreeMap<String, i64> {
        list["items"].as_array().unwrap().iter().map(|pod| (pod["metadata"]["uid"].as_str().unwrap().to_owned(), revision(pod))).collect()
    };
    assert_eq!(names(&server.found("/api/v1/pods")), names(&newest));
    assert_eq!(revision(&server.found("/rev/2500/api/v1/pods")), 2500);
    let last = revision(&newest);
    assert_eq!(server.watch(&format!("/api/v1/pods?watch=true&resourceVersion={last}&timeoutSeconds=1")).count(), 0);
}

#[test]
fn speeds_and_sources_that_cannot_be_replayed_are_refused() {
    let run = |arguments: &[&str]| {
        let output = ketcd().args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let file = capture(STORY);
    for speed in ["0x", "-1x", "fast", "NaN", "infx", ""] {
        let (code, text) = run(&["-f", file.to_str().unwrap(), "serve", &format!("--replay={speed}"), "--", "true"]);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains("how many times as fast"), "{speed}: {text}");
    }
    let (code, text) = run(&["--endpoints", "127.0.0.1:1", "serve", "--replay", "2x", "--", "true"]);
    assert_eq!(code, Some(2));
    assert!(text.contains("--replay plays what a file holds"), "{text}");
}
