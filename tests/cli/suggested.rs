//! What a hint suggests, works: every command line that any command prints about the recorded clusters runs as it stands.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::LazyLock;

use ketcd_testing::testdata;
use regex::Regex;

use crate::ketcd::{all, ketcd};

/// What each command is asked: what it finds, and what it does not find. `watch`, `serve` and `record` follow a live etcd, and `completion`
/// prints a script.
const COMMAND_ARGS: &[(&str, &[&str])] = &[
    ("blame", &["pod/web/crasher", "pod/crasher", "pod/web/crahser"]),
    ("bundle", &["-n web --out /dev/null/nowhere"]),
    ("completion", &[]),
    ("decode", &[]),
    ("describe", &["pod/web/crasher", "node/node2", "deploy -A", "pod/web/crahser", "pods -n wbe", "deploy/tomcat"]),
    ("diff", &["--rev 600..", "pod crasher -n web", "pod/crasher --rev 600..700", "-n wbe --rev 600..", "a.db b.db"]),
    ("encryption", &[""]),
    ("events", &["-A", "-n wbe", "pod/web/crahser", "pods -A -l a=b"]),
    (
        "explain",
        &["--all", "pods -A", "pod/web/tomcat", "svc/web/tomcat", "cm/web/app-config", "cj -A", "pods -A --node node9", "pod/ubuntu"],
    ),
    ("export", &["--out /dev/null/nowhere"]),
    ("extract", &["-n lab --all", "-n wbe --all", "deploy/tomcat", "deploy -l a=b"]),
    (
        "get",
        &[
            "pods -A",
            "pods -n wbe",
            "pod crahser -n web",
            "node node9",
            "pod/tomcat",
            "pdos",
            "pod/web/crasher --with-config",
            "pods --at 23:30",
        ],
    ),
    ("grep", &["tomcat:8.0", "no-such-text", "no-such-text pods -n wbe", "node3 -n wbe", "node3 pod/web/crahser"]),
    (
        "history",
        &[
            "pods -A",
            "pod/web/crahser",
            "pod/ubuntu",
            "-n wbe",
            "pods --since 24h",
            "pods",
            "deploy/web/tomcat",
            "deploy/web/tomcat --diff",
        ],
    ),
    ("ls", &["", "pods -A", "nothing.example.com"]),
    ("mcp", &[]),
    ("plugins", &["", "NodeResourcesFit", "NodeRessourcesFit"]),
    ("record", &[]),
    ("rehearse", &["--now 2026-11-20T22:30:00Z", "--target 1.37 --now 2026-11-20T22:30:00Z"]),
    ("report", &["pod/web/crahser --out -", "-n wbe --out -"]),
    ("schema", &["", "tirage"]),
    ("serve", &[]),
    ("status", &[""]),
    ("timeline", &["-A", "", "deploy/web/tomcat", "node/node2", "pod/web/crahser", "--around 23:30"]),
    ("tree", &["deploy -A", "deploy/tomcat", "pod/web/crahser"]),
    ("triage", &["", "-o wide", "-n web", "--rev 1000"]),
    ("ui", &[]),
    ("usage", &[""]),
    ("verify", &["--now 2026-11-20T22:30:00Z", "--target 1.37 --now 2026-11-20T22:30:00Z"]),
    ("watch", &["pod/ubuntu", "pod/web/crahser", "pods", "deploy/web/tomcat"]),
    ("what-if", &["", "--drain node2", "--drain node9", "--fit deploy/web/tomcat", "--delete pods", "--restart pod/web/crasher"]),
];

/// A recorded cluster: a file, the keys of what is sealed in it, and the commands that are asked.
#[derive(Clone, Copy)]
struct Capture {
    file: &'static str,
    keys: Option<&'static str>,
    asked: fn(&str) -> bool,
}

/// What the newer story is asked by day: what the older one has no like of, troubles and what answers for a kind.
const NEWER_COMMANDS: &[&str] = &["describe", "ls", "triage"];
/// What is asked by day of a cluster whose values are sealed. Every suggestion is made by one `Invocation`, which adds the flag of the keys.
const SEALED_COMMANDS: &[&str] = &["describe", "encryption", "get", "history", "ls", "triage"];

