//! `--at -30m` and `timeline --around -40m` on a live etcd count from now, however long ago the last write was.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::etcd::{Etcd, Transport};
use crate::ketcd::{ketcd, run, stderr};

/// A namespace that was created so many minutes ago.
fn namespace(name: &str, minutes: i64) -> String {
    let created = Timestamp::now().checked_sub(SignedDuration::from_mins(minutes)).unwrap().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let metadata = json!({"name": name, "uid": name, "creationTimestamp": created});
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata, "status": {"phase": "Active"}}).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_before_now_is_not_one_before_the_last_write() {
    let etcd = Etcd::start(Transport::Plain).await;
    let mut writer = etcd.writer().await;
    for (name, minutes) in [("first", 60), ("second", 40), ("third", 20)] {
        writer.put(format!("/registry/namespaces/{name}"), namespace(name, minutes), None).await.unwrap();
    }
    let shown = |arguments: &[&str]| {
        let output = run(ketcd().args(["--endpoints", &etcd.endpoint()]).args(arguments));
        (String::from_utf8(output.stdout.clone()).unwrap(), stderr(&output), output.status.code())
    };
    for (at, names) in [("-50m", "first"), ("-30m", "first second"), ("-10m", "first second third")] {
        let (found, message, _) = shown(&["ls", "namespaces", "--no-headers", "--at", at]);
        let lines: Vec<Vec<&str>> = found.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines.iter().map(|line| line[0]).collect::<Vec<_>>().join(" "), names, "{at}: {message}");
    }
    // Ages count to that time too.
    let (found, ..) = shown(&["ls", "namespaces", "--no-headers", "--at", "-30m"]);
    assert!(found.lines().next().unwrap().trim_end().ends_with(" 30m"), "{found}");
    let (_, message, code) = shown(&["ls", "namespaces", "--at", "-2h"]);
    assert!(message.contains("is before the readable history") && code == Some(2), "{message}");
    let (found, message, _) = shown(&["timeline", "--around", "-40m", "--window", "5m"]);
    assert!(found.contains("second") && !found.contains("first") && !found.contains("third"), "{found}{message}");

    // The same data in a file: its newest revision is what times count from.
    let path = etcd.db();
    let path = path.to_str().unwrap();
    let output = run(ketcd().args(["-f", path, "ls", "namespaces", "--no-headers", "--at", "-30m", "-o", "name"]));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "namespace/first\n");
}
