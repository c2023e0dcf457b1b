//! Real schedulers' traces held against ours: every filter verdict, score, total and message on the recorded clusters.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use futures_util::StreamExt;
use ketcd::cluster::{Encoded, ObjectKey};
use ketcd::kube::Decoder;
use ketcd::scheduler::{
    Agreement, Explanation, Gates, NodeJudgement, Outcome, PluginScore, Profile, Release, Replay, Scheduler, SchedulerConfiguration,
    Verdict, VersionFrom,
};
use ketcd::store::{EventKind, KeyRange, Revision, Until, WatchItem, load};
use serde_json::Value;

fn capture(path: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(path).to_str().unwrap().to_owned()
}

fn truth(name: &str) -> Vec<Value> {
    let file = std::fs::File::open(capture(&format!("{name}/truth.jsonl.zst"))).unwrap();
    BufReader::new(zstd::Decoder::new(file).unwrap()).lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
}

fn scheduler(release: Release, profiles: Vec<Profile>) -> Scheduler {
    Scheduler { profiles, version: VersionFrom { release, evidence: "the capture's".to_owned() }, recorded: release, configured: false }
}

/// Every attempt of a capture, in order.
fn explanations(name: &str, scheduler: Scheduler) -> Vec<Explanation> {
    let source = load::open(&[capture(&format!("{name}/snapshot.db.zst"))], &|_| None).unwrap();
    let decoder = Decoder::new();
    let mut replay = Replay::new(scheduler, true);
    let mut found = Vec::new();
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let mut items = source.watch(KeyRange::prefix("/registry/"), Revision(1), Until::Forever);
        while let Some(item) = items.next().await {
            let WatchItem::Event(event) = item.unwrap() else { continue };
            let (key, value) = (&event.key_value.key, &event.key_value.value);
            let path = std::str::from_utf8(key).unwrap().strip_prefix("/registry/").unwrap();
            let Some(object) = ObjectKey::parse(path) else { continue };
            let stored = (event.kind == EventKind::Put).then_some(Encoded::Stored { decoder: &decoder, key, value });
            if let Some(attempt) = replay.advance(&object, stored, event.revision.0) {
                found.push(replay.explain(attempt));
            }
        }
    });
    assert_eq!(replay.unreadable(), 0);
    found
}

/// Equal and asked, by what was compared, with the first differences.
#[derive(Default)]
struct Tally {
    counts: BTreeMap<&'static str, (usize, usize)>,
    differing: Vec<String>,
}

impl Tally {
    fn hold<T: PartialEq + std::fmt::Debug>(&mut self, what: &'static str, of: impl FnOnce() -> String, ours: T, upstream: T) {
        let (equal, asked) = self.counts.entry(what).or_default();
        *asked += 1;
        if ours == upstream {
            *equal += 1;
        } else {
            self.differing.push(format!("{what} of {}: ours {ours:?}, upstream {upstream:?}", of()));
        }
    }
}

