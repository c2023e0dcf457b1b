//! A live etcd is asked for no more than was wanted: limits, a pace, and Ctrl-C.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::etcd::Etcd;
use crate::ketcd::{flags, ketcd, run, stderr};
use crate::pki::Pki;
use crate::replay::{changes, write};

async fn filled(pki: &Pki) -> Etcd {
    let etcd = Etcd::mutual(pki).await;
    write(&mut etcd.writer().await, &changes("k120-story").await).await;
    etcd
}

fn interrupt(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_ends_at_once_with_what_was_found() {
    let pki = Pki::new();
    let etcd = filled(&pki).await;
    // Five of some hundred objects a second: only the beginning is there when the signal comes, however late that is.
    let slow = ["get", "events", "-A", "-o", "ndjson", "--page-size", "1", "--qps", "5"];
    for words in [&slow[..], &["watch", "pods", "-A", "--from-rev", "2", "-o", "ndjson"]] {
        let mut command = ketcd();
        let command = flags(&mut command, &etcd.endpoint(), &pki.ca(), &pki.client()).args(words);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let (mut line, mut rest, mut errors) = (String::new(), String::new(), String::new());
        out.read_line(&mut line).unwrap();
        let begun = Instant::now();
        interrupt(&child);
        out.read_to_string(&mut rest).unwrap();
        let status = child.wait().unwrap();
        child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        assert_eq!(status.code(), Some(130), "{words:?}: {errors}");
        assert!(begun.elapsed() < Duration::from_secs(2), "{words:?} took {:?}", begun.elapsed());
        assert!(errors.contains("interrupted: what was found by then is shown"), "{words:?}: {errors}");
        assert!(line.ends_with('\n') && (rest.is_empty() || rest.ends_with('\n')), "{words:?}: half a line: {rest}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_is_asked_for_than_is_wanted() {
    let pki = Pki::new();
    let etcd = filled(&pki).await;
    let ask = |words: &[&str]| {
        let mut command = ketcd();
        let output = run(flags(&mut command, &etcd.endpoint(), &pki.ca(), &pki.client()).args(words));
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let all = ask(&["ls", "pods", "-A", "-o", "name"]);
    let few = ask(&["ls", "pods", "-A", "-o", "name", "--limit", "3"]);
    assert_eq!(few.lines().collect::<Vec<_>>(), all.lines().take(3).collect::<Vec<_>>());
    assert_eq!(ask(&["ls", "--all", "-o", "name", "--limit", "5"]).lines().count(), 5);
    // Pages of one value each bring the same.
    let by_one = ask(&["get", "events", "-A", "-o", "ndjson", "--page-size", "1"]);
    assert_eq!(by_one, ask(&["get", "events", "-A", "-o", "ndjson"]));
    assert_eq!(by_one, ask(&["get", "events", "-A", "-o", "ndjson", "--consistency", "s"]));
    let begun = Instant::now();
    ask(&["status", "--qps", "10"]);
    assert!(begun.elapsed() > Duration::from_millis(500), "some ten requests took {:?}", begun.elapsed());
}
