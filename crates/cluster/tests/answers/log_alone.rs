//! The history of a recorded day out of its audit log alone, held against etcd's own.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt, TryStreamExt};
use serde_json::{Value, json};

use ketcd_cluster::read::{Keys, Read};
use ketcd_cluster::replay::SchedulerOptions;
use ketcd_cluster::{Cluster, Error, Notice, Options, files, open_logs};
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

/// Keys that no request writes, and those that were written directly to etcd.
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
    let derived = log.values().filter(|(_, origin)| matches!(origin, Origin::Derived | Origin::Placed)).count();
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
    let history = cluster.history(Keys::all(), cluster.revision().await.unwrap()).await.unwrap();
    let read: Vec<_> = history.changes().try_collect().await.unwrap();
    let (mut named, mut all) = (0, 0);
    for read in read {
        let Read::Item(attributed) = read else { continue };
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
    let read: Vec<Read<_>> = cluster.changes("cm/shop/old").try_collect().await.unwrap();
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

/// What a text holds as an audit log alone, within limits.
fn opened(text: impl AsRef<[u8]>, limits: &Limits) -> Result<ketcd_cluster::LogHistory, Error> {
    let file = temporary::file(text);
    let logs = AuditLogs::among(&[file.path().to_str().unwrap().to_owned()], limits).unwrap();
    assert!(logs.others.is_empty(), "the log is not recognised");
    open_logs(&logs.logs, None).map(Option::unwrap)
}

/// An event in which carol writes a ConfigMap.
fn event(name: &str, verb: &str, second: i64, revision: Option<i64>, sent: &Value) -> Value {
    let time = |millisecond: i64| jiff::Timestamp::from_millisecond(1_796_000_000_000 + 1000 * second + millisecond).unwrap().to_string();
    let mut event = json!({"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Request", "auditID": format!("{name}-{second}"),
        "stage": "ResponseComplete", "requestURI": "/api/v1/namespaces/shop/configmaps", "verb": verb, "user": {"username": "carol"},
        "objectRef": {"resource": "configmaps", "namespace": "shop", "name": name, "apiVersion": "v1"},
        "responseStatus": {"code": if verb == "create" { 201 } else { 200 }},
        "requestReceivedTimestamp": time(0), "stageTimestamp": time(10)});
    if verb == "delete" {
        event["responseStatus"]["status"] = "Success".into();
    }
    if !sent.is_null() {
        event["requestObject"] = sent.clone();
    }
    if let Some(revision) = revision {
        event["level"] = "RequestResponse".into();
        event["responseObject"] = sent.clone();
        event["responseObject"]["metadata"]["resourceVersion"] = revision.to_string().into();
    }
    event
}

fn config_map(name: &str, data: &str) -> Value {
    json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, "namespace": "shop", "uid": name}, "data": {"v": data}})
}

fn lines(events: &[Value]) -> String {
    events.iter().map(|event| format!("{event}\n")).collect()
}

/// A container's runtime splits long lines; those of another stream may come in between.
#[tokio::test]
async fn a_log_that_a_runtime_split_is_the_log() {
    let whole = testdata::read("audit/full.jsonl.zst");
    let (mut text, mut is_split) = (Vec::new(), false);
    for line in whole.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let pieces: Vec<&[u8]> = line.chunks(4000).collect();
        is_split |= pieces.len() > 2;
        for (place, piece) in pieces.iter().enumerate() {
            let tag = if place + 1 < pieces.len() { "P" } else { "F" };
            text.extend(b"2026-11-24T18:37:19.698533123Z stderr F I1124 18:37:19.698533       1 httplog.go:132] \"HTTP\"\n");
            text.extend(format!("2026-11-24T18:37:19.698533123Z stdout {tag} ").into_bytes());
            text.extend_from_slice(piece);
            text.push(b'\n');
        }
    }
    assert!(is_split);
    let file = temporary::file(text);
    let split = alone(file.path().to_str().unwrap(), &[], Options::default()).await;
    assert!(versions(&split).await == versions(&alone(&file_of_day(), &[], Options::default()).await).await);
    // Lines of another program are no events that are lost.
    assert!(!split.finish());
}