const NEWER_CAPTURE: &str = "k136-story/snapshot.db.zst";
const SEALED_CAPTURE: &str = "k136-encrypted/snapshot.db.zst";
const SEALED_KEYS: Option<&str> = Some("k136-encrypted/encryption-config.yaml");

const DAY_CAPTURES: &[Capture] = &[
    Capture { file: "k120-story/snapshot.db.zst", keys: None, asked: |_| true },
    Capture { file: NEWER_CAPTURE, keys: None, asked: |name| NEWER_COMMANDS.contains(&name) },
    Capture { file: SEALED_CAPTURE, keys: SEALED_KEYS, asked: |name| SEALED_COMMANDS.contains(&name) },
];

/// What else those are asked, and all of it of the story as kine holds it after a compaction.
const AT_NIGHT: &[Capture] = &[
    Capture { file: NEWER_CAPTURE, keys: None, asked: |name| !NEWER_COMMANDS.contains(&name) },
    Capture { file: SEALED_CAPTURE, keys: SEALED_KEYS, asked: |name| !SEALED_COMMANDS.contains(&name) },
    Capture { file: "k136-kine/compacted.db.zst", keys: None, asked: |_| true },
];

/// The command lines in a text: ketcd's name and what follows to the end of the line, behind a colon or some space, or alone.
fn printed(text: &str) -> Vec<String> {
    static COMMAND_LINE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?:^|: |\s{2,}|\t)(ketcd (?:-|[a-z]+(?:\s|$)).*)$").unwrap());
    text.lines().filter_map(|text| Some(COMMAND_LINE.captures(text.trim_end())?[1].to_owned())).collect()
}

/// The flags that a text says show more: `(--diff --all-fields shows them)`, `(-o wide has them)`, `-A looks in all`.
fn flags(text: &str) -> BTreeSet<String> {
    static FLAG_HINT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?:^|[ (])((?:-o wide|-A|--[a-z-]+)(?: --[a-z-]+)*) (?:shows|show|has|have|prints|looks in|adds) ").unwrap()
    });
    let lines = text.lines().map(|line| format!("{line} "));
    lines.flat_map(|line| FLAG_HINT.captures_iter(&line).map(|found| found[1].to_owned()).collect::<Vec<_>>()).collect()
}

/// Runs what a command is asked about a cluster, in a folder of its own.
fn run(of: Capture, name: &str, words: &[String], folder: &Path) -> Output {
    let captures = testdata::path("captures");
    let mut command = ketcd();
    command.current_dir(folder).arg("-f").arg(captures.join(of.file)).arg(name).args(words);
    if let Some(keys) = of.keys {
        command.arg("--encryption-config").arg(captures.join(keys));
    }
    command.output().unwrap()
}

/// What every command says to all that it is asked about a cluster: its name, the words, what it prints and its exit code.
type Said = Vec<(&'static str, &'static str, String, Option<i32>)>;

/// What is said about each of the clusters, in their order.
fn said(clusters: &[Capture]) -> Vec<Said> {
    let folder = tempfile::tempdir().unwrap();
    let of_one = |of: Capture| {
        let commands = COMMAND_ARGS.iter().filter(|(name, _)| (of.asked)(name));
        let asked = commands.flat_map(|(name, asked)| asked.iter().map(move |words| (*name, *words)));
        let answers = asked.map(|(name, words)| {
            let output = run(of, name, &with(words, ""), folder.path());
            (name, words, all(&output), output.status.code())
        });
        answers.collect::<Said>()
    };
    std::thread::scope(|scope| {
        let of_one = &of_one;
        let running: Vec<_> = clusters.iter().map(|&of| scope.spawn(move || of_one(of))).collect();
        running.into_iter().map(|cluster| cluster.join().unwrap()).collect()
    })
}

