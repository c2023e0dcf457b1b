//! Every plugin's case table in `testdata/plugins`, and what holds for all plugins.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use ketcd_scheduler::cluster::{ClusterState, PodFields, PodInfo};
use ketcd_scheduler::{
    Candidate, Cycle, Feasible, FilterEntry, Gates, NEWEST_SCHEDULER, Normalize, OLDEST_SCHEDULER, Plugin, PreFilter, PreScore,
    PreemptionCandidate, Profile, Release, Rules, SchedulerConfiguration, Verdict, WholePod, candidates, compared, registry,
    scheduler_patch, scheduler_release,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::object_key::object_key;

/// A plugin's table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    plugin: String,
    /// Nodes that cases share.
    #[serde(default)]
    nodes: Vec<Value>,
    /// Other objects that cases share.
    #[serde(default)]
    objects: Vec<Value>,
    cases: Vec<Case>,
}

/// One pod against some nodes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// `1.20`, or `1.20-1.26`: every release of it.
    releases: Vec<String>,
    #[serde(default)]
    gates: String,
    /// A KubeSchedulerConfiguration or Policy, whose first profile holds the plugin under its name; without one the rule runs alone, on defaults.
    config: Option<Value>,
    #[serde(default)]
    pod: Value,
    #[serde(default)]
    nodes: Vec<Value>,
    #[serde(default)]
    objects: Vec<Value>,
    /// By node: `Success`, `Skip`, `Unknown`, or a status and its reasons, `Unschedulable: a, b`.
    #[serde(default)]
    filter: BTreeMap<String, String>,
    /// The refusal (or `Error`) of the pod as a whole, written as a filter's.
    refused: Option<String>,
    /// What holds the pod back before the queue, `no` where nothing does.
    gated: Option<String>,
    /// By node that could be cleared: the pods that would have to go, by name. The whole profile runs.
    victims: Option<BTreeMap<String, BTreeSet<String>>>,
    /// The nodes PreFilter narrows the choice to.
    narrowed: Option<BTreeSet<String>>,
    /// By node: the raw score, or `Skip`.
    #[serde(default)]
    raw: BTreeMap<String, Value>,
    /// By node: the normalised score.
    #[serde(default)]
    normalized: BTreeMap<String, i64>,
}

