//! `ketcd what-if`: the order of its flags, its exit codes, and what it refuses.

use std::process::Output;

use ketcd_testing::testdata;

use crate::ketcd::{all, ketcd};

fn run(revision: &str, words: &str) -> Output {
    let file = testdata::path("captures/k137-whatif/snapshot.db.zst");
    ketcd().arg("-f").arg(file).args(["--rev", revision, "what-if"]).args(words.split_whitespace()).output().unwrap()
}

#[test]
fn actions_are_done_in_the_order_given() {
    let waits = |words: &str| run("1453", words).status.code();
    assert_eq!(waits("--drain w09"), Some(1));
    assert_eq!(waits("--drain w09 --uncordon w09"), Some(0));
    assert_eq!(waits("--uncordon w09 --drain w09"), Some(1));
}

#[test]
fn exit_codes_say_whether_pods_find_a_place() {
    let fits = |revision: &str, words: &str| run(revision, words).status.code();
    assert_eq!(fits("3082", "--fit deploy/shop/fit-10"), Some(0));
    assert_eq!(fits("4087", "--fit deploy/shop/fit-22"), Some(1));
}

#[test]
fn what_cannot_be_is_refused() {
    for (words, wanted) in [
        ("", "nothing to do was named"),
        ("--scale deploy/shop/app-00", "invalid --scale \"deploy/shop/app-00\": expected ADDRESS=N"),
        ("--drain w99", "node w99 does not exist"),
    ] {
        let output = run("3140", words);
        assert_eq!(output.status.code(), Some(2), "{words}: {}", all(&output));
        assert!(all(&output).contains(wanted), "{words}: {}", all(&output));
    }
}
