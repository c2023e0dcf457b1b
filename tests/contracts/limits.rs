//! docs/limits.md: its numbers are those of the code.

use std::fs;

use ketcd_kube::Release;

use super::root;

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The rows of the page's table: what a row says is limited, what its value begins with, and where that stands in the code.
const NUMBERS: &[(&str, &str, &str, &str)] = &[
    ("requests to a live etcd", "at most 1,000 a second (`--qps`)", "crates/store/src/etcd/pacer.rs", "const PACE: f64 = 1000.0;"),
    ("one record of an audit log", "64 MiB;", "crates/audit/src/splitter.rs", "const LONGEST: usize = 64 << 20;"),
    ("one message of etcd", "64 MiB;", "crates/store/src/etcd/config.rs", "const LARGEST_MESSAGE: usize = 64 << 20;"),
    (
        "one message of etcd",
        "64 MiB; the changes of one revision 128 MiB",
        "crates/store/src/etcd/assemble.rs",
        "const MOST_HELD: usize = 128 << 20;",
    ),
    ("a live history read whole for one answer", "5,000 revisions;", "crates/cluster/src/clock/mod.rs", "const WHOLE_LIVE: i64 = 5_000;"),
    (
        "a live history read whole for one answer",
        "5,000 revisions; 60,000 in a file.",
        "crates/cluster/src/clock/mod.rs",
        "const WHOLE: i64 = 60_000;",
    ),
    ("input of an unknown format", "refused after its first 4 MiB", "crates/store/src/load/spool.rs", "const LOOKED_AT: usize = 4 << 20;"),
    ("a compressed file or a pipe", "unpacked to at most 16 GiB (`--max-unpacked-size`)", "src/cli/args.rs", "default_value = \"16Gi\""),
    ("memory", "about 240 bytes for each revision of a file", "BENCHMARKS.md", "about 240 bytes of heap for each revision"),
    (
        "the history of many objects on a live etcd with a long history",
        "possible, but etcd sends all of it",
        "crates/cluster/src/rights/questions.rs",
        "commands: \"`history`, `timeline` of many objects\"",
    ),
];

#[test]
fn numbers_are_those_of_the_code() {
    let page = text("docs/limits.md");
    let rows: Vec<(&str, &str)> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "))
        .filter(|(limit, _)| *limit != "limit")
        .collect();
    assert!(rows.len() > 5, "{rows:?}");
    for (limit, value) in &rows {
        assert!(NUMBERS.iter().any(|(of, begin, ..)| of == limit && value.starts_with(begin)), "{limit}: {value} is held by nothing");
    }
    for (limit, begin, file, code) in NUMBERS {
        assert!(rows.iter().any(|(of, value)| of == limit && value.starts_with(begin)), "the page does not say {limit}: {begin}");
        assert!(text(file).contains(code), "{limit}: {file} does not hold {code:?}");
    }
}

#[test]
fn releases_are_those_that_are_known() {
    let page = text("docs/limits.md");
    let newest = Release::NEWEST;
    for sentence in [format!("Every kind of Kubernetes 1.8 to {newest}"), format!("kube-scheduler 1.9 to {newest}")] {
        assert!(page.contains(&sentence), "{sentence}");
    }
}
