//! `ketcd what-if`: what it prints, its exit codes, and what it refuses.

use std::process::Output;

use ketcd_testing::testdata;

use crate::ketcd::{all, ketcd};

fn run(revision: &str, words: &str) -> Output {
    let file = testdata::path("captures/k137-whatif/snapshot.db.zst");
    ketcd().arg("-f").arg(file).args(["--rev", revision, "what-if"]).args(words.split_whitespace()).output().unwrap()
}

/// What it prints, with its exit code.
#[track_caller]
fn text(revision: &str, words: &str, code: i32) -> String {
    let output = run(revision, words);
    assert_eq!(output.status.code(), Some(code), "{words}: {}", all(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_drain_shows_each_pod_and_what_holds_one_back() {
    let printed = text("1172", "--drain w03", 1);
    for part in [
        "evicted",
        "pod/shop/app-00-65bd5c6d46-p8sdk",
        "scheduled",
        "Cannot evict pod as it would violate the pod's disruption budget.",
        "budget app-04",
        "4 evicted, 1 blocked, 4 created, 4 scheduled",
    ] {
        assert!(printed.contains(part), "{part:?} is missing: {printed}");
    }
    assert!(text("3140", "--drain w01", 0).contains("2 evicted, 2 created, 2 scheduled"));
}

#[test]
fn actions_are_done_in_the_order_given() {
    let waits = |words: &str| run("1453", words).status.code();
    assert_eq!(waits("--drain w09"), Some(1));
    assert_eq!(waits("--drain w09 --uncordon w09"), Some(0));
    assert_eq!(waits("--uncordon w09 --drain w09"), Some(1));
}

#[test]
fn how_many_more_fit() {
    let printed = text("3082", "--fit deploy/shop/fit-10", 0);
    assert!(printed.contains("1 more fits") && printed.contains("0/16 nodes are available: 16 node(s) didn't match pod"), "{printed}");
    assert!(text("4087", "--fit deploy/shop/fit-22", 1).contains("0 more fit"));
}

#[test]
fn questions_about_every_node() {
    let printed = text("3140", "--each zone", 1);
    assert!(["z1", "z2", "z3"].iter().all(|zone| printed.contains(zone)) && printed.contains("find no place"), "{printed}");
    let printed = text("3140", "--spare", 0);
    assert!(printed.contains("could be drained, one after the other: "), "{printed}");
    let printed = text("1453", "--drain w09 --seeds 4", 1);
    assert!(printed.contains("pending in 4 of 4: shop/app-12") && printed.contains("placed in 4 of 4: shop/app-01"), "{printed}");
}

#[test]
fn what_cannot_be_is_refused() {
    for (words, wanted) in [
        ("", "nothing to do was named"),
        ("--drain w99", "node w99 does not exist"),
        ("--scale deploy/shop/app-00", "invalid --scale \"deploy/shop/app-00\": expected ADDRESS=N"),
        ("--scale pod/shop/app-00=2", "does not exist"),
        ("--taint w01=a", "invalid --taint \"w01=a\": expected NODE=KEY[=VALUE]:EFFECT"),
        ("--label w01", "invalid --label \"w01\": expected NODE:KEY=VALUE or NODE:KEY-"),
        ("--delete pods", "does not name one object"),
        ("--fail zone=nowhere", "no node has the label zone=nowhere"),
        ("--each rack", "no node has the label rack"),
        ("--restart node/w01", "a Node cannot be restarted"),
    ] {
        let output = run("3140", words);
        assert_eq!(output.status.code(), Some(2), "{words}: {}", all(&output));
        assert!(all(&output).contains(wanted), "{words}: {}", all(&output));
    }
}
