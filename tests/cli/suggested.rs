//! What a hint suggests, works: every command line that any command prints about the recorded clusters runs as it stands.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use ketcd_testing::testdata;
use regex::Regex;

use crate::ketcd::{all, ketcd};

/// What each command is asked: what it finds, and what it does not find. `watch`, `serve` and `record` follow a live etcd, and `completion`
/// prints a script.
const ASKED: &[(&str, &[&str])] = &[
    ("blame", &["pod/web/crasher", "pod/crasher", "pod/web/crahser"]),
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
    ("plugins", &["", "NodeResourcesFit", "NodeRessourcesFit"]),
    ("record", &[]),
    ("report", &["pod/web/crahser --out -", "-n wbe --out -"]),
    ("schema", &["", "tirage"]),
    ("serve", &[]),
    ("status", &[""]),
    ("timeline", &["-A", "", "deploy/web/tomcat", "node/node2", "pod/web/crahser", "--around 23:30"]),
    ("tree", &["deploy -A", "deploy/tomcat", "pod/web/crahser"]),
    ("triage", &["", "-o wide", "-n web", "--rev 1000"]),
    ("usage", &[""]),
    ("watch", &["pod/ubuntu", "pod/web/crahser", "pods", "deploy/web/tomcat"]),
    ("what-if", &["", "--drain node2", "--drain node9", "--fit deploy/web/tomcat", "--delete pods", "--restart pod/web/crasher"]),
];

/// The recorded clusters: a file, and the keys of what is sealed in it.
const CLUSTERS: &[(&str, Option<&str>)] = &[
    ("k120-story/snapshot.db.zst", None),
    ("k136-story/snapshot.db.zst", None),
    ("k136-kine/compacted.db.zst", None),
    ("k136-encrypted/snapshot.db.zst", Some("k136-encrypted/encryption-config.yaml")),
];

/// The command lines in a text: ketcd's name and what follows to the end of the line, behind a colon or some space, or alone.
fn printed(text: &str) -> Vec<String> {
    let line = Regex::new(r"(?:^|: |\s{2,}|\t)(ketcd (?:-|[a-z]+(?:\s|$)).*)$").unwrap();
    text.lines().filter_map(|text| Some(line.captures(text.trim_end())?[1].to_owned())).collect()
}

/// The flags that a text says show more: `(--diff --all-fields shows them)`, `(-o wide has them)`, `-A looks in all`.
fn flags(text: &str) -> BTreeSet<String> {
    let hint = Regex::new(r"(?:^|[ (])((?:-o wide|-A|--[a-z-]+)(?: --[a-z-]+)*) (?:shows|show|has|have|prints|looks in|adds) ").unwrap();
    let lines = text.lines().map(|line| format!("{line} "));
    lines.flat_map(|line| hint.captures_iter(&line).map(|found| found[1].to_owned()).collect::<Vec<_>>()).collect()
}

/// The words with flags that were hinted at: `-A` in the place of a namespace.
fn with(words: &str, flags: &str) -> Vec<String> {
    let mut words: Vec<&str> = words.split_whitespace().collect();
    if let Some(place) = words.iter().position(|word| *word == "-n").filter(|_| flags == "-A") {
        words.drain(place..place + 2);
    }
    words.into_iter().chain(flags.split_whitespace()).map(str::to_owned).collect()
}

#[test]
fn flags_that_are_hinted_at_are_taken() {
    let captures = testdata::path("captures");
    let folder = tempfile::tempdir().unwrap();
    let (mut hinted, mut failed) = (BTreeSet::new(), Vec::new());
    for (file, keys) in CLUSTERS {
        let run = |name: &str, words: &[String]| {
            let mut command = ketcd();
            command.current_dir(folder.path()).arg("-f").arg(captures.join(file)).arg(name).args(words);
            keys.iter().for_each(|keys| {
                command.arg("--encryption-config").arg(captures.join(keys));
            });
            command.output().unwrap()
        };
        for (name, words) in ASKED.iter().flat_map(|(name, asked)| asked.iter().map(move |words| (name, words))) {
            let first = run(name, &with(words, ""));
            for flags in flags(&all(&first)) {
                let second = run(name, &with(words, &flags));
                // What was an error before may be one still, but not for want of the flags.
                let is_taken = matches!(second.status.code(), Some(0 | 1)) || first.status.code() == second.status.code();
                if !is_taken || all(&second).contains("Usage: ") {
                    failed.push(format!("{file}: {name} {words}: {flags}: {}", String::from_utf8_lossy(&second.stderr)));
                }
                hinted.insert(flags);
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
    for flags in ["--diff --all-fields", "--all-fields", "-o wide", "-A"] {
        assert!(hinted.contains(flags), "{flags}: {hinted:?}");
    }
}

#[test]
fn every_command_is_asked() {
    let asked: BTreeSet<&str> = ASKED.iter().map(|(name, _)| *name).collect();
    let command = ::ketcd::command();
    let shown: BTreeSet<&str> = command.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name).collect();
    assert_eq!(asked, shown);
}

#[test]
fn what_is_suggested_works() {
    let path = format!("{}:{}", Path::new(env!("CARGO_BIN_EXE_ketcd")).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let captures = testdata::path("captures");
    let folder = tempfile::tempdir().unwrap();
    let mut count = 0;
    for (file, keys) in CLUSTERS {
        let mut suggested = BTreeSet::new();
        for (name, words) in ASKED.iter().flat_map(|(name, asked)| asked.iter().map(move |words| (name, words))) {
            let mut command = ketcd();
            command.current_dir(folder.path()).arg("-f").arg(captures.join(file)).arg(name).args(words.split_whitespace());
            if let Some(keys) = keys {
                command.arg("--encryption-config").arg(captures.join(keys));
            }
            suggested.extend(printed(&all(&command.output().unwrap())).into_iter().map(|line| (line, format!("{name} {words}"))));
        }
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
    assert!(count > 60, "{count}");
}
