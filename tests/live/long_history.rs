//! Histories too long to be read whole, on a live etcd: the same answers as from its database file, and as what was written.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use etcd_client::{Client, CompactionOptions};
use jiff::{SignedDuration, Timestamp};
use ketcd_store::Revision;
use ketcd_testing::proxy::Proxy;
use ketcd_testing::snapshot::beginning;
use serde_json::{Value, json};

use crate::etcd::{Etcd, EtcdRelease, Transport};
use crate::ketcd::{ketcd, run, stderr};
use crate::record::reaches;

/// The newest revision. More than 5,000 come after the compaction at 1,600.
const NEWEST_REVISION: i64 = 6_700;
/// When `configmap/lab/phoenix` was alive, both ends included; deleted after it.
const PHOENIX_GENERATIONS: [(i64, i64); 4] = [(300, 700), (1_500, 1_699), (2_500, 2_539), (6_000, NEWEST_REVISION)];
/// In a generation every seventh revision changes it.
const CHANGE_STRIDE: i64 = 7;

/// Revisions are a tenth of a second apart, the newest is of now.
fn time(now: Timestamp, revision: i64) -> String {
    let time = now.checked_sub(SignedDuration::from_millis((NEWEST_REVISION - revision) * 100)).unwrap();
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

fn object(api_version: &str, kind: &str, name: &str, namespace: Option<&str>, mut rest: Value) -> String {
    rest["apiVersion"] = api_version.into();
    rest["kind"] = kind.into();
    let mut metadata = json!({"name": name, "uid": format!("uid-{name}")});
    if let Some(namespace) = namespace {
        metadata["namespace"] = namespace.into();
    }
    if let Value::Object(more) = rest["metadata"].take() {
        metadata.as_object_mut().unwrap().extend(more);
    }
    rest["metadata"] = metadata;
    rest.to_string()
}

fn pod(name: &str, created: &str, node: Option<&str>, phase: &str) -> String {
    let requests = json!({"cpu": "100m", "memory": "64Mi"});
    let container = json!({"name": "app", "image": "app:1", "resources": {"requests": requests}});
    let mut spec = json!({"containers": [container], "schedulerName": "default-scheduler", "priority": 0});
    let mut status = json!({"phase": phase});
    if let Some(node) = node {
        spec["nodeName"] = node.into();
        status["conditions"] = json!([{"type": "PodScheduled", "status": "True", "lastTransitionTime": created}]);
    }
    object("v1", "Pod", name, Some("lab"), json!({"metadata": {"creationTimestamp": created}, "spec": spec, "status": status}))
}

/// The key that a revision changes and its value; none where it is deleted.
fn change(revision: i64, now: Timestamp) -> (String, Option<String>) {
    let at = time(now, revision);
    let second = format!("{}Z", &at[..19]);
    let map = |name: &str| object("v1", "ConfigMap", name, Some("lab"), json!({"data": {"n": revision.to_string()}}));
    let key = |path: &str| format!("/registry/{path}");
    let (path, value) = match revision {
        2 => ("namespaces/default".into(), object("v1", "Namespace", "default", None, json!({"metadata": {"creationTimestamp": second}}))),
        3 => ("namespaces/lab".into(), object("v1", "Namespace", "lab", None, json!({"metadata": {"creationTimestamp": second}}))),
        4 | 5 => {
            let name = format!("node-{revision}");
            let room = json!({"cpu": "4", "memory": "8Gi", "pods": "110"});
            let info = json!({"kubeletVersion": "v1.33.0"});
            let status =
                json!({"allocatable": room, "capacity": room, "nodeInfo": info, "conditions": [{"type": "Ready", "status": "True"}]});
            (format!("minions/{name}"), object("v1", "Node", &name, None, json!({"spec": {}, "status": status})))
        }
        // An owner and its pod, both last written long before they are deleted.
        200 => ("replicasets/lab/shop".into(), object("apps/v1", "ReplicaSet", "shop", Some("lab"), json!({"spec": {"replicas": 1}}))),
        210 => {
            let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "shop", "uid": "uid-shop", "controller": true});
            let metadata = json!({"creationTimestamp": second, "ownerReferences": [owner]});
            ("pods/lab/owned".into(), object("v1", "Pod", "owned", Some("lab"), json!({"metadata": metadata, "spec": {}, "status": {}})))
        }
        5_001 => return (key("replicasets/lab/shop"), None),
        5_004 => return (key("pods/lab/owned"), None),
        2_000 | 3_000 => {
            let name = if revision == 2_000 { "gone" } else { "web" };
            (format!("pods/lab/{name}"), pod(name, &second, None, "Pending"))
        }
        2_003 | 3_003 => {
            let name = if revision == 2_003 { "gone" } else { "web" };
            (format!("pods/lab/{name}"), pod(name, &second, Some("node-4"), "Pending"))
        }
        3_033 => ("pods/lab/web".into(), pod("web", &format!("{}Z", &time(now, 3_000)[..19]), Some("node-4"), "Running")),
        2_601 => return (key("pods/lab/gone"), None),
        _ if PHOENIX_GENERATIONS.iter().any(|(_, last)| revision == last + 1) => return (key("configmaps/lab/phoenix"), None),
        _ if PHOENIX_GENERATIONS
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&revision) && (revision - first) % CHANGE_STRIDE == 0) =>
        {
            ("configmaps/lab/phoenix".into(), map("phoenix"))
        }
        _ if revision % 20 == 11 => {
            let spec = json!({"holderIdentity": "one", "leaseDurationSeconds": 15, "renewTime": at});
            let lease = object("coordination.k8s.io/v1", "Lease", "kube-scheduler", Some("kube-system"), json!({"spec": spec}));
            ("leases/kube-system/kube-scheduler".into(), lease)
        }
        _ if revision % 100 == 50 => ("configmaps/lab/steady".into(), map("steady")),
        _ => {
            let name = format!("noise-{}", revision % 7);
            (format!("configmaps/lab/{name}"), map(&name))
        }
    };
    (key(&path), Some(value))
}

