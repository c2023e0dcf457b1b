//! Real schedulers' traces held against ours: every filter verdict, score, total and message on the recorded clusters.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use futures_util::StreamExt;
use ketcd_kube::Decoder;
use ketcd_scheduler::cluster::{ClusterState, ObjectKey, ObjectReader, RawObject};
use ketcd_scheduler::{
    Agreement, Attempt, AttemptOutcome, Explanation, Gates, NEWEST_SCHEDULER, NodeJudgement, OpenAttempts, PluginScore, Profile, Release,
    Replay, RestartedSchedulers, Rules, Scheduler, SchedulerConfiguration, Verdict, VersionEvidence, VersionFrom, detect,
};
use ketcd_store::{Event, EventKind, KeyRange, Revision, Until, WatchItem, load};
use serde_json::Value;

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(name)
}

/// The lines of a trace, plain or compressed.
fn truth(file: &Path) -> Vec<Value> {
    let opened = std::fs::File::open(file).unwrap();
    let packed = file.extension().is_some_and(|extension| extension == "zst");
    let read: Box<dyn Read> = if packed { Box::new(zstd::Decoder::new(opened).unwrap()) } else { Box::new(opened) };
    BufReader::new(read).lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
}

fn scheduler(release: Release, profiles: Vec<Profile>, recorded: Release) -> Scheduler {
    Scheduler { profiles, version: VersionFrom { release, patch: None, evidence: VersionEvidence::Given }, recorded, configured: false }
}

/// Hands every change of a database to `each`, with its path below the prefix.
fn changes(file: &Path, mut each: impl FnMut(&str, &Event)) {
    let source = load::open(&[file.to_str().unwrap().to_owned()], &|_| None).unwrap();
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let mut items = source.watch(KeyRange::prefix("/registry/"), Revision(1), Until::Forever);
        while let Some(item) = items.next().await {
            let WatchItem::Event(event) = item.unwrap() else { continue };
            each(std::str::from_utf8(&event.key_value.key).unwrap().strip_prefix("/registry/").unwrap(), &event);
        }
    });
}

/// A scheduler, and the revisions at which another process of it took over, ascending.
struct Recorded {
    scheduler: Scheduler,
    takeovers: VecDeque<i64>,
}

/// Explains every attempt of the pods wanted, in order.
fn explain(file: &Path, recorded: Recorded, wanted: &BTreeSet<String>, mut each: impl FnMut(Explanation)) {
    let decoder = Decoder::new();
    let reader = ObjectReader::new(&decoder);
    let Recorded { scheduler, mut takeovers } = recorded;
    let mut replay = Replay::new(scheduler, true);
    let mut open = OpenAttempts::default();
    let mut explained = |replay: &mut Replay, attempt: Attempt| {
        if wanted.contains(&attempt.pod.full_name()) {
            each(replay.explain(attempt));
        } else {
            replay.skip(&attempt);
        }
    };
    changes(file, |path, event| {
        let (key, value) = (&event.key_value.key, &event.key_value.value);
        let mod_revision = event.revision.0;
        while let Some(takeover) = takeovers.front().copied().filter(|takeover| *takeover <= mod_revision) {
            takeovers.pop_front();
            replay.restart(takeover, RestartedSchedulers::new(["default-scheduler".to_owned()].into(), BTreeSet::new(), false));
        }
        let stored = (event.kind == EventKind::Put).then_some(RawObject::Stored { reader: &reader, key, value, mod_revision });
        let attempts = match (ObjectKey::parse(path), stored) {
            (Some(object), stored) => replay.advance(&object, stored, event.revision.0),
            (None, Some(stored)) if path.starts_with("events/") => replay.observe_event(stored, event.revision.0).into_iter().collect(),
            _ => Vec::new(),
        };
        open.add(attempts);
        while let Some(attempt) = open.next(&replay, event.revision.0) {
            explained(&mut replay, attempt);
        }
    });
    while let Some(attempt) = open.next_at_end() {
        explained(&mut replay, attempt);
    }
    assert_eq!(replay.unreadable(), 0);
}

/// Equal and asked, by what was compared, with the first differences.
#[derive(Default)]
struct Tally {
    counts: BTreeMap<&'static str, (usize, usize)>,
    /// Scores that are marked uncertain and verdicts that are unknown, where they differ.
    uncertain: usize,
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

