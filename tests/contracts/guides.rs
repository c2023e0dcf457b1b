//! The guides: tutorial, how-tos, explanation and the pages with them. Every command in them runs and prints what the page shows, every page
//! is linked, and every link leads somewhere.
//! `KETCD_BLESS=1 cargo test --test contracts guides` writes what ketcd prints now.

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use std::thread;

use regex::Regex;
use tempfile::TempDir;

use super::pages::{hold, with_examples};
use super::root;
use ketcd_testing::playground;

/// How a line of a guide may begin: with ketcd, or with what makes a file for it.
const LINE_BEGINNINGS: [&str; 4] = ["ketcd ", "head -c ", "tail -n ", "tar -x"];

/// Pages in `docs/` that are reference: other tests hold them.
const REFERENCE_PAGES: [&str; 2] = ["faults.md", "tables.md"];

/// The Markdown files of a folder in `docs/`, in order.
fn pages_in(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("docs").join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect();
    pages.sort();
    pages
}

/// The guides.
fn guides() -> Vec<PathBuf> {
    let is_reference = |path: &PathBuf| REFERENCE_PAGES.iter().any(|name| path.ends_with(name));
    let mut guides: Vec<PathBuf> = pages_in("").into_iter().filter(|path| !is_reference(path)).collect();
    guides.extend(pages_in("how-to"));
    guides.extend(pages_in("explanation"));
    guides
}

/// A folder as a guide finds it: that of `tools/playground`.
fn files() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    playground::lay_out(folder.path()).unwrap();
    folder
}

/// Another one with the same files.
fn copied(from: &Path, names: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in names {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(from.join(name), path).unwrap();
    }
    folder
}

#[test]
fn the_guides_say_where_their_files_come_from() {
    let overview = fs::read_to_string(root().join("docs/README.md")).unwrap();
    assert!(overview.contains("tools/playground"), "docs/README.md does not say how to get the files");
    for path in pages_in("how-to") {
        let page = fs::read_to_string(&path).unwrap();
        assert!(page.contains("`tools/playground`"), "{} does not say where its files come from", path.display());
    }
    let page = fs::read_to_string(root().join("docs/how-to/change-the-scheduler.md")).unwrap();
    assert!(page.contains(&format!("```yaml\n{}```", playground::PACKING_CONFIG)), "the page does not show packing.yaml as it is");
    let script = fs::read_to_string(root().join("tools/playground")).unwrap();
    assert!(script.contains("--example playground"), "{script}");
}

/// Runs a line in a folder; both streams are one.
fn run(line: &str, folder: &Path) -> Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_ketcd")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.args(["-o", "pipefail", "-c", &format!("{{ {line}\n}} 2>&1")]).current_dir(folder);
    command.env("PATH", path).env("LC_ALL", "C").env_remove("NO_COLOR").output().unwrap()
}

/// The lines of the blocks of a page that begin with a fence of this language, without comments at their end.
fn lines_of(page: &str, fence: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut is_inside = false;
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(language) => is_inside = language == fence,
            None if is_inside => lines.push(line.split("  # ").next().unwrap().trim_end().to_owned()),
            None => {}
        }
    }
    lines
}

/// Runs the commands of a guide on files that are laid out; returns how many there are, and how what they print differs from the page.
fn played(path: &Path, from: &Path, names: &[&str]) -> (usize, Option<String>) {
    let folder = LazyCell::new(|| copied(from, names));
    let page = fs::read_to_string(path).unwrap();
    let (printed, examples) = with_examples(&page, &|line| {
        assert!(LINE_BEGINNINGS.iter().any(|program| line.starts_with(program)), "{}: {line}", path.display());
        String::from_utf8(run(line, folder.path()).stdout).unwrap()
    });
    let least = if path.ends_with("tutorial.md") {
        10
    } else if path.parent().unwrap().ends_with("how-to") {
        3
    } else {
        0
    };
    assert!(examples >= least, "{} has only {examples} commands", path.display());
    // A page without commands may be written by another test.
    (examples, hold(path, &printed).filter(|_| examples > 0))
}

#[test]
fn commands_of_the_guides_print_what_they_show() {
    let (guides, laid_out) = (guides(), tempfile::tempdir().unwrap());
    let (from, names) = (laid_out.path(), playground::lay_out(laid_out.path()).unwrap());
    let played: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> = guides.iter().map(|path| scope.spawn(|| played(path, from, &names))).collect();
        running.into_iter().map(|guide| guide.join().unwrap()).collect()
    });
    let total: usize = played.iter().map(|(examples, _)| examples).sum();
    assert!(total >= 50, "the guides have only {total} commands");
    let problems: Vec<String> = played.into_iter().filter_map(|(_, problem)| problem).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Whether a line in a block of `sh` reads the etcd in the environment.
fn reads_etcd(line: &str) -> bool {
    line.starts_with("ketcd ") && !line.contains(" -f ")
}

