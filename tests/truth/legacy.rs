//! The schedulers of 1.9, 1.13 and 1.17, held against their released code run on the same states.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use futures_util::StreamExt;
use ketcd_kube::Decoder;
use ketcd_scheduler::cluster::ObjectKey;
use ketcd_scheduler::{
    Explanation, Gates, Profile, Release, Replay, Scheduler, SchedulerConfiguration, Verdict, VersionEvidence, VersionFrom, WholePod,
};
use ketcd_store::{EventKind, KeyRange, Revision, Until, WatchItem, load};
use serde_json::{Value, json};

fn capture(name: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(name).to_str().unwrap().to_owned()
}

fn truth(capture_name: &str, version: &str) -> Vec<Value> {
    let file = std::fs::File::open(capture(&format!("{capture_name}/truth-{version}.jsonl.zst"))).unwrap();
    let lines = BufReader::new(zstd::Decoder::new(file).unwrap()).lines();
    lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
}

fn scheduler(profile: Profile) -> Scheduler {
    Scheduler {
        version: VersionFrom { release: profile.release, patch: None, evidence: VersionEvidence::Given },
        profiles: vec![profile],
        recorded: Release(20),
        configured: false,
    }
}

/// Every attempt of a capture, by pod and the revision it is evaluated on.
fn explanations(capture_name: &str, profile: Profile) -> BTreeMap<(String, i64), Explanation> {
    let source = load::open(&[capture(&format!("{capture_name}/snapshot.db.zst"))], &|_| None).unwrap();
    let decoder = Decoder::new();
    let mut replay = Replay::new(scheduler(profile), true);
    let mut found = BTreeMap::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut items = source.watch(KeyRange::all(), Revision(1), Until::Forever);
        while let Some(item) = items.next().await {
            let WatchItem::Event(event) = item.unwrap() else { continue };
            let path = std::str::from_utf8(&event.key_value.key).unwrap();
            let Some(key) = path.strip_prefix("/registry/").and_then(ObjectKey::parse) else { continue };
            let mut text = Vec::new();
            let object = (event.kind == EventKind::Put).then(|| {
                let value = &event.key_value;
                decoder.decode_text(&value.key, &value.value, value.mod_revision.0, &mut text).unwrap();
                text.as_slice()
            });
            for attempt in replay.advance(&key, object, event.revision.0) {
                let explanation = replay.explain(attempt);
                found.insert((explanation.attempt.pod.full_name(), explanation.evaluated_revision), explanation);
            }
        }
    });
    found
}

#[derive(Default)]
struct Score {
    asked: usize,
    differing: Vec<String>,
}

impl Score {
    fn hold<T: PartialEq + std::fmt::Debug>(&mut self, what: impl FnOnce() -> String, ours: T, upstream: T) {
        self.asked += 1;
        if ours != upstream {
            self.differing.push(format!("{}: ours {ours:?}, upstream {upstream:?}", what()));
        }
    }
}

fn verdict(explanation: &Explanation, node: &str, filter: &str) -> Option<(bool, String)> {
    let judgement = &explanation.judgement;
    let at = judgement.filters.iter().position(|name| *name == filter)?;
    let node = judgement.nodes.iter().find(|row| *row.name == *node)?;
    match &node.verdicts[at] {
        Verdict::Pass => Some((true, String::new())),
        Verdict::Reject(refusal) => Some((false, refusal.reasons.join(", "))),
        _ => None,
    }
}

fn score(explanation: &Explanation, plugin: &str, node: &str, normalized: bool) -> Option<i64> {
    let scores = explanation.judgement.scores.as_ref()?;
    let at = scores.nodes.iter().position(|name| **name == *node)?;
    let scored = scores.plugins.iter().find(|scored| scored.plugin == plugin)?;
    Some(if normalized { scored.normalized[at] } else { scored.raw[at] })
}