    fn add(&mut self, other: Self) {
        for (what, (equal, asked)) in other.counts {
            let counts = self.counts.entry(what).or_default();
            *counts = (counts.0 + equal, counts.1 + asked);
        }
        self.uncertain += other.uncertain;
        self.differing.extend(other.differing);
    }

    fn line(&self) -> String {
        let shares: Vec<String> = self.counts.iter().map(|(what, (equal, asked))| format!("{what} {equal}/{asked}")).collect();
        format!("{}, uncertain {}", shares.join(", "), self.uncertain)
    }
}

/// The first filter of a node that refused: its name, the status, the reasons.
fn refusal(filters: &[&'static str], node: Option<&NodeJudgement>) -> Option<[String; 3]> {
    let (at, refusal) = node?.first_refusal()?;
    let status = if refusal.preemption_may_help { "Unschedulable" } else { "UnschedulableAndUnresolvable" };
    Some([filters[at].to_owned(), status.to_owned(), refusal.reasons.join(", ")])
}

fn hold(tally: &mut Tally, line: &Value, explanation: &Explanation) {
    let judgement = &explanation.judgement;
    let pod = explanation.attempt.pod.full_name();
    let place = |name: &str| judgement.nodes.iter().find(|node| *node.name == *name);
    for (name, filters) in line["filters"].as_object().into_iter().flatten() {
        let last = filters.as_array().unwrap().last().unwrap();
        let upstream = (last[1] != "Success").then(|| [0, 1, 2].map(|at| last[at].as_str().unwrap().to_owned()));
        let is_unknown = place(name).is_some_and(|node| node.verdicts.iter().any(|verdict| matches!(verdict, Verdict::Unknown { .. })));
        if is_unknown && refusal(&judgement.filters, place(name)) != upstream {
            tally.uncertain += 1;
            continue;
        }
        tally.hold("filters", || format!("{pod} on {name}"), refusal(&judgement.filters, place(name)), upstream);
        assert!(place(name).is_some_and(|node| !node.verdicts.iter().any(|verdict| matches!(verdict, Verdict::Error(_)))));
    }
    for (name, why) in line["refused"].as_object().into_iter().flatten() {
        let upstream = [0, 1, 2].map(|at| why[at].as_str().unwrap().to_owned());
        tally.hold("filters", || format!("{pod} on {name}"), refusal(&judgement.filters, place(name)), Some(upstream));
    }
    for (name, predicates) in line["predicates"].as_object().into_iter().flatten() {
        for predicate in predicates.as_array().unwrap() {
            let plugin = predicate[0].as_str().unwrap();
            let upstream = predicate[1].as_bool().map(|fits| (fits, predicate[2].as_str().unwrap().to_owned()));
            let at = judgement.filters.iter().position(|filter| *filter == plugin);
            let ours = place(name).zip(at).map(|(node, at)| match &node.verdicts[at] {
                Verdict::Reject(refusal) => (false, refusal.reasons.join(", ")),
                _ => (true, String::new()),
            });
            tally.hold("filters", || format!("{pod} on {name}, {plugin}"), ours, upstream);
        }
    }
    hold_scores(tally, line, explanation);
    if line["outcome"] == "unschedulable" {
        tally.hold("messages", || pod.clone(), judgement.message.as_deref(), line["message"].as_str());
    } else if line["predicates"].is_null() {
        let doubted = judgement.scores.iter().flat_map(|scores| &scores.plugins).any(|score| !score.doubtful.is_empty());
        let agrees = match explanation.agreement {
            Agreement::Agrees | Agreement::Tie => true,
            Agreement::Unverifiable => doubted,
            Agreement::Disagrees => false,
        };
        tally.hold("choice", || pod.clone(), agrees, true);
    }
}

fn hold_scores(tally: &mut Tally, line: &Value, explanation: &Explanation) {
    let scores = explanation.judgement.scores.as_ref();
    let pod = explanation.attempt.pod.full_name();
    let place = |name: &str| scores?.nodes.iter().position(|node| **node == *name);
    let normalized = |score: &PluginScore, at: usize| score.normalized[at];
    let raw = |score: &PluginScore, at: usize| score.raw[at];
    let weighted = |score: &PluginScore, at: usize| score.normalized[at] * score.weight;
    let kinds: [(&str, &dyn Fn(&PluginScore, usize) -> i64); 3] = [("raw", &raw), ("scores", &normalized), ("weighted", &weighted)];
    let mut doubted = BTreeSet::new();
    for (what, points) in kinds {
        for (plugin, by_node) in line[what].as_object().into_iter().flatten() {
            for (name, wanted) in by_node.as_object().unwrap() {
                let ours = place(name).and_then(|at| Some((scores?.plugins.iter().find(|score| score.plugin == plugin)?, at)));
                let value = ours.map(|(score, at)| points(score, at));
                if value != wanted.as_i64() && ours.is_some_and(|(score, at)| score.doubtful.contains(&at)) {
                    tally.uncertain += usize::from(what != "weighted");
                    doubted.insert(name);
                    continue;
                }
                tally.hold(what, || format!("{pod}, {plugin} on {name}"), value, wanted.as_i64());
            }
        }
    }
    for (name, wanted) in line["total"].as_object().into_iter().flatten().filter(|(name, _)| !doubted.contains(name)) {
        tally.hold("totals", || format!("{pod} on {name}"), place(name).and_then(|at| Some(scores?.totals[at])), wanted.as_i64());
    }
}

/// Whether an attempt is the one of a line.
fn is_of_line(line: &Value, explanation: &Explanation) -> bool {
    let attempt = &explanation.attempt;
    match (line["revision"].as_i64(), line["message"].as_str()) {
        (Some(revision), _) => explanation.evaluated_revision == revision,
        (None, None) => attempt.outcome == AttemptOutcome::Scheduled,
        (None, Some(message)) => attempt.outcome == AttemptOutcome::Unschedulable && attempt.recorded_message.as_deref() == Some(message),
    }
}

/// Compares a trace with the attempts a database shows, as they come. Of equal refusals the last counts: a condition is written once.
fn compared(database: &Path, trace: &Path, recorded: Recorded) -> Tally {
    let lines = truth(trace);
    assert!(!lines.is_empty());
    let pod = |line: &Value| line["pod"].as_str().unwrap().to_owned();
    let mut wanted: BTreeMap<(String, Option<i64>, Option<String>), &Value> = BTreeMap::new();
    for line in &lines {
        let message = line["message"].as_str().map(str::to_owned);
        wanted.insert((pod(line), line["revision"].as_i64(), message), line);
    }
    let mut last: BTreeMap<(String, Option<i64>, Option<String>), Tally> = BTreeMap::new();
    explain(database, recorded, &lines.iter().map(pod).collect(), |explanation| {
        let name = explanation.attempt.pod.full_name();
        for (key, line) in wanted.iter().filter(|((pod, ..), line)| *pod == name && is_of_line(line, &explanation)) {
            let mut tally = Tally::default();
            hold(&mut tally, line, &explanation);
            last.insert(key.clone(), tally);
        }
    });
    let mut tally = Tally::default();
    for key in wanted.keys() {
        tally.hold("attempts", || format!("{} {:?}", key.0, key.2), last.contains_key(key), true);
    }
    last.into_values().for_each(|one| tally.add(one));
    tally
}

/// The profiles of a configuration file.
fn configured(file: &Path, release: Release) -> Vec<Profile> {
    let text = std::fs::read_to_string(file).unwrap();
    SchedulerConfiguration::read(&serde_saphyr::from_str(&text).unwrap(), release, &Gates::new(release)).unwrap().profiles
}

/// The version that a database speaks of at its end.
fn version_in(database: &Path) -> VersionFrom {
    let decoder = Decoder::new();
    let reader = ObjectReader::new(&decoder);
    let mut state = ClusterState::new(Rules::new(NEWEST_SCHEDULER, &Gates::new(NEWEST_SCHEDULER)).requests);
    changes(database, |path, event| {
        let Some(object) = ObjectKey::parse(path).filter(|_| path.starts_with("minions/") || path.starts_with("pods/kube-system/")) else {
            return;
        };
        let value = &event.key_value;
        let (key, value, mod_revision) = (&value.key, &value.value, event.revision.0);
        let stored = (event.kind == EventKind::Put).then_some(RawObject::Stored { reader: &reader, key, value, mod_revision });
        state.apply(&object, stored, event.revision.0);
    });
    detect(&state)
}

/// Every capture below `testdata/captures`, or below the directory that `KETCD_CAPTURES` names: a folder with a database `snapshot.db` and traces
/// `truth*.jsonl`, plain or `.zst`; `truth-1.9.jsonl` is of release 1.9, the others of the release found in the data, with the folder's
/// `scheduler-config.yaml` and its `feature-gates` if it has them; `takeovers` are the revisions at which another process took over. Prints a line for each and the whole with `--nocapture`.
#[test]
#[allow(clippy::print_stdout, reason = "what it prints is what it is run for")]
fn every_recorded_attempt_is_evaluated_as_the_scheduler_did() {
    let directory = std::env::var_os("KETCD_CAPTURES").map_or_else(|| capture(""), PathBuf::from);
    let folders: Vec<PathBuf> = listed(&directory).into_iter().filter(|path| path.is_dir()).collect();
    let tallies: Vec<(String, Tally)> = std::thread::scope(|scope| {
        let running: Vec<_> = folders.iter().map(|folder| scope.spawn(|| held(folder))).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let mut whole = Tally::default();
    for (trace, tally) in tallies {
        println!("{trace}: {}", tally.line());
        tally.differing.iter().take(5).for_each(|one| println!("  {one}"));
        whole.add(tally);
    }
    println!("all: {}", whole.line());
    assert!(!whole.counts.is_empty(), "no capture with a trace below {}", directory.display());
    assert!(whole.differing.is_empty(), "{} differ", whole.differing.len());
}

/// Compares each trace of a capture's folder; by the trace's name.
fn held(folder: &Path) -> Vec<(String, Tally)> {
    let files = listed(folder);
    let Some(database) = files.iter().find(|file| name(file).starts_with("snapshot.db")) else { return Vec::new() };
    let traces: Vec<_> = files.iter().filter(|file| name(file).starts_with("truth") && name(file).contains(".jsonl")).collect();
    let recorded = if traces.is_empty() { return Vec::new() } else { version_in(database) };
    let of_trace = |trace: &PathBuf| {
        let older = name(trace).strip_prefix("truth-1.").and_then(|rest| rest.split('.').next()?.parse().ok()).map(Release);
        let release = older.unwrap_or(recorded.release);
        let configuration = files.iter().find(|file| name(file) == "scheduler-config.yaml").filter(|_| older.is_none());
        let mut gates = Gates::new(release).at_patch(recorded.patch.filter(|_| older.is_none()));
        for given in words(&files, "feature-gates") {
            gates = gates.parse(&given).unwrap();
        }
        let profiles = match configuration {
            Some(file) => configured(file, release),
            None => vec![Profile::new(release, gates)],
        };
        let takeovers = words(&files, "takeovers").iter().map(|revision| revision.parse().unwrap()).collect();
        let tally = compared(database, trace, Recorded { scheduler: scheduler(release, profiles, recorded.release), takeovers });
        (format!("{}/{} by the rules of {release}", name(folder), name(trace)), tally)
    };
    traces.into_iter().map(of_trace).collect()
}

/// The words of the file of a capture with this name, if it has one.
fn words(files: &[PathBuf], of: &str) -> Vec<String> {
    let file = files.iter().find(|file| name(file) == of);
    let text = file.map(|file| std::fs::read_to_string(file).unwrap()).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

fn listed(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// A pod that is found by the stored bytes of its template is the pod that it is where it is parsed whole.
#[test]
fn pods_of_one_template_are_what_each_is_alone() {
    let mut pods = 0;
    for name in ["k120-story", "k136-story", "k136-random"] {
        let decoder = Decoder::new();
        let reader = ObjectReader::new(&decoder);
        let rules = Rules::new(NEWEST_SCHEDULER, &Gates::new(NEWEST_SCHEDULER)).requests;
        let (mut by_template, mut alone) = (ClusterState::new(rules), ClusterState::new(rules));
        changes(&capture(name).join("snapshot.db.zst"), |path, event| {
            let Some(object) = ObjectKey::parse(path).filter(|_| path.starts_with("pods/") && event.kind == EventKind::Put) else { return };
            let (key, value, mod_revision) = (&event.key_value.key, &event.key_value.value, event.revision.0);
            by_template.apply(&object, Some(RawObject::Stored { reader: &reader, key, value, mod_revision }), mod_revision);
            let mut text = Vec::new();
            decoder.decode_text(key, value, mod_revision, &mut text).unwrap();
            alone.apply(&object, Some(RawObject::Json(&text)), mod_revision);
            let [found, wanted] = [&by_template, &alone].map(|state| format!("{:?}", state.pod(&object.namespace, &object.name)));
            assert_eq!(found, wanted, "{name} {path} {mod_revision}");
            pods += 1;
        });
    }
    assert!(pods > 1_000, "{pods}");
}
