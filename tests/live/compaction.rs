//! Compactions while a command reads: what they take is a gap, and the command goes on behind it. A hand on the wire compacts before chosen calls.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use etcd_client::Client;
use ketcd_testing::on_each_release;
use ketcd_testing::proxy::{Passing, Proxy};
use ketcd_testing::snapshot::beginning;
use serde_json::Value;
use tokio::sync::Notify;

use crate::etcd::{Etcd, EtcdRelease, Transport};
use crate::ketcd::{ketcd, run, stderr};
use crate::load::{config_map, writer};
use crate::watcher::Watching;

/// Keys and values of `count` revisions, every 50th of which changes one ConfigMap.
fn config_maps(count: usize) -> impl Iterator<Item = (String, String)> {
    (0..count).map(|n| {
        let name = if n % 50 == 0 { "steady".to_owned() } else { format!("noise-{}", n % 7) };
        (format!("/registry/configmaps/lab/{name}"), config_map(&name, n))
    })
}

/// Writes `count` revisions; returns the newest.
async fn fill(client: &mut Client, count: usize) -> i64 {
    let mut newest = 0;
    for (key, value) in config_maps(count) {
        newest = client.put(key, value, None).await.unwrap().header().unwrap().revision();
    }
    newest
}

/// An etcd that begins with these keys and values, each in a revision of its own.
async fn etcd_with(config_maps: impl Iterator<Item = (String, String)>, release: EtcdRelease) -> Etcd {
    let config_maps: Vec<(String, String)> = config_maps.collect();
    let revisions = config_maps.iter().map(|(key, value)| vec![(key.as_bytes(), Some(value.as_bytes()))]);
    Etcd::start_on(&beginning(revisions), release, Transport::Plain).await
}

const LIVE_COMMANDS: [&str; 11] = [
    "history configmap/lab/steady -o ndjson",
    "history configmap/lab/noise-3",
    "history configmaps -n lab -o ndjson",
    "history --all -o ndjson",
    "grep steady -o ndjson",
    "timeline configmap/lab/steady",
    "timeline -A",
    "blame configmap/lab/steady",
    "get configmap/lab/steady -o yaml",
    "ls configmaps -A",
    "status",
];

/// In one more run, each fifth call is compacted before, ten times: without an end there is nothing to go on with, as what is oldest is gone before it can
/// be read.
const COMPACTED_EACH: usize = 5;

/// An etcd whose history is compacted under a command.
struct Compacted {
    etcd: Etcd,
    client: Client,
    /// How many revisions a compaction leaves.
    kept: i64,
    /// The revision that was compacted last.
    last: Arc<AtomicI64>,
}

impl Compacted {
    /// Runs a command, with a change and a compaction before each call that `is_met`. Returns what was wrong, and how many calls it made.
    fn run(&self, words: &str, is_met: impl Fn(usize) -> bool + Send + Sync + 'static) -> (Option<String>, usize) {
        let (client, kept, last) = (self.client.clone(), self.kept, Arc::clone(&self.last));
        let proxy = Proxy::start(self.etcd.endpoint(), move |passing| {
            let (mut client, last, is_met) = (client.clone(), Arc::clone(&last), is_met(passing.number));
            Box::pin(async move {
                if is_met {
                    let to = fill(&mut client, 1).await - kept;
                    if last.fetch_max(to, Ordering::SeqCst) < to {
                        client.compact(to, None).await.unwrap();
                    }
                }
            })
        });
        let output = run(ketcd().args(["--endpoints", proxy.endpoint()]).args(words.split(' ')));
        let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout).into_owned(), stderr(&output));
        let has_failed = output.status.code() != Some(0) || stdout.is_empty() || stderr.contains("error:");
        (has_failed.then(|| format!("{:?} {stdout}{stderr}", output.status.code())), proxy.methods().len())
    }
}

