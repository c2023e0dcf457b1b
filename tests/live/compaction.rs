//! Compactions while a command reads: what they take is a gap, and the command goes on behind it.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::etcd::{Etcd, EtcdRelease, RELEASES, Transport};
use crate::ketcd::{ketcd, run, stderr};
use crate::load::{compactor, config_map, writer};
use crate::watcher::Watching;

/// An etcd with `count` revisions, every 50th of which changes one ConfigMap.
async fn filled(release: EtcdRelease, count: usize) -> Etcd {
    let etcd = Etcd::start_with(release, Transport::Plain, &[]).await;
    let mut client = etcd.writer().await;
    for n in 0..count {
        let name = if n % 50 == 0 { "steady".to_owned() } else { format!("noise-{}", n % 7) };
        client.put(format!("/registry/configmaps/lab/{name}"), config_map(&name, n), None).await.unwrap();
    }
    etcd
}

/// Each command, and how often it is run.
const COMMANDS: [(&str, usize); 10] = [
    ("history configmap/lab/steady -o ndjson", 15),
    ("history configmap/lab/noise-3", 5),
    ("history configmaps -n lab -o ndjson", 5),
    ("history --all -o ndjson", 5),
    ("timeline configmap/lab/steady", 15),
    ("timeline -A", 5),
    ("blame configmap/lab/steady", 5),
    ("get configmap/lab/steady -o yaml", 5),
    ("ls configmaps -A", 5),
    ("status", 2),
];

/// Runs the commands while others write, and compact all but the newest `kept` revisions.
async fn commands_go_on(etcd: &Etcd, every: Duration, kept: i64) {
    let (writing, compacting) = (writer(etcd, Duration::from_millis(10)).await, compactor(etcd, every, kept).await);
    let mut failed = Vec::new();
    for (command, rounds) in COMMANDS {
        for round in 0..rounds {
            let output = run(ketcd().args(["--endpoints", &etcd.endpoint()]).args(command.split(' ')));
            let (stdout, stderr) = (String::from_utf8(output.stdout.clone()).unwrap(), stderr(&output));
            if output.status.code() != Some(0) || stdout.is_empty() || stderr.contains("error:") {
                failed.push(format!("{command}, run {round}: {:?} {stdout}{stderr}", output.status.code()));
            }
        }
    }
    assert!(writing.end().await > 100 && compacting.end().await > 10);
    assert!(failed.is_empty(), "{:?}, {} runs failed:\n{}", etcd.release, failed.len(), failed.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_goes_on_behind_compactions_on_the_default_release() {
    commands_go_on(&filled(EtcdRelease::Default, 600).await, Duration::from_millis(100), 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_goes_on_behind_compactions_on_3_5() {
    commands_go_on(&filled(EtcdRelease::V35, 600).await, Duration::from_millis(100), 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_goes_on_behind_compactions_on_3_7() {
    commands_go_on(&filled(EtcdRelease::V37, 600).await, Duration::from_millis(100), 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_goes_on_behind_compactions_of_a_long_history() {
    commands_go_on(&filled(EtcdRelease::V37, 6_500).await, Duration::from_secs(1), 6_000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_of_the_past_goes_on_behind_compactions() {
    for release in RELEASES {
        let etcd = filled(release, 600).await;
        let (writing, compacting) = (writer(&etcd, Duration::from_millis(10)).await, compactor(&etcd, Duration::from_millis(100), 5).await);
        for _ in 0..5 {
            let words = "watch configmaps -n lab --from-rev 2 -o ndjson";
            let watching = Watching::run(ketcd().args(["--endpoints", &etcd.endpoint()]).args(words.split(' ')));
            let mut next = 2;
            for _ in 0..40 {
                let line: Value = serde_json::from_str(&watching.line()).unwrap();
                let number = |member: &str| line[member].as_i64().unwrap_or_else(|| panic!("{line}"));
                if line["type"] == "GAP" {
                    assert_eq!(number("from"), next, "{line}");
                    next = number("to") + 1;
                } else {
                    assert_eq!(number("revision"), next, "{line}");
                    next += 1;
                }
            }
            watching.end();
        }
        assert!(writing.end().await > 100 && compacting.end().await > 10);
    }
}

/// A listing of several pages is of one revision, which a compaction may take before the last page.
async fn overtaken(release: EtcdRelease) {
    /// How long tables are read before the revision is gone: within their pages, with one request a second.
    const MIDST: Duration = Duration::from_millis(4_500);
    let etcd = Etcd::start_with(release, Transport::Plain, &[]).await;
    let mut client = etcd.writer().await;
    for n in 0..1_000 {
        let name = format!("map-{n:04}");
        client.put(format!("/registry/configmaps/lab/{name}"), config_map(&name, n), None).await.unwrap();
    }
    let begun = |words: &str| {
        let mut command = ketcd();
        command.args(["--endpoints", &etcd.endpoint(), "--page-size", "24Ki"]).args(words.split(' '));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let compactor = client.clone();
    let compact = async || {
        let mut client = compactor.clone();
        let newest = client.put("/registry/other", "{}", None).await.unwrap().header().unwrap().revision();
        client.compact(newest, None).await.unwrap();
    };
    // What is printed at the end is read again.
    for words in ["ls configmaps -A --qps 1", "get configmaps -A --sort-by .metadata.name -o json --qps 1", "ls --qps 1"] {
        let child = begun(words);
        tokio::time::sleep(MIDST).await;
        compact().await;
        let output = child.wait_with_output().unwrap();
        let (text, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(0), "{release:?} {words}: {said}");
        assert!(said.contains("a compaction took the revision that was listed: the newest is listed instead"), "{words}: {said}");
        let found = if words == "ls --qps 1" { usize::from(text.contains("1000")) * 1_000 } else { text.matches("map-").count() };
        assert!([1_000, 2_000].contains(&found), "{release:?} {words}: {found}\n{said}");
    }
    // What was printed stays the answer, and is said to be a part; so does what is asked for at a revision.
    for words in ["get configmaps -A -o ndjson --qps 2", "get configmaps -A -o name --sort-by .metadata.name --qps 1 --rev NEWEST"] {
        let newest = client.get("x", None).await.unwrap().header().unwrap().revision();
        let mut child = begun(&words.replace("NEWEST", &newest.to_string()));
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        if words.contains("ndjson") {
            out.read_line(&mut text).unwrap();
        } else {
            tokio::time::sleep(MIDST).await;
        }
        compact().await;
        out.read_to_string(&mut text).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{release:?} {words}: {said}");
        let found = text.lines().count();
        assert!((200..1_000).contains(&found), "{release:?} {words}: {found} {said}");
        assert!(said.contains(&format!("error: the listing is cut short after {found} objects")), "{release:?} {words}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_that_is_overtaken_is_read_again_or_said_to_be_cut_short() {
    overtaken(EtcdRelease::Default).await;
}
