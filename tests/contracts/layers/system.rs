//! What depends on the operating system lies in `src/cli/system`, with the same items for each.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The files of a folder and of those below it.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[test]
fn the_rest_of_the_command_is_the_same_on_every_system() {
    let signs = [
        "cfg(unix)",
        "cfg(not(unix))",
        "cfg(windows)",
        "cfg!(windows",
        "cfg!(unix",
        "target_os",
        "std::os::",
        "rustix::",
        "libc::",
        "tokio::net::Unix",
    ];
    let files = files_below(&root());
    assert!(files.len() > 100);
    for path in files.iter().filter(|path| !path.starts_with(root().join("cli/system"))) {
        let text = fs::read_to_string(path).unwrap();
        for sign in signs {
            assert!(!text.contains(sign), "{} has {sign}: it belongs to src/cli/system", path.display());
        }
    }
}

/// The public items of the files in a folder: `files.rs: fn is_stream`.
fn items(folder: &str) -> BTreeSet<String> {
    let files = files_below(&root().join("cli/system").join(folder));
    let of = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(path).unwrap();
        let items: Vec<String> = text
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("pub(in crate::cli) "))
            .map(|item| {
                item.split(['(', '<', ':', ';', '{', ' ']).take(if item.starts_with("async") { 3 } else { 2 }).collect::<Vec<_>>().join(" ")
            })
            .filter(|item| !item.starts_with("use"))
            .map(|item| format!("{name}: {item}"))
            .collect();
        items
    };
    files.into_iter().flat_map(of).collect()
}

#[test]
fn each_system_has_the_same_items() {
    let unix = items("unix");
    assert!(unix.len() > 15, "{unix:?}");
    assert_eq!(unix, items("elsewhere"));
}
