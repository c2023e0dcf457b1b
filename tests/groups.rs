//! What released code made of groups of pods in random clusters (`testdata/groups`), held against ours.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use ketcd::cluster::{ObjectKey, PodInfo};
use ketcd::scheduler::{
    Explanation, Gates, GroupOutcome, NodeJudgement, Profile, Release, Replay, Scheduler, SchedulerConfiguration, Verdict, VersionFrom,
    WholePod,
};
use serde_json::{Value, json};

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
            for problem in compare(truth, &mut replay, &mut compared) {
                wrong.push(format!("{name} {}: {problem}", truth["group"]));
            }
        }
    }
    assert!(files >= 22, "only {files} files");
    assert!(compared > 1_500, "only {compared} values were compared");
    assert!(wrong.is_empty(), "{} of {compared} differ\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}

fn replay(first: &Value, objects: &Value) -> Replay {
    let release = first["version"].as_str().unwrap().parse::<Release>().unwrap();
    let gates = Gates::new(release).parse(first["gates"].as_str().unwrap()).unwrap();
    let version = VersionFrom { release, patch: None, evidence: String::new() };
    let profiles = match &first["config"] {
        Value::Null => vec![Profile::new(release, gates)],
        config => SchedulerConfiguration::read(config, release, &gates).unwrap().profiles,
    };
    let scheduler = Scheduler { profiles, recorded: release, version, configured: false };
    let mut replay = Replay::new(scheduler, true);
    let objects = objects.as_array().unwrap();
    let nodes = objects.iter().filter(|object| object["kind"] == "Node");
    for object in objects.iter().chain(nodes) {
        let Some(key) = key(object) else { continue };
        let revision = object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
        replay.seed(&key, &serde_json::to_vec(object).unwrap(), revision);
    }
    replay
}

fn key(object: &Value) -> Option<ObjectKey> {
    let metadata = &object["metadata"];
    let (namespace, name) = (metadata["namespace"].as_str().unwrap_or_default(), metadata["name"].as_str()?);
    let kind = object["kind"].as_str()?;
    let folder = match kind {
        "Node" => "minions".to_owned(),
        "Service" => "services/specs".to_owned(),
        "ReplicationController" => "controllers".to_owned(),
        "StorageClass" | "DeviceClass" => format!("{}es", kind.to_lowercase()),
        "CSIStorageCapacity" => "csistoragecapacities".to_owned(),
        other => format!("{}s", other.to_lowercase()),
    };
    let place = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
    ObjectKey::parse(&format!("{folder}/{place}"))
}

fn compare(truth: &Value, replay: &mut Replay, compared: &mut usize) -> Vec<String> {
    let namespace = truth["group"].as_str().unwrap().split('/').next().unwrap();
    let mut wrong = Vec::new();
    let mut check = |what: String, got: Value, wanted: &Value| {
        *compared += 1;
        if got != *wanted {
            wrong.push(format!("{what}: want {wanted}, got {got}"));
        }
    };
    for (name, wanted) in truth["gated"].as_object().unwrap() {
        let explanation = explain(replay, namespace, name);
        let gated = match &explanation.judgement.whole_pod {
            Some(WholePod::Gated { plugin, reason }) => json!([plugin, reason]),
            _ => Value::Null,
        };
        check(format!("{name} is gated"), gated, wanted);
    }
    for (name, wanted) in truth["pods"].as_object().unwrap() {
        let Explanation { judgement, .. } = explain(replay, namespace, name);
        let group = judgement.group.as_ref().unwrap_or_else(|| panic!("{name} has no group"));
        let order: Vec<&str> = group.order.iter().map(|pod| &*pod.1).collect();
        check(format!("order of {name}"), json!(order), &truth["order"]);
        let chosen = group.chosen.map(|at| &group.placements[at]);
        let member = chosen.and_then(|placement| placement.members.iter().find(|member| &*member.pod.1 == name));
        let got = match (&judgement.message, group.outcome) {
            (None, GroupOutcome::Scheduled) => json!({"bound": member.and_then(|member| member.node.as_deref())}),
            (message, _) => json!({"message": message}),
        };
        check(name.clone(), got, wanted);
        if !truth["condition"].is_null() {
            check(format!("the group's message, of {name}"), json!(group.message), &truth["condition"]);
        }
        let tried: Vec<Value> = group
            .placements
            .iter()
            .flat_map(|placement| &placement.members)
            .map(|member| json!([&*member.pod.1, member.node.as_deref().filter(|_| !member.preempts)]))
            .collect();
        let wanted: Vec<Value> = truth["tries"].as_array().unwrap().iter().map(|tried| json!([tried["pod"], tried["node"]])).collect();
        let wanted = &wanted[..tried.len().min(wanted.len())];
        check(format!("what is tried, of {name}"), json!(tried), &json!(wanted));
        // Which of equals goes is drawn by chance.
        if !group.victims.is_empty() && !group.inferred.iter().any(|why| why.contains("of the same importance")) {
            let victims: BTreeSet<String> = group.victims.iter().filter(|pod| !pod.terminating).map(|pod| pod.full_name()).collect();
            check(format!("victims, of {name}"), json!(victims), &truth["victims"]);
        }
        let Some(at) = group.chosen.filter(|_| member.is_some()) else { continue };
        let before: usize = group.placements[..at].iter().map(|placement| placement.members.len()).sum();
        let own = group.placements[at].members.iter().position(|member| &*member.pod.1 == name).unwrap();
        let row = &truth["tries"][before + own];
        if row["feasible"].is_null() {
            continue;
        }
        check(format!("nodes of {name}"), json!(judgement.nodes.len()), &row["nodes"]);
        let feasible: BTreeSet<&str> = judgement.nodes.iter().filter(|node| node.fits()).map(|node| &*node.name).collect();
        check(format!("{name} fits"), json!(feasible), &row["feasible"]);
        for node in judgement.nodes.iter().filter(|node| !node.absent) {
            check(format!("{name} on {}", node.name), refusal(&judgement.filters, node), &sorted(row["refused"].get(&*node.name)));
        }
        if let Some(scores) = &judgement.scores {
            let totals: BTreeMap<&str, i64> = scores.nodes.iter().map(|node| &**node).zip(scores.totals.iter().copied()).collect();
            check(format!("scores of {name}"), json!(totals), &row["total"]);
        }
    }
    wrong
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
