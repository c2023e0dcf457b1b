//! What released code made of groups of pods in random clusters (`testdata/groups`), held against ours.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use ketcd_scheduler::cluster::PodInfo;
use ketcd_scheduler::{
    Explanation, Gates, GroupCaveat, GroupCycle, GroupOutcome, Judgement, MemberResult, NodeJudgement, Profile, Release, Replay, Scheduler,
    SchedulerConfiguration, Verdict, VersionEvidence, VersionFrom, WholePod,
};
use serde_json::{Value, json};

use crate::object_key::object_key;

#[test]
fn released_code_makes_the_same_of_groups() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/groups");
    let (mut wrong, mut compared, mut files) = (Vec::new(), 0, 0);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "zst") {
            continue;
        }
        files += 1;
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let lines: Vec<Value> = BufReader::new(zstd::Decoder::new(fs::File::open(&path).unwrap()).unwrap())
            .lines()
            .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
            .collect();
        let mut replay = replay(&lines[0], &lines[1]["objects"]);
        for truth in &lines[2..] {
            let compare = if truth["leaves"].is_null() { compare } else { compare_tree };
            for problem in compare(truth, &mut replay, &mut compared) {
                wrong.push(format!("{name} {}: {problem}", truth["group"]));
            }
        }
    }
    assert!(files >= 30, "only {files} files");
    assert!(compared > 1_500, "only {compared} values were compared");
    assert!(wrong.is_empty(), "{} of {compared} differ\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}

fn replay(first: &Value, objects: &Value) -> Replay {
    let release = first["version"].as_str().unwrap().parse::<Release>().unwrap();
    let gates = Gates::new(release).parse(first["gates"].as_str().unwrap()).unwrap();
    let version = VersionFrom { release, patch: None, evidence: VersionEvidence::Given };
    let profiles = match &first["config"] {
        Value::Null => vec![Profile::new(release, gates)],
        config => SchedulerConfiguration::read(config, release, &gates).unwrap().profiles,
    };
    let scheduler = Scheduler { profiles, recorded: release, version, configured: false };
    let mut replay = Replay::new(scheduler, true);
    let objects = objects.as_array().unwrap();
    let nodes = objects.iter().filter(|object| object["kind"] == "Node");
    for object in objects.iter().chain(nodes) {
        let key = object_key(object);
        let revision = object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
        replay.seed(&key, &serde_json::to_vec(object).unwrap(), revision);
    }
    replay
}

/// What was held against the truth.
struct Checks<'c> {
    wrong: Vec<String>,
    compared: &'c mut usize,
}

impl Checks<'_> {
    fn check(&mut self, what: impl Into<String>, got: Value, wanted: &Value) {
        *self.compared += 1;
        if got != *wanted {
            self.wrong.push(format!("{}: want {wanted}, got {got}", what.into()));
        }
    }

    fn gated(&mut self, gated: &Value, replay: &mut Replay, namespace: &str) {
        for (name, wanted) in gated.as_object().unwrap() {
            let got = match &explain(replay, namespace, name).judgement.whole_pod {
                Some(WholePod::Gated { plugin, reason }) => json!([plugin, reason]),
                _ => Value::Null,
            };
            self.check(format!("{name} is gated"), got, wanted);
        }
    }

    /// What became of a pod: it is bound, or this is written about it.
    fn outcome(&mut self, name: &str, judgement: &Judgement, wanted: &Value) {
        let group = judgement.group.as_ref().unwrap();
        let got = match (&judgement.message, group.outcome) {
            (None, GroupOutcome::Scheduled) => json!({"bound": member(group, name).and_then(|member| member.node.as_deref())}),
            (message, _) => json!({"message": message}),
        };
        self.check(name, got, wanted);
    }

    /// One try of a pod: where it fits, what refuses it elsewhere, and its scores.
    fn row(&mut self, name: &str, judgement: &Judgement, row: &Value) {
        if row["feasible"].is_null() {
            return;
        }
        let feasible: BTreeSet<&str> = judgement.nodes.iter().filter(|node| node.fits()).map(|node| &*node.name).collect();
        self.check(format!("{name} fits"), json!(feasible), &row["feasible"]);
        for node in judgement.nodes.iter().filter(|node| !node.absent) {
            self.check(format!("{name} on {}", node.name), refusal(&judgement.filters, node), &sorted(row["refused"].get(&*node.name)));
        }
        if let Some(scores) = &judgement.scores {
            let totals: BTreeMap<&str, i64> = scores.nodes.iter().map(|node| &**node).zip(scores.totals.iter().copied()).collect();
            self.check(format!("scores of {name}"), json!(totals), &row["total"]);
        }
    }
}

fn member<'g>(group: &'g GroupCycle, name: &str) -> Option<&'g MemberResult> {
    group.placements[group.chosen?].members.iter().find(|member| &*member.pod.1 == name)
}

/// The victims of a group, unless chance chooses them.
fn victims(group: &GroupCycle) -> Option<Value> {
    let drawn = group.inferred.contains(&GroupCaveat::VictimsDrawn);
    let victims: BTreeSet<String> = group.victims.iter().filter(|pod| !pod.terminating).map(|pod| pod.full_name()).collect();
    (!drawn).then(|| json!(victims))
}

