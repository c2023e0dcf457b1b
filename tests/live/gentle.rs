//! A live etcd is asked for no more than was wanted: limits, a pace, and Ctrl-C.

use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use ketcd_cluster::grep::{GrepQuestion, MAX_HELD_BYTES, Pattern, Place, Search, SearchLeftOut};
use ketcd_cluster::{Cluster, Options};
use ketcd_store::etcd::EtcdConfig;
use ketcd_testing::proxy::Proxy;
use rustix::process::{Pid, Signal, kill_process};

use tokio::sync::Notify;

use crate::etcd::{Etcd, EtcdRelease, Transport};
use crate::ketcd::{ketcd, open, patient, run, stderr};
use crate::replay::{changes, etcd_of};

async fn filled() -> Etcd {
    etcd_of(&changes("k120-story").await, EtcdRelease::V35, Transport::Plain).await
}

fn interrupt(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}

/// A page is asked for and never comes, or a watch waits for what happens next.
#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_ends_at_once_with_what_was_found() {
    let etcd = filled().await;
    let held = Arc::new(Notify::new());
    let holding = Arc::clone(&held);
    let proxy = Proxy::start(etcd.endpoint(), move |passing| {
        let held = Arc::clone(&holding);
        Box::pin(async move {
            if passing.is_later_page() && passing.of_method > 20 {
                held.notify_one();
                std::future::pending().await
            }
        })
    });
    for words in ["get events -A -o ndjson --page-size 1", "watch pods -A --from-rev 2 -o ndjson"] {
        let mut command = ketcd();
        command.args(["--endpoints", proxy.endpoint()]).args(words.split(' '));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let (mut line, mut errors) = (String::new(), String::new());
        out.read_line(&mut line).unwrap();
        // A pipe that is full would be waited for, and no further page asked for.
        let rest = thread::spawn(move || io::read_to_string(out).unwrap());
        if words.starts_with("get") {
            held.notified().await;
        }
        interrupt(&child);
        let rest = rest.join().unwrap();
        let status = child.wait().unwrap();
        child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        assert_eq!(status.code(), Some(130), "{words}: {errors}");
        assert!(errors.contains("interrupted: showing what was found so far"), "{words}: {errors}");
        assert!(line.ends_with('\n') && (rest.is_empty() || rest.ends_with('\n')), "{words}: half a line: {rest}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_is_asked_for_than_is_wanted() {
    let etcd = filled().await;
    let proxy = Proxy::counting(etcd.endpoint());
    let ask = |words: &str| {
        let output = run(ketcd().args(["--endpoints", proxy.endpoint()]).args(words.split(' ')));
        assert!(output.status.success(), "{words}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let all = ask("ls pods -A -o name");
    let few = ask("ls pods -A -o name --limit 3");
    assert_eq!(few.lines().collect::<Vec<_>>(), all.lines().take(3).collect::<Vec<_>>());
    assert_eq!(ask("ls --all -o name --limit 5").lines().count(), 5);
    // Pages of one value each bring the same.
    let by_one = ask("get events -A -o ndjson --page-size 1");
    assert_eq!(by_one, ask("get events -A -o ndjson"));
    assert_eq!(by_one, ask("get events -A -o ndjson --consistency s"));
    let (before, begun) = (proxy.methods().len(), Instant::now());
    ask("status --qps 10");
    let (took, asked) = (begun.elapsed(), proxy.methods().len() - before);
    assert!(asked > 5 && took >= Duration::from_millis(100) * (asked as u32 - 1), "{asked} requests took {took:?}");
}

/// Beyond the pass there are the release, the prefix, and a few requests for the revisions that are there.
#[tokio::test(flavor = "multi_thread")]
async fn a_short_history_is_read_once() {
    const MAX_RANGES: usize = 20;
    let etcd = filled().await;
    let proxy = Proxy::counting(etcd.endpoint());
    for words in ["explain pod/lab/spread-5", "timeline pod/lab/urgent", "triage", "grep node3"] {
        let before = proxy.methods().len();
        let output = run(ketcd().args(["--endpoints", proxy.endpoint()]).args(words.split(' ')));
        assert!(matches!(output.status.code(), Some(0 | 1)), "{words}: {}", stderr(&output));
        let asked = proxy.methods().split_off(before);
        let of = |method: &str| asked.iter().filter(|asked| *asked == method).count();
        assert!(of("Watch") == 1 && of("Range") + of("RangeStream") <= MAX_RANGES, "{words}: {asked:?}");
    }
}

/// A search of a live etcd reads its history once: what it finds beyond what may be held is named, and left out.
#[tokio::test(flavor = "multi_thread")]
async fn a_search_leaves_out_what_it_cannot_hold() {
    let etcd = filled().await;
    let search = |max_held_bytes: usize| {
        let config = EtcdConfig { endpoints: vec![etcd.endpoint()], ..patient() };
        async move {
            let cluster = Cluster::open(Box::new(open(config)), Options::default()).await.unwrap();
            let search = Search { pattern: Pattern::new("e", false, false).unwrap(), places: Place::USUAL.to_vec() };
            let question = GrepQuestion { search, words: &[], with_changes: true, max_held_bytes };
            let mut found = cluster.grep(question).await.unwrap();
            let mut objects = Vec::new();
            while let Some(object) = found.next().await.unwrap() {
                objects.push((object.key.clone(), object.spans.len()));
            }
            (objects, found.left_out().to_vec())
        }
    };
    let (all, nothing) = search(MAX_HELD_BYTES).await;
    assert!(nothing.is_empty(), "{nothing:?}");
    let (some, left_out) = search(1 << 20).await;
    let [SearchLeftOut::Keys { from }] = &left_out[..] else { panic!("{left_out:?}") };
    let before: Vec<_> = all.iter().filter(|(key, _)| key < from).cloned().collect();
    assert!(!some.is_empty() && some.len() < all.len());
    assert_eq!(some, before);
}
