//! docs/limits.md: its table is made from the constants; and the releases that pages name are those that are known.
//! `KETCD_BLESS=1 cargo test --test contracts limits` writes the table.

use std::fmt::Write as _;
use std::fs;

use ketcd_kube::Release;
use ketcd_scheduler::{NEWEST_SCHEDULER, OLDEST_SCHEDULER};
use ketcd_store::etcd::{LARGEST_MESSAGE, LARGEST_REVISION, REQUESTS_A_SECOND};
use ketcd_store::load::{Limits, RECOGNISED_WITHIN};

use super::pages::hold;
use super::root;

const BEGIN_MARK: &str = "<!-- Written by `KETCD_BLESS=1 cargo test --test contracts limits` from constants of the libraries. -->\n";
const END_MARK: &str = "<!-- End of what is written. -->";

/// `60,000`.
fn number(number: i64) -> String {
    let digits = number.to_string();
    digits.as_bytes().rchunks(3).rev().map(|chunk| std::str::from_utf8(chunk).unwrap()).collect::<Vec<_>>().join(",")
}

/// `64 MiB`.
fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB")];
    let (shift, unit) = units.into_iter().find(|(shift, _)| bytes.is_multiple_of(1 << shift)).expect("a whole number of MiB");
    format!("{} {unit}", bytes >> shift)
}

fn table() -> String {
    let rows = [
        ("requests to a live etcd", format!("at most {} a second (`--qps`)", number(REQUESTS_A_SECOND as i64))),
        ("one message of etcd", format!("{}; the changes of one revision {}", size(LARGEST_MESSAGE as u64), size(LARGEST_REVISION as u64))),
        (
            "a live history read whole for one answer",
            format!(
                "{} revisions; {} in a file. Longer ones are read by key, and dated by samples",
                number(ketcd_cluster::clock::READ_WHOLE_LIVE),
                number(ketcd_cluster::clock::READ_WHOLE)
            ),
        ),
        (
            "what an answer keeps of such a live history, so that it is read once",
            format!(
                "{kept} of changes and {kept} of the state before them; a larger one is read again",
                kept = size(ketcd_cluster::clock::MAX_KEPT_BYTES as u64)
            ),
        ),
        (
            "what `grep` holds of what it finds",
            format!(
                "{}; of a file the keys are searched in parts, of a live etcd the rest is named and left out",
                size(ketcd_cluster::grep::MAX_HELD_BYTES as u64)
            ),
        ),
        (
            "what `rehearse` holds of a running etcd that differs from the backup",
            format!("{}; where more differs, a snapshot of it is asked for", size(ketcd_cluster::rehearse::MAX_HELD_BYTES as u64)),
        ),
        ("states that `rehearse` takes with `--over`", format!("at most {}", ketcd_cluster::rehearse::MAX_STATES)),
        ("what is searched for by `grep`", format!("at most {} bytes", number(ketcd_cluster::grep::MAX_PATTERN_BYTES as i64))),
        ("input of an unknown format", format!("refused after its first {}", size(RECOGNISED_WITHIN as u64))),
        (
            "compressed files and pipes, archives in one another among them",
            format!(
                "unpacked to at most {} at once, all of one command together (`--max-unpacked-size`)",
                size(Limits::default().unpacked)
            ),
        ),
        (
            "what is unpacked only to see what lies in files",
            format!("{}, and more where the files are large", size(Limits::default().bounds.looks)),
        ),
        ("memory for the indexes of files", format!("{}, and more where the files are large", size(Limits::default().bounds.index))),
        (
            "objects worked out of an audit log, without etcd",
            format!("at most {} (`--max-unpacked-size`)", size(Limits::default().unpacked)),
        ),
        ("one record of an audit log", format!("{}; longer ones are named and left out", size(ketcd_audit::LONGEST_RECORD as u64))),
    ];
    rows.iter().fold("| limit | value |\n|---|---|\n".to_owned(), |mut text, (limit, value)| {
        writeln!(text, "| {limit} | {value} |").unwrap();
        text
    })
}

#[test]
fn the_table_of_limits_has_the_numbers_of_the_code() {
    let path = root().join("docs/limits.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN_MARK).expect("the page has the table");
    let (_, after) = rest.split_once(END_MARK).expect("the table ends");
    assert_eq!(hold(&path, &format!("{before}{BEGIN_MARK}\n{}\n{END_MARK}{after}", table())), None);
}

#[test]
fn without_the_flag_as_much_is_unpacked_as_the_library_unpacks() {
    let command = ketcd::command();
    let flag = command.get_arguments().find(|flag| flag.get_long() == Some("max-unpacked-size")).unwrap();
    let default = flag.get_default_values()[0].to_str().unwrap();
    assert_eq!(default.replace("Gi", " GiB"), size(Limits::default().unpacked));
}

#[test]
fn releases_are_those_that_are_known() {
    let (newest, scheduler) = (Release::NEWEST, NEWEST_SCHEDULER);
    for (page, sentence) in [
        ("limits", format!("- Every kind of Kubernetes {} to {newest}, ", Release::OLDEST)),
        ("limits", format!("- kube-scheduler {OLDEST_SCHEDULER} to {scheduler} with its own plugins.")),
        (
            "faq",
            format!(
                "**My Kubernetes is newer than {newest}.**\nObjects are shown as far as {newest} knows their fields, and `explain` uses the rules of {scheduler}.\n"
            ),
        ),
    ] {
        let text = fs::read_to_string(root().join(format!("docs/{page}.md"))).unwrap();
        assert!(text.contains(&sentence), "docs/{page}.md does not say: {sentence}");
    }
}