pub(crate) async fn filled() -> (Etcd, Client, Timestamp) {
    let now = Timestamp::now();
    let changes: Vec<(String, Option<String>)> = (2..=NEWEST_REVISION).map(|revision| change(revision, now)).collect();
    let revisions = changes.iter().map(|(key, value)| vec![(key.as_bytes(), value.as_deref().map(str::as_bytes))]);
    let etcd = Etcd::start_on(&beginning(revisions), EtcdRelease::V35, Transport::Plain).await;
    let client = etcd.writer().await;
    assert_eq!(client.clone().status().await.unwrap().header().unwrap().revision(), NEWEST_REVISION);
    (etcd, client, now)
}

/// The revisions that changed `phoenix`, from one on.
pub(crate) fn written(from: i64) -> Vec<i64> {
    let phoenix = |revision: &i64| change(*revision, Timestamp::UNIX_EPOCH).0.ends_with("/phoenix");
    (from..=NEWEST_REVISION).filter(phoenix).collect()
}

fn live(etcd: &Etcd, words: &str) -> (Option<i32>, String, String) {
    at(&etcd.endpoint(), words)
}

fn at(endpoint: &str, words: &str) -> (Option<i32>, String, String) {
    let output = run(ketcd().args(["--endpoints", endpoint]).args(words.split(' ')));
    (output.status.code(), String::from_utf8(output.stdout.clone()).unwrap(), stderr(&output))
}

fn revisions(ndjson: &str) -> Vec<i64> {
    ndjson.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["revision"].as_i64().unwrap()).collect()
}

/// Times that revisions are dated with, what is counted from them, and where a version was read.
const DATE_FIELDS: [&str; 8] =
    ["time", "timeErrorSeconds", "source", "origin", "seconds", "errorSeconds", "sincePreviousSeconds", "longest"];