/// The log is rotated between two pieces of a line; the older file comes later by its name.
#[tokio::test]
async fn a_line_that_is_split_over_two_files_is_one() {
    let long = "x".repeat(9_000);
    let events: Vec<String> = ["create", "update", "update"]
        .iter()
        .zip(0..)
        .map(|(verb, second)| event("a", verb, second, Some(10 + second), &config_map("a", &format!("{second}{long}"))).to_string())
        // As an API server begins an event.
        .map(|event| event.replacen("\"kind\":\"Event\",", "", 1).replacen('{', "{\"kind\":\"Event\",", 1))
        .collect();
    let split = |event: &String| -> Vec<String> {
        let pieces: Vec<&str> = event.as_bytes().chunks(4_000).map(|piece| std::str::from_utf8(piece).unwrap()).collect();
        let tag = |place: usize| if place + 1 < pieces.len() { "P" } else { "F" };
        pieces.iter().enumerate().map(|(place, piece)| format!("2026-11-24T18:37:19.698533123Z stdout {} {piece}\n", tag(place))).collect()
    };
    let pieces: Vec<String> = events.iter().flat_map(split).collect();
    assert!(pieces.len() > 9, "{}", pieces.len());
    let whole = temporary::file(lines(&events.iter().map(|event| serde_json::from_str(event).unwrap()).collect::<Vec<Value>>()));
    let wanted = versions(&alone(whole.path().to_str().unwrap(), &[], Options::default()).await).await;
    // Each file holds an event that is whole, and so is recognised.
    for cut in pieces.len() / 3 + 1..2 * pieces.len() / 3 {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("0.log.20261124-183719"), pieces[..cut].concat()).unwrap();
        std::fs::write(folder.path().join("0.log"), pieces[cut..].concat()).unwrap();
        let (options, notices) = noting(Options::default());
        let cluster = alone(folder.path().to_str().unwrap(), &[], options).await;
        assert!(versions(&cluster).await == wanted, "cut before piece {cut}");
        assert!(!cluster.finish() && notices.lock().unwrap().iter().all(|notice| !matches!(notice, Notice::AuditLines { .. })), "{cut}");
    }
}

fn file_of_day() -> String {
    file("full.jsonl.zst")
}

#[tokio::test]
async fn lost_events_are_damage_and_lines_of_other_programs_are_not() {
    let events: Vec<String> = (0..3)
        .map(|second| {
            event("a", if second == 0 { "create" } else { "update" }, second, Some(10 + second), &config_map("a", "x")).to_string()
        })
        .collect();
    for (log, is_damaged) in [
        (format!("{}\nI1124 started\n{}\n", events[0], events[1]), false),
        (format!("{}\n{}\n{}\n", events[0], &events[1][..200], events[2]), true),
        (format!("{}\n{}", events[0], &events[1][..200]), true),
        (format!("{}\n{}\n", &events[0][200..], events[1]), true),
    ] {
        let file = temporary::file(&log);
        let (options, notices) = noting(Options::default());
        let cluster = alone(file.path().to_str().unwrap(), &[], options).await;
        assert_eq!(cluster.finish(), is_damaged, "{log}");
        let lost =
            notices.lock().unwrap().iter().find_map(|notice| if let Notice::AuditLines { lost, .. } = notice { Some(*lost) } else { None });
        assert_eq!(lost.unwrap() > 0, is_damaged, "{log}");
    }
}