fn hold(score_card: &mut Score, line: &Value, explanation: &Explanation) {
    let pod = explanation.attempt.pod.full_name();
    hold_verdicts(score_card, &line["predicates"], explanation);
    hold_scores(score_card, &line["raw"], explanation, false);
    hold_scores(score_card, &line["scores"], explanation, true);
    let scores = explanation.judgement.scores.as_ref();
    for (node, total) in line["total"].as_object().into_iter().flatten() {
        let ours = scores.and_then(|scores| Some(scores.totals[scores.nodes.iter().position(|name| **name == **node)?]));
        score_card.hold(|| format!("{pod} on {node}, total"), ours, total.as_i64());
    }
    let error = matches!(explanation.judgement.whole_pod, Some(WholePod::Error(_)));
    score_card.hold(|| format!("{pod}, error"), error, line["outcome"] == "error");
    if line["outcome"] != "bound" {
        score_card.hold(|| format!("{pod}, message"), explanation.judgement.message.as_deref(), line["message"].as_str());
    }
}

/// What the released code answered, null where it takes the first of a list in random order.
fn hold_verdicts(score_card: &mut Score, by_node: &Value, explanation: &Explanation) {
    let pod = explanation.attempt.pod.full_name();
    for (node, predicates) in by_node.as_object().into_iter().flatten() {
        for predicate in predicates.as_array().unwrap() {
            let name = predicate[0].as_str().unwrap();
            let upstream = predicate[1].as_bool().map(|fits| (fits, predicate[2].as_str().unwrap().to_owned()));
            score_card.hold(|| format!("{pod} on {node}, {name}"), verdict(explanation, node, name), upstream);
        }
    }
}

fn hold_scores(score_card: &mut Score, by_plugin: &Value, explanation: &Explanation, normalized: bool) {
    let pod = explanation.attempt.pod.full_name();
    for (plugin, by_node) in by_plugin.as_object().into_iter().flatten() {
        for (node, points) in by_node.as_object().into_iter().flatten() {
            let ours = score(explanation, plugin, node, normalized);
            let upstream = points.as_i64();
            score_card.hold(|| format!("{pod} on {node}, {plugin}, normalized: {normalized}"), ours, upstream);
        }
    }
}

fn check(capture_name: &str, version: &str, profile: Profile, hold: fn(&mut Score, &Value, &Explanation)) {
    let ours = explanations(capture_name, profile);
    let mut score_card = Score::default();
    let lines = truth(capture_name, version);
    for line in &lines {
        let key = (line["pod"].as_str().unwrap().to_owned(), line["revision"].as_i64().unwrap());
        let explanation = ours.get(&key).unwrap_or_else(|| panic!("no attempt of {} evaluated on r{}", key.0, key.1));
        hold(&mut score_card, line, explanation);
    }
    let Score { asked, differing } = score_card;
    assert!(asked > lines.len());
    assert!(differing.is_empty(), "{} of {asked} differ:\n{}", differing.len(), differing[..differing.len().min(12)].join("\n"));
}

fn default_profile(release: u16) -> Profile {
    Profile::new(Release(release), Gates::new(Release(release)))
}

/// The profile of a Policy.
fn policy(release: u16, gates: &[(&str, bool)], predicates: Value, priorities: Value) -> Profile {
    let release = Release(release);
    let gates = gates.iter().fold(Gates::new(release), |gates, (gate, on)| gates.with(gate, *on));
    let file = json!({ "kind": "Policy", "apiVersion": "v1", "predicates": predicates, "priorities": priorities });
    SchedulerConfiguration::read(&file, release, &gates).unwrap().profiles.remove(0)
}

/// Entries of a list of predicates, or of priorities of weight 1.
fn entries(names: &[&str], with_arguments: Value) -> Value {
    let named = names.iter().map(|name| json!({ "name": name, "weight": 1 }));
    named.chain(with_arguments.as_array().unwrap().iter().cloned()).collect()
}

fn optional_predicates(names: &[&str]) -> Value {
    let zone = json!({ "labelsPresence": { "labels": ["topology.kubernetes.io/zone"], "presence": true } });
    let disk = json!({ "serviceAffinity": { "labels": ["disk"] } });
    entries(names, json!([{ "name": "CheckNodeLabelPresence", "argument": zone }, { "name": "CheckServiceAffinity", "argument": disk }]))
}

