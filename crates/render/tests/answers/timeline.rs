//! Timelines of recorded clusters: they contain the operator's log, and their numbers are right.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use jiff::Timestamp;
use ketcd_cluster::read::Keys;
use ketcd_cluster::{Cluster, Options};
use ketcd_history::diff::ManagedFields;
use ketcd_history::timeline::{StepKind, Story, Timeline};
use ketcd_render::contract::window::HistoryWindow;
use ketcd_render::timeline::json::{PartList, write_document, write_lines};
use ketcd_render::timeline::{PartLines, Told, head};
use ketcd_store::Revision;
use ketcd_testing::testdata;
use ketcd_testing::written::Written;
use serde_json::{Value, json};

use crate::fixture::{self, text};

/// The story of what an address names, and the key of its subject.
async fn story_of(cluster: &Cluster, address: &str) -> (Story, Vec<u8>) {
    let asked = cluster.asked(&[address.to_owned()], false).await.unwrap();
    (cluster.timeline(&asked).await.unwrap(), asked.ranges[0].start.clone())
}

fn subject((story, key): &(Story, Vec<u8>)) -> &Timeline {
    &story.timelines[&key[..]]
}

/// The whole story of one object.
fn told(found: &(Story, Vec<u8>), oldest: Revision) -> Told<'_> {
    Told {
        story: &found.0,
        subjects: vec![subject(found)],
        many: false,
        all: true,
        after: Revision(0),
        around: None,
        by: None,
        oldest,
        invocation: &fixture::PLAIN_INVOCATION,
    }
}

/// The document of one object's timeline.
async fn timeline(cluster: &Cluster, address: &str) -> Value {
    let found = story_of(cluster, address).await;
    let oldest = cluster.source.span().await.unwrap().oldest;
    serde_json::from_str(&text(|out| write_lines(&told(&found, oldest), ManagedFields::Hidden, out).map(drop))).unwrap()
}

/// A line of the operator's log, and the step in which ketcd shows it: address, phase, what its detail holds, who did it.
type Found = (&'static str, &'static str, &'static str, &'static str, &'static str);

const FOUND_CASES: &[Found] = &[
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
    ("rollout: stuck", "node/node3", "Changed", "nodelabel", "kubectl-label"),
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
    let text = std::fs::read_to_string(testdata::path(&format!("captures/{capture}/story.log"))).unwrap();
    let lines: Vec<(Timestamp, String)> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(time, words)| Some((time.parse().ok()?, words.to_owned())))
        .collect();
    let next = lines.iter().skip(1).map(|(time, _)| *time).chain([Timestamp::MAX]);
    let minute = jiff::SignedDuration::from_secs(60);
    lines.iter().zip(next).map(|((time, words), next)| (*time, next.max(*time + minute), words.clone())).collect()
}

