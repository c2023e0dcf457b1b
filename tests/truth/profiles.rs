//! The default profile of every release against `testdata/profiles.yaml`, a transcription of upstream's sources that is not made from ours.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use ketcd_scheduler::cluster::{ClusterState, ObjectKey, PodFields, PodInfo, WatchedKind};
use ketcd_scheduler::{
    Cycle, Gates, Judgement, NEWEST_SCHEDULER, OLDEST_SCHEDULER, Profile, Release, SchedulerConfiguration, Verdict, registry,
    scheduler_release,
};
use serde::Deserialize;
use serde_json::{Value, json};

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

/// The defaults of gates as the released code prints them.
#[test]
fn gates_default_as_released() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/gates.yaml");
    let table: BTreeMap<String, BTreeMap<String, bool>> = serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for (gate, rows) in &table {
        for (releases, on) in rows {
            let (first, last) = releases.split_once('-').unwrap_or((releases, releases));
            for minor in scheduler_release(first).unwrap().0..=scheduler_release(last).unwrap().0 {
                compared += 1;
                if Gates::new(Release(minor)).on(gate) != *on {
                    wrong.push(format!("{gate} of 1.{minor}: {on} upstream"));
                }
            }
        }
    }
    assert!(compared > 300, "only {compared} defaults");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each name of the table has its rule here under that very name, and each rule here is in the table: in a default profile or among the optional ones.
#[test]
fn every_name_is_known_on_both_sides() {
    let table = read();
    let rows = table.filters.iter().chain(&table.scores);
    let default: BTreeSet<&str> = rows.flat_map(|row| &row.names).filter_map(|name| name.split(' ').next()).collect();
    let optional: Vec<&str> = table.optional.values().flatten().map(String::as_str).collect();
    let ours: BTreeSet<&str> = registry::all().map(|plugin| plugin.name()).collect();
    let unique: BTreeSet<&str> = optional.iter().copied().collect();
    assert_eq!(unique.len(), optional.len(), "an optional name stands there twice");
    assert_eq!(unique.intersection(&default).collect::<Vec<_>>(), Vec::<&&str>::new(), "optional, and in a default profile");
    let theirs: BTreeSet<&str> = default.union(&unique).copied().collect();
    assert_eq!(theirs.difference(&ours).collect::<Vec<_>>(), Vec::<&&str>::new(), "upstream's names without a rule");
    assert_eq!(ours.difference(&theirs).collect::<Vec<_>>(), Vec::<&&str>::new(), "rules that upstream does not name");
}

/// `prioritizeNodes`: where neither plugins nor extenders score, each node has 1.
#[test]
fn where_nothing_scores_every_node_has_one() {
    let policy = |extenders: Value| json!({"kind": "Policy", "priorities": [], "extenders": extenders});
    let filters_only = json!([{"urlPrefix": "http://extender", "filterVerb": "filter"}]);
    for minor in 9..=22 {
        assert_eq!(totals(&policy(json!([])), minor), [1, 1], "1.{minor}");
        assert_eq!(totals(&policy(filters_only.clone()), minor), [0, 0], "1.{minor}, an extender");
    }
    for (version, minors) in [("v1beta1", 19..=22), ("v1beta2", 22..=27), ("v1beta3", 23..=28), ("v1", 25..=29)] {
        for minor in minors {
            let file = |enabled: Value, extenders: Value| {
                json!({
                    "apiVersion": format!("kubescheduler.config.k8s.io/{version}"), "kind": "KubeSchedulerConfiguration", "extenders": extenders,
                    "profiles": [{"schedulerName": "a", "plugins": {"score": {"disabled": [{"name": "*"}], "enabled": enabled}}}],
                })
            };
            assert_eq!(totals(&file(json!([]), json!([])), minor), [1, 1], "{version} in 1.{minor}");
            assert_eq!(totals(&file(json!([]), filters_only.clone()), minor), [0, 0], "{version} in 1.{minor}, an extender");
            let images = file(json!([{"name": "ImageLocality"}]), json!([]));
            assert_eq!(totals(&images, minor), [0, 0], "{version} in 1.{minor}, a plugin");
        }
    }
}