/// Runs each command with compactions before one of its calls, for as many of these as there are `moments`, and before each fifth; before each run there is a
/// history of `count` revisions.
async fn commands_go_on(release: EtcdRelease, commands: &[&str], (count, kept): (usize, i64), moments: usize) {
    let etcd = etcd_with(config_maps(kept as usize), release).await;
    let mut client = etcd.writer().await;
    let mut compacted = Compacted { client: client.clone(), etcd, kept, last: Arc::default() };
    let mut failed = Vec::new();
    for words in commands {
        fill(&mut client, count).await;
        let (wrong, calls) = compacted.run(words, |_| false);
        failed.extend(wrong.map(|wrong| format!("{words} alone: {wrong}")));
        let moments = (0..moments.min(calls)).map(|place| 1 + place * calls / moments.min(calls));
        for moment in moments {
            fill(&mut client, count).await;
            let (wrong, _) = compacted.run(words, move |number| number == moment);
            failed.extend(wrong.map(|wrong| format!("{words}, compacted before call {moment} of {calls}: {wrong}")));
        }
        fill(&mut client, count).await;
        let (wrong, _) = compacted.run(words, |number| number % COMPACTED_EACH == 0 && number <= 10 * COMPACTED_EACH);
        failed.extend(wrong.map(|wrong| format!("{words}, compacted before every {COMPACTED_EACH}th call: {wrong}")));
    }
    assert!(compacted.last.load(Ordering::SeqCst) > 0);
    compacted.etcd.stop();
    assert!(failed.is_empty(), "{release:?}, {} runs failed:\n{}", failed.len(), failed.join("\n"));
}

async fn every_command_goes_on_behind_compactions(release: EtcdRelease) {
    // More than a command makes calls: what is compacted before the second one can never be read.
    commands_go_on(release, &LIVE_COMMANDS, (60, 40), 2).await;
}

on_each_release!(every_command_goes_on_behind_compactions);

/// More revisions than are read whole.
const LONG_HISTORY: (usize, i64) = (60, 6_000);