#[tokio::test]
async fn the_operators_log_is_found_again() {
    for capture in ["k120-story", "k136-story"] {
        let log = log(capture);
        let cluster = fixture::capture(capture, Options::default()).await;
        let mut stories: BTreeMap<&str, Value> = BTreeMap::new();
        let since: &[Found] = if capture == "k136-story" { FOUND_SINCE } else { &[] };
        for &(words, address, phase, detail, by) in FOUND_CASES.iter().chain(since) {
            let (begin, end, _) = log.iter().find(|(_, _, line)| line.starts_with(words)).unwrap_or_else(|| panic!("{capture}: {words}"));
            if !stories.contains_key(address) {
                stories.insert(address, timeline(&cluster, address).await);
            }
            let story = &stories[address];
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

const NUMBER_CASES: &[Number] = &[
    ("k120-story", "pod/lab/ubuntu", "Created", 367, "kubectl-client-side-apply", "recorded", 0.0),
    ("k120-story", "pod/lab/ubuntu", "Scheduled", 368, "kube-scheduler", "inferred", 0.0),
    ("k120-story", "pod/lab/ubuntu", "Ready", 372, "kubelet node3", "recorded", 0.0),
    ("k120-story", "pod/lab/ubuntu-tainted", "Scheduled", 394, "kube-scheduler", "inferred", 2.9),
    ("k120-story", "pod/lab/urgent", "Nominated", 822, "kube-scheduler", "recorded", 0.0),
    ("k120-story", "pod/lab/urgent", "Scheduled", 833, "kube-scheduler", "inferred", 2.0),
    ("k120-story", "pod/lab/spread-5", "Scheduled", 1651, "kube-scheduler", "inferred", 326.7),
    ("k120-story", "node/node2", "HeartbeatLost", 1065, "kube-controller-manager", "recorded", 42.3),
    ("k120-story", "node/node2", "Returned", 1604, "kubelet node2", "recorded", 320.3),
    ("k136-story", "pod/lab/gated", "Ungated", 962, "kubectl-client-side-apply", "inferred", 1.6),
    ("k136-story", "pod/lab/elastic", "ResizeDeferred", 1287, "kubelet node1", "recorded", 0.6),
    ("k136-story", "pod/web/logged", "Evicted", 1549, "kube-apiserver", "inferred", 36.9),
];

#[tokio::test]
async fn the_numbers_are_right() {
    let mut stories: BTreeMap<(&str, &str), Value> = BTreeMap::new();
    for &(capture, address, phase, revision, by, from, seconds) in NUMBER_CASES {
        let story = match stories.entry((capture, address)) {
            Entry::Occupied(told) => told.into_mut(),
            Entry::Vacant(place) => place.insert(timeline(&fixture::capture(capture, Options::default()).await, address).await),
        };
        let phases = story["phases"].as_array().unwrap();
        let phase_found = phases.iter().find(|phase_found| phase_found["phase"] == phase && phase_found["revision"] == revision);
        let phase_found = phase_found.unwrap_or_else(|| panic!("{capture} {address}: no {phase} at r{revision}"));
        assert_eq!((phase_found["by"].as_str(), phase_found["byFrom"].as_str()), (Some(by), Some(from)), "{phase_found}");
        let since = phase_found["sincePreviousSeconds"].as_f64().unwrap_or(0.0);
        assert!((since - seconds).abs() <= 0.6, "{capture} {address} {phase}: {since} s, not {seconds}");
    }
    let cluster = fixture::capture("k136-story", Options::default()).await;
    let rollouts = &timeline(&cluster, "deploy/web/tomcat").await["rollouts"];
    let rollout_fields = |field: &str| rollouts.as_array().unwrap().iter().map(|rollout| rollout[field].clone()).collect::<Vec<_>>();
    assert_eq!(rollout_fields("revision"), [485, 528, 611, 695], "{rollouts:#}");
    assert_eq!(rollout_fields("number"), ["1", "2", "3", "4"]);
    assert_eq!(rollout_fields("undo"), [false, false, true, false]);
    assert_eq!(rollout_fields("endRevision"), [Value::from(523), 604.into(), 691.into(), Value::Null]);
    assert_eq!(rollouts[1]["changeCause"], "tomcat 9.0");
    assert!((rollouts[1]["seconds"].as_f64().unwrap() - 3.95).abs() < 0.6, "{}", rollouts[1]);
    let lost = &timeline(&cluster, "node/node2").await["outages"][0];
    assert_eq!(
        (lost["fromRevision"].as_i64(), lost["lostRevision"].as_i64(), lost["untilRevision"].as_i64()),
        (Some(1742), Some(2011), Some(2780))
    );
    assert!(
        (lost["lostAfterSeconds"].as_f64().unwrap() - 51.0).abs() < 1.0
            && (lost["evictedAfterTaintSeconds"].as_f64().unwrap() - 300.0).abs() < 2.0,
        "{lost}"
    );
    assert_eq!(
        (lost["evicted"].as_array().unwrap().len(), lost["stayed"][0]["object"]["name"].as_str()),
        (11, Some("agent-4rtgr")),
        "{lost}"
    );
}

/// The whole story of one object, as text.
fn said(found: &(Story, Vec<u8>)) -> String {
    text(|out| told(found, Revision(1)).write_text(None, out).map(drop))
}

#[tokio::test]
async fn refusals_and_outages_are_said() {
    let refused = story_of(&fixture::capture("k120-story", Options::default()).await, "deploy/web/tomcat").await;
    let waiting = said(&refused);
    assert!(waiting.contains("waits: pod/web/tomcat-") && waiting.contains("didn't have free ports"), "{waiting}");
    let outage = said(&story_of(&fixture::capture("k136-story", Options::default()).await, "node/node2").await);
    assert!(outage.contains("outage: no heartbeat since 00:16:19") && outage.contains("replaced by"), "{outage}");
}

/// Between a node's last heartbeat and the eviction of its pod only the node lifecycle controller's own times say when it acted.
#[tokio::test]
async fn an_eviction_counts_from_the_time_of_the_taint() {
    const NODE_KEY: &str = "/registry/minions/node1";
    const LEASE_KEY: &str = "/registry/leases/kube-node-lease/node1";
    const POD_KEY: &str = "/registry/pods/shop/web";
    let time = |second: i64| Timestamp::from_second(1_795_860_000 + second).unwrap().to_string();
    let node = |beat: i64, silent: Option<i64>, tainted: Option<i64>| {
        let (status, reason) = if silent.is_some() { ("Unknown", "NodeStatusUnknown") } else { ("True", "KubeletReady") };
        let condition = json!({"type": "Ready", "status": status, "reason": reason, "lastHeartbeatTime": time(beat),
            "lastTransitionTime": time(silent.unwrap_or(-100))});
        let taint = |second: i64| json!({"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": time(second)});
        let taints: Vec<Value> = tainted.map(taint).into_iter().collect();
        let metadata = json!({"name": "node1", "uid": "n", "creationTimestamp": time(-100)});
        json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"taints": taints}, "status": {"conditions": [condition]}})
    };
    let lease = |renewed: i64| {
        let metadata = json!({"name": "node1", "namespace": "kube-node-lease", "creationTimestamp": time(-100)});
        let spec = json!({"holderIdentity": "node1", "leaseDurationSeconds": 40, "renewTime": time(renewed)});
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec})
    };
    let pod = |deleted: Option<i64>| {
        let mut metadata = json!({"name": "web", "namespace": "shop", "uid": "w", "creationTimestamp": time(-90)});
        if let Some(second) = deleted {
            metadata["deletionTimestamp"] = json!(time(second + 30));
            metadata["deletionGracePeriodSeconds"] = json!(30);
        }
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": "node1", "containers": [{"name": "c"}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})
    };
    let mut written = Written::default();
    for (key, value) in [
        (NODE_KEY, node(-100, None, None)),
        (LEASE_KEY, lease(-99)),
        (POD_KEY, pod(None)),
        (NODE_KEY, node(-5, None, None)),
        (LEASE_KEY, lease(0)),
        (NODE_KEY, node(-5, Some(45), None)),
        (NODE_KEY, node(-5, Some(45), Some(45))),
        (POD_KEY, pod(Some(75))),
    ] {
        written.put(key, value.to_string());
    }
    let outage = &timeline(&fixture::stored(written.finish()).await, "node/node1").await["outages"][0];
    let is_about = |field: &str, seconds: f64| (outage[field].as_f64().unwrap() - seconds).abs() < 1.0;
    assert!(is_about("lostAfterSeconds", 45.0) && is_about("evictedAfterTaintSeconds", 30.0), "{outage}");
}