/// JSON without the times that revisions are dated with, and what is counted from them.
pub(crate) fn undated(text: &str) -> Vec<Value> {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|name, _| !DATE_FIELDS.contains(&name.as_str()));
                fields.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let read = |text: &str| serde_json::Deserializer::from_str(text).into_iter::<Value>().collect::<Result<Vec<Value>, _>>();
    let mut values = read(text).unwrap_or_else(|_| vec![Value::from(text)]);
    values.iter_mut().for_each(strip);
    values
}

/// Commands whose answers must be those of the file, with the compaction at 1,600 and without it: their searches go back to it.
const ACROSS_COMMANDS: [&str; 10] = [
    "history configmap/lab/phoenix -o ndjson",
    "history configmap/lab/steady configmap/lab/phoenix -o ndjson",
    "history pod/lab/gone -o ndjson",
    "history configmap/lab/phoenix -o ndjson --rev 2520",
    "timeline pod/lab/owned -o json",
    "describe configmap/lab/steady -o json",
    "blame configmap/lab/steady -o json",
    "blame configmap/lab/phoenix -o json --rev 1600",
    "get pod/lab/gone -o yaml --rev 2600",
    "explain pod/lab/web -o json",
];

/// Commands whose answers must be those of the file: about what comes long after the compaction, or about an object of the commands above alone. `T1` to `T4`
/// are times within the generations of `phoenix`.
const LATER_COMMANDS: [&str; 7] = [
    "history configmap/lab/steady -o ndjson",
    "history pod/lab/web -o ndjson",
    "timeline pod/lab/web -o json",
    "diff configmap/lab/steady --rev 3000..6000 -o json",
    "diff configmap/lab/phoenix --rev 2539..2540 -o json",
    "get configmap/lab/phoenix -o yaml --at T3",
    "get configmap/lab/phoenix -o yaml --at T4",
];

fn differences(etcd: &Etcd, now: Timestamp, commands: &[&str]) -> Vec<String> {
    let file = etcd.db();
    let mut different = Vec::new();
    for command in commands {
        let mut words = (*command).to_owned();
        for (place, (first, _)) in PHOENIX_GENERATIONS.iter().enumerate() {
            words = words.replace(&format!("T{}", place + 1), &time(now, first + 32));
        }
        let of_file = run(ketcd().arg("-f").arg(&file).args(words.split(' ')));
        let (code, stdout, said) = live(etcd, &words);
        let of_file_text = String::from_utf8(of_file.stdout.clone()).unwrap();
        if (code, undated(&stdout)) != (of_file.status.code(), undated(&of_file_text)) {
            different.push(format!(
                "{words}: {code:?}\n{stdout}{said}file: {:?}\n{of_file_text}{}",
                of_file.status.code(),
                stderr(&of_file)
            ));
        }
    }
    different
}

