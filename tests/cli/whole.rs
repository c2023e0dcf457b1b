//! What leaves through a pipe is whole: nothing is cut where the output is no terminal, nor with `-o wide`, and no answer is an empty screen.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::ketcd::{all, ketcd};
use crate::pty;

fn on(words: &str) -> Command {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures/k120-story/snapshot.db.zst");
    let mut command = ketcd();
    command.arg("-f").arg(file).args(words.split_whitespace());
    command
}

fn run(words: &str) -> Output {
    on(words).output().unwrap()
}

fn piped(words: &str) -> String {
    let output = run(words);
    assert!(output.status.success(), "{words}: {}", all(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// The text without what a terminal's lines are broken with.
fn unbroken(text: &str) -> String {
    text.split_whitespace().collect()
}

/// The values that changes give to fields, as long as no line holds.
fn long_values(words: &str) -> Vec<String> {
    let mut values = Vec::new();
    for line in piped(words).lines() {
        let change: Value = serde_json::from_str(line).unwrap();
        let patch = change["patch"].as_array().into_iter().flatten();
        let texts = patch.filter_map(|operation| operation["value"].as_str());
        values.extend(texts.filter(|text| text.len() > 60 && text.is_ascii() && !text.contains(['\n', '"'])).map(str::to_owned));
    }
    values.sort();
    values.dedup();
    values
}

#[test]
fn a_pipe_gets_every_value_whole() {
    let pods = long_values("history pods -A -o ndjson");
    assert!(pods.len() > 3, "{pods:?}");
    for words in ["history pods -A --diff --all-fields", "watch pods -A --diff --all-fields"] {
        let text = piped(words);
        let lost: Vec<&String> = pods.iter().filter(|value| !text.contains(*value)).collect();
        assert!(lost.is_empty(), "{words}: {lost:?}");
    }
    for words in [
        "history pods -A",
        "history --all",
        "history --all --diff",
        "history -A -o wide",
        "watch pods -A",
        "timeline -A",
        "timeline -A -o wide",
        "timeline deploy/web/tomcat",
        "blame pods -A",
        "events -A",
        "describe pods -A",
        "diff --rev 300..700",
    ] {
        let output = run(words);
        let text = String::from_utf8(output.stdout).unwrap();
        let cut: Vec<&str> = text.lines().filter(|line| line.trim_end().ends_with('…') || line.contains("… →")).collect();
        assert!(text.lines().count() > 5 && cut.is_empty(), "{words}: {cut:#?}");
    }
}

#[test]
fn a_message_of_a_component_is_one_line_of_a_pipe() {
    let refused = piped("events -A -o ndjson");
    let events: Vec<Value> = refused.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let long = events.iter().filter_map(|event| event["message"].as_str()).filter(|message| message.len() > 150 && !message.contains('\n'));
    let message = long.max_by_key(|message| message.len()).unwrap();
    let about = events.iter().find(|event| event["message"] == *message).unwrap();
    let object = &about["involvedObject"];
    let address = format!("{}/{}/{}", object["kind"], object["namespace"], object["name"]).replace('"', "").to_lowercase();
    let told = piped(&format!("timeline {address} -o wide"));
    assert!(told.lines().any(|line| line.contains(message)), "{message}\n{told}");
}

#[test]
fn a_wide_screen_loses_nothing_either() {
    let pods = long_values("history pods -A -o ndjson");
    let (text, status) = pty::run(80, &mut on("history pods -A --diff --all-fields -o wide"));
    assert!(status.success(), "{text}");
    let text = unbroken(&text);
    let lost: Vec<&String> = pods.iter().filter(|value| !text.contains(&unbroken(value))).collect();
    assert!(lost.is_empty(), "{lost:?}");
    let narrow = pty::run(80, &mut on("history pods -A --diff --all-fields")).0;
    assert!(narrow.contains('…'), "without -o wide a screen is cut");
}

/// Where `COLUMNS` says how wide lines are, those of a pipe are broken and not cut.
#[test]
fn columns_break_the_lines_of_a_pipe() {
    let broken = on("history pods -A").env("COLUMNS", "60").output().unwrap();
    let broken = String::from_utf8(broken.stdout).unwrap();
    assert!(broken.lines().all(|line| line.chars().count() <= 60));
    let joined = |text: &str| unbroken(text).replace('…', "");
    assert_eq!(joined(&broken), joined(&piped("history pods -A")));
}

/// Where nothing is found, that is said, with the namespace that was looked in.
#[test]
fn no_screen_is_empty() {
    let here = "in namespace \"default\"";
    for (words, code, said) in [
        ("history pods", 1, here),
        ("history pods -n wbe", 1, "in namespace \"wbe\""),
        ("history -n nosuch --all", 1, "in namespace \"nosuch\""),
        ("ls -n nosuch", 1, "in namespace \"nosuch\""),
        ("timeline pods", 1, here),
        ("timeline -n nosuch", 1, "in namespace \"nosuch\""),
        ("blame pods", 1, here),
        ("watch pods", 1, here),
        ("explain pods", 1, here),
        ("get pods -w", 1, "default namespace"),
        ("get pods --watch-only", 1, here),
        ("get pods", 1, "default namespace"),
        ("describe pods", 1, "default namespace"),
        ("tree pods", 1, "default namespace"),
        ("report pods --out -", 1, here),
        ("report -n nosuch --out -", 1, "nosuch"),
        ("timeline --around 23:30", 2, "in no part of the readable history"),
        ("timeline --around 21:00", 2, "in no part of the readable history"),
        ("timeline --around 2027-01-01T00:00:00Z", 2, "is after the readable history"),
        ("timeline pod/web/crasher --around 22:16:50 --window 1s", 1, "no readable change"),
        ("timeline pod/web/crasher --around 22:16:50 --window 1s -o json", 1, "no readable change"),
    ] {
        let output = run(words);
        assert_eq!(output.status.code(), Some(code), "{words}: {}", all(&output));
        assert!(String::from_utf8_lossy(&output.stderr).contains(said), "{words}: {}", all(&output));
    }
}

#[test]
fn a_part_that_is_missing_is_exit_one() {
    let both = "pod/web/crasher pod/web/nope";
    for words in
        ["get", "ls", "describe", "tree", "blame", "history", "timeline", "watch", "explain", "triage", "usage", "extract", "get -o name"]
    {
        let (command, flags) = words.split_once(' ').unwrap_or((words, ""));
        let output = run(&format!("{command} {both} {flags}"));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.stdout.is_empty() && said.contains("error: pod \"nope\" not found"), "{words}: {said}");
        assert_eq!(output.status.code(), Some(1), "{words}: {said}");
    }
}

#[test]
fn all_keeps_to_the_namespace_that_is_named() {
    let lines = |words: &str| -> Vec<Value> { piped(words).lines().map(|line| serde_json::from_str(line).unwrap()).collect() };
    let (all, web) = (lines("history --all -o ndjson"), lines("history -n web --all -o ndjson"));
    let is_own = |change: &&Value| change["namespace"] == "web" || change["key"] == "/registry/namespaces/web";
    assert_eq!(web, all.iter().filter(is_own).cloned().collect::<Vec<_>>());
    assert!(web.iter().any(|change| change["kind"] == "Event"), "all kinds are there");
    assert_eq!(piped("history -n web --all").lines().filter(|line| line.contains("/lab/")).count(), 0);
    let (all, web) = (lines("explain --all --no-remedies -o ndjson"), lines("explain -n web --all --no-remedies -o ndjson"));
    let is_own = |decision: &&Value| decision["pod"]["namespace"] == "web";
    assert_eq!(web, all.iter().filter(is_own).cloned().collect::<Vec<_>>());
    assert!(!web.is_empty() && web.len() < all.len());
    let none = run("explain -n nosuch --all");
    let said = String::from_utf8_lossy(&none.stderr).into_owned();
    assert!(none.status.code() == Some(1) && none.stdout.is_empty() && said.contains("nosuch"), "{said}");
}

/// A flag that would change nothing is refused by name.
#[test]
fn no_flag_is_taken_and_ignored() {
    for (words, flag) in [
        ("encryption -n web", "--namespace"),
        ("status -n web", "--namespace"),
        ("status -A", "--all-namespaces"),
        ("history pods -A --objects", "--objects"),
        ("history pods -A --diff -o json", "--diff"),
        ("watch pods -A --diff -o ndjson", "--diff"),
        ("history pods -A --all-fields", "--diff"),
        ("report -o json --out -", "--output"),
        ("schema history --rev 5", "--file"),
    ] {
        let output = run(words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(flag) && output.stdout.is_empty(), "{words}: {said}");
    }
}
