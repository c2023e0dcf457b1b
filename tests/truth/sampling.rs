//! Clusters of more than a hundred nodes, where the released code stopped looking before it had seen all (`testdata/sampling`), held against ours.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;

use ketcd_scheduler::{
    Agreement, Explanation, Gates, Profile, Replay, Scheduler, SchedulerConfiguration, Verdict, VersionEvidence, VersionFrom,
    scheduler_patch, scheduler_release,
};
use serde_json::{Value, json};

use crate::object_key::object_key;

/// What was asked, and the answers that differ.
#[derive(Default)]
struct Tally {
    compared: usize,
    /// Numbers marked uncertain: all of them, and those in which the released code differs.
    uncertain: (usize, usize),
    /// Pods of which the released code looked at some of the nodes that fit.
    sampled: usize,
    wrong: Vec<String>,
}

impl Tally {
    fn hold(&mut self, what: impl FnOnce() -> String, ours: &Value, upstream: &Value) {
        self.compared += 1;
        if ours != upstream {
            self.wrong.push(format!("{}: ours {ours}, upstream {upstream}", what()));
        }
    }
}

#[test]
fn of_many_nodes_the_released_code_looks_at_some() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/sampling");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "zst"));
    files.sort();
    assert!(files.len() >= 5, "only {} files", files.len());
    let mut tally = Tally::default();
    files.iter().for_each(|file| compare(file, &mut tally));
    let (wrong, all) = (&tally.wrong, tally.compared);
    assert!(wrong.is_empty(), "{} of {all} differ\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
    assert!(all > 30_000, "only {all} values were compared");
    assert!(tally.sampled >= 25, "only {} pods were given a node among those looked at", tally.sampled);
    // What is marked uncertain really is: for some, the released code has another number.
    assert!(tally.uncertain.1 > 100 && tally.uncertain.0 < all / 5, "{:?}", tally.uncertain);
}

fn compare(file: &Path, tally: &mut Tally) {
    let lines = BufReader::new(zstd::Decoder::new(fs::File::open(file).unwrap()).unwrap()).lines();
    let lines: Vec<Value> = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    let mut replay = Replay::new(scheduler(&lines[0]), true);
    let mut pods = BTreeMap::new();
    let mut revision = 0;
    for object in lines[1]["objects"].as_array().unwrap() {
        revision = object["metadata"]["resourceVersion"].as_str().unwrap().parse::<i64>().unwrap().max(revision);
        let key = object_key(object);
        let name = format!("{}/{}", key.namespace, key.name);
        // The released code was asked about one pod after the other, so each is created when its turn comes.
        if object["kind"] == "Pod" && lines[2..].iter().any(|truth| truth["pod"] == name.as_str()) {
            pods.insert(name, object.clone());
            continue;
        }
        replay.seed(&key, &*serde_json::to_vec(object).unwrap(), revision);
    }
    for truth in &lines[2..] {
        let name = truth["pod"].as_str().unwrap();
        let mut pod = pods[name].clone();
        revision += 1;
        assert!(replay.advance(&object_key(&pod), Some(&*serde_json::to_vec(&pod).unwrap()), revision).is_empty());
        let node = truth["node"].as_str().filter(|node| !node.is_empty());
        match node {
            Some(node) => {
                pod["spec"]["nodeName"] = json!(node);
                pod["status"]["conditions"] = json!([{"type": "PodScheduled", "status": "True"}]);
            }
            None => {
                let condition = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": truth["message"]});
                pod["status"]["conditions"] = json!([condition]);
            }
        }
        revision += 1;
        let attempts = replay.advance(&object_key(&pod), Some(&*serde_json::to_vec(&pod).unwrap()), revision);
        let explanation = replay.explain(attempts.into_iter().next().unwrap());
        hold(tally, &format!("{} {name}", file.file_name().unwrap().to_string_lossy()), truth, &explanation);
    }
}

fn scheduler(line: &Value) -> Scheduler {
    let version = line["version"].as_str().unwrap();
    let release = scheduler_release(version).unwrap();
    let gates = Gates::new(release).at_patch(scheduler_patch(version));
    let profiles = match &line["config"] {
        Value::Null => vec![Profile::new(release, gates)],
        config => SchedulerConfiguration::read(config, release, &gates).unwrap().profiles,
    };
    let version = VersionFrom { release, patch: scheduler_patch(version), evidence: VersionEvidence::Given };
    Scheduler { profiles, version, recorded: release, configured: true }
}

fn hold(tally: &mut Tally, pod: &str, truth: &Value, explanation: &Explanation) {
    let judgement = &explanation.judgement;
    if explanation.agreement == Agreement::Disagrees {
        tally.wrong.push(format!("{pod}: disagrees"));
    }
    if truth["node"].is_null() {
        tally.hold(|| format!("{pod}: message"), &json!(judgement.message), &truth["message"]);
    }
    let sample: BTreeSet<&str> = truth["sample"].as_array().into_iter().flatten().map(|name| name.as_str().unwrap()).collect();
    for node in &judgement.nodes {
        let refused = &truth["refused"][&*node.name];
        if !sample.contains(&*node.name) && refused.is_null() {
            continue;
        }
        let own = node.stop().map(|at| {
            let (status, reasons) = match &node.verdicts[at] {
                Verdict::Reject(refusal) if refusal.preemption_may_help => ("Unschedulable", refusal.reasons.join(", ")),
                Verdict::Reject(refusal) => ("UnschedulableAndUnresolvable", refusal.reasons.join(", ")),
                Verdict::Error(error) => ("Error", error.clone()),
                other => panic!("{other:?} stops nothing"),
            };
            json!([judgement.filters[at], status, reasons.split(", ").collect::<BTreeSet<_>>()])
        });
        tally.hold(|| format!("{pod} on {}", node.name), &json!(own), refused);
    }
    let (Some(scores), false) = (&judgement.scores, truth["weighted"].is_null()) else { return };
    tally.sampled += usize::from(judgement.sample.unseen() > 0);
    tally.hold(|| format!("{pod}: how many"), &json!(judgement.sample.fit - judgement.sample.unseen()), &json!(sample.len()));
    let wanted: BTreeSet<&str> = truth["weighted"].as_object().into_iter().flatten().map(|(plugin, _)| plugin.as_str()).collect();
    tally.hold(
        || format!("{pod}: plugins"),
        &json!(scores.plugins.iter().map(|score| score.plugin).collect::<BTreeSet<_>>()),
        &json!(wanted),
    );
    let mut doubted = BTreeSet::new();
    for score in &scores.plugins {
        for (at, node) in scores.nodes.iter().enumerate().filter(|(_, node)| sample.contains(&***node)) {
            let (raw, weighted) = (&truth["raw"][score.plugin][&**node], &truth["weighted"][score.plugin][&**node]);
            let ours = (json!(score.raw[at]), json!(score.normalized[at] * score.weight));
            if score.doubtful.contains(&at) {
                tally.uncertain.0 += 1;
                tally.uncertain.1 += usize::from((&ours.0, &ours.1) != (raw, weighted));
                doubted.insert(node);
            } else {
                tally.hold(|| format!("{pod}: {} on {node}", score.plugin), &json!([ours.0, ours.1]), &json!([raw, weighted]));
            }
        }
    }
    for (at, node) in scores.nodes.iter().enumerate().filter(|(_, node)| sample.contains(&***node) && !doubted.contains(node)) {
        tally.hold(|| format!("{pod}: total on {node}"), &json!(scores.totals[at]), &truth["total"][&**node]);
    }
}
