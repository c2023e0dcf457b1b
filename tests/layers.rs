//! The rooms of `src/` and who may use whom. The table in ARCHITECTURE.md is this one.

use std::fs;
use std::path::{Path, PathBuf};

/// Each room with the rooms it may use.
const LAYERS: &[(&str, &[&str])] = &[
    ("proto", &[]),
    ("store", &["proto"]),
    ("kube", &["proto"]),
    ("cluster", &["store", "kube"]),
    ("history", &["store", "kube"]),
    ("scheduler", &["cluster", "kube", "store"]),
    ("render", &["store", "kube", "cluster", "history", "scheduler"]),
    ("cli", &["store", "kube", "cluster", "history", "scheduler", "render"]),
];

/// Words that only some rooms may contain, with the reason.
const RESERVED: &[(&str, &[&str], &str)] = &[
    ("dyn Source", &["store", "cli"], "only cli reads sources; the other rooms use store's plain types"),
    ("std::fs", &["store", "cli"], "only store and cli touch files"),
    ("std::env", &["cli"], "only cli knows the environment"),
    ("tokio::", &["store", "cli"], "the rooms above store are synchronous"),
    ("SystemTime", &["cli"], "the rooms above store have no clock"),
    ("Timestamp::now", &["cli"], "the rooms above store have no clock"),
];

#[test]
fn every_room_uses_only_the_rooms_it_may() {
    let broken: Vec<String> = files().iter().flat_map(|(room, path, text)| violations(room, path, text)).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_room_is_in_the_table_and_every_row_is_a_room() {
    let mut rooms: Vec<String> = fs::read_dir(source_root())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    let mut table: Vec<&str> = LAYERS.iter().map(|(room, _)| *room).collect();
    rooms.sort_unstable();
    table.sort_unstable();
    assert_eq!(rooms, table);
}

#[test]
fn every_file_says_what_it_is_for() {
    let silent: Vec<String> =
        files().iter().filter(|(_, _, text)| !text.starts_with("//!")).map(|(_, path, _)| path.display().to_string()).collect();
    assert!(silent.is_empty(), "no //! on the first line of {}", silent.join(", "));
}

#[test]
fn a_planted_upward_use_is_caught() {
    let path = Path::new("planted.rs");
    assert_eq!(violations("kube", path, "use crate::store::KeyValue;").len(), 1);
    assert_eq!(violations("store", path, "let x = crate::cli::main();").len(), 1);
    assert_eq!(violations("cluster", path, "use crate::{store, history};").len(), 1);
    assert_eq!(violations("cluster", path, "use super::super::history;").len(), 1);
    assert_eq!(violations("history", path, "fn f(s: &dyn Source) {}").len(), 1);
    assert_eq!(violations("cluster", path, "use crate::store::Revision;").len(), 0);
}

fn violations(room: &str, path: &Path, text: &str) -> Vec<String> {
    let (_, allowed) = LAYERS.iter().find(|(name, _)| *name == room).unwrap_or_else(|| panic!("{room} is no room"));
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
        let mut report = |why: String| found.push(format!("{}:{}: {why}: {}", path.display(), number + 1, line.trim()));
        for (_, after) in line.match_indices("crate::").map(|(at, word)| (at, &line[at + word.len()..])) {
            let used: String = after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if used.is_empty() {
                report("grouped `use crate::{…}` hides who is used".to_owned());
            } else if LAYERS.iter().any(|(name, _)| *name == used) && used != room && !allowed.contains(&used.as_str()) {
                report(format!("{room} may not use {used}"));
            }
        }
        if line.contains("super::super") {
            report("`super::super` hides who is used".to_owned());
        }
        for (word, rooms, why) in RESERVED {
            if line.contains(word) && !rooms.contains(&room) {
                report((*why).to_owned());
            }
        }
    }
    found
}

/// Every Rust file of every room: room, path, text.
fn files() -> Vec<(String, PathBuf, String)> {
    let mut found = Vec::new();
    for (room, _) in LAYERS {
        let mut folders = vec![source_root().join(room)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let text = fs::read_to_string(&path).unwrap();
                    found.push(((*room).to_owned(), path, text));
                }
            }
        }
    }
    found
}

fn source_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}