/// For all tests of the day, and for those of the night.
static DAY_OUTPUT: LazyLock<Vec<Said>> = LazyLock::new(|| said(DAY_CAPTURES));
static SAID_AT_NIGHT: LazyLock<Vec<Said>> = LazyLock::new(|| said(AT_NIGHT));

/// The words with flags that were hinted at: `-A` in the place of a namespace.
fn with(words: &str, flags: &str) -> Vec<String> {
    let mut words: Vec<&str> = words.split_whitespace().collect();
    if let Some(place) = words.iter().position(|word| *word == "-n").filter(|_| flags == "-A") {
        words.drain(place..place + 2);
    }
    words.into_iter().chain(flags.split_whitespace()).map(str::to_owned).collect()
}

/// Gives each command the flags that it hints at, which it takes; returns them.
fn taken(clusters: &[Capture], said: &[Said]) -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    let (mut hinted, mut failed) = (BTreeSet::new(), Vec::new());
    for (of, said) in clusters.iter().zip(said) {
        for (name, words, text, code) in said {
            for flags in flags(text) {
                let second = run(*of, name, &with(words, &flags), folder.path());
                // What was an error before may be one still, but not for want of the flags.
                let is_taken = matches!(second.status.code(), Some(0 | 1)) || *code == second.status.code();
                if !is_taken || all(&second).contains("Usage: ") {
                    failed.push(format!("{}: {name} {words}: {flags}: {}", of.file, String::from_utf8_lossy(&second.stderr)));
                }
                hinted.insert(flags);
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
    hinted
}

#[test]
fn flags_that_are_hinted_at_are_taken() {
    let hinted = taken(DAY_CAPTURES, &DAY_OUTPUT);
    for flags in ["--diff --all-fields", "--all-fields", "-o wide", "-A"] {
        assert!(hinted.contains(flags), "{flags}: {hinted:?}");
    }
}

#[test]
fn flags_that_are_hinted_at_are_taken_in_newer_clusters_nightly() {
    assert!(taken(AT_NIGHT, &SAID_AT_NIGHT).len() > 1);
}

#[test]
fn every_command_is_asked() {
    let asked: BTreeSet<&str> = COMMAND_ARGS.iter().map(|(name, _)| *name).collect();
    let command = ::ketcd::command();
    let shown: BTreeSet<&str> = command.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name).collect();
    assert_eq!(asked, shown);
}

/// Runs every command line that is suggested; returns how many there are.
fn works(clusters: &[Capture], said: &[Said]) -> usize {
    let path = format!("{}:{}", Path::new(env!("CARGO_BIN_EXE_ketcd")).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let folder = tempfile::tempdir().unwrap();
    let mut count = 0;
    for (Capture { file, .. }, said) in clusters.iter().zip(said) {
        let lines = |(name, words, text, _): &(&str, &str, String, Option<i32>)| {
            printed(text).into_iter().map(|line| (line, format!("{name} {words}"))).collect::<Vec<_>>()
        };
        let suggested: BTreeSet<(String, String)> = said.iter().flat_map(lines).collect();
        assert!(suggested.len() > 3, "{file}: {suggested:?}");
        count += suggested.len();
        let mut failed = Vec::new();
        let mut ran = BTreeSet::new();
        for (line, from) in suggested.iter().filter(|(line, _)| ran.insert(line.clone())) {
            let output = Command::new("sh").args(["-c", line]).env("PATH", &path).current_dir(folder.path()).output().unwrap();
            if !matches!(output.status.code(), Some(0 | 1)) || all(&output).contains("Usage: ") {
                failed.push(format!("{from}: {line}: {:?} {}", output.status.code(), String::from_utf8_lossy(&output.stderr)));
            }
        }
        assert!(failed.is_empty(), "{file}: {failed:#?}");
    }
    count
}

#[test]
fn what_is_suggested_works() {
    let count = works(DAY_CAPTURES, &DAY_OUTPUT);
    assert!(count > 60, "{count}");
}

#[test]
fn what_is_suggested_works_in_newer_clusters_nightly() {
    works(AT_NIGHT, &SAID_AT_NIGHT);
}
