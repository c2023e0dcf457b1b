//! docs/limits.md: its numbers are those of the code, and each sentence about what ketcd does not do names what is tested of it.

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

/// What a point of the page begins with, and the test of it.
const TESTED: &[(&str, &str, &str)] = &[
    (
        "On a live etcd, and in a snapshot of one: since the compaction",
        "tests/live/source.rs",
        "a_compaction_is_a_gap_and_the_span_begins_behind_it",
    ),
    (
        "Further back as far as free pages",
        "crates/store/tests/files/database.rs",
        "what_compaction_removed_is_found_in_free_pages_and_true",
    ),
    ("API objects from kubectl are one moment", "tests/cli/objects.rs", "what_one_moment_cannot_answer_is_refused"),
    ("Fields of a newer release", "tests/cli/listing.rs", "unknown_fields_are_counted_whatever_the_command"),
    ("Encryption at rest:", "crates/cluster/tests/answers/encryption.rs", "without_a_plugin_kms_values_stay_closed_and_the_others_open"),
    ("kube-scheduler 1.9 to", "crates/scheduler/src/config/tests/sets.rs", "extenders_are_reported"),
    ("The default configuration is assumed", "tests/truth/configurations.rs", "released_code_takes_and_refuses_the_same"),
    ("`extract` prints manifests.", "tests/live/read_only.rs", "the_binary_holds_no_call_that_writes"),
];

#[test]
fn points_name_tests_that_are_there() {
    let page = text("docs/limits.md");
    for (point, file, test) in TESTED {
        assert!(page.contains(&format!("- {point}")), "the page does not say {point}");
        assert!(text(file).contains(&format!("fn {test}(")), "{file} has no test {test}");
    }
}
