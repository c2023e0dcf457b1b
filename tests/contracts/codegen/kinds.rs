//! The tables of what Kubernetes serves: `crates/kube/src/proto/kinds.rs` from `proto/kinds.tsv`, `versions.rs` from `proto/versions.tsv`.

use std::fmt::Write as _;
use std::fs;

use super::{compare, root};

#[test]
fn kinds_are_current() {
    compare("crates/kube/src/proto/kinds.rs", kinds(&table("kinds")));
}

#[test]
fn versions_are_current() {
    compare("crates/kube/src/proto/versions.rs", versions(&table("versions"), &table("kinds")));
}

pub(super) fn table(name: &str) -> String {
    fs::read_to_string(root().join(format!("proto/{name}.tsv"))).unwrap()
}

/// The cells of a table's lines; those that are empty are written as `-`.
pub(super) fn lines(table: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split('\t').map(|cell| if cell == "-" { "" } else { cell }).collect())
}

fn kinds(table: &str) -> String {
    let mut out = String::from(KINDS_HEAD);
    for cells in lines(table) {
        let [path, group, also, kind, plural, scope, versions, short, categories, conversion, subresources] = cells[..] else {
            panic!("eleven cells: {cells:?}")
        };
        assert!(matches!(scope, "n" | "c"), "scope: {cells:?}");
        writeln!(
            out,
            "    KindRow {{ path: {path:?}, group: {group:?}, other_groups: {}, kind: {kind:?}, plural: {plural:?}, singular: {:?}, \
             namespaced: {}, versions: {}, short_names: {}, categories: {}, conversion: {}, subresources: &{:?} }},",
            list(also),
            kind.to_lowercase(),
            scope == "n",
            list(versions),
            list(short),
            list(categories),
            conversion_of(conversion),
            items(subresources).into_iter().map(since).collect::<Vec<_>>(),
        )
        .unwrap();
    }
    out + "];\n"
}

fn versions(table: &str, kinds: &str) -> String {
    let mut out = String::from(VERSIONS_HEAD);
    let mut replaced = String::new();
    for cells in lines(table) {
        let [group, version, plural, first, last, stored, since] = cells[..] else { panic!("seven cells: {cells:?}") };
        let is_it = |kind: &Vec<&str>| kind[4] == plural && (kind[1] == group || items(kind[2]).contains(&group));
        let kind = lines(kinds).find(is_it).unwrap_or_else(|| panic!("no kind: {cells:?}"))[3];
        let served = match (first, last) {
            ("off", "off") => "None".to_owned(),
            _ => format!("Some(({}, {}))", release(first, "0"), release(last, "u16::MAX")),
        };
        let stored = if stored == "no" { "None".to_owned() } else { format!("Some({})", release(stored, "0")) };
        let of = format!("group: {group:?}, version: {version:?}, plural: {plural:?}");
        writeln!(out, "    VersionRow {{ {of}, served: {served}, stored: {stored} }},").unwrap();
        if !since.is_empty() {
            writeln!(replaced, "    ({group:?}, {version:?}, {kind:?}, {}),", release(since, "")).unwrap();
        }
    }
    out + REPLACED_HEAD + &replaced + "];\n"
}

pub(super) fn release<'c>(cell: &'c str, absent: &'c str) -> &'c str {
    assert!(cell.is_empty() || cell.parse::<u16>().is_ok(), "release: {cell}");
    if cell.is_empty() { absent } else { cell }
}

/// A name, and the release behind its `@`.
fn since(item: &str) -> (&str, u16) {
    item.split_once('@').map_or((item, 0), |(name, release)| (name, release.parse().unwrap()))
}

/// The variant of `Conversion` that a word names: `flow_control` is `FlowControl`.
fn conversion_of(word: &str) -> String {
    let parts = if word.is_empty() { "none" } else { word }.split('_');
    let capital = |part: &str| part[..1].to_uppercase() + &part[1..];
    format!("Conversion::{}", parts.map(capital).collect::<String>())
}

pub(super) fn items(cell: &str) -> Vec<&str> {
    cell.split(',').filter(|item| !item.is_empty()).collect()
}

fn list(cell: &str) -> String {
    format!("&{:?}", items(cell))
}

const KINDS_HEAD: &str = "\
//! The resources Kubernetes knows and where each is stored. Made from `proto/kinds.tsv` by `tests/contracts/codegen`; never edited.

/// One resource.
#[non_exhaustive]
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
    /// How an object of one of its versions becomes one of another.
    pub conversion: Conversion,
    /// Subresources that can be read, each with the first minor release that has it.
    pub subresources: &'static [(&'static str, u16)],
}

/// How objects of a kind become those of another of its versions: by the module of this name in `api::convert`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Conversion {
    /// There is one version, or none that ketcd converts to.
    None,
    /// The fields are the same in every group and version.
    Same,
    /// Events of the core group and of `events.k8s.io`.
    Events,
    /// HorizontalPodAutoscalers.
    Autoscaler,
    /// PriorityLevelConfigurations.
    FlowControl,
    /// EndpointSlices.
    EndpointSlice,
    /// CustomResourceDefinitions.
    Definition,
    /// Ingresses.
    Ingress,
    /// PodDisruptionBudgets.
    DisruptionBudget,
    /// Deployments and the other kinds of `apps`.
    Workload,
}

/// Every resource, by group (core first) and plural.
#[rustfmt::skip]
pub const KINDS: &[KindRow] = &[
";

const VERSIONS_HEAD: &str = "\
//! Which release serves which version of a resource. Made from `proto/versions.tsv` by `tests/contracts/codegen`; never edited.

/// A resource in one version.
#[non_exhaustive]
pub struct VersionRow {
    /// API group, empty for core.
    pub group: &'static str,
    /// Version of the group.
    pub version: &'static str,
    /// Resource name.
    pub plural: &'static str,
    /// The first and the last minor release that serve it by default; `None` where no release does, though objects may be stored in it.
    pub served: Option<(u16, u16)>,
    /// The first minor release that stores objects in it, until the next version of the kind is stored; `None` where no release does.
    pub stored: Option<u16>,
}

impl VersionRow {
    /// Whether API servers of release 1.`minor` serve it by default.
    pub fn is_served_by(&self, minor: u16) -> bool {
        self.served.is_some_and(|(first, last)| (first..=last).contains(&minor))
    }
}

/// Every version of every resource, groups in the order of discovery, the preferred version of a group first.
#[rustfmt::skip]
pub const VERSIONS: &[VersionRow] = &[
";

const REPLACED_HEAD: &str = "\
];

/// Versions that objects are stored in but no longer served in: group, version, kind, and the first release that returns them as v1, whose fields are
/// the same.
#[rustfmt::skip]
pub const REPLACED: &[(&str, &str, &str, u8)] = &[
";