#[tokio::test(flavor = "multi_thread")]
async fn commands_go_on_behind_compactions_of_a_long_history() {
    commands_go_on(EtcdRelease::V35, &["history configmap/lab/steady -o ndjson", "timeline -A", "status"], LONG_HISTORY, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_goes_on_behind_compactions_of_a_long_history_nightly() {
    commands_go_on(EtcdRelease::V35, &LIVE_COMMANDS, LONG_HISTORY, 6).await;
}

/// Each of the first watches that are opened finds that the revision it asks for was just compacted.
async fn a_watch_of_the_past_goes_on_behind_compactions(release: EtcdRelease) {
    const KEPT_REVISIONS: i64 = 5;
    let etcd = Etcd::start_with(release, Transport::Plain, &[]).await;
    let mut client = etcd.writer().await;
    // What one and two that are too late lead to, three lead through.
    for watches in [0, 3] {
        fill(&mut client, 200).await;
        let before = client.clone();
        let proxy = Proxy::start(etcd.endpoint(), move |passing| {
            let mut client = before.clone();
            Box::pin(async move {
                if passing.method == "Watch" && passing.of_method <= watches {
                    let newest = fill(&mut client, 20).await;
                    client.compact(newest - KEPT_REVISIONS, None).await.unwrap();
                }
            })
        });
        let words = "watch configmaps -n lab --from-rev 2 -o ndjson";
        let watching = Watching::run(ketcd().args(["--endpoints", proxy.endpoint()]).args(words.split(' ')));
        let writing = writer(&etcd).await;
        let (mut next, mut gaps) = (2, 0);
        for _ in 0..40 {
            let line: Value = serde_json::from_str(&watching.line()).unwrap();
            let number = |member: &str| line[member].as_i64().unwrap_or_else(|| panic!("{line}"));
            match line["type"].as_str() {
                Some("GAP") => {
                    assert_eq!(number("from"), next, "{line}");
                    (next, gaps) = (number("to") + 1, gaps + 1);
                }
                Some("INITIAL") => assert_eq!((number("revision"), next), (1, 2), "{line}"),
                _ => {
                    assert_eq!(number("revision"), next, "{line}");
                    next += 1;
                }
            }
        }
        writing.end().await;
        watching.end();
        // Gaps that meet are told as one.
        let opened = proxy.methods().iter().filter(|method| *method == "Watch").count();
        assert!(
            opened > watches && gaps >= watches.min(1),
            "{release:?}: {opened} watches and {gaps} gaps, of {watches} that were too late"
        );
    }
}

on_each_release!(a_watch_of_the_past_goes_on_behind_compactions);

/// Whether a page is the last one before which the listing's revision is compacted.
const OVERTAKEN_PAGE: usize = 3;

/// An etcd with a thousand ConfigMaps, whose listings of several pages lose their revision before the third page after the first.
struct Overtaking {
    etcd: Etcd,
    client: Client,
    /// Lets the compaction happen.
    may: Arc<Notify>,
}

impl Overtaking {
    async fn start() -> Self {
        let map = |n: usize| {
            let name = format!("map-{n:04}");
            (format!("/registry/configmaps/lab/{name}"), config_map(&name, n))
        };
        let etcd = etcd_with((0..1_000).map(map), EtcdRelease::V35).await;
        let client = etcd.writer().await;
        Self { etcd, client, may: Arc::default() }
    }

    fn proxy(&self) -> Proxy {
        let (client, may, pages) = (self.client.clone(), Arc::clone(&self.may), Arc::new(AtomicUsize::new(0)));
        Proxy::start(self.etcd.endpoint(), move |passing: Passing| {
            let (mut client, may) = (client.clone(), Arc::clone(&may));
            let is_met = passing.is_later_page() && pages.fetch_add(1, Ordering::SeqCst) + 1 == OVERTAKEN_PAGE;
            Box::pin(async move {
                if is_met {
                    may.notified().await;
                    let newest = client.put("/registry/other", "{}", None).await.unwrap().header().unwrap().revision();
                    client.compact(newest, None).await.unwrap();
                }
            })
        })
    }

    fn command(proxy: &Proxy, words: &str) -> Command {
        let mut command = ketcd();
        command.args(["--endpoints", proxy.endpoint(), "--page-size", "24Ki"]).args(words.split(' '));
        command
    }
}

/// A listing of several pages is of one revision, which a compaction may take before the last page. What is printed at the end is read again.
#[tokio::test(flavor = "multi_thread")]
async fn a_listing_that_is_overtaken_is_read_again() {
    let overtaking = Overtaking::start().await;
    for words in ["ls configmaps -A", "get configmaps -A --sort-by .metadata.name -o json", "ls"] {
        let proxy = overtaking.proxy();
        overtaking.may.notify_one();
        let output = run(&mut Overtaking::command(&proxy, words));
        let (text, said) = (String::from_utf8_lossy(&output.stdout).into_owned(), stderr(&output));
        assert_eq!(output.status.code(), Some(0), "{words}: {said}");
        assert!(said.contains("a compaction removed the revision being listed: listing the newest instead"), "{words}: {said}");
        let found = if words == "ls" { usize::from(text.contains("1000")) * 1_000 } else { text.matches("map-").count() };
        assert!([1_000, 2_000].contains(&found), "{words}: {found}\n{said}");
    }
}

/// What was printed stays the answer, and is said to be a part. Of what is asked for at a revision, and sorted, nothing was printed.
#[tokio::test(flavor = "multi_thread")]
async fn a_listing_that_is_overtaken_is_said_to_be_cut_short() {
    let mut overtaking = Overtaking::start().await;
    for words in ["get configmaps -A -o ndjson", "get configmaps -A -o name --sort-by .metadata.name --rev NEWEST"] {
        let newest = overtaking.client.get("x", None).await.unwrap().header().unwrap().revision();
        let proxy = overtaking.proxy();
        let mut command = Overtaking::command(&proxy, &words.replace("NEWEST", &newest.to_string()));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        if words.contains("ndjson") {
            out.read_line(&mut text).unwrap();
        }
        overtaking.may.notify_one();
        out.read_to_string(&mut text).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{words}: {said}");
        let found = text.lines().count();
        if words.contains("ndjson") {
            assert!((200..1_000).contains(&found), "{words}: {found} {said}");
            assert!(said.contains(&format!("error: the listing is cut short after {found} objects")), "{words}: {said}");
        } else {
            assert!(found == 0 && said.contains(&format!("error: revision {newest} was compacted away")), "{words}: {found} {said}");
        }
    }
}
