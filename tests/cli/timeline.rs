//! `timeline` on recorded clusters: it contains the operator's log, its numbers are right, its text is as expected, and nothing is invented.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use futures_util::StreamExt;
use jiff::Timestamp;
use ketcd_history::clock::Clock;
use ketcd_history::timeline::{Phase, StepKind, Story, Timeline};
use ketcd_history::{AttributedChange, Follower};
use ketcd_kube::Decoder;
use ketcd_store::{Event, KeyRange, KeyValue, Revision, Until, WatchItem, load};
use proptest::prelude::*;
use serde_json::Value;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

fn ketcd(capture: &str, arguments: &[&str]) -> String {
    let file = path("captures").join(capture).join("snapshot.db.zst");
    let output = Command::new(env!("CARGO_BIN_EXE_ketcd")).arg("-f").arg(file).args(arguments).env("NO_COLOR", "1").output().unwrap();
    assert!(output.status.code() < Some(2), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn timeline(capture: &str, address: &str) -> Value {
    serde_json::from_str(&ketcd(capture, &["timeline", address, "-o", "json"])).unwrap()
}

/// A line of the operator's log, and the step in which ketcd shows it: address, phase, what its detail holds, who did it.
type Found = (&'static str, &'static str, &'static str, &'static str, &'static str);

const FOUND: &[Found] = &[
    ("create:", "pod/lab/ubuntu", "Scheduled", "bound to", "kube-scheduler"),
    ("taint:", "node/node1", "Tainted", "maintenance=yes:NoSchedule", "kubectl-taint"),
    ("taint:", "pod/lab/ubuntu-tainted", "Refused", "0/4 nodes are available", "kube-scheduler"),
    ("untaint:", "node/node2", "Untainted", "maintenance=yes:NoSchedule", "kubectl-taint"),
    ("untaint:", "pod/lab/ubuntu-tainted", "Scheduled", "bound to node2", "kube-scheduler"),
    ("evict:", "node/node2", "Tainted", ":NoExecute", "kubectl-taint"),
    ("evict:", "pod/lab/ubuntu-tainted", "Deleting", "30 s", ""),
    ("cordon:", "node/node1", "Cordoned", "", "kubectl"),
    ("affinity: preferred", "pod/lab/weighted", "Scheduled", "bound to", "kube-scheduler"),
    ("affinity: lab/follower", "pod/lab/follower", "Scheduled", "bound to", "kube-scheduler"),
    ("anti-affinity:", "pod/lab/spread-5", "Refused", "0/4 nodes are available", "kube-scheduler"),
    ("rollout: web/tomcat 8.0", "deploy/web/tomcat", "Rollout", "tomcat:8.0", "kubectl"),
    ("rollout: set image", "deploy/web/tomcat", "Rollout", "tomcat:8.0 → tomcat:9.0", "kubectl-set"),
    ("rollout: undo", "deploy/web/tomcat", "Undo", "back to revision 1's template", "kubectl"),
    ("rollout: stuck", "deploy/web/tomcat", "Rollout", "tomcat:8.0 → tomcat:10", "kubectl-set"),
    ("priority:", "pod/lab/urgent", "Nominated", "node4", "kube-scheduler"),
    ("config:", "pod/web/crasher", "Restarted", "exit 1", "kubelet"),
    ("config:", "configmap/web/app-config", "Changed", "data.", "kubectl"),
    (
        "node failure: node2's kubelet stops",
        "node/node2",
        "HeartbeatLost",
        "Kubelet stopped posting node status",
        "kube-controller-manager",
    ),
    ("node failure: node2's kubelet returns", "node/node2", "Returned", "", "kubelet node2"),
    ("priority:", "pod/lab/urgent", "Preempting", "makes room", "default-scheduler"),
    ("kinds: secret", "hpa/web/tomcat", "Created", "scales Deployment tomcat between 2 and 4", "kubectl"),
    ("kinds: secret", "pvc/web/data", "Bound", "to volume pv-1", "kube-controller-manager"),
    ("kinds: secret", "cronjob/web/nightly", "Created", "schedule 0 3 * * *", "kubectl"),
    ("kinds: secret", "sts/web/db", "RolledOut", "2 up to date and ready", "kube-controller-manager"),
    ("kinds: secret", "ds/lab/agent", "RolledOut", "4 up to date and ready", "kube-controller-manager"),
    ("kinds: secret", "job/web/migrate", "Succeeded", "", "kube-controller-manager"),
    ("namespace:", "namespace/scratch", "Deleting", "", ""),
    ("namespace:", "pod/lab/spread-5", "Deleting", "", ""),
];

/// The same of what only the newer cluster's day has.
const FOUND_SINCE: &[Found] = &[
    ("gates:", "pod/lab/gated", "Gated", "held back by example.com/hold, example.com/quota", "kubectl"),
    ("gates:", "pod/lab/gated", "Ungated", "no gate is left", "kubectl"),
    ("spread:", "deploy/web/wide", "Rollout", "", "kubectl"),
    ("sidecars:", "pod/web/logged", "SidecarStarted", "shipper", "kubelet node3"),
    ("sidecars:", "job/web/packed", "Created", "example.com/work:1", "kubectl"),
    ("resize:", "pod/lab/elastic", "Resized", "main: cpu 100m → 300m", "kubelet node1"),
    ("resize:", "pod/lab/elastic", "ResizeDeferred", "Node didn't have enough resource: cpu", "kubelet node1"),
    ("resize:", "pod/lab/whole", "ResizeRequested", "the pod: cpu 400m → 500m", "kubectl-patch"),
    ("admission:", "validatingadmissionpolicy/no-privileged.example.com", "Created", "", "kubectl"),
    ("crd:", "customresourcedefinition/gadgets.example.com", "Created", "", "kubectl"),
    ("dra:", "resourceclaim/lab/shared", "Allocated", "gpu.example.com/", "kube-scheduler"),
    ("dra:", "pod/lab/train-3", "Refused", "cannot allocate all claims", "kube-scheduler"),
    ("kinds: more", "sts/web/store", "Created", "postgres:13", "kubectl"),
    ("debug: an ephemeral container in lab/ubuntu; web/logged", "pod/web/logged", "Evicted", "EvictionByEvictionAPI", "kube-apiserver"),
    ("burst:", "job/web/burst", "Progress", "12 active", "kube-controller-manager"),
    ("burst:", "deploy/lab/ported", "Rollout", "", "kubectl"),
    ("debug: an ephemeral container in lab/details", "pod/lab/details", "DebugRequested", "", ""),
];

/// The log's lines with their times, and until when their effects may show: the next line, or a minute.
fn log(capture: &str) -> Vec<(Timestamp, Timestamp, String)> {
    let text = std::fs::read_to_string(path("captures").join(capture).join("story.log")).unwrap();
    let lines: Vec<(Timestamp, String)> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(time, words)| Some((time.parse().ok()?, words.to_owned())))
        .collect();
    let next = lines.iter().skip(1).map(|(time, _)| *time).chain([Timestamp::MAX]);
    let minute = jiff::SignedDuration::from_secs(60);
    lines.iter().zip(next).map(|((time, words), next)| (*time, next.max(*time + minute), words.clone())).collect()
}

#[test]
fn the_operators_log_is_found_again() {
    for capture in ["k120-story", "k136-story"] {
        let log = log(capture);
        let mut stories: BTreeMap<&str, Value> = BTreeMap::new();
        let since: &[Found] = if capture == "k136-story" { FOUND_SINCE } else { &[] };
        for &(words, address, phase, detail, by) in FOUND.iter().chain(since) {
            let (begin, end, _) = log.iter().find(|(_, _, line)| line.starts_with(words)).unwrap_or_else(|| panic!("{capture}: {words}"));
            let story = stories.entry(address).or_insert_with(|| timeline(capture, address));
            let fits = |phase_found: &&Value| {
                let Some(time) = phase_found["time"].as_str().map(|time| time.parse::<Timestamp>().unwrap()) else { return false };
                let error = phase_found["timeErrorSeconds"].as_f64().unwrap();
                let after = time.duration_since(*begin).as_secs_f64();
                phase_found["phase"] == phase
                    && phase_found["detail"].as_str().unwrap().contains(detail)
                    && phase_found["by"].as_str().unwrap_or_default().contains(by)
                    && after >= -error
                    && time.duration_since(*end).as_secs_f64() <= error
            };
            let found = story["phases"].as_array().unwrap().iter().any(|phase_found| fits(&phase_found));
            assert!(found, "{capture}: {words} is not {phase} of {address} between {begin} and {end}: {:#}", story["phases"]);
        }
    }
}

/// Capture, address, phase, its revision, who, recorded or inferred, and the seconds since the phase before, within half a second.
type Number = (&'static str, &'static str, &'static str, i64, &'static str, &'static str, f64);

const NUMBERS: &[Number] = &[
    ("k120-story", "pod/lab/ubuntu", "Created", 367, "kubectl-client-side-apply", "recorded", 0.0),
    ("k120-story", "pod/lab/ubuntu", "Scheduled", 368, "kube-scheduler", "inferred", 0.0),
    ("k120-story", "pod/lab/ubuntu", "Ready", 372, "kubelet node3", "recorded", 0.0),
    ("k120-story", "pod/lab/ubuntu-tainted", "Scheduled", 394, "kube-scheduler", "inferred", 2.9),
    ("k120-story", "pod/lab/urgent", "Nominated", 822, "kube-scheduler", "recorded", 0.0),
    ("k120-story", "pod/lab/urgent", "Scheduled", 833, "kube-scheduler", "inferred", 2.0),
    ("k120-story", "pod/lab/spread-5", "Scheduled", 1651, "kube-scheduler", "inferred", 326.7),
    ("k120-story", "node/node2", "HeartbeatLost", 1065, "kube-controller-manager", "recorded", 42.3),
    ("k120-story", "node/node2", "Returned", 1604, "kubelet node2", "recorded", 319.5),
    ("k136-story", "pod/lab/gated", "Ungated", 962, "kubectl-client-side-apply", "inferred", 1.6),
    ("k136-story", "pod/lab/elastic", "ResizeDeferred", 1287, "kubelet node1", "recorded", 0.6),
    ("k136-story", "pod/web/logged", "Evicted", 1549, "kube-apiserver", "inferred", 36.9),
];

#[test]
fn the_numbers_are_right() {
    let mut stories: BTreeMap<(&str, &str), Value> = BTreeMap::new();
    for &(capture, address, phase, revision, by, from, seconds) in NUMBERS {
        let story = stories.entry((capture, address)).or_insert_with(|| timeline(capture, address));
        let phases = story["phases"].as_array().unwrap();
        let phase_found = phases.iter().find(|phase_found| phase_found["phase"] == phase && phase_found["revision"] == revision);
        let phase_found = phase_found.unwrap_or_else(|| panic!("{capture} {address}: no {phase} at r{revision}"));
        assert_eq!((phase_found["by"].as_str(), phase_found["byFrom"].as_str()), (Some(by), Some(from)), "{phase_found}");
        let since = phase_found["sincePreviousSeconds"].as_f64().unwrap_or(0.0);
        assert!((since - seconds).abs() <= 0.6, "{capture} {address} {phase}: {since} s, not {seconds}");
    }
    let rollouts = &timeline("k136-story", "deploy/web/tomcat")["rollouts"];
    let rollout_fields = |field: &str| rollouts.as_array().unwrap().iter().map(|rollout| rollout[field].clone()).collect::<Vec<_>>();
    assert_eq!(rollout_fields("revision"), [485, 528, 611, 695], "{rollouts:#}");
    assert_eq!(rollout_fields("number"), ["1", "2", "3", "4"]);
    assert_eq!(rollout_fields("undo"), [false, false, true, false]);
    assert_eq!(rollout_fields("endRevision"), [Value::from(523), 604.into(), 691.into(), Value::Null]);
    assert_eq!(rollouts[1]["changeCause"], "tomcat 9.0");
    assert!((rollouts[1]["seconds"].as_f64().unwrap() - 3.95).abs() < 0.6, "{}", rollouts[1]);
    let lost = &timeline("k136-story", "node/node2")["outages"][0];
    assert_eq!(
        (lost["fromRevision"].as_i64(), lost["lostRevision"].as_i64(), lost["untilRevision"].as_i64()),
        (Some(1742), Some(2011), Some(2780))
    );
    assert!(
        (lost["lostAfterSeconds"].as_f64().unwrap() - 51.0).abs() < 1.0
            && (lost["evictedAfterTaintSeconds"].as_f64().unwrap() - 300.0).abs() < 2.0,
        "{lost}"
    );
    assert_eq!((lost["evicted"].as_array().unwrap().len(), lost["stayed"][0]["pod"].as_str()), (11, Some("agent-4rtgr")), "{lost}");
    let refused = ketcd("k120-story", &["timeline", "deploy/web/tomcat"]);
    assert!(refused.contains("waits: pod/web/tomcat-") && refused.contains("didn't have free ports"), "{refused}");
    let outage = ketcd("k136-story", &["timeline", "node/node2"]);
    assert!(outage.contains("outage: no heartbeat since 00:16:19") && outage.contains("replaced by"), "{outage}");
}

#[test]
fn a_silence_that_lasts_begins_with_the_last_heartbeat() {
    // While the node is silent: noticed by the control plane, and not yet.
    for (at, lost_after, words) in [("00:17:30", 51.0, "noticed after 51"), ("00:17:08", 0.0, "not noticed by the control plane")] {
        let page = ketcd("k136-story", &["timeline", "node/node2", "--at", at]);
        assert!(page.contains("outage: no heartbeat since 00:16:19") && page.contains("until the end of the history"), "{at}: {page}");
        assert!(page.contains(words), "{at}: {page}");
        let timeline: Value = serde_json::from_str(&ketcd("k136-story", &["timeline", "node/node2", "--at", at, "-o", "json"])).unwrap();
        let outage = &timeline["outages"][0];
        assert!((outage["lostAfterSeconds"].as_f64().unwrap() - lost_after).abs() < 1.0, "{outage}");
        assert_eq!(outage["untilRevision"], Value::Null);
    }
    // A lease that is still good says nothing.
    assert!(!ketcd("k136-story", &["timeline", "node/node2", "--at", "00:16:50"]).contains("outage:"));
}

#[test]
fn labels_of_nodes_are_told() {
    let is_told = |page: &str| page.contains("Changed") && page.contains("nodelabel") && page.contains("kubectl-label");
    for arguments in [&["timeline", "node/node3"][..], &["timeline", "--around", "00:14:54", "--window", "2s"]] {
        let page = ketcd("k136-story", arguments);
        assert!(is_told(&page), "{page}");
    }
}

#[test]
fn a_nomination_without_victims_is_no_preemption() {
    let nominated = |timeline: &Value| {
        let phases = timeline["phases"].as_array().unwrap().iter();
        phases.filter(|phase| phase["phase"] == "Nominated").map(|phase| phase["detail"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(nominated(&timeline("k136-story", "pod/web/store-5")), ["to node1"]);
    assert!(!ketcd("k136-story", &["timeline", "pod/web/store-5"]).contains("make"));
    // The timeline of a preemptor shows its victims.
    assert!(ketcd("k136-story", &["timeline", "pod/lab/urgent"]).contains("Preempting"));
}

fn events(file: &Path) -> Vec<Event> {
    let source = load::open(&[file.to_str().unwrap().to_owned()], &|_| None).unwrap();
    let items = source.watch(KeyRange::all(), Revision(1), Until::Forever);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let items: Vec<WatchItem> = runtime.block_on(items.map(Result::unwrap).collect());
    items.into_iter().filter_map(|item| if let WatchItem::Event(event) = item { Some(event) } else { None }).collect()
}

/// The stories of those events that are not lost; a source says where something is missing.
fn stories<'a>(events: impl Iterator<Item = (&'a Event, bool)>) -> BTreeMap<Vec<u8>, Timeline> {
    let decoder = Decoder::new();
    let mut follower = Follower::new(|entry: &KeyValue| decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body);
    let clock = Clock::default();
    let mut story = Story::default();
    for (event, lost) in events {
        if lost {
            follower.gap(event.revision);
        } else {
            story.observe(AttributedChange::new(follower.change(event.clone()), &clock), false);
        }
    }
    story.finish(None);
    story.timelines.into_iter().map(|(key, timeline)| (key.to_vec(), timeline)).collect()
}

fn steps_of(timeline: &Timeline) -> BTreeSet<(&'static str, i64)> {
    // An undo whose earlier template is lost in a gap can only be shown as a rollout.
    let name = |phase: &Phase| if phase.phase == StepKind::Undo { "Rollout" } else { phase.phase.as_str() };
    timeline.phases.iter().map(|phase| (name(phase), phase.revision.0)).collect()
}

/// Events of the kinds that stories are of, of the first part of a cluster's life.
fn some_events() -> &'static (Vec<Event>, BTreeMap<Vec<u8>, Timeline>) {
    static SOME: std::sync::OnceLock<(Vec<Event>, BTreeMap<Vec<u8>, Timeline>)> = std::sync::OnceLock::new();
    SOME.get_or_init(|| {
        let kinds: [&[u8]; 4] =
            [b"/registry/pods/", b"/registry/deployments/", b"/registry/minions/", b"/registry/persistentvolumeclaims/"];
        let mut events = events(&path("captures/k136-story/snapshot.db.zst"));
        events.retain(|event| kinds.iter().any(|kind| event.key_value.key.starts_with(kind)));
        let all = stories(events.iter().map(|event| (event, false)));
        (events, all)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn gaps_are_reported_and_no_phase_is_invented(seed in any::<u64>(), kept in 0.2..0.95f64) {
        let (events, all) = some_events();
        let mut random = seed | 1;
        let mut keep = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 11) as f64 / (1u64 << 53) as f64 <= kept
        };
        for (key, timeline) in stories(events.iter().map(|event| (event, !keep()))) {
            let whole = &all[&key];
            let invented: Vec<_> = steps_of(&timeline).difference(&steps_of(whole)).copied().collect();
            prop_assert!(invented.is_empty(), "{}: {invented:?}", String::from_utf8_lossy(&key));
            prop_assert!(timeline.phases.len() == whole.phases.len() || !timeline.complete || timeline.until < whole.until, "a gap is not reported");
        }
    }
}
