//! `--since` and `--until`: the same words mean the same stretch of history to every command, and what a word of time was resolved to is said.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};

use crate::ketcd::{all, ketcd};

fn capture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures/k120-story/snapshot.db.zst")
}

fn run(words: &str) -> Output {
    ketcd().arg("-f").arg(capture()).args(words.split_whitespace()).output().unwrap()
}

fn text(words: &str) -> String {
    let output = run(words);
    assert!(output.status.success(), "{words}: {}", all(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn notes(words: &str) -> String {
    String::from_utf8(run(words).stderr).unwrap()
}

/// The numbers at a field of each line of JSON.
fn numbers(words: &str, field: &str) -> BTreeSet<i64> {
    let lines = text(words);
    let number = |line: &str| serde_json::from_str::<Value>(line).unwrap().pointer(field).and_then(Value::as_i64);
    lines.lines().map(|line| number(line).unwrap_or_else(|| panic!("no {field} in {line}"))).collect()
}

#[test]
fn a_moment_behind_the_data_is_said_to_be() {
    let note = "2030-01-01T00:00:00Z is after the data, which end at 2026-11-20T22:24:";
    for command in ["triage", "get nodes", "timeline pod/web/crasher"] {
        assert!(notes(&format!("{command} --at 2030-01-01T00:00:00Z")).contains(note), "{command}");
    }
    assert!(!notes("get nodes --at 22:25:00").contains("after the data"));
}

#[test]
fn history_shows_what_came_after_the_beginning_up_to_the_end() {
    let every = numbers("history pods -A -o ndjson", "/revision");
    let wanted: BTreeSet<i64> = every.iter().copied().filter(|revision| (601..=700).contains(revision)).collect();
    assert!(wanted.len() > 5 && wanted.len() < every.len());
    assert_eq!(numbers("history pods -A -o ndjson --since 600 --until 700", "/revision"), wanted);
    assert_eq!(numbers("history pods -A -o ndjson --since 600 --rev 700", "/revision"), wanted);
    assert_eq!(numbers("watch pods -A -o ndjson --since 600 --until 700", "/revision"), wanted);
    // Each patch is from the version before it, which need not be shown: the lines are those of the whole.
    let (part, whole) = (text("history pods -A -o ndjson --since 600 --until 700"), text("history pods -A -o ndjson"));
    assert!(part.lines().all(|line| whole.lines().any(|other| other == line)));
    let (part, whole) = (text("history pods -A --since 600 --until 700"), text("history pods -A"));
    let changes: Vec<&str> = part.lines().filter(|line| line.contains(" pod/")).collect();
    assert_eq!(changes.len(), wanted.len());
    assert!(changes.iter().all(|line| whole.lines().any(|other| other == *line)), "{part}");
}

#[test]
fn a_moment_is_written_as_people_write_it() {
    let at = |moment: &str| ketcd().arg("-f").arg(capture()).args(["get", "pods", "-A", "--at", moment]).output().unwrap();
    let wanted = at("2026-11-20T22:20:00Z").stdout;
    assert!(!wanted.is_empty());
    for moment in ["2026-11-20 22:20", "2026-11-20T22:20:00", "22:20"] {
        assert_eq!(at(moment).stdout, wanted, "{moment}");
    }
    assert_eq!(at("5 minutes ago").stdout, at("5m").stdout);
    // The date counts: it is long before the history.
    let before = at("2020-01-01 22:20");
    assert!(before.status.code() == Some(2) && before.stdout.is_empty(), "{}", all(&before));
}

#[test]
fn an_age_a_time_and_a_revision_mean_the_same() {
    // The newest revision was written at 22:24:35.
    let ages = ["5m", "-5m"].map(|age| text(&format!("history pods -n web --since {age}")));
    assert_eq!(ages[0], ages[1]);
    assert_eq!(text("get pods -A --at 5m"), text("get pods -A --at -5m"));
    let notes = notes("history pods -n web --since 5m");
    let (_, found) = notes.split_once("5m ago is 2026-").unwrap_or_else(|| panic!("{notes}"));
    let revision: i64 = found.lines().next().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    assert_eq!(text(&format!("history pods -n web --since {revision}")), ages[0]);
}

#[test]
fn the_moment_that_a_word_was_resolved_to_is_said() {
    assert!(notes("get nodes --at 22:20").contains("22:20:00 is 2026-11-20T22:20:00Z, revision "), "{}", notes("get nodes --at 22:20"));
    assert_eq!(notes("get nodes --at 2026-11-20T22:20:00Z"), "", "a whole date says it itself");
    assert_eq!(notes("get nodes --rev 1000"), "");
}

#[test]
fn a_time_of_day_in_no_part_of_the_history_says_which_days_it_could_be() {
    let output = run("get nodes --at 23:30");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    let wanted = "23:30:00 is in no part of the readable history: 2026-11-19T23:30:00Z is before it, 2026-11-20T23:30:00Z after it; it reaches from 2026-11-20T22:1";
    assert!(said.contains(wanted), "{said}");
}

#[test]
fn differences_are_between_times_as_between_revisions() {
    let times = run("diff deploy/web/tomcat --at 22:16:30..22:20");
    assert_eq!(times.status.code(), Some(1), "{}", all(&times));
    let said = String::from_utf8(times.stderr).unwrap();
    let revisions: Vec<&str> = said.lines().filter_map(|line| line.rsplit_once("revision ").map(|(_, revision)| revision)).collect();
    let [from, to] = revisions[..] else { panic!("{said}") };
    let same = run(&format!("diff deploy/web/tomcat --rev {from}..{to}"));
    assert_eq!(String::from_utf8(times.stdout).unwrap(), String::from_utf8(same.stdout).unwrap());
    assert_eq!(run("diff deploy/web/tomcat --rev 5m..").status.code(), Some(1));
    assert_eq!(run("diff deploy/web/tomcat --rev a..b").status.code(), Some(2));
}

#[test]
fn triage_shows_the_state_at_the_end_and_the_changes_since_the_beginning() {
    assert_eq!(text("triage --until 22:20"), text("triage --at 22:20"));
    let changes = |words: &str| -> Vec<i64> {
        let triage: Value = serde_json::from_str(&text(words)).unwrap();
        triage["changes"].as_array().unwrap().iter().map(|change| change["revision"].as_i64().unwrap()).collect()
    };
    let (all, late) = (changes("triage -o json"), changes("triage -o json --since 1500"));
    assert!(!late.is_empty() && late.len() < all.len(), "{late:?} of {all:?}");
    assert!(late.iter().all(|revision| *revision > 1500), "{late:?}");
    let wanted: Vec<i64> = all.into_iter().filter(|revision| *revision > 1500).collect();
    assert_eq!(late, wanted);
}

#[test]
fn events_timelines_decisions_and_usage_keep_to_the_stretch() {
    let times = text("events -A -o ndjson --since 1500");
    assert!(times.lines().count() > 0 && times.lines().count() < text("events -A -o ndjson").lines().count());
    let timeline: Value = serde_json::from_str(&text("timeline pod/web/crasher -o json --since 1000 --until 1500")).unwrap();
    let phases: Vec<i64> = timeline["phases"].as_array().unwrap().iter().map(|phase| phase["revision"].as_i64().unwrap()).collect();
    assert!(!phases.is_empty() && phases.iter().all(|revision| (1001..=1500).contains(revision)), "{phases:?}");
    let told = text("timeline pod/web/crasher --since 1000 --until 1500");
    assert!(told.lines().count() < text("timeline pod/web/crasher").lines().count(), "{told}");
    let decided = |words: &str| numbers(words, "/attempt/revision");
    let wanted: BTreeSet<i64> = decided("explain --all -o ndjson").into_iter().filter(|at| (601..=900).contains(at)).collect();
    assert!(!wanted.is_empty());
    assert_eq!(decided("explain --all -o ndjson --since 600 --until 900"), wanted);
    // The crasher was bound at revision 959.
    assert_eq!(run("explain pod/web/crasher --since 958").status.code(), Some(0));
    let none = run("explain pod/web/crasher --since 959");
    assert_eq!((none.status.code(), none.stdout.len()), (Some(1), 0), "{}", all(&none));
    let usage = |words: &str| serde_json::from_str::<Value>(&text(words)).unwrap();
    assert_eq!(usage("usage -o json --since 600 --until 700"), usage("usage -o json --since 600 --rev 700"));
}

#[test]
fn tables_and_pages_hold_what_came_after_the_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("dataset");
    let words = format!("export --format ndjson --tables history,decisions --since 600 --until 700 --out {}", out.display());
    let report = text(&words);
    assert!(report.contains("history     100 "), "{report}");
    let mut names = Vec::new();
    let mut folders = vec![out];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { names.push(path.file_name().unwrap().to_str().unwrap().to_owned()) }
        }
    }
    assert!(names.contains(&"r601-r700.ndjson.zst".to_owned()), "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("r6")), "{names:?}");
    let page = |flags: &str| {
        let file = folder.path().join("page.html");
        let output = run(&format!("report -n web --out {} {flags}", file.display()));
        assert!(output.status.success(), "{}", all(&output));
        std::fs::read(file).unwrap().len()
    };
    assert!(page("--since 1500") < page(""));
}

#[test]
fn heads_of_json_say_what_words_of_time_were_resolved_to() {
    let folder = tempfile::tempdir().unwrap();
    let export = format!("export --format ndjson --tables objects --out {}", folder.path().join("dataset").display());
    let end = |revision: Value, time: &str| json!({"revision": revision, "time": time});
    for command in [
        "history pods -n web",
        "timeline pod/web/crasher",
        "timeline pods -n web",
        "events -A",
        "grep node3 pods",
        "usage",
        "triage",
        "explain pod/web/crasher",
        "explain pods -n web",
        "explain --all",
        export.as_str(),
    ] {
        let words = format!("{command} -o json --since 22:16:30 --until 22:20");
        let window = serde_json::from_str::<Value>(&text(&words)).unwrap()["window"].take();
        let [since, until] = ["since", "until"].map(|end| window[end]["revision"].clone());
        assert!(since.as_i64() < until.as_i64() && since.as_i64() > Some(0), "{command}: {window}");
        let wanted = json!({"since": end(since, "2026-11-20T22:16:30.000Z"), "until": end(until, "2026-11-20T22:20:00.000Z")});
        assert_eq!(window, wanted, "{command}");
    }
    let head = |flags: &str| serde_json::from_str::<Value>(&text(&format!("usage -o json {flags}"))).unwrap().get("window").cloned();
    assert_eq!(head(""), None);
    // An age counts from the newest revision, and a revision has the time at which it was written.
    let until = head("--until 22:20").unwrap()["until"]["revision"].take();
    let [by_revision, by_age] = [format!("--rev {until}"), "--at 275s".to_owned()].map(|flags| head(&flags).unwrap());
    assert_eq!((&by_revision["since"], &by_revision["until"]["revision"]), (&Value::Null, &until));
    let is_at = |window: &Value, begins: &str| window["until"]["time"].as_str().is_some_and(|time| time.starts_with(begins));
    assert!(is_at(&by_revision, "2026-11-20T22:19:5") && is_at(&by_age, "2026-11-20T22:20:0"), "{by_revision} {by_age}");
    let diff = run("diff deploy/web/tomcat --at 22:16:30..22:20 -o json");
    let window = serde_json::from_slice::<Value>(&diff.stdout).unwrap()["window"].take();
    assert_eq!(
        ["since", "until"].map(|end| window[end]["time"].as_str().unwrap().to_owned()),
        ["2026-11-20T22:16:30.000Z", "2026-11-20T22:20:00.000Z"]
    );
    let page = folder.path().join("page.html");
    text(&format!("report -n web --since 22:16:30 --out {}", page.display()));
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("the report shows what happened after revision ") && page.contains(" (2026-11-20T22:16:30Z)"));
}