/// Those that read a live etcd run in `tests/live/help.rs`; where kubectl follows, what comes before it runs.
#[test]
fn commands_of_the_guides_without_output_run() {
    let mut ran = 0;
    for path in guides() {
        let page = fs::read_to_string(&path).unwrap();
        let folder = LazyCell::new(files);
        for line in lines_of(&page, "sh") {
            assert!(line.starts_with("ketcd "), "{}: {line}", path.display());
            let own = line.split(" | kubectl ").next().unwrap().split(" && kubectl ").next().unwrap();
            let words = own.split(" -- ").next().unwrap().split_whitespace();
            if let Err(error) = ketcd::command().try_get_matches_from(words) {
                panic!("{}: {line}: {error}", path.display());
            }
            if reads_etcd(&line) || own.contains(" -- ") {
                continue;
            }
            let output = run(own, folder.path());
            assert_eq!(output.status.code(), Some(0), "{}: {line}: {}", path.display(), String::from_utf8_lossy(&output.stdout));
            ran += 1;
        }
    }
    assert!(ran >= 2, "only {ran} of them ran");
}

/// Nobody is sent to a download that is not there, or kept from one that is.
#[test]
fn pages_say_how_to_build_what_is_not_released() {
    let read = |page: &str| fs::read_to_string(root().join(page)).unwrap();
    let is_released = read("CHANGELOG.md").lines().any(|line| line.starts_with("## ") && !line.contains("unreleased"));
    for page in ["README.md", "docs/sources.md"] {
        let text = read(page);
        assert_eq!(text.contains("There is no release to download yet"), !is_released, "{page}");
        assert!(text.contains("`cargo install --path . --locked` builds the command"), "{page}");
    }
}

/// A command of a page without what is quoted in it and without its comment; `None` of another line.
fn unquoted(line: &str) -> Option<String> {
    static QUOTED_TEXT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#"'[^']*'|"[^"]*""#).unwrap());
    let command = line.strip_prefix("$ ").unwrap_or(line).split(" # ").next().unwrap();
    command.starts_with("ketcd ").then(|| QUOTED_TEXT.replace_all(command, "").into_owned())
}

/// bash leaves a pattern as it is where no file matches; zsh runs no command then.
#[test]
fn commands_of_pages_have_no_patterns_for_a_shell() {
    let (mut seen, mut problems) = (0, Vec::new());
    for path in linking_pages() {
        let page = fs::read_to_string(&path).unwrap();
        let examples = page.lines().filter(|line| line.starts_with("$ ")).map(str::to_owned);
        for line in examples.chain(lines_of(&page, "sh")) {
            let Some(command) = unquoted(&line) else { continue };
            seen += 1;
            if command.contains(['*', '?', '[']) {
                problems.push(format!("{}: {line}", path.display()));
            }
        }
    }
    assert!(seen > 100, "only {seen} commands were found");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The links of a page: what stands between `](` and `)` outside of code.
fn links(page: &str) -> Vec<String> {
    static LINK_TARGET: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\]\(([^)\s]+)\)").unwrap());
    static CODE_SPAN: LazyLock<Regex> = LazyLock::new(|| Regex::new("`[^`]*`").unwrap());
    let mut is_code = false;
    let text = page.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    text.flat_map(|line| LINK_TARGET.captures_iter(&CODE_SPAN.replace_all(line, "x")).map(|found| found[1].to_owned()).collect::<Vec<_>>())
        .collect()
}

/// The anchors of a page's headings, as forges make them.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let text = line.trim_start_matches('#').trim().to_lowercase();
            text.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c)).collect::<String>().replace(' ', "-")
        })
        .collect()
}

/// The pages whose links are followed: those at the top, and all of `docs/`.
fn linking_pages() -> Vec<PathBuf> {
    let top = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> = top.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect();
    ["", "how-to", "explanation", "commands", "schema"].iter().for_each(|folder| pages.extend(pages_in(folder)));
    pages
}

#[test]
fn links_lead_somewhere() {
    let mut problems = Vec::new();
    let mut followed = 0;
    for path in linking_pages() {
        for link in links(&fs::read_to_string(&path).unwrap()).into_iter().filter(|link| !link.contains("://")) {
            followed += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            let is_there = target.exists() && (anchor.is_empty() || anchors(&fs::read_to_string(&target).unwrap()).contains(anchor));
            if !is_there {
                problems.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(followed > 100, "only {followed} links were found");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_guide_is_linked_from_the_readme_and_from_the_overview() {
    let targets = |page: &str| -> BTreeSet<PathBuf> {
        let path = root().join(page);
        let text = fs::read_to_string(&path).unwrap();
        let linked = links(&text).into_iter().map(|link| path.parent().unwrap().join(link.split('#').next().unwrap()));
        linked.filter_map(|path| path.canonicalize().ok()).collect()
    };
    for page in ["README.md", "docs/README.md"] {
        let targets = targets(page);
        for guide in guides().into_iter().filter(|guide| !guide.ends_with("docs/README.md")) {
            assert!(targets.contains(&guide.canonicalize().unwrap()), "{page} does not link {}", guide.display());
        }
    }
}
