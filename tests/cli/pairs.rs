//! Every command with every flag that all commands share: the flag changes the answer, or it is refused by name. The pairs in which it does neither
//! are named here, with the reason.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Output;

use ketcd_testing::testdata;

use crate::ketcd::ketcd;

/// What each command is asked. `decode` reads no cluster, `record` and `serve` do not end.
const COMMAND_ARGS: &[(&str, &str)] = &[
    ("blame", "pods"),
    ("bundle", "pods --out it.ketcd"),
    ("completion", "bash"),
    ("describe", "pods"),
    ("diff", "pods --rev 900.."),
    ("encryption", ""),
    ("events", ""),
    ("explain", "pods --no-remedies"),
    ("export", "--out OUT"),
    ("extract", "pods"),
    ("get", "pods"),
    ("grep", "-e . pods secrets"),
    ("history", "pods"),
    ("ls", "pods"),
    ("plugins", ""),
    ("rehearse", "--now 2026-11-20T22:30:00Z"),
    ("report", "pods --out -"),
    ("schema", "get"),
    ("status", ""),
    ("timeline", "pods"),
    ("tree", "pods"),
    ("triage", "pods"),
    ("usage", ""),
    ("verify", "--now 2026-11-20T22:30:00Z"),
    ("watch", "pods --from-rev 900"),
    ("what-if", "--restart deploy/web/tomcat"),
];
const NOT_ASKED: &[&str] = &["decode", "mcp", "record", "serve", "ui"];

/// Each flag as it is typed. `None`: it changes no answer about this data: what a terminal shows, what is kept for the next command, which fields no
/// release knows, which objects an API server is asked for.
const FLAG_VALUES: &[(&str, Option<&str>)] = &[
    ("file", Some("-f /nowhere.db")),
    ("max-unpacked-size", Some("--max-unpacked-size 1")),
    ("no-cache", None),
    ("prefix", Some("--prefix /nothing")),
    ("encryption-config", Some("--encryption-config /nowhere")),
    ("endpoints", Some("--endpoints http://127.0.0.1:1")),
    ("cacert", Some("--cacert /nowhere")),
    ("cert", Some("--cert /nowhere")),
    ("key", Some("--key /nowhere")),
    ("user", Some("--user a:b")),
    ("password", Some("--password b")),
    ("dial-timeout", Some("--dial-timeout 9s")),
    ("command-timeout", Some("--command-timeout 9s")),
    ("insecure-skip-tls-verify", Some("--insecure-skip-tls-verify")),
    ("insecure-transport", Some("--insecure-transport")),
    ("consistency", Some("--consistency s")),
    ("page-size", Some("--page-size 7")),
    ("qps", Some("--qps 3")),
    ("rev", Some("--rev 1000")),
    ("at", Some("--at 22:18:00")),
    ("namespace", Some("-n web")),
    ("all-namespaces", Some("-A")),
    ("output", Some("-o json")),
    ("color", None),
    ("no-pager", None),
    ("release", Some("--release 1.9")),
    ("unknown", None),
    ("show-managed-fields", Some("--show-managed-fields")),
    ("show-secrets", None),
];

/// The flags of a live etcd, which one function refuses beside a file: by day each is given to a few commands. All pairs with commands that read no
/// file are held in `src/cli/command_line/mod.rs`.
const LIVE_FLAGS: &[&str] = &[
    "cacert",
    "cert",
    "key",
    "user",
    "password",
    "dial-timeout",
    "command-timeout",
    "insecure-skip-tls-verify",
    "insecure-transport",
    "consistency",
    "page-size",
    "qps",
];

/// Whether a command is given a flag by day, each by its place: every third of those that change answers.
fn is_of_the_day(command: usize, flag: usize) -> bool {
    let is_live = LIVE_FLAGS.contains(&FLAG_VALUES[flag].0);
    (command + flag).is_multiple_of(if is_live { 9 } else { 3 })
}