#[tokio::test]
async fn a_silence_that_lasts_begins_with_the_last_heartbeat() {
    let at = |moment: &str| Options { moment: Some(moment.parse().unwrap()), ..Options::default() };
    // While the node is silent: noticed by the control plane, and not yet.
    for (moment, lost_after, words) in [("00:17:30", 51.0, "noticed after 51"), ("00:17:08", 0.0, "not noticed by the control plane")] {
        let cluster = fixture::capture("k136-story", at(moment)).await;
        let page = said(&story_of(&cluster, "node/node2").await);
        assert!(page.contains("outage: no heartbeat since 00:16:19") && page.contains("until the end of the history"), "{moment}: {page}");
        assert!(page.contains(words), "{moment}: {page}");
        let timeline = timeline(&cluster, "node/node2").await;
        let outage = &timeline["outages"][0];
        assert!((outage["lostAfterSeconds"].as_f64().unwrap() - lost_after).abs() < 1.0, "{outage}");
        assert_eq!(outage["untilRevision"], Value::Null);
    }
    // A lease that is still good says nothing.
    let page = said(&story_of(&fixture::capture("k136-story", at("00:16:50")).await, "node/node2").await);
    assert!(!page.contains("outage:"), "{page}");
}

#[tokio::test]
async fn a_nomination_without_victims_is_no_preemption() {
    let cluster = fixture::capture("k136-story", Options::default()).await;
    let nominated = timeline(&cluster, "pod/web/store-5").await;
    let phases = nominated["phases"].as_array().unwrap().iter();
    let details: Vec<&Value> = phases.filter(|phase| phase["phase"] == "Nominated").map(|phase| &phase["detail"]).collect();
    assert_eq!(details, ["to node1"]);
    let preempts = |found: &(Story, Vec<u8>)| subject(found).phases.iter().any(|phase| phase.phase == StepKind::Preempting);
    assert!(!preempts(&story_of(&cluster, "pod/web/store-5").await));
    // The timeline of a preemptor shows its victims.
    assert!(preempts(&story_of(&cluster, "pod/lab/urgent").await));
}

