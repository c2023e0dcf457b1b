//! The default profile of every release against `testdata/profiles.yaml`, a transcription of upstream's sources that is not made from ours.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use ketcd::scheduler::{Gates, NEWEST_SCHEDULER, OLDEST_SCHEDULER, Profile, Release, plugins, scheduler_release};
use serde::Deserialize;

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    filters: Vec<Row>,
    scores: Vec<Row>,
    /// By what brings them in: names that no default profile has.
    optional: BTreeMap<String, Vec<String>>,
}

/// What the default profiles of some releases have at one point.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// `1.17` or `1.12-1.16`.
    releases: String,
    source: String,
    /// In order; scores as `NAME WEIGHT`.
    names: Vec<String>,
}

#[test]
fn default_profiles_are_upstreams() {
    let table = read();
    let mut wrong = Vec::new();
    for minor in OLDEST_SCHEDULER.0..=NEWEST_SCHEDULER.0 {
        let release = Release(minor);
        let profile = Profile::new(release, Gates::new(release));
        let filters: Vec<String> = profile.filters.iter().map(|entry| entry.name.to_owned()).collect();
        let scores: Vec<String> = profile.scores.iter().map(|entry| format!("{} {}", entry.name, entry.weight)).collect();
        for (what, rows, ours) in [("filters", &table.filters, filters), ("scores", &table.scores, scores)] {
            let row = row(rows, release, what);
            if row.names != ours {
                wrong.push(format!("{what} of {release} ({})\n  want {}\n  got  {}", row.source, row.names.join(", "), ours.join(", ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each name of the table has its rule here under that very name, and each rule here is in the table: in a default profile or among the optional ones.
#[test]
fn every_name_is_known_on_both_sides() {
    let table = read();
    let rows = table.filters.iter().chain(&table.scores);
    let default: BTreeSet<&str> = rows.flat_map(|row| &row.names).filter_map(|name| name.split(' ').next()).collect();
    let optional: Vec<&str> = table.optional.values().flatten().map(String::as_str).collect();
    let ours: BTreeSet<&str> = plugins::all().map(|plugin| plugin.name()).collect();
    let unique: BTreeSet<&str> = optional.iter().copied().collect();
    assert_eq!(unique.len(), optional.len(), "an optional name stands there twice");
    assert_eq!(unique.intersection(&default).collect::<Vec<_>>(), Vec::<&&str>::new(), "optional, and in a default profile");
    let theirs: BTreeSet<&str> = default.union(&unique).copied().collect();
    assert_eq!(theirs.difference(&ours).collect::<Vec<_>>(), Vec::<&&str>::new(), "upstream's names without a rule");
    assert_eq!(ours.difference(&theirs).collect::<Vec<_>>(), Vec::<&&str>::new(), "rules that upstream does not name");
}

fn read() -> Table {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/profiles.yaml");
    serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The one row that speaks of a release.
fn row<'t>(rows: &'t [Row], release: Release, what: &str) -> &'t Row {
    let holds = |row: &&Row| {
        let (from, to) = row.releases.split_once('-').unwrap_or((&row.releases, &row.releases));
        (scheduler_release(from).unwrap()..=scheduler_release(to).unwrap()).contains(&release)
    };
    let found: Vec<&Row> = rows.iter().filter(holds).collect();
    let [row] = found[..] else { panic!("{what} of {release}: {} rows", found.len()) };
    row
}