#[test]
fn a_log_without_bodies_says_what_it_holds_and_what_to_give_with_it() {
    let mut events: Vec<Value> = ["create", "update", "patch", "get", "list"]
        .iter()
        .enumerate()
        .map(|(second, verb)| event("a", verb, second as i64, None, &Value::Null))
        .collect();
    events.iter_mut().for_each(|event| event["level"] = "Metadata".into());
    let Err(Error::Invalid { problem, hint }) = opened(lines(&events), &Limits::default()).map(drop) else { panic!("it has a history") };
    assert!(problem.contains("is an audit log of 5 requests from 2026-"), "{problem}");
    assert!(problem.contains("3 of them ask for changes, and the policy logs these without bodies (level Metadata)"), "{problem}");
    assert!(hint.unwrap().contains("-f SNAPSHOT -f LOG"));
    let refused: Vec<Value> = events
        .iter()
        .cloned()
        .map(|mut event| {
            event["responseStatus"] = json!({"metadata": {}, "status": "Failure", "reason": "Forbidden", "code": 403});
            event
        })
        .collect();
    let Err(Error::Invalid { problem, .. }) = opened(lines(&refused), &Limits::default()).map(drop) else { panic!("it has a history") };
    assert!(problem.contains("3 of them ask for changes, and the API server refused all of these"), "{problem}");
    let both = [&events[..3], &events[3..]].map(|events| temporary::file(lines(events)));
    let paths = both.each_ref().map(|file| file.path().to_str().unwrap().to_owned());
    let logs = AuditLogs::among(&paths, &Limits::default()).unwrap().logs;
    let Err(Error::Invalid { problem, .. }) = open_logs(&logs, None).map(drop) else { panic!("they have a history") };
    assert!(problem.contains(" are audit logs of 5 requests from 2026-"), "{problem}");
    let Err(Error::Invalid { problem, .. }) = opened(lines(&events[3..]), &Limits::default()).map(drop) else { panic!("it has a history") };
    assert!(problem.contains("of 2 requests") && problem.contains("none of them asks for a change"), "{problem}");
    let Err(Error::Invalid { problem, .. }) =
        opened("{\"apiVersion\":\"audit.k8s.io/v1\",\"auditID\":1,\"stage\":2}\n", &Limits::default()).map(drop)
    else {
        panic!("it has a history")
    };
    assert!(problem.contains("holds no finished request") && problem.contains("line 1, which is not an audit event"), "{problem}");
}

/// A small patch of a large object makes a large object: the log may be worked out to no more than a file may unpack to.
#[test]
fn objects_that_are_worked_out_count_against_the_limit() {
    let mut events = vec![event("a", "create", 0, Some(10), &config_map("a", &"x".repeat(100_000)))];
    events.extend((1..60).map(|second| event("a", "patch", second, None, &json!({"data": {"w": second.to_string()}}))));
    let log = lines(&events);
    let within = |unpacked: u64| opened(&log, &Limits { unpacked, ..Limits::default() }).map(drop);
    assert!(within(8_000_000).is_ok());
    let error = within(1_000_000).unwrap_err().to_string();
    assert!(error.contains("more than 1000000 bytes") && error.contains("--max-unpacked-size"), "{error}");
    // Patches that come to nothing take the same work.
    events[1..].iter_mut().for_each(|event| event["requestObject"] = json!([{"op": "test", "path": "/data/v", "value": "y"}]));
    let error = opened(lines(&events), &Limits { unpacked: 1_000_000, ..Limits::default() }).map(drop).unwrap_err().to_string();
    assert!(error.contains("--max-unpacked-size"), "{error}");
}

/// With a look at each version of the object for each deletion, this would take hours.
#[test]
fn an_object_that_is_made_and_deleted_very_often_is_placed_in_one_pass() {
    const WRITE_REPETITIONS: i64 = 20_000;
    let events = (0..WRITE_REPETITIONS).flat_map(|number| {
        let second = 2 * number;
        [
            event("a", "create", second, Some(10 + second), &config_map("a", "x")),
            event("a", "delete", second + 1, None, &json!({"kind": "DeleteOptions"})),
        ]
    });
    let history = opened(lines(&events.collect::<Vec<_>>()), &Limits::default()).unwrap();
    assert!(history.source.facts().damage.is_empty());
}
