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
fn actions_may_be_words_and_lists_of_nodes() {
    let answer = |words: &str| {
        let output = run("1453", &format!("{words} -o json"));
        assert_eq!(output.status.code(), Some(1), "{words}: {}", all(&output));
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        answer["events"].clone()
    };
    let drained = answer("--drain w09");
    for words in ["drain w09", "--drain node/w09", "drain nodes/w09"] {
        assert_eq!(answer(words), drained, "{words}");
    }
    let both = answer("--drain w09 --drain w03");
    for words in ["--drain w09,w03", "drain w09 w03", "drain w09 --drain w03", "drain w09,node/w03"] {
        assert_eq!(answer(words), both, "{words}");
    }
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
        ("--drain w01,w99", "the nodes are w00, w01, w02"),
        ("--drain w01,", "invalid --drain \"w01,\": expected NODE or NODE,NODE"),
        ("drain", "write --drain NODE"),
        ("cordon drain w01", "write --cordon NODE"),
        ("w01", "\"w01\" is not an action of what-if"),
        ("fit deploy/shop/app-00", "write --fit"),
    ] {
        let output = run("3140", words);
        assert_eq!(output.status.code(), Some(2), "{words}: {}", all(&output));
        assert!(all(&output).contains(wanted), "{words}: {}", all(&output));
    }
}
