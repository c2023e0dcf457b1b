//! The pager: what is longer than the terminal goes through it, and nothing else does.

use std::process::ExitStatus;

use ketcd_testing::{pty, testdata};

use crate::ketcd::ketcd;

/// Marks what goes through it.
const MARKING_PAGER: &str = "sed s/^/paged:/";

/// What a command shows on a terminal of 50 rows whose pager this is.
fn shown(variables: &[(&str, &str)], words: &str) -> (String, ExitStatus) {
    let file = testdata::path("captures").join("k120-story/snapshot.db.zst");
    let mut command = ketcd();
    command.env_remove("PAGER").env_remove("LESS").envs(variables.iter().copied());
    command.arg("-f").arg(file).args(words.split(' '));
    let (text, status) = pty::run(100, &mut command);
    (text.replace('\r', ""), status)
}

fn lines_paged(text: &str) -> usize {
    text.lines().filter(|line| line.starts_with("paged:")).count()
}

#[test]
fn what_is_longer_than_the_terminal_is_paged() {
    let (text, status) = shown(&[("KETCD_PAGER", MARKING_PAGER)], "get pods,events -A");
    assert!(status.success() && lines_paged(&text) > 50, "{text}");
    assert_eq!(lines_paged(&text), text.lines().count(), "all of it: {text}");
    let (plain, _) = shown(&[], "get pods,events -A");
    assert_eq!(text.replace("paged:", ""), plain);
    // `PAGER` is the second choice; the first may be empty.
    assert!(lines_paged(&shown_with_pager(&[("PAGER", MARKING_PAGER)], "history pods -A --diff")) > 50);
    for variables in [&[("KETCD_PAGER", ""), ("PAGER", MARKING_PAGER)][..], &[("KETCD_PAGER", "cat"), ("PAGER", MARKING_PAGER)]] {
        assert_eq!(lines_paged(&shown(variables, "get pods,events -A").0), 0, "{variables:?}");
    }
}

/// The same without what the tests' terminals set.
fn shown_with_pager(variables: &[(&str, &str)], words: &str) -> String {
    let file = testdata::path("captures").join("k120-story/snapshot.db.zst");
    let mut command = ketcd();
    // Named and removed again: the variable is not there.
    command.env_remove("KETCD_PAGER").envs(variables.iter().copied()).arg("-f").arg(file).args(words.split(' '));
    pty::run(100, &mut command).0.replace('\r', "")
}

#[test]
fn what_fits_what_goes_on_and_what_is_told_not_to_is_not() {
    for words in ["get nodes", "--no-pager get pods,events -A", "watch pods -A --from-rev 2", "get pods -A -w --rev 400", "events -A -w"] {
        let (text, status) = shown(&[("KETCD_PAGER", MARKING_PAGER)], words);
        assert!(status.success() && !text.is_empty() && lines_paged(&text) == 0, "{words}: {text}");
    }
    let file = testdata::path("captures").join("k120-story/snapshot.db.zst");
    let piped = ketcd().env("KETCD_PAGER", MARKING_PAGER).arg("-f").arg(file).args(["get", "pods,events", "-A"]).output().unwrap();
    assert_eq!(lines_paged(&String::from_utf8(piped.stdout).unwrap()), 0, "a pipe");
}

#[test]
fn a_pager_gets_no_credentials() {
    let secrets = [("ETCDCTL_PASSWORD", "hunter2"), ("AWS_SECRET_ACCESS_KEY", "hunter2"), ("KETCD_FILE", "s3://hunter2/x")];
    let (text, _) = shown(&[&secrets[..], &[("KETCD_PAGER", "env; sed s/^/paged:/")]].concat(), "get pods,events -A");
    assert!(text.contains("PATH=") && lines_paged(&text) > 50, "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}

#[test]
fn a_pager_that_is_left_is_no_error_and_one_that_cannot_be_run_is_one() {
    let (text, status) = shown(&[("KETCD_PAGER", "head -2")], "history --all --diff --all-fields");
    assert_eq!((status.code(), text.lines().count()), (Some(0), 2), "{text}");
    let (text, status) = shown(&[("KETCD_PAGER", "/nowhere/pager")], "get pods,events -A");
    assert!(status.code() == Some(2) && text.contains("the pager /nowhere/pager cannot be run; --no-pager prints without one"), "{text}");
}

/// Messages come when the pager has given the terminal back.
#[test]
fn messages_wait_for_the_pager() {
    let (text, _) = shown(&[("KETCD_PAGER", MARKING_PAGER)], "history pods -A pod/lab/never");
    let message = text.lines().position(|line| line.starts_with("ketcd: ")).unwrap_or_else(|| panic!("{text}"));
    assert!(text.lines().skip(message).all(|line| !line.starts_with("paged:")), "{text}");
}