#[tokio::test]
async fn one_moment_is_said_to_be_one() {
    let pod = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "x", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]}, "status": {"phase": "Running"}}"#;
    let found = story_of(&fixture::cluster_of(pod).await, "pod/x/p").await;
    let said = head(subject(&found), Revision(1));
    assert!(said.contains("one moment") && !said.contains("(gap)"), "{said}");
}

/// The stories of all objects of a kind, at once and namespace by namespace: as text, wide text, and JSON.
async fn told_of_kind(cluster: &Cluster, kind: &str, in_parts: bool) -> [String; 4] {
    let asked = cluster.asked(&[kind.to_owned()], false).await.unwrap();
    if !in_parts {
        let story = cluster.timeline(&asked).await.unwrap();
        let [short, wide] = [false, true].map(|all| told_of_keys(&story, &asked, all));
        return [
            text(|out| short.write_text(None, out).map(drop)),
            text(|out| wide.write_text(None, out).map(drop)),
            text(|out| write_document(&short, None, ManagedFields::Hidden, out).map(drop)),
            text(|out| write_lines(&short, ManagedFields::Hidden, out).map(drop)),
        ];
    }
    let mut texts: [String; 4] = Default::default();
    let (mut short, mut wide) = (PartLines::default(), PartLines::default());
    let mut parts = cluster.timeline_parts(&asked, false, 0).await.unwrap().expect("several namespaces");
    while parts.next(|_| {}).await.unwrap() {
        short.add(&told_of_keys(parts.story(), &asked, false));
        wide.add(&told_of_keys(parts.story(), &asked, true));
    }
    texts[0] = text(|out| short.write_text(None, out).map(drop));
    texts[1] = text(|out| wide.write_text(None, out).map(drop));
    let mut list = PartList::default();
    let mut parts = cluster.timeline_parts(&asked, true, 0).await.unwrap().expect("several namespaces");
    while parts.next(|_| {}).await.unwrap() {
        let part = told_of_keys(parts.story(), &asked, false);
        texts[2] += &text(|out| list.write(&part, ManagedFields::Hidden, out));
        texts[3] += &text(|out| write_lines(&part, ManagedFields::Hidden, out).map(drop));
    }
    texts[2] += &text(|out| list.finish(None, out).map(drop));
    texts
}

fn told_of_keys<'s>(story: &'s Story, asked: &Keys, all: bool) -> Told<'s> {
    Told {
        story,
        subjects: story.timelines.iter().filter(|(key, _)| asked.contains(key)).map(|(_, timeline)| timeline).collect(),
        many: true,
        all,
        after: Revision(0),
        around: None,
        by: None,
        oldest: Revision(1),
        invocation: &fixture::PLAIN_INVOCATION,
    }
}

async fn is_told_the_same_in_parts(captures: &[&str], kinds: &[&str]) {
    for name in captures {
        let cluster = fixture::capture(name, Options { all_namespaces: true, ..Options::default() }).await;
        for kind in kinds {
            let (whole, parts) = (told_of_kind(&cluster, kind, false).await, told_of_kind(&cluster, kind, true).await);
            assert!(whole.iter().all(|text| text.len() > 100), "{name}, {kind}");
            for (whole, parts) in whole.iter().zip(&parts) {
                assert!(whole == parts, "{name}, {kind}: {whole}\n\n{parts}");
            }
        }
    }
}

#[tokio::test]
async fn a_kind_is_told_the_same_in_parts() {
    is_told_the_same_in_parts(&["k136-story"], &["deployments", "pods"]).await;
    is_told_the_same_in_parts(&["k137-story"], &["deployments"]).await;
}

#[tokio::test]
async fn a_kind_is_told_the_same_in_parts_nightly() {
    let kinds = ["daemonsets", "replicasets", "services", "configmaps", "serviceaccounts", "pods"];
    is_told_the_same_in_parts(&["k120-story", "k137-story", "k136-whatif"], &kinds).await;
}

#[tokio::test]
async fn an_empty_list_is_written_as_one_that_is_told_at_once() {
    let story = Story::default();
    let told = told_of_keys(&story, &Keys::many(Vec::new()), false);
    let window = || Some(HistoryWindow { since: None, until: None });
    let whole = text(|out| write_document(&told, window(), ManagedFields::Hidden, out).map(drop));
    let parts = text(|out| {
        let mut list = PartList::default();
        list.write(&told, ManagedFields::Hidden, out)?;
        list.finish(window(), out).map(drop)
    });
    assert_eq!(parts, whole);
}