/// What PreFilter would have skipped runs and passes where a configuration takes the PreFilter away.
#[test]
fn a_filter_without_its_prefilter_is_not_skipped() {
    let names = ["NodeAffinity", "VolumeZone", "NodeVolumeLimits"];
    for minor in 28..=37 {
        let file = |disabled: Value| {
            let plugins = json!({"preFilter": {"disabled": disabled}});
            let profiles = json!([{"schedulerName": "a", "plugins": plugins}]);
            json!({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": profiles})
        };
        let without: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        for (disabled, want) in [(json!([]), Verdict::Skip), (json!(without), Verdict::Pass)] {
            let judgement = evaluated(&file(disabled), minor);
            for name in names {
                let at = judgement.filters.iter().position(|filter| *filter == name).unwrap();
                assert_eq!(judgement.nodes[0].verdicts[at], want, "{name} in 1.{minor}");
            }
        }
    }
}

/// A configuration that disables a plugin at a point.
fn without(point: &str, name: &str, version: &str) -> Value {
    let profiles = json!([{"schedulerName": "a", "plugins": {point: {"disabled": [{"name": name}]}}}]);
    json!({"apiVersion": format!("kubescheduler.config.k8s.io/{version}"), "kind": "KubeSchedulerConfiguration", "profiles": profiles})
}

/// What PreFilter would have left for the filter to read is missing: the attempt ends with the filter's error.
#[test]
fn a_filter_that_reads_what_its_prefilter_left_fails_without_it() {
    let cases = [
        ("NodePorts", "v1beta1", 19, "error reading \"PreFilterNodePorts\" from cycleState: not found"),
        ("NodePorts", "v1", 36, "reading \"PreFilterNodePorts\" from cycleState: not found"),
        ("NodeResourcesFit", "v1", 36, "error reading \"PreFilterNodeResourcesFit\" from cycleState: not found"),
        ("PodTopologySpread", "v1beta2", 22, "reading \"PreFilterPodTopologySpread\" from cycleState: not found"),
        ("InterPodAffinity", "v1", 31, "error reading \"PreFilterInterPodAffinity\" from cycleState: not found"),
        ("VolumeBinding", "v1beta3", 24, "not found"),
        ("DynamicResources", "v1", 34, "not found"),
        ("NodeDeclaredFeatures", "v1", 36, "error reading \"PreFilterNodeDeclaredFeatures\" from cycle-state: not found"),
        ("VolumeRestrictions", "v1", 27, "cannot read \"PreFilterVolumeRestrictions\" from cycleState"),
    ];
    for (name, version, minor, error) in cases {
        let judgement = evaluated(&without("preFilter", name, version), minor);
        let of_pod = if minor <= 20 { " for pod \"pod\"" } else { "" };
        let want = format!("running \"{name}\" filter plugin{of_pod}: {error}");
        assert_eq!(judgement.message, Some(want), "1.{minor}");
    }
}

#[test]
fn a_score_that_reads_what_its_prescore_left_fails_without_it() {
    let cases = [
        ("TaintToleration", "v1beta1", 19, "Error reading \"PreScoreTaintToleration\" from cycleState: not found"),
        ("TaintToleration", "v1", 36, "failed to read \"PreScoreTaintToleration\" from cycleState: not found"),
        ("InterPodAffinity", "v1beta1", 20, "failed to read \"PreScoreInterPodAffinity\" from cycleState: not found"),
        ("PodTopologySpread", "v1beta2", 22, "error reading \"PreScorePodTopologySpread\" from cycleState: not found"),
        ("PodTopologySpread", "v1", 37, "error reading \"PreScorePodTopologySpread\" from cycleState: not found"),
    ];
    for (name, version, minor, error) in cases {
        let want = match minor {
            19 => format!("error while running score plugin for pod \"pod\": {error}"),
            _ => format!("running Score plugins: plugin \"{name}\" failed with: {error}"),
        };
        assert_eq!(evaluated(&without("preScore", name, version), minor).message, Some(want), "1.{minor}");
    }
    // These find out by themselves, and nobody skips them.
    for name in ["NodeAffinity", "NodeResourcesFit", "NodeResourcesBalancedAllocation"] {
        let judgement = evaluated(&without("preScore", name, "v1"), 36);
        assert_eq!(judgement.message, None);
        assert!(judgement.scores.unwrap().plugins.iter().any(|score| score.plugin == name), "{name}");
    }
}

/// The PreFilter of a plugin still refuses if the plugin's filter is disabled; its row comes after those of the filters.
#[test]
fn a_prefilter_without_its_filter_has_a_row() {
    // VolumeRestrictions would miss the claim first.
    let plugins = json!({"preFilter": {"disabled": [{"name": "VolumeRestrictions"}]},
        "filter": {"disabled": [{"name": "VolumeBinding"}, {"name": "VolumeRestrictions"}]}});
    let profiles = json!([{"schedulerName": "a", "plugins": plugins}]);
    let config = json!({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": profiles});
    let refused = evaluated_with(&config, 36, json!([{"name": "v", "persistentVolumeClaim": {"claimName": "gone"}}]));
    assert_eq!(refused.filters.last(), Some(&"VolumeBinding"));
    let row = |judgement: &Judgement| judgement.nodes[0].verdicts.last().cloned().unwrap();
    let Verdict::Reject(refusal) = row(&refused) else { panic!("{:?}", row(&refused)) };
    assert_eq!(refusal.reasons, ["persistentvolumeclaim \"gone\" not found"]);
    let fits = evaluated(&config, 36);
    assert_eq!((fits.nodes[0].fits(), row(&fits)), (true, Verdict::Skip));
    assert_eq!(fits.filters.len(), fits.nodes[0].verdicts.len());
}

/// Up to 1.26 nothing is left out that VolumeRestrictions' filter reads: it still looks for disks, and no more.
#[test]
fn volume_restrictions_look_for_disks_without_their_prefilter() {
    let plugins = json!({"preFilter": {"disabled": [{"name": "VolumeRestrictions"}, {"name": "VolumeBinding"}, {"name": "VolumeZone"}]},
        "filter": {"disabled": [{"name": "VolumeBinding"}, {"name": "VolumeZone"}, {"name": "NodeVolumeLimits"}, {"name": "EBSLimits"},
            {"name": "GCEPDLimits"}, {"name": "AzureDiskLimits"}]}});
    let profiles = json!([{"schedulerName": "a", "plugins": plugins}]);
    let config = json!({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": profiles});
    let claim = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "gone"}}]);
    let judgement = evaluated_with(&config, 26, claim);
    assert!(judgement.nodes[0].fits(), "{:?}", judgement.whole_pod);
    let at = judgement.filters.iter().position(|filter| *filter == "VolumeRestrictions").unwrap();
    assert_eq!(judgement.nodes[0].verdicts[at], Verdict::Pass);
}

/// From 1.19 to 1.23 selectors spread pods while the gate for the system's constraints is off, whether a configuration is given or not.
#[test]
fn a_gate_brings_back_the_spread_by_selectors() {
    for (minor, api) in [(19, "v1beta1"), (20, "v1beta1"), (21, "v1beta1"), (22, "v1beta2"), (23, "v1beta3")] {
        let config = json!({"apiVersion": format!("kubescheduler.config.k8s.io/{api}"), "kind": "KubeSchedulerConfiguration"});
        for on in [false, true] {
            let gates = Gates::new(Release(minor)).parse(&format!("DefaultPodTopologySpread={on}")).unwrap();
            let read = SchedulerConfiguration::read(&config, Release(minor), &gates).unwrap();
            for profile in [&Profile::new(Release(minor), gates.clone()), &read.profiles[0]] {
                let found: Vec<i64> =
                    profile.scores.iter().filter(|entry| entry.name == "SelectorSpread").map(|entry| entry.weight).collect();
                assert_eq!(found, if on { vec![] } else { vec![1] }, "1.{minor}, {on}");
            }
        }
    }
}

/// 1.21 and 1.22 score volumes for their gate alone, whether a configuration is given or not.
#[test]
fn a_gate_brings_the_score_of_volumes() {
    for minor in [21, 22] {
        let gates = Gates::new(Release(minor)).parse("VolumeCapacityPriority=true").unwrap();
        let config = json!({"apiVersion": "kubescheduler.config.k8s.io/v1beta1", "kind": "KubeSchedulerConfiguration"});
        let read = SchedulerConfiguration::read(&config, Release(minor), &gates).unwrap();
        for profile in [&Profile::new(Release(minor), gates.clone()), &read.profiles[0]] {
            assert_eq!(profile.scores.iter().filter(|entry| entry.name == "VolumeBinding").count(), 1, "1.{minor}");
        }
        assert!(!Profile::new(Release(minor), Gates::new(Release(minor))).scores.iter().any(|entry| entry.name == "VolumeBinding"));
    }
}

fn totals(config: &Value, minor: u16) -> Vec<i64> {
    evaluated(config, minor).scores.unwrap_or_else(|| panic!("1.{minor}: no scores")).totals
}

/// A pod that asks for nothing against two roomy nodes.
fn evaluated(config: &Value, minor: u16) -> Judgement {
    evaluated_with(config, minor, json!([]))
}

fn evaluated_with(config: &Value, minor: u16, volumes: Value) -> Judgement {
    let release = Release(minor);
    let read = SchedulerConfiguration::read(config, release, &Gates::new(release)).unwrap_or_else(|wrong| panic!("1.{minor}: {wrong:?}"));
    let profile = &read.profiles[0];
    let mut state = ClusterState::new(profile.rules.requests);
    for name in ["n1", "n2"] {
        let node = json!({
            "kind": "Node", "metadata": {"name": name},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}, "conditions": [{"type": "Ready", "status": "True"}]},
        });
        let key = ObjectKey { kind: WatchedKind::Node, namespace: "".into(), name: name.into() };
        state.apply(&key, Some(&serde_json::to_vec(&node).unwrap()), 1);
    }
    let spec = json!({"containers": [{"name": "c"}], "volumes": volumes});
    let pod = json!({"kind": "Pod", "metadata": {"name": "pod", "namespace": "default", "uid": "u"}, "spec": spec});
    let pod = PodInfo::compile(&PodFields::of(pod).unwrap(), 0, state.interner(), &mut Vec::new());
    Cycle { pod: &pod, state: &state, profile, scope: None }.evaluate()
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
