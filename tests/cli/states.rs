//! States are coloured, in one way wherever they are shown: broken red, held up yellow, on its way blue.

use ketcd_testing::testdata;

use crate::ketcd::ketcd;

const RED_SEQUENCE: &str = "\u{1b}[31m";
const YELLOW_SEQUENCE: &str = "\u{1b}[33m";
const BLUE_SEQUENCE: &str = "\u{1b}[94m";
const END_SEQUENCE: &str = "\u{1b}[0m";

fn printed(color: &str, words: &str) -> String {
    let file = testdata::path("captures").join("k136-story/snapshot.db.zst");
    let output = ketcd().arg("-f").arg(file).args(["--color", color]).args(words.split(' ')).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn states_have_one_colour_in_every_command() {
    for (words, painted) in [
        (
            "triage",
            &[
                (RED_SEQUENCE, "CrashLoopBackOff"),
                (YELLOW_SEQUENCE, "unschedulable"),
                (YELLOW_SEQUENCE, "no volume (class slow)"),
                (YELLOW_SEQUENCE, "rollout 4 not finished"),
            ][..],
        ),
        ("get pods -A", &[(RED_SEQUENCE, "CrashLoopBackOff"), (YELLOW_SEQUENCE, "Pending")]),
        ("get deploy -n lab", &[(BLUE_SEQUENCE, "4/5")]),
        ("get pvc -n web", &[(YELLOW_SEQUENCE, "Pending")]),
        ("get nodes --at 00:18:00", &[(RED_SEQUENCE, "NotReady")]),
        ("ls pods -A", &[(RED_SEQUENCE, "CrashLoopBackOff")]),
        ("describe pod/web/crasher", &[(RED_SEQUENCE, "status CrashLoopBackOff")]),
        ("describe pod/lab/train-3", &[(YELLOW_SEQUENCE, "status Pending")]),
        ("tree deploy -n lab", &[(BLUE_SEQUENCE, "4/5"), (YELLOW_SEQUENCE, "Pending")]),
    ] {
        let text = printed("always", words);
        for (colour, word) in painted {
            assert!(text.contains(&format!("{colour}{word}{END_SEQUENCE}")), "{words}: {word} is not so: {text}");
        }
    }
}

#[test]
fn colours_take_no_columns_and_nothing_is_coloured_where_that_is_not_asked_for() {
    for words in ["triage", "get pods -A"] {
        let (text, plain) = (printed("always", words), printed("auto", words));
        assert!(text.contains('\u{1b}') && !plain.contains('\u{1b}'), "{words}");
        assert_eq!(anstream::adapter::strip_str(&text).to_string(), plain, "{words}");
    }
}

#[test]
fn what_is_as_it_should_be_stands_out_nowhere() {
    let text = printed("always", "get nodes");
    assert!(!text.contains(RED_SEQUENCE) && !text.contains(YELLOW_SEQUENCE), "{text}");
    let running =
        printed("always", "get pods -A").lines().filter(|line| line.contains("1/1     Running")).map(str::to_owned).collect::<Vec<_>>();
    assert!(running.len() > 5 && running.iter().all(|line| !line.contains('\u{1b}')), "{running:?}");
}
