//! The fields by which objects are selected: `crates/kube/src/proto/fields.rs` from `proto/fields.tsv`.

use std::fmt::Write as _;

use super::compare;
use super::kinds::{items, lines, release, table};

#[test]
fn fields_are_current() {
    compare("crates/kube/src/proto/fields.rs", fields(&table("fields"), &table("kinds")));
}

fn fields(table: &str, kinds: &str) -> String {
    let (mut out, mut refusals) = (String::from(FIELDS_HEAD), String::new());
    for cells in lines(table) {
        let [group, version, kind, label, first, last, value, absent] = cells[..] else { panic!("eight cells: {cells:?}") };
        let is_it = |row: &Vec<&str>| {
            let is_in = row[1] == group || items(row[2]).contains(&group);
            row[3] == kind && is_in && (version.is_empty() || items(row[6]).contains(&version))
        };
        assert!(lines(kinds).any(|row| is_it(&row)), "no kind: {cells:?}");
        let of = format!(
            "group: {group:?}, version: {version:?}, kind: {kind:?}, releases: {}..={}",
            release(first, "0"),
            release(last, "u16::MAX")
        );
        if label == "*" {
            writeln!(refusals, "    RefusalRow {{ {of}, words: {value:?} }},").unwrap();
        } else {
            let pointers = pointers(if value.is_empty() { label } else { value });
            writeln!(out, "    FieldRow {{ {of}, label: {label:?}, pointers: &{pointers:?}, absent: {absent:?} }},").unwrap();
        }
    }
    out + REFUSALS_HEAD + &refusals + "];\n"
}

/// The JSON pointers of a cell `value`: `a.b|c` is `/a/b` and `/c`.
fn pointers(value: &str) -> Vec<String> {
    let paths = value.split('|').filter(|path| *path != "none");
    paths.map(|path| format!("/{}", path.replace('.', "/"))).collect()
}

const FIELDS_HEAD: &str = "\
//! The fields by which objects are selected. Made from `proto/fields.tsv` by `tests/contracts/codegen`; never edited.

use std::ops::RangeInclusive;

/// A field of a kind.
#[derive(Debug)]
#[non_exhaustive]
pub struct FieldRow {
    /// API group, empty for core.
    pub group: &'static str,
    /// Version of the group; empty for every version.
    pub version: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// The minor releases that know the field.
    pub releases: RangeInclusive<u16>,
    /// What selectors call it.
    pub label: &'static str,
    /// Where the stored object has it: JSON pointers, of which the first that is not empty counts; none where no object has it.
    pub pointers: &'static [&'static str],
    /// What stands for an absent value.
    pub absent: &'static str,
}

/// What is answered to fields that a kind does not have.
#[derive(Debug)]
#[non_exhaustive]
pub struct RefusalRow {
    /// API group, empty for core.
    pub group: &'static str,
    /// Version of the group; empty for every version.
    pub version: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// The minor releases that answer so.
    pub releases: RangeInclusive<u16>,
    /// The answer; `LABEL` stands for the field, `VERSION` for group and version.
    pub words: &'static str,
}

/// The fields of every kind that has some of its own.
#[rustfmt::skip]
pub const FIELDS: &[FieldRow] = &[
";

const REFUSALS_HEAD: &str = "\
];

/// The answers of every kind that has fields of its own. Every other kind has `metadata.name` and `metadata.namespace`.
#[rustfmt::skip]
pub const REFUSALS: &[RefusalRow] = &[
";
