//! `ketcd watch` while a capture is replayed: a diff for every change, through restarts of etcd and through a compaction.

use ketcd_store::Event;
use serde_json::Value;

use crate::etcd::{Etcd, EtcdRelease, Transport};
use crate::ketcd::{ketcd, run, start_watching};
use crate::pki::Pki;
use crate::replay::{changes, etcd_of, snapshot, write};
use crate::watcher::Watching;

/// An etcd that begins with these changes.
async fn mutual_of(pki: &Pki, changes: &[Event]) -> Etcd {
    etcd_of(changes, EtcdRelease::V35, Transport::Mutual(pki.server(), pki.ca())).await
}

/// The pod changes of a capture as `history` prints them from the file.
fn recorded(capture: &str) -> Vec<Value> {
    let output = run(ketcd().args(["history", "pods", "-A", "--objects", "-o", "ndjson", "-f", &snapshot(capture)]));
    String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn revision(change: &Value) -> i64 {
    change["revision"].as_i64().unwrap()
}

/// Compares the next line with the file's. Times differ: they are those of the replay.
fn expect(watching: &Watching, expected: &Value, members: &[&str]) {
    let line: Value = serde_json::from_str(&watching.line()).unwrap();
    for member in members {
        assert_eq!(line[member], expected[member], "{member} of revision {}", revision(expected));
    }
    assert_eq!(line["source"], "live");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_with_its_patch_through_restarts_and_a_gap_through_a_compaction() {
    let (pki, capture) = (Pki::new(), "k120-story");
    let (changes, recorded) = (changes(capture).await, recorded(capture));
    let at = |quarter: usize| revision(&recorded[recorded.len() * quarter / 4]);
    let between = |from: i64, to: i64| -> &[Event] {
        let place = |revision: i64| changes.partition_point(|change| change.revision.0 <= revision);
        &changes[place(from)..place(to)]
    };
    let first = revision(&recorded[0]);
    let mut etcd = mutual_of(&pki, between(1, first - 1)).await;
    let watching = start_watching(&etcd, &pki, &["watch", "pods", "-A", "-o", "ndjson", "--from-rev", &first.to_string()]);

    let initial: Value = serde_json::from_str(&watching.line()).unwrap();
    assert_eq!((&initial["type"], &initial["revision"]), (&"INITIAL".into(), &(first - 1).into()));
    assert_eq!((&initial["member"], &initial["key"]), (&etcd.endpoint().into(), &"/registry/pods/".into()));
    const CHANGE_MEMBERS: [&str; 6] = ["revision", "subRevision", "type", "key", "object", "patch"];
    let mut recorded = recorded.iter().peekable();
    write(&mut etcd.writer().await, between(first - 1, at(1))).await;
    while let Some(change) = recorded.next_if(|change| revision(change) <= at(1)) {
        expect(&watching, change, &CHANGE_MEMBERS);
    }
    etcd.stop();
    etcd.resume().await;
    write(&mut etcd.writer().await, between(at(1), at(2))).await;
    while let Some(change) = recorded.next_if(|change| revision(change) <= at(2)) {
        expect(&watching, change, &CHANGE_MEMBERS);
    }
    // What happens while etcd cannot be reached, and is compacted away before it can: a gap.
    etcd.stop();
    etcd.resume_in_hiding().await;
    let mut writer = etcd.writer().await;
    write(&mut writer, between(at(2), at(3))).await;
    writer.compact(at(3), None).await.unwrap();
    etcd.stop();
    etcd.resume().await;
    write(&mut etcd.writer().await, between(at(3), i64::MAX)).await;
    while recorded.next_if(|change| revision(change) < at(3)).is_some() {}
    let gap: Value = serde_json::from_str(&watching.line()).unwrap();
    assert_eq!(gap, serde_json::json!({"type": "GAP", "from": at(2) + 1, "to": at(3) - 1}));
    for change in recorded {
        expect(&watching, change, &CHANGE_MEMBERS[..5]);
    }
    let stderr = watching.end();
    assert_eq!(stderr.matches("were compacted away").count(), 1, "{stderr}");
    assert!(stderr.contains(&format!("revisions {} to {} were compacted away", at(2) + 1, at(3) - 1)), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_diff_for_every_event() {
    let (pki, capture) = (Pki::new(), "k120-story");
    let changes = changes(capture).await;
    let of_ubuntu = |change: &&Event| &change.key_value.key[..] == b"/registry/pods/lab/ubuntu";
    let revisions: Vec<i64> = changes.iter().filter(of_ubuntu).map(|change| change.revision.0).collect();
    let before = changes.partition_point(|change| change.revision.0 < revisions[0]);
    let behind = changes.partition_point(|change| change.revision.0 <= revisions[revisions.len() - 1]);
    let etcd = mutual_of(&pki, &changes[..before]).await;
    let watching = start_watching(&etcd, &pki, &["watch", "pod/lab/ubuntu", "--diff", "--from-rev", &revisions[0].to_string()]);
    write(&mut etcd.writer().await, &changes[before..behind]).await;

    let mut shown = String::new();
    while !shown.contains("status.podIP") {
        shown.push_str(&watching.line());
        shown.push('\n');
    }
    let position = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text:?} is not shown:\n{shown}"));
    let story = ["created", "spec.nodeName", "waiting: Cont", "Pending → Running", "10.244.2.2"];
    assert!(story.map(position).is_sorted(), "{shown}");
    assert!(shown.contains("node3") && shown.contains("kube-scheduler") && shown.contains("kubelet node3"), "{shown}");
    for revision in revisions {
        assert_eq!(shown.matches(&format!("r{revision} ")).count(), 1, "revision {revision}:\n{shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn get_watch_follows_with_a_row_for_every_change() {
    let (pki, capture) = (Pki::new(), "k120-story");
    let mut changes = changes(capture).await;
    // By then pods of the namespace were made, bound, changed and deleted.
    changes.retain(|change| change.revision.0 <= 900);
    let of_lab = |change: &&Event| change.key_value.key.starts_with(b"/registry/pods/lab/");
    let first = changes.iter().find(of_lab).unwrap().revision.0;
    let middle = changes.partition_point(|change| change.revision.0 <= first + 100);
    let etcd = mutual_of(&pki, &changes[..middle]).await;
    let at = (first + 100).to_string();
    let table = run(ketcd().args(["ls", "pods", "-n", "lab", "-f", &snapshot(capture), "--rev", &at, "-o", "name"]));
    let mut before: Vec<String> = String::from_utf8(table.stdout).unwrap().lines().map(str::to_owned).collect();
    assert!(before.len() > 1);
    let watching = start_watching(&etcd, &pki, &["get", "pods", "-n", "lab", "-w"]);
    assert!(watching.line().starts_with("NAME "));
    let name = |line: &str| format!("pod/{}", line.split_whitespace().next().unwrap());
    while !before.is_empty() {
        let line = watching.line();
        assert_eq!(name(&line), before.remove(0), "{line}");
    }
    write(&mut etcd.writer().await, &changes[middle..]).await;
    for change in changes[middle..].iter().filter(of_lab) {
        let key = String::from_utf8(change.key_value.key.to_vec()).unwrap();
        assert_eq!(name(&watching.line()), format!("pod/{}", key.rsplit('/').next().unwrap()), "revision {}", change.revision);
    }
    assert_eq!(watching.end(), "");
}
