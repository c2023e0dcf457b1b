//! The page that is committed is what its sources make: `tools/page` writes into `crates/serve/ui/dist/made-of.txt` what it was made of.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::root;

/// What the page may weigh, as it is written in `build.mjs`, before compression: four times as much.
const MAX_PAGE_BYTES: u64 = 4 * 120 * 1024;

fn digest(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}; run tools/page", path.display()));
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// The files of a folder and of those in it, by their paths in `base`.
fn files(base: &Path, folder: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(base.join(folder)).unwrap().map(Result::unwrap) {
        let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            files(base, &path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn the_page_is_what_its_sources_make() {
    let base = root().join("crates/serve/ui");
    let made_of = fs::read_to_string(base.join("dist/made-of.txt")).expect("run tools/page");
    let listed: Vec<(&str, &str)> = made_of.lines().map(|line| line.rsplit_once(' ').unwrap()).collect();
    for (path, noted) in &listed {
        assert_eq!(digest(&base.join(path)), *noted, "{path} is another one: run tools/page");
    }
    let mut sources = Vec::new();
    files(&base, "src", &mut sources);
    let forgotten: Vec<&String> = sources.iter().filter(|path| !listed.iter().any(|(listed, _)| listed == path)).collect();
    assert!(forgotten.is_empty(), "{forgotten:?} are not in the page: run tools/page");
}

#[test]
fn the_page_is_small_and_makes_no_markup_of_text() {
    let base = root().join("crates/serve/ui");
    let bytes: u64 = ["page.js", "page.css"].iter().map(|name| fs::metadata(base.join("dist").join(name)).unwrap().len()).sum();
    assert!(bytes <= MAX_PAGE_BYTES, "{bytes} bytes");
    let mut sources = Vec::new();
    files(&base, "src", &mut sources);
    for path in sources {
        let text = fs::read_to_string(base.join(&path)).unwrap();
        for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "eval(", "new Function", "import("] {
            assert!(!text.contains(word), "{path} has {word}");
        }
    }
}