#[test]
fn plugins_decide_their_case_tables() {
    let mut wrong = Vec::new();
    for path in tables() {
        let table = read(&path);
        for case in &table.cases {
            for (release, patch) in case.releases.iter().flat_map(|text| releases(text)) {
                for problem in run(&table, case, release, patch) {
                    wrong.push(format!("{} · {} · {release}: {problem}", table.plugin, case.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn names_are_unique_and_pages_complete() {
    let mut names = BTreeSet::new();
    for plugin in registry::all() {
        assert!(names.insert(plugin.name()), "{} twice", plugin.name());
        let doc = plugin.doc();
        assert!(doc.lines().next().is_some_and(|line| line.ends_with('.')), "{}: the first line is no sentence", plugin.name());
        for heading in ["Checks", "Reads", "History", "Differs from upstream"] {
            assert!(doc.lines().any(|line| line == heading), "{}: no heading {heading}", plugin.name());
        }
        assert!(doc.lines().all(|line| line.chars().count() <= 160), "{}: a line is too long", plugin.name());
    }
}

#[test]
fn every_plugin_of_every_default_profile_has_its_rule() {
    let mut missing = BTreeSet::new();
    for minor in OLDEST_SCHEDULER.0..=NEWEST_SCHEDULER.0 {
        let profile = Profile::new(Release(minor), Gates::new(Release(minor)));
        assert!(!profile.filters.is_empty() && !profile.scores.is_empty(), "1.{minor} has no plugins");
        let filters = profile.filters.iter().map(|entry| (entry.name, entry.plugin.name()));
        let scores = profile.scores.iter().map(|entry| (entry.name, entry.plugin.name()));
        missing.extend(filters.chain(scores).filter(|(_, rule)| *rule == "Pending").map(|(name, _)| format!("{name} (1.{minor})")));
    }
    assert!(missing.is_empty(), "no rule: {missing:?}");
}

#[test]
fn every_plugin_has_its_table() {
    let tables: BTreeSet<String> = tables().iter().map(|path| read(path).plugin).collect();
    let missing: Vec<&str> = registry::all().map(|plugin| plugin.name()).filter(|name| !tables.contains(*name)).collect();
    assert!(missing.is_empty(), "no table in testdata/plugins: {missing:?}");
}

fn tables() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/plugins");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    paths
}

fn read(path: &Path) -> Table {
    let text = fs::read_to_string(path).unwrap();
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// `1.20`, `1.20.2` or `1.20-1.26`, each with the patch where one is given.
fn releases(text: &str) -> Vec<(Release, Option<u16>)> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let minor = |text: &str| scheduler_release(text).unwrap_or_else(|error| panic!("{text}: {error}")).0;
    (minor(from)..=minor(to)).map(|minor| (Release(minor), scheduler_patch(from))).collect()
}

/// Runs one case for one release; every difference is a sentence.
fn run(table: &Table, case: &Case, release: Release, patch: Option<u16>) -> Vec<String> {
    let gates = Gates::new(release).at_patch(patch).parse(&case.gates).unwrap();
    let mut profile = match &case.config {
        None => Profile::new(release, gates),
        Some(config) => SchedulerConfiguration::read(config, release, &gates).unwrap().profiles.remove(0),
    };
    let mut wrong = Vec::new();
    if let Some(wanted) = &case.gated {
        let got = gated(table, case, &profile);
        wrong.extend((got != *wanted).then(|| format!("gated: want {wanted}, got {got}")));
    }
    if let Some(wanted) = &case.victims {
        let got = victims(table, case, &profile);
        wrong.extend((got != *wanted).then(|| format!("victims: want {wanted:?}, got {got:?}")));
    }
    let alone = case.config.is_none().then(|| registry::find(&table.plugin).unwrap_or_else(|| panic!("no plugin {}", table.plugin)));
    let filter = alone.or_else(|| profile.filters.iter().find(|entry| entry.name == table.plugin).map(|entry| entry.plugin));
    let score = alone.or_else(|| profile.scores.iter().find(|entry| entry.name == table.plugin).map(|entry| entry.plugin));
    let missing = || panic!("{}: the profile has no {}", case.name, table.plugin);
    profile.filters = filter.iter().map(|plugin| FilterEntry { name: plugin.name(), plugin: *plugin }).collect();
    let (state, pod) = state(table, case, &profile.rules);
    let cycle = Cycle { pod: &pod, state: &state, profile: &profile, scope: None };
    if !case.filter.is_empty() || case.refused.is_some() || case.narrowed.is_some() {
        wrong.extend(filters(case, &cycle, filter.unwrap_or_else(missing)));
    }
    if !case.raw.is_empty() || !case.normalized.is_empty() {
        wrong.extend(scores(case, &cycle, score.unwrap_or_else(missing)));
    }
    wrong
}

fn gated(table: &Table, case: &Case, profile: &Profile) -> String {
    let (state, pod) = state(table, case, &profile.rules);
    match (Cycle { pod: &pod, state: &state, profile, scope: None }).evaluate().whole_pod {
        Some(WholePod::Gated { reason, .. }) => reason,
        _ => "no".to_owned(),
    }
}

fn victims(table: &Table, case: &Case, profile: &Profile) -> BTreeMap<String, BTreeSet<String>> {
    let (state, pod) = state(table, case, &profile.rules);
    let cycle = Cycle { pod: &pod, state: &state, profile, scope: None };
    let judgement = cycle.evaluate();
    let found = if judgement.preemption_helps { candidates(&cycle, &judgement) } else { Vec::new() };
    let names = |place: &PreemptionCandidate| place.victims.iter().map(|victim| victim.pod.name.to_string()).collect();
    found.iter().map(|place| (place.node.to_string(), names(place))).collect()
}

fn filters(case: &Case, cycle: &Cycle, plugin: &dyn Plugin) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut check = |what: &str, got: String, wanted: &str| {
        if got != wanted {
            wrong.push(format!("{what}: want {wanted}, got {got}"));
        }
    };
    let (whole, narrowed, filter) = match plugin.filter(cycle) {
        PreFilter::Skip => (None, None, None),
        PreFilter::Refuse(refusal) => (Some(spell(&Verdict::Reject(refusal))), None, None),
        PreFilter::Error(error) => (Some(spell(&Verdict::Error(error))), None, None),
        PreFilter::Filter(filter) => (None, None, Some(filter)),
        PreFilter::Narrow(names, filter) => (None, Some(names.iter().map(|name| name.to_string()).collect::<BTreeSet<_>>()), Some(filter)),
    };
    check("the pod", whole.unwrap_or_else(|| "no refusal".to_owned()), case.refused.as_deref().unwrap_or("no refusal"));
    if case.narrowed.is_some() || narrowed.is_some() {
        check("narrowed to", format!("{narrowed:?}"), &format!("{:?}", case.narrowed));
    }
    let nominated = cycle.nominated_pods();
    for (name, wanted) in &case.filter {
        let node = cycle.state.node(name).unwrap_or_else(|| panic!("no node {name}"));
        let added = nominated.get(&node.name).map_or(&[][..], Vec::as_slice);
        let mut with = node.clone();
        added.iter().for_each(|pod| with.add_pod(pod.clone(), cycle.state.rules()));
        let verdict =
            filter.as_ref().map_or(Verdict::Skip, |filter| filter(&Candidate { node: &with, added, removed: &[], returned: &[] }));
        check(name, spell(&verdict), wanted);
        let facts = compared(cycle, node, 0, &verdict);
        let against = facts.iter().filter(|fact| !fact.holds).count();
        let has_facts = match &verdict {
            Verdict::Pass => !facts.is_empty() && against == 0,
            Verdict::Reject(_) => against > 0,
            Verdict::Skip | Verdict::Unknown { .. } | Verdict::Error(_) => true,
        };
        check(&format!("{name}: {facts:?} of"), spell(&verdict), if has_facts { wanted } else { "facts that show it" });
    }
    wrong
}

fn scores(case: &Case, cycle: &Cycle, plugin: &dyn Plugin) -> Vec<String> {
    let names: Vec<&String> = if case.raw.is_empty() { case.normalized.keys().collect() } else { case.raw.keys().collect() };
    let nodes = names.iter().map(|name| cycle.state.node(name).unwrap_or_else(|| panic!("no node {name}"))).collect();
    let nodes = Feasible::new(nodes, 0);
    let mut wrong = Vec::new();
    let mut check = |what: &str, got: Value, wanted: &Value| {
        if got != *wanted {
            wrong.push(format!("{what}: want {wanted}, got {got}"));
        }
    };
    match plugin.score(cycle, &nodes) {
        PreScore::Skip => names.iter().for_each(|name| check(name, json!("Skip"), &case.raw[*name])),
        PreScore::Error(error) => names.iter().for_each(|name| check(name, json!(format!("Error: {error}")), &case.raw[*name])),
        PreScore::Unknown(why) => names.iter().for_each(|name| check(name, json!(format!("Unknown: {why}")), &case.raw[*name])),
        PreScore::Score(score) => {
            let mut points: Vec<i64> = nodes.iter().map(|node| (score.raw)(node)).collect();
            for (name, raw) in names.iter().zip(&points).filter(|_| !case.raw.is_empty()) {
                check(&format!("{name} raw"), json!(raw), &case.raw[*name]);
            }
            let normalize: &Normalize = &score.normalize;
            normalize.apply(&nodes, &mut points, cycle.profile.rules.max_score);
            for (name, points) in names.iter().zip(&points).filter(|(name, _)| case.normalized.contains_key(**name)) {
                check(&format!("{name} normalised"), json!(points), &json!(case.normalized[*name]));
            }
        }
    }
    wrong
}

/// A verdict as the tables write it.
fn spell(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Skip => "Skip".to_owned(),
        Verdict::Pass => "Success".to_owned(),
        Verdict::Unknown { .. } => "Unknown".to_owned(),
        Verdict::Error(error) => format!("Error: {error}"),
        Verdict::Reject(refusal) => {
            let status = if refusal.preemption_may_help { "Unschedulable" } else { "UnschedulableAndUnresolvable" };
            format!("{status}: {}", refusal.reasons.join(", "))
        }
    }
}

/// The state of a case: its own objects after the table's, and the pod (`default/pod` unless it says otherwise).
fn state(table: &Table, case: &Case, rules: &Rules) -> (ClusterState, PodInfo) {
    let mut state = ClusterState::new(rules.requests);
    let nodes = table.nodes.iter().chain(&case.nodes).map(|node| with_kind(node, "Node"));
    for (number, object) in nodes.chain(table.objects.iter().chain(&case.objects).cloned()).enumerate() {
        let key = object_key(&object);
        let text = serde_json::to_vec(&object).unwrap();
        state.apply(&key, Some(&text), i64::try_from(number).unwrap() + 1);
    }
    let mut pod = with_kind(&case.pod, "Pod");
    let metadata = pod.as_object_mut().unwrap().entry("metadata").or_insert_with(|| json!({}));
    for (field, value) in [("name", "pod"), ("namespace", "default"), ("uid", "pod-uid")] {
        metadata.as_object_mut().unwrap().entry(field).or_insert_with(|| json!(value));
    }
    let mut problems = Vec::new();
    let pod = PodFields::of(pod).unwrap_or_else(|error| panic!("{}: its pod: {error}", case.name));
    let info = PodInfo::compile(&pod, 0, state.interner(), &mut problems);
    let problems: Vec<String> =
        problems.into_iter().chain(state.problems().map(|problem| format!("{}: {}", problem.object, problem.what))).collect();
    assert!(problems.iter().all(|problem| problem.contains("no status")), "{}: {problems:?}", case.name);
    (state, info)
}

fn with_kind(object: &Value, kind: &str) -> Value {
    let mut object = if object.is_null() { json!({}) } else { object.clone() };
    object.as_object_mut().unwrap().insert("kind".to_owned(), json!(kind));
    object
}
