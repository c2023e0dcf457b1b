//! The history of a recorded day out of its audit log alone, held against etcd's own.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt, TryStreamExt};
use serde_json::Value;

use ketcd_cluster::read::{Keys, Read, dated_changes};
use ketcd_cluster::replay::SchedulerOptions;
use ketcd_cluster::{Cluster, Error, Notice, Options, files, open_logs};
use ketcd_history::AttributedChange;
use ketcd_history::audit::Authorship;
use ketcd_store::load::{AuditLogs, Limits};
use ketcd_store::{At, EventKind, KeyRange, Origin, Revision, Until, Want, WatchItem};
use ketcd_testing::{temporary, testdata};

use crate::fixture::{noting, open};

fn file(name: &str) -> String {
    testdata::path(&format!("audit/{name}")).to_str().unwrap().to_owned()
}

/// What etcd holds of that day.
async fn etcd() -> Cluster {
    open(&[file("snapshot.db.zst")], Options::default()).await.unwrap()
}

/// What a log holds of it, with files of objects as a base.
async fn alone(log: &str, base: &[String], options: Options) -> Cluster {
    let logs = AuditLogs::among(&[log.to_owned()], &Limits::default()).unwrap().logs;
    let base = (!base.is_empty()).then(|| files::open(base, &Limits::default()).unwrap().source);
    let history = open_logs(&logs, base.as_deref()).unwrap().unwrap();
    let mut cluster = Cluster::open(history.source, options).await.unwrap();
    cluster.set_logs_of_source(logs, history.said);
    cluster
}

/// Every version, by revision and key, as an API server would show it; with where it was read.
async fn versions(cluster: &Cluster) -> BTreeMap<(i64, Vec<u8>), (Option<Value>, Origin)> {
    let mut found = BTreeMap::new();
    let mut items = cluster.source.watch(KeyRange::all(), Revision(1), Until::Forever);
    while let Some(item) = items.next().await {
        let WatchItem::Event(event) = item.unwrap() else { continue };
        let (key, value) = (&event.key_value.key, &event.key_value.value);
        let object = (event.kind == EventKind::Put)
            .then(|| cluster.decoder.decode(key, value, event.revision.0).object().cloned().unwrap_or_default());
        found.insert((event.revision.0, key.to_vec()), (object, event.origin));
    }
    found
}

async fn alive(cluster: &Cluster, revision: i64) -> BTreeMap<String, Value> {
    let listing = cluster.source.range(KeyRange::all(), At::Revision(Revision(revision)), Want::Values).await.unwrap();
    let entries: Vec<_> = listing.entries.try_collect().await.unwrap();
    let object = |entry: &ketcd_store::KeyValue| cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).object().cloned();
    entries.iter().filter_map(|entry| Some((String::from_utf8(entry.key.to_vec()).unwrap(), object(entry)?))).collect()
}

/// Keys that no request writes, and those that were written past the API server.
fn is_of_requests(key: &str) -> bool {
    !["/registry/masterleases/", "/registry/ranges/", "/registry/peerserverleases/"].iter().any(|prefix| key.starts_with(prefix))
}

#[tokio::test]
async fn every_version_that_a_body_holds_is_that_of_etcd() {
    let (etcd, log) = (versions(&etcd().await).await, versions(&alone(&file("full.jsonl.zst"), &[], Options::default()).await).await);
    let mut compared = 0;
    for (place, (object, origin)) in &log {
        if *origin == Origin::AuditLog {
            let key = String::from_utf8_lossy(&place.1);
            let Some((wanted, _)) = etcd.get(place) else {
                // Written past the API server under the key of another object: a list shows its own name.
                assert!(place.0 == 2127 && key.contains("/ghost-"), "r{} {key} is not in etcd", place.0);
                continue;
            };
            assert_eq!(object, wanted, "r{} {key}", place.0);
            compared += 1;
        }
    }
    assert!(compared > 2100, "{compared} of {}", etcd.len());
    // What no answer names: bindings, and deletions whose answer is a status.
    let derived = log.values().filter(|(_, origin)| *origin == Origin::Derived).count();
    assert!((80..200).contains(&derived), "{derived}");
}

#[tokio::test]
async fn the_state_at_every_moment_is_that_of_etcd() {
    let (etcd, log) = (etcd().await, alone(&file("full.jsonl.zst"), &[], Options::default()).await);
    let (mut compared, mut differing) = (0, Vec::new());
    for revision in (200..=2370).step_by(70) {
        let (wanted, found) = (alive(&etcd, revision).await, alive(&log, revision).await);
        let keys: BTreeSet<&String> = wanted.keys().chain(found.keys()).filter(|key| is_of_requests(key)).collect();
        for key in keys {
            compared += 1;
            if wanted.get(key) != found.get(key) {
                differing.push(format!(
                    "r{revision} {key}: {}",
                    if wanted.contains_key(key) == found.contains_key(key) { "other" } else { "there or not" }
                ));
            }
        }
    }
    // Five writes went past the API server, and a write that ends a grace comes just before the deletion.
    assert!(
        compared > 10_000 && differing.len() * 200 < compared,
        "{} of {compared}: {:?}",
        differing.len(),
        &differing[..differing.len().min(20)]
    );
}

#[tokio::test]
async fn changes_name_the_users_of_their_requests_and_accuse_nobody() {
    let cluster = alone(&file("eks.jsonl.zst"), &[], Options::default()).await;
    let (read, clock) = dated_changes(&cluster, Keys::all(), cluster.revision().await.unwrap()).await.unwrap();
    let read: Vec<_> = read.try_collect().await.unwrap();
    let (mut named, mut all) = (0, 0);
    for read in read {
        let Read::Item(change) = read else { continue };
        let attributed = AttributedChange::new(change, &clock);
        assert!(!matches!(attributed.request, Some(Authorship::Unexplained(_))), "r{} is accused", attributed.change.revision);
        all += 1;
        named += usize::from(attributed.request.is_some());
    }
    assert!(all > 1000 && named * 100 >= all * 85, "{named} of {all}");
}

