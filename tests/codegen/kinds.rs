//! The table of kinds, `crates/kube/src/proto/kinds.rs`, from `proto/kinds.tsv`.

use std::fmt::Write as _;
use std::fs;

use super::{compare, root};

#[test]
fn kinds_are_current() {
    compare("crates/kube/src/proto/kinds.rs", generate(&fs::read_to_string(root().join("proto/kinds.tsv")).unwrap()));
}

fn generate(table: &str) -> String {
    let mut out = String::from(HEADER);
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('\t').map(|cell| if cell == "-" { "" } else { cell }).collect();
        let [path, group, also, kind, plural, scope, versions, short, categories] = cells[..] else { panic!("nine cells: {line}") };
        assert!(matches!(scope, "n" | "c"), "scope: {line}");
        writeln!(
            out,
            "    KindRow {{ path: {path:?}, group: {group:?}, other_groups: {}, kind: {kind:?}, plural: {plural:?}, singular: {:?}, \
             namespaced: {}, versions: {}, short_names: {}, categories: {} }},",
            list(also),
            kind.to_lowercase(),
            scope == "n",
            list(versions),
            list(short),
            list(categories),
        )
        .unwrap();
    }
    out + "];\n"
}

fn list(cell: &str) -> String {
    let items: Vec<&str> = cell.split(',').filter(|item| !item.is_empty()).collect();
    format!("&{items:?}")
}

const HEADER: &str = "\
//! The resources Kubernetes knows and where each is stored. Made from `proto/kinds.tsv` by `tests/codegen`; never edited.

/// One resource.
pub struct KindRow {
    /// Path below the API server's prefix; empty where nothing is stored; from `/` on where it is whole.
    pub path: &'static str,
    /// API group, empty for core.
    pub group: &'static str,
    /// Other groups under which the same stored objects were served.
    pub other_groups: &'static [&'static str],
    /// Kind.
    pub kind: &'static str,
    /// Resource name.
    pub plural: &'static str,
    /// The kind in lower case.
    pub singular: &'static str,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Versions of `group`, the most preferred first.
    pub versions: &'static [&'static str],
    /// Short names.
    pub short_names: &'static [&'static str],
    /// Categories, such as `all`.
    pub categories: &'static [&'static str],
}

/// Every resource, by group (core first) and plural.
#[rustfmt::skip]
pub const KINDS: &[KindRow] = &[
";