fn refusal(judgement: &[&'static str], node: Option<&NodeJudgement>) -> Option<(String, &'static str, String)> {
    let (at, refusal) = node?.first_refusal()?;
    let status = if refusal.preemption_may_help { "Unschedulable" } else { "UnschedulableAndUnresolvable" };
    Some((judgement[at].to_owned(), status, refusal.reasons.join(", ")))
}

fn hold(tally: &mut Tally, line: &Value, explanation: &Explanation) {
    let judgement = &explanation.judgement;
    let pod = explanation.attempt.pod.full_name();
    for (name, filters) in line["filters"].as_object().unwrap() {
        let last = filters.as_array().unwrap().last().unwrap();
        let upstream = (last[1] != "Success").then(|| (last[0].to_string(), last[1].to_string(), last[2].to_string()));
        let node = judgement.nodes.iter().find(|node| *node.name == **name);
        let quoted = |text: &str| Value::from(text).to_string();
        let ours = refusal(&judgement.filters, node).map(|(plugin, status, why)| (quoted(&plugin), quoted(status), quoted(&why)));
        tally.hold("filters", || format!("{pod} on {name}"), ours, upstream);
        assert!(node.is_some_and(|node| !node.verdicts.iter().any(|verdict| matches!(verdict, Verdict::Error(_)))));
    }
    let scores = judgement.scores.as_ref();
    let place = |name: &str| scores?.nodes.iter().position(|node| **node == *name);
    for (what, points) in [("raw", raw as fn(&PluginScore, usize) -> i64), ("weighted", weighted)] {
        for (plugin, by_node) in line[what].as_object().unwrap() {
            for (name, wanted) in by_node.as_object().unwrap() {
                let ours = place(name).and_then(|at| Some(points(scores?.plugins.iter().find(|score| score.plugin == plugin)?, at)));
                tally.hold(what, || format!("{pod}, {plugin} on {name}"), ours, wanted.as_i64());
            }
        }
    }
    for (name, wanted) in line["total"].as_object().unwrap() {
        tally.hold("totals", || format!("{pod} on {name}"), place(name).and_then(|at| Some(scores?.totals[at])), wanted.as_i64());
    }
    if line["outcome"] == "unschedulable" {
        tally.hold("messages", || pod.clone(), judgement.message.as_deref(), line["message"].as_str());
    } else {
        let agrees = matches!(explanation.verdict, Agreement::Agrees | Agreement::Tie);
        tally.hold("choice", || pod.clone(), agrees, true);
    }
}

fn raw(score: &PluginScore, at: usize) -> i64 {
    score.raw[at]
}

fn weighted(score: &PluginScore, at: usize) -> i64 {
    score.normalized[at] * score.weight
}

/// Holds a capture's trace. `known`: how many comparisons may differ, each kind named with its reason where the test calls this.
fn check(name: &str, scheduler: Scheduler, known: usize) {
    let ours = explanations(name, scheduler);
    let lines = truth(name);
    assert!(!lines.is_empty());
    // Of equal refusals the last counts: a condition is written once.
    let mut wanted: BTreeMap<(String, Option<String>), &Value> = BTreeMap::new();
    for line in &lines {
        wanted.insert((line["pod"].as_str().unwrap().to_owned(), line["message"].as_str().map(str::to_owned)), line);
    }
    let mut tally = Tally::default();
    for ((pod, message), line) in &wanted {
        let hit = ours.iter().rev().find(|explanation| {
            let attempt = &explanation.attempt;
            attempt.pod.full_name() == *pod
                && match message {
                    None => attempt.outcome == Outcome::Scheduled,
                    Some(message) => attempt.outcome == Outcome::Unschedulable && attempt.recorded_message.as_deref() == Some(message),
                }
        });
        tally.hold("attempts", || format!("{pod} {message:?}"), hit.is_some(), true);
        if let Some(explanation) = hit {
            hold(&mut tally, line, explanation);
        }
    }
    let differing = &tally.differing;
    let shown = differing[..differing.len().min(20)].join("\n");
    assert!(differing.len() <= known, "{} differ, {known} are known: {:?}\n{shown}", differing.len(), tally.counts);
    assert!(differing.len() == known, "only {} differ any more: lower the number known", differing.len());
}

fn default_of(minor: u16) -> Scheduler {
    let release = Release(minor);
    scheduler(release, vec![Profile::new(release, Gates::new(release))])
}

#[test]
fn release_1_20_on_stories() {
    check("k120-story", default_of(20), 0);
}

#[test]
fn release_1_20_on_random_pods() {
    check("k120-random", default_of(20), 0);
}

#[test]
fn release_1_24_on_random_pods() {
    check("matrix-1.24", default_of(24), 0);
}

#[test]
fn release_1_31_on_random_pods() {
    check("matrix-1.31", default_of(31), 0);
}

#[test]
fn release_1_36_on_stories() {
    check("k136-story", default_of(36), 0);
}

/// A node's image list reached the scheduler after the pod that was created next to it: 9 scores and the totals made of them.
#[test]
fn release_1_36_on_random_pods() {
    check("k136-random", default_of(36), 27);
}

#[test]
fn two_profiles_of_a_configuration() {
    let release = Release(34);
    let text = std::fs::read_to_string(capture("custom-config/scheduler-config.yaml")).unwrap();
    let configuration = SchedulerConfiguration::read(&serde_saphyr::from_str(&text).unwrap(), release, &Gates::new(release)).unwrap();
    check("custom-config", scheduler(release, configuration.profiles), 0);
}
