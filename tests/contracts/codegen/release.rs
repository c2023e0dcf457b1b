//! The newest release is the same wherever a file names it, and CONTRIBUTING's walk for the next one names these files.

use std::fs;

use ketcd_kube::Release;

use super::root;

/// The files that name the newest release, and how.
fn named() -> Vec<(&'static str, String)> {
    let newest = Release::NEWEST;
    vec![
        ("proto/VERSIONS", format!(" {newest}  ")),
        ("proto/kinds.tsv", format!("Kubernetes {} to {newest}", Release::OLDEST)),
        ("proto/versions.tsv", format!("Kubernetes {} to {newest}", Release::OLDEST)),
        ("proto/fields.tsv", format!("Kubernetes 1.9 to {newest}")),
        ("oracle/releases.txt", format!("\n{newest} ")),
        ("README.md", format!("1.9 to {newest}")),
        ("TESTING.md", format!("1.9 to {newest}")),
        ("docs/limits.md", format!("1.9 to {newest}")),
        ("docs/faq.md", format!("newer than {newest}")),
        ("crates/scheduler/README.md", format!("1.9 to {newest}")),
    ]
}

#[test]
fn every_file_reaches_the_newest_release() {
    assert_eq!(ketcd_scheduler::NEWEST_SCHEDULER, Release::NEWEST);
    for (path, wanted) in named() {
        let text = fs::read_to_string(root().join(path)).unwrap();
        assert!(text.contains(&wanted), "{path} does not reach {}", Release::NEWEST);
    }
}

/// What the walk for a new release says between backticks.
fn walk() -> Vec<String> {
    let text = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let walk = text.split("\n## ").find(|section| section.starts_with("Add a release of Kubernetes")).unwrap();
    let prose = walk.lines().filter(|line| !line.contains("```"));
    prose.flat_map(|line| line.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

#[test]
fn the_walk_for_a_release_names_every_file() {
    let walk = walk();
    let tables = fs::read_dir(root().join("proto")).unwrap().map(|entry| format!("proto/{}", entry.unwrap().file_name().display()));
    let tables: Vec<String> = tables.filter(|path| path.ends_with(".tsv")).collect();
    assert!(tables.len() >= 3, "{tables:?}");
    for path in tables.iter().map(String::as_str).chain(named().iter().map(|(path, _)| *path)) {
        assert!(walk.iter().any(|word| word == path), "the walk does not name {path}");
    }
}

#[test]
fn the_walk_for_a_release_names_files_that_are_there() {
    let folders = ["", "crates/scheduler/src/release/"];
    let paths: Vec<String> =
        walk().into_iter().filter(|word| !word.contains([' ', '=']) && (word.contains('/') || word.ends_with(".rs"))).collect();
    assert!(paths.len() > 20, "{paths:?}");
    for path in &paths {
        assert!(folders.iter().any(|folder| root().join(folder).join(path).exists()), "{path} is not there");
    }
}