/// The pairs that may be given and show the same.
const EQUAL_PAIRS: &[(&str, &str)] = &[
    // They are of all namespaces unless one is named.
    ("export", "all-namespaces"),
    ("grep", "all-namespaces"),
    ("usage", "all-namespaces"),
    // What is restarted names its namespace.
    ("what-if", "namespace"),
    ("what-if", "all-namespaces"),
];

/// What a command says: its exit code, what it prints, and what it writes into the folder OUT.
#[derive(Clone, PartialEq)]
struct Said(Output, Vec<(String, Vec<u8>)>);

fn run(words: &str) -> Said {
    let file = testdata::path("captures/k120-story/snapshot.db.zst");
    let (name, rest) = words.split_once(' ').unwrap();
    // These read no data.
    let source = if ["completion", "plugins", "schema"].contains(&name) { None } else { Some("-f") };
    let folder = tempfile::tempdir().unwrap();
    let mut command = ketcd();
    command.current_dir(folder.path()).args(source).args(source.map(|_| file)).arg(name).args(rest.split_whitespace());
    let output = command.output().unwrap();
    let mut written = Vec::new();
    let mut folders = vec![folder.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => written.push((path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(path).unwrap())),
            }
        }
    }
    written.sort();
    Said(output, written)
}

/// What a flag is given beside, so that it has something to change; the first that a command takes.
fn beside(flag: &str) -> &'static [&'static str] {
    match flag {
        "namespace" | "all-namespaces" => &[],
        "show-managed-fields" => &[" -A -o json", " -A"],
        _ => &[" -A"],
    }
}

/// Tries the pairs of places of commands and flags that are asked for; returns those that show the same as the command alone.
fn ignored(is_asked: impl Fn(usize, usize) -> bool) -> Vec<(&'static str, &'static str)> {
    let mut same = Vec::new();
    for (at, (name, words)) in COMMAND_ARGS.iter().enumerate() {
        let mut plain = BTreeMap::new();
        let mut plainly = |words: &str| plain.entry(words.to_owned()).or_insert_with(|| run(words)).clone();
        let given = FLAG_VALUES.iter().enumerate().filter(|(place, _)| is_asked(at, *place));
        for (flag, typed) in given.filter_map(|(_, (flag, typed))| Some((flag, (*typed)?))) {
            // What a command refuses is not given beside it.
            let mut lines = beside(flag).iter().map(|more| format!("{name} {words}{more}"));
            let words = lines.find(|line| plainly(line).0.status.code() != Some(2)).unwrap_or_else(|| format!("{name} {words}"));
            if run(&format!("{words} {typed}")) == plainly(&words) {
                same.push((*name, *flag));
            }
        }
    }
    same
}

#[test]
fn no_flag_of_all_commands_is_taken_and_ignored() {
    let command = ::ketcd::command();
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
    let asked = COMMAND_ARGS.iter().map(|(name, _)| *name).chain(NOT_ASKED.iter().copied());
    assert_eq!(shown.collect::<BTreeSet<_>>(), asked.collect::<BTreeSet<_>>());
    let shared: BTreeSet<_> = command.get_arguments().filter(|arg| arg.is_global_set()).filter_map(clap::Arg::get_long).collect();
    assert_eq!(shared, FLAG_VALUES.iter().map(|(name, _)| *name).collect());
    assert!(LIVE_FLAGS.iter().all(|live| FLAG_VALUES.iter().any(|(flag, _)| flag == live)));
    let is_asked = |(name, flag): &(&str, &str)| {
        let command = COMMAND_ARGS.iter().position(|(asked, _)| asked == name).unwrap();
        is_of_the_day(command, FLAG_VALUES.iter().position(|(known, _)| known == flag).unwrap())
    };
    assert_eq!(ignored(is_of_the_day), EQUAL_PAIRS.iter().copied().filter(is_asked).collect::<Vec<_>>());
}

#[test]
fn no_flag_of_all_commands_is_taken_and_ignored_nightly() {
    assert_eq!(ignored(|_, _| true), EQUAL_PAIRS);
}