/// By day every second command across the compaction is asked before it, too.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_history_is_answered_as_from_its_file() {
    let before: Vec<&str> = ACROSS_COMMANDS.into_iter().step_by(2).collect();
    is_answered_as_from_its_file(&before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_history_is_answered_as_from_its_file_before_a_compaction_nightly() {
    is_answered_as_from_its_file(&ACROSS_COMMANDS).await;
}

/// Asks these commands and the later ones, and after a compaction all across it.
async fn is_answered_as_from_its_file(before: &[&str]) {
    let (etcd, mut client, now) = filled().await;
    reaches(&etcd.db(), Revision(NEWEST_REVISION)).await;
    let (code, found, said) = live(&etcd, "history configmap/lab/phoenix -o ndjson");
    assert_eq!((code, revisions(&found)), (Some(0), written(2)), "{said}");
    let different = differences(&etcd, now, &[before, &LATER_COMMANDS].concat());
    assert!(different.is_empty(), "{} answers differ:\n{}", different.len(), different.join("\n"));

    // Nothing in the object says when it was changed; the leases around do.
    let (_, described, said) = live(&etcd, "describe configmap/lab/steady -o json");
    let described: Value = serde_json::from_str(&described).unwrap();
    for change in described["changes"].as_array().unwrap() {
        let dated: Timestamp = change["time"].as_str().unwrap_or_else(|| panic!("{change} {said}")).parse().unwrap();
        let written: Timestamp = time(now, change["revision"].as_i64().unwrap()).parse().unwrap();
        let error = change["timeErrorSeconds"].as_f64().unwrap();
        assert!(error < 5.0 && dated.duration_since(written).as_secs_f64().abs() <= error + 0.35, "{change}, written {written}");
    }

    // In the middle of a generation; it is still long. Without its free pages, the file knows no more than etcd does.
    client.compact(1_600, Some(CompactionOptions::new().with_physical())).await.unwrap();
    client.defragment().await.unwrap();
    let different = differences(&etcd, now, &ACROSS_COMMANDS);
    assert!(different.is_empty(), "{} answers differ after a compaction:\n{}", different.len(), different.join("\n"));
}

/// Runs the search with compactions before every this many of its calls: the first at `base`, each five revisions after the last, up to ten. Returns how many there
/// were.
async fn search_compacted(etcd: &Etcd, client: &Client, base: i64, every: usize) -> i64 {
    let done = Arc::new(AtomicI64::new(0));
    let (counting, compacting) = (Arc::clone(&done), client.clone());
    let proxy = Proxy::start(etcd.endpoint(), move |passing| {
        let (done, mut client) = (Arc::clone(&counting), compacting.clone());
        let is_met = passing.number % every == every - 1;
        Box::pin(async move {
            if is_met && done.load(Ordering::SeqCst) < 10 {
                let compacted = base + done.fetch_add(1, Ordering::SeqCst) * 5;
                client.compact(compacted, None).await.unwrap();
            }
        })
    });
    let (code, found, said) = at(proxy.endpoint(), "history configmap/lab/phoenix -o ndjson");
    let found = revisions(&found);
    // At most one version survives the compaction.
    let begin = found.iter().position(|revision| *revision >= base).unwrap_or(0);
    assert!(begin <= 1 && code == Some(0), "{base}: {found:?} {said}");
    assert!(written(2).ends_with(&found), "{base}: {found:?} {said}");
    assert!(found.len() >= written(base + 50).len(), "{base}: {found:?} {said}");
    done.load(Ordering::SeqCst)
}

/// Searches while what is compacted moves through the generations, from one of `bases` to the next, and then under each of the first `calls`.
async fn is_searched_while_it_is_compacted(bases: &[i64], calls: usize) {
    let (etcd, client, _) = filled().await;
    // The history stays long.
    for (place, base) in bases.iter().enumerate() {
        let compactions = search_compacted(&etcd, &client, *base, 2 + place).await;
        assert!(compactions > 0, "{base}: nothing was compacted");
    }
    // All but the newest revisions, under the first call, the second, …
    for number in 1..=calls {
        let (before, newest) = (client.clone(), NEWEST_REVISION + number as i64 - calls as i64);
        let proxy = Proxy::start(etcd.endpoint(), move |passing| {
            let mut client = before.clone();
            Box::pin(async move {
                if passing.number == number {
                    client.compact(newest - 3, None).await.unwrap();
                }
            })
        });
        let (code, found, said) = at(proxy.endpoint(), "history configmap/lab/phoenix -o ndjson");
        assert!(code == Some(0) && written(2).ends_with(&revisions(&found)), "{found} {said}");
        assert!(proxy.methods().len() >= number, "{:?}", proxy.methods());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_history_is_searched_while_it_is_compacted() {
    is_searched_while_it_is_compacted(&[1_490], 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_history_is_searched_while_it_is_compacted_everywhere_nightly() {
    is_searched_while_it_is_compacted(&[250, 310, 655, 705, 1_000, 1_490, 1_600], 6).await;
}