/// A group of pods by itself.
fn compare(truth: &Value, replay: &mut Replay, compared: &mut usize) -> Vec<String> {
    let namespace = truth["group"].as_str().unwrap().split('/').next().unwrap();
    let mut checks = Checks { wrong: Vec::new(), compared };
    checks.gated(&truth["gated"], replay, namespace);
    for (name, wanted) in truth["pods"].as_object().unwrap() {
        let Explanation { judgement, .. } = explain(replay, namespace, name);
        let group = judgement.group.as_ref().unwrap_or_else(|| panic!("{name} has no group"));
        let order: Vec<&str> = group.order.iter().map(|pod| &*pod.1).collect();
        checks.check(format!("order of {name}"), json!(order), &truth["order"]);
        checks.outcome(name, &judgement, wanted);
        if !truth["condition"].is_null() {
            checks.check(format!("the group's message, of {name}"), json!(group.message), &truth["condition"]);
        }
        let tried: Vec<Value> = group
            .placements
            .iter()
            .flat_map(|placement| &placement.members)
            .map(|member| json!([&*member.pod.1, member.node.as_deref().filter(|_| !member.preempts)]))
            .collect();
        let wanted: Vec<Value> = truth["tries"].as_array().unwrap().iter().map(|tried| json!([tried["pod"], tried["node"]])).collect();
        let wanted = &wanted[..tried.len().min(wanted.len())];
        checks.check(format!("what is tried, of {name}"), json!(tried), &json!(wanted));
        if let Some(victims) = victims(group).filter(|_| !group.victims.is_empty()) {
            checks.check(format!("victims, of {name}"), victims, &truth["victims"]);
        }
        let Some(at) = group.chosen.filter(|_| member(group, name).is_some()) else { continue };
        let before: usize = group.placements[..at].iter().map(|placement| placement.members.len()).sum();
        let own = group.placements[at].members.iter().position(|member| &*member.pod.1 == name).unwrap();
        let row = &truth["tries"][before + own];
        if !row["feasible"].is_null() {
            checks.check(format!("nodes of {name}"), json!(judgement.nodes.len()), &row["nodes"]);
        }
        checks.row(name, &judgement, row);
    }
    checks.wrong
}

/// What is tried at once where groups may belong to groups: a tree with these groups of pods (`leaves`), or one group of pods.
fn compare_tree(truth: &Value, replay: &mut Replay, compared: &mut usize) -> Vec<String> {
    let namespace = truth["group"].as_str().unwrap().split('/').next().unwrap();
    let mut checks = Checks { wrong: Vec::new(), compared };
    checks.gated(&truth["gated"], replay, namespace);
    let pods = truth["leaves"].as_object().unwrap().iter();
    let pods = pods.flat_map(|(leaf, order)| order.as_array().unwrap().iter().map(move |pod| (leaf, order, pod.as_str().unwrap())));
    for (leaf, order, name) in pods {
        let Explanation { judgement, .. } = explain(replay, namespace, name);
        let group = judgement.group.as_ref().unwrap_or_else(|| panic!("{name} has no group"));
        let own: Vec<&str> = group.order.iter().map(|pod| &*pod.1).collect();
        checks.check(format!("order of {name}"), json!(own), order);
        checks.outcome(name, &judgement, &truth["pods"][name]);
        if let Some(condition) = truth["conditions"].get(leaf) {
            checks.check(format!("the message of {leaf}, of {name}"), json!(group.message), condition);
        }
        if let Some(victims) = victims(group) {
            checks.check(format!("victims, of {name}"), victims, &truth["victims"]);
        }
        let held_back = group.inferred.iter().any(|why| matches!(why, GroupCaveat::HeldBack(_)));
        checks.check(format!("{name} waits for others"), json!(held_back), &json!(truth["gated"] != json!({})));
        // Within one run a pod is tried on a set of nodes once; what comes later is of preemption.
        let nodes: BTreeSet<&str> = judgement.nodes.iter().map(|node| &*node.name).collect();
        let row = truth["tries"].as_array().unwrap().iter().find(|row| row["pod"] == name && row["nodes"] == json!(nodes));
        let (Some(member), Some(row)) = (member(group, name), row) else { continue };
        checks.check(format!("node of {name}"), json!(member.node.as_deref()), &row["node"]);
        checks.row(name, &judgement, row);
    }
    checks.wrong
}

fn explain(replay: &mut Replay, namespace: &str, name: &str) -> Explanation {
    let pod: Arc<PodInfo> = replay.state().pod(namespace, name).unwrap().clone();
    replay.explain_waiting(&pod, 1_000_000)
}

fn refusal(filters: &[&'static str], node: &NodeJudgement) -> Value {
    match node.stop().map(|at| (filters[at], &node.verdicts[at])) {
        Some((plugin, Verdict::Reject(refusal))) => sorted(Some(&json!([plugin, refusal.reasons.join(", ")]))),
        Some((plugin, Verdict::Error(error))) => json!([plugin, error]),
        _ => Value::Null,
    }
}

/// Several resources a node lacks are named in the order of a map.
fn sorted(refusal: Option<&Value>) -> Value {
    let Some(refusal) = refusal else { return Value::Null };
    let mut reasons: Vec<&str> = refusal[1].as_str().unwrap().split(", ").collect();
    reasons.sort_unstable();
    json!([refusal[0], reasons.join(", ")])
}