#[test]
fn a_beginning_that_cannot_be_is_refused() {
    for words in ["history pods -A --since 1700 --until 1000", "history pods -A --since yesterday", "history pods -A --until 5 --rev 5"] {
        assert_eq!(run(words).status.code(), Some(2), "{words}");
    }
    // What is older than the history begins with it, and that is said.
    let output = run("history pods -A --since 24h");
    assert!(
        output.status.success()
            && String::from_utf8_lossy(&output.stderr).contains("is before the readable history: beginning with revision 1")
    );
}

/// What is after the end is refused, as --at is: a time of day that is a little behind it would else be that of the day before.
#[test]
fn a_beginning_after_the_end_is_refused() {
    let after = [
        ("22:30", "is in no part of the readable history"),
        ("2026-11-20T22:30:00Z", "after 2026-11-20T22:24:3"),
        ("22:24:50", "is in no part of the readable history"),
        ("2027-01-01T00:00:00Z", "the end of the readable history"),
    ];
    let commands = ["history pods -A", "triage", "timeline -n web", "usage", "events -A", "watch pods -A", "explain --all", "grep node3"];
    // Words of time are read by one function: each command is asked for a time of day and for a date.
    for (command, after) in commands.iter().zip(after.chunks(2).cycle()) {
        for (since, wanted) in after {
            let output = run(&format!("{command} --since {since}"));
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.code() == Some(2) && said.contains(*wanted) && output.stdout.is_empty(), "{command} {since}: {said}");
        }
    }
    // What is a little before the beginning means all.
    let before = run("history pods -A --since 22:10");
    assert!(
        before.status.success() && all(&before).contains("is before the readable history: beginning with revision 1"),
        "{}",
        all(&before)
    );
    // The end that is asked for is the end, however quiet the time before it was.
    assert_eq!(run("history node/node1 --since 22:19:59 --until 22:20").status.code(), Some(1));
}