fn optional_priorities(names: &[&str]) -> Value {
    let zone = json!({ "labelPreference": { "label": "topology.kubernetes.io/zone", "presence": true } });
    let disk = json!({ "serviceAntiAffinity": { "label": "disk" } });
    let with_arguments = json!([
        { "name": "NodeLabelPriority", "weight": 1, "argument": zone },
        { "name": "ServiceAntiAffinityPriority", "weight": 1, "argument": disk },
    ]);
    entries(names, with_arguments)
}

#[test]
fn release_1_9_on_random_pods() {
    check("k120-random", "1.9", default_profile(9), hold);
}

#[test]
fn release_1_9_on_the_story() {
    check("k120-story", "1.9", default_profile(9), hold);
}

#[test]
fn release_1_13_on_random_pods() {
    check("k120-random", "1.13", default_profile(13), hold);
}

#[test]
fn release_1_13_on_the_story() {
    check("k120-story", "1.13", default_profile(13), hold);
}

#[test]
fn release_1_17_on_random_pods() {
    check("k120-random", "1.17", default_profile(17), hold);
}

#[test]
fn release_1_17_on_the_story() {
    check("k120-story", "1.17", default_profile(17), hold);
}

#[test]
fn predicates_a_policy_adds_in_1_9() {
    for capture_name in ["k120-random", "k120-story"] {
        let predicates = optional_predicates(&["HostName", "MatchNodeSelector", "PodFitsHostPorts", "PodFitsResources"]);
        let hold = |card: &mut Score, line: &Value, ours: &Explanation| hold_verdicts(card, &line["optional_predicates"], ours);
        check(capture_name, "1.9", policy(9, &[], predicates, Value::Null), hold);
    }
}

#[test]
fn predicates_a_policy_adds_in_1_13() {
    const NODE_CONDITION_PREDICATES: [&str; 4] =
        ["CheckNodeCondition", "CheckNodeDiskPressure", "CheckNodeMemoryPressure", "CheckNodePIDPressure"];
    let named = ["HostName", "MatchNodeSelector", "PodFitsHostPorts", "PodFitsResources", "PodToleratesNodeNoExecuteTaints"];
    for capture_name in ["k120-random", "k120-story"] {
        let predicates = optional_predicates(&[&named[..], &NODE_CONDITION_PREDICATES[..]].concat());
        let hold = |card: &mut Score, line: &Value, ours: &Explanation| hold_verdicts(card, &line["optional_predicates"], ours);
        check(capture_name, "1.13", policy(13, &[("TaintNodesByCondition", false)], predicates, Value::Null), hold);
    }
}

#[test]
fn priorities_a_policy_adds_in_1_9() {
    let default: Vec<_> = default_profile(9).filters.iter().map(|entry| entry.name).collect();
    for capture_name in ["k120-random", "k120-story"] {
        let names =
            ["EqualPriority", "ImageLocalityPriority", "MostRequestedPriority", "ResourceLimitsPriority", "ServiceSpreadingPriority"];
        let gates = [("ResourceLimitsPriorityFunction", true)];
        let hold = |card: &mut Score, line: &Value, ours: &Explanation| hold_scores(card, &line["optional_scores"], ours, true);
        check(capture_name, "1.9", policy(9, &gates, entries(&default, json!([])), optional_priorities(&names)), hold);
    }
}

#[test]
fn priorities_a_policy_adds_in_1_13() {
    for capture_name in ["k120-random", "k120-story"] {
        let names = [
            "EqualPriority",
            "MostRequestedPriority",
            "RequestedToCapacityRatioPriority",
            "ResourceLimitsPriority",
            "ServiceSpreadingPriority",
        ];
        let gates = [("ResourceLimitsPriorityFunction", true)];
        let hold = |card: &mut Score, line: &Value, ours: &Explanation| hold_scores(card, &line["optional_scores"], ours, true);
        check(capture_name, "1.13", policy(13, &gates, Value::Null, optional_priorities(&names)), hold);
    }
}
