//! `ketcd what-if`: the order of its flags, its exit codes, and what it refuses.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::process::{Output, Stdio};

use ketcd_testing::{temporary, testdata};
use serde_json::json;

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

/// A socket of messages keeps what is written at once apart from what is written later: each node is written when it is decided, and the rest at the end.
#[test]
fn each_node_is_written_when_it_is_decided() {
    const END_MARK: &[u8] = b"the command has ended";
    let node = |name: &str| {
        let allocatable = json!({"cpu": "4", "memory": "8Gi", "pods": "10"});
        let status = json!({"allocatable": allocatable, "nodeInfo": {"kubeletVersion": "v1.34.1"}, "conditions": [{"type": "Ready", "status": "True"}]});
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status})
    };
    let objects = json!({"apiVersion": "v1", "kind": "List", "items": [node("n1"), node("n2"), node("n3")]});
    let objects = temporary::file(objects.to_string());
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    let mut command = ketcd();
    command.arg("-f").arg(objects.path()).args(["what-if", "--spare"]);
    command.stdin(Stdio::null()).stdout(OwnedFd::from(theirs.try_clone().unwrap())).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let ended = std::thread::spawn(move || {
        let status = child.wait().unwrap();
        theirs.send(END_MARK).unwrap();
        status
    });
    let (mut written, mut message) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        let length = ours.recv(&mut message).unwrap();
        if &message[..length] == END_MARK {
            break;
        }
        written.push(String::from_utf8_lossy(&message[..length]).into_owned());
    }
    assert!(ended.join().unwrap().code().is_some_and(|code| code < 2), "{written:?}");
    let (nodes, rest) = written.split_at_checked(3).unwrap_or_else(|| panic!("{written:?}"));
    let mut names: Vec<&str> = nodes.iter().map(|line| line.split("  ").next().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["n1", "n2", "n3"], "{written:?}");
    assert!(nodes.iter().all(|node| node.ends_with('\n') && node.lines().count() == 1), "{written:?}");
    assert!(rest.concat().contains("one after the other"), "{written:?}");
}