#[tokio::test]
async fn what_the_policy_hides_is_said_once() {
    let (options, notices) = noting(Options::default());
    let cluster = alone(&file("eks.jsonl.zst"), &[], options).await;
    assert!(alive(&cluster, 2000).await.keys().all(|key| !key.contains("/configmaps/")));
    let notices = notices.lock().unwrap();
    let hidden: Vec<_> = notices
        .iter()
        .filter_map(|notice| if let Notice::AuditWithoutBodies { resources } = notice { Some(resources) } else { None })
        .collect();
    assert!(hidden.len() == 1 && hidden[0].contains(&("configmaps".to_owned(), 91)), "{hidden:?}");
    let derived =
        notices.iter().find_map(|notice| if let Notice::AuditWithoutAnswers { resources } = notice { Some(resources) } else { None });
    assert!(derived.unwrap().contains(&("pods/status".to_owned(), 179)), "{derived:?}");
}

#[tokio::test]
async fn pods_are_derived_where_only_patches_are_logged() {
    let (etcd, log) = (etcd().await, alone(&file("eks.jsonl.zst"), &[], Options::default()).await);
    let (wanted, found) = (alive(&etcd, 2374).await, alive(&log, log.revision().await.unwrap().0).await);
    let pods = |state: &BTreeMap<String, Value>| -> BTreeMap<String, [Value; 3]> {
        let facts = |pod: &Value| [pod["spec"]["nodeName"].clone(), pod["status"]["phase"].clone(), pod["status"]["podIP"].clone()];
        state.iter().filter(|(key, _)| key.starts_with("/registry/pods/")).map(|(key, pod)| (key.clone(), facts(pod))).collect()
    };
    assert_eq!(pods(&found), pods(&wanted));
    assert!(!pods(&found).is_empty());
}

#[tokio::test]
async fn objects_that_kubectl_printed_are_the_base_of_a_log() {
    let base = r#"{"kind":"List","apiVersion":"v1","items":[{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"old","namespace":"shop","uid":"u","resourceVersion":"5","creationTimestamp":"2026-11-24T18:37:00Z"},"data":{"a":"1"}}]}"#;
    let event = |audit_id: &str, verb: &str, body: &str, time: &str| {
        format!(
            r#"{{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Request","auditID":"{audit_id}","stage":"ResponseComplete","requestURI":"/x","verb":"{verb}","user":{{"username":"alice"}},"objectRef":{{"resource":"configmaps","namespace":"shop","name":"old","apiVersion":"v1"}},"responseStatus":{{"code":200{}}},"requestObject":{body},"requestReceivedTimestamp":"2026-11-24T18:37:{time}.1Z","stageTimestamp":"2026-11-24T18:37:{time}.2Z"}}"#,
            if verb == "delete" { r#","status":"Success""# } else { "" }
        )
    };
    let log = [event("a", "patch", r#"{"data":{"b":"2"}}"#, "10"), event("b", "delete", "null", "20")].join("\n");
    let (base, log) = (temporary::file(base), temporary::file(log));
    let cluster = alone(log.path().to_str().unwrap(), &[base.path().to_str().unwrap().to_owned()], Options::default()).await;
    let data = |revision: i64| {
        let cluster = &cluster;
        async move { alive(cluster, revision).await.get("/registry/configmaps/shop/old").map(|object| object["data"].clone()) }
    };
    assert_eq!(data(5).await, Some(serde_json::json!({"a": "1"})));
    assert_eq!(data(6).await, Some(serde_json::json!({"a": "1", "b": "2"})));
    assert_eq!(data(7).await, None);
    let history = cluster.history("cm/shop/old").await.unwrap();
    let read: Vec<Read<_>> = history.changes.try_collect().await.unwrap();
    assert_eq!(read.iter().filter(|read| matches!(read, Read::Item(_))).count(), 3);
}

/// The last decision about each pod: the verdict, what came of it, and the node.
async fn decisions(cluster: &Cluster) -> BTreeMap<String, String> {
    let mut decisions = cluster.explainer(&SchedulerOptions::default()).await.unwrap().decisions();
    let mut found = BTreeMap::new();
    let walked = decisions.each(|decision| {
        let explanation = decision.explain().explanation;
        let attempt = &explanation.attempt;
        let decided = format!("{:?} {:?} {:?}", explanation.agreement, attempt.outcome, attempt.pod.node_name);
        found.insert(format!("{}/{}", attempt.pod.namespace, attempt.pod.name), decided);
        Ok::<(), Error>(())
    });
    walked.await.unwrap();
    found
}

#[tokio::test]
async fn decisions_are_explained_from_the_log_as_from_etcd() {
    let log = async |name: &str| decisions(&alone(&file(name), &[], Options::default()).await).await;
    let wanted = decisions(&etcd().await).await;
    assert!(wanted.len() > 60, "{}", wanted.len());
    assert_eq!(log("full.jsonl.zst").await, wanted);
    // Where kubelets' patches are logged without answers, some states are derived.
    let derived = log("eks.jsonl.zst").await;
    let same = wanted.iter().filter(|(pod, decided)| derived.get(*pod) == Some(*decided)).count();
    assert!(same * 100 >= wanted.len() * 95, "{same} of {}", wanted.len());
}
