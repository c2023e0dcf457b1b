//! Histories of recorded clusters: times within their bounds, who made a change, and the configuration that a pod started with.

use std::collections::{HashMap, HashSet};
use std::pin::pin;

use futures_util::TryStreamExt;
use jiff::Timestamp;

use ketcd_cluster::read::{self, Depth, Keys};
use ketcd_cluster::{Cluster, Notice, Options, Read, Revision};
use ketcd_history::clock::Bound;
use ketcd_history::config::ConfigKind;
use ketcd_history::diff::ManagedFields;
use ketcd_history::{Actor, ActorFrom, AttributedChange, ChangeKind, Follower, ObjectVersion};
use ketcd_kube::decodes;
use ketcd_store::{KeyValue, Until};
use ketcd_testing::testdata;
use ketcd_testing::written::Written;
use serde_json::Value;

use crate::fixture::{capture, database, noting};

/// Every change of these keys, oldest first.
async fn history(cluster: &Cluster, keys: Keys) -> Vec<AttributedChange> {
    let history = cluster.history(keys, cluster.revision().await.unwrap()).await.unwrap();
    let read: Vec<_> = history.changes().try_collect().await.unwrap();
    read.into_iter().filter_map(|read| if let Read::Item(change) = read { Some(change) } else { None }).collect()
}

async fn history_of(cluster: &Cluster, address: &str) -> Vec<AttributedChange> {
    history(cluster, Keys::of(cluster, &[address.to_owned()]).await.unwrap()).await
}

/// What is told of a change.
fn told(attributed: &AttributedChange) -> (Revision, Option<String>, Option<Actor>, Option<Timestamp>) {
    let patch = attributed.change.patch(ManagedFields::Hidden).map(|patch| patch.to_string());
    (attributed.change.revision, patch, attributed.actor.clone(), attributed.dated.map(|dated| dated.time))
}

/// What one thread tells, change by change.
async fn told_by_one_thread(cluster: &Cluster) -> Vec<(Revision, Option<String>, Option<Actor>, Option<Timestamp>)> {
    let clock = cluster.clock_of_writers(&[], &[], &[]).await.unwrap();
    let decoder = &cluster.decoder;
    let follower = Follower::new(|entry: &KeyValue| decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body);
    let mut follower = follower.asking(|version| cluster.source.read_before(version));
    let mut events = pin!(read::events(cluster, Keys::all(), Until::Revision(cluster.revision().await.unwrap())));
    let mut all = Vec::new();
    while let Some(read) = events.try_next().await.unwrap() {
        match read {
            Read::Item(event) => all.push(told(&AttributedChange::new(follower.change(event), &clock))),
            Read::Gap { to, .. } => follower.gap(to),
        }
    }
    all
}

#[tokio::test]
async fn on_cores_makes_of_each_change_what_one_thread_does_in_the_same_order() {
    for capture_name in ["k120-story", "k120-story/compacted.db.zst"] {
        let cluster = capture(capture_name, Options::default()).await;
        let wanted = told_by_one_thread(&cluster).await;
        for depth in [Depth::Whole, Depth::Text(ManagedFields::Hidden)] {
            let history = cluster.history(Keys::all(), cluster.revision().await.unwrap()).await.unwrap();
            let made: Vec<_> = history.decoded_to(depth).on_cores(|change, _, _| told(&change)).try_collect().await.unwrap();
            let made = made.into_iter().filter_map(|read| if let Read::Item((_, made)) = read { made } else { None });
            assert_eq!(made.collect::<Vec<_>>(), wanted, "{capture_name}");
        }
    }
}

/// So few changes are decoded on the thread that asks, where decoded values are counted.
#[tokio::test]
async fn a_history_decodes_each_version_once_and_none_of_the_changes_that_do_not_count() {
    let (options, address) = (Options::default(), ["pod/lab/ubuntu".to_owned()]);
    let cluster = capture("k120-story", options.clone()).await;
    let (keys, newest) = (Keys::of(&cluster, &address).await.unwrap(), cluster.revision().await.unwrap());
    let history = cluster.history(keys.clone(), newest).await.unwrap();
    let before = decodes();
    let changes = history.changes().try_collect::<Vec<_>>().await.unwrap().len();
    let decoded = decodes() - before;
    assert!((4..16).contains(&changes) && decoded <= changes, "{decoded} values decoded for {changes} changes");
    let cluster = capture("k120-story", Options { since: Some(Bound::Revision(newest)), ..options }).await;
    let counted = cluster.counted_history(keys, newest).await.unwrap();
    let before = decodes();
    assert!(counted.changes().try_collect::<Vec<_>>().await.unwrap().is_empty());
    assert_eq!(decodes(), before);
}

#[tokio::test]
async fn after_a_compaction_the_first_versions_have_no_patch() {
    let cluster = capture("k120-story/compacted.db.zst", Options::default()).await;
    let changes = history(&cluster, Keys::all()).await;
    let mut seen = HashSet::new();
    let first: Vec<_> = changes.iter().map(|attributed| &attributed.change).filter(|change| seen.insert(&change.key)).collect();
    assert!(first.iter().all(|change| change.patch(ManagedFields::Shown).is_none()));
    assert!(first.iter().any(|change| change.kind == ChangeKind::Modified && matches!(change.before, ObjectVersion::Unreadable)));
}

/// Held against the times at which a watcher saw each change.
#[tokio::test]
async fn revisions_are_dated_within_their_bounds() {
    let times = String::from_utf8(testdata::read("captures/k136-clock/times.jsonl.zst")).unwrap();
    let times = times.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let real: HashMap<i64, f64> = times.map(|line| (line["rev"].as_i64().unwrap(), line["time"].as_f64().unwrap())).collect();
    let (mut inside, mut bounds, mut undated, mut last) = (0usize, Vec::new(), 0usize, f64::MIN);
    let cluster = capture("k136-clock", Options::default()).await;
    for AttributedChange { change, dated, .. } in history(&cluster, Keys::all()).await {
        let Some(real) = real.get(&change.revision.0) else { continue };
        let Some(dated) = dated else {
            undated += 1;
            continue;
        };
        let time = dated.time.as_microsecond() as f64 / 1e6;
        assert!(time >= last, "time runs backwards at r{}", change.revision);
        last = time;
        inside += usize::from((time - real).abs() <= dated.error + 0.05);
        bounds.push(dated.error);
    }
    bounds.sort_by(f64::total_cmp);
    assert!(inside as f64 >= 0.99 * bounds.len() as f64, "{inside} of {}", bounds.len());
    assert!(bounds[bounds.len() / 2] <= 0.5);
    assert!(undated as f64 <= 0.01 * bounds.len() as f64, "{undated} undated");
}

#[tokio::test]
async fn a_pod_has_the_configuration_it_started_with() {
    let cluster = capture("k120-story", Options::default()).await;
    let keys = async |address: &str| Keys::of(&cluster, &[address.to_owned()]).await.unwrap();
    let crasher = cluster.started(keys("pod/web/crasher").await).await.unwrap().unwrap();
    // story.log: app-config changed after r969, and the pod was started again since.
    assert!(crasher.revision.unwrap().0 > 969);
    let config = crasher.config.iter().find(|config| config.kind == ConfigKind::ConfigMap).unwrap();
    assert_eq!((&*config.name, &config.problem), ("app-config", &None));
    let versions = history_of(&cluster, "configmap/web/app-config").await;
    let at_start = versions.iter().rfind(|version| Some(version.change.revision) <= crasher.revision).unwrap();
    assert_eq!(config.then.as_deref(), at_start.change.object());
    assert_eq!(config.now.as_deref(), versions.last().unwrap().change.object());
    let early = cluster.started(keys("pod/web/db-0").await).await.unwrap().unwrap();
    let secret = early.config.iter().find(|config| config.kind == ConfigKind::Secret).unwrap();
    assert!(secret.then.as_ref().unwrap()["data"].as_object().unwrap().values().all(|value| value == "***"));
}

/// Whether the controller manager made a change, as is inferred.
fn is_of_the_controller_manager(attributed: &AttributedChange) -> bool {
    matches!(&attributed.actor, Some(Actor { name, from: ActorFrom::Inferred, .. }) if name == "kube-controller-manager")
}

#[tokio::test]
async fn a_dead_kubelet_deletes_nothing() {
    // node2's kubelet is gone from 00:16:24 on; the taint manager deletes pods that have ended, and they are gone at once.
    let cluster = capture("k136-story", Options::default()).await;
    for pod in ["pod/web/indexed-0-86w4j", "pod/web/indexed-1-hj7nh", "pod/web/burst-gkggx"] {
        let changes = history_of(&cluster, pod).await;
        let [.., ended, deleted] = &changes[..] else { panic!("{pod}: {changes:?}") };
        assert_eq!((ended.change.kind, deleted.change.kind), (ChangeKind::Modified, ChangeKind::Deleted), "{pod}");
        assert!(is_of_the_controller_manager(ended) && is_of_the_controller_manager(deleted), "{pod}: {:?}", deleted.actor);
    }
    // Nothing that left no record is a kubelet's between its last lease and its return, 10 s before that at most.
    let from: Timestamp = "2026-11-21T00:17:05Z".parse().unwrap();
    let is_late = |attributed: &&AttributedChange| {
        let is_silent = (1_800..=2_770).contains(&attributed.change.revision.0) && attributed.dated.is_some_and(|dated| dated.time > from);
        let by_node2 = |actor: &Actor| actor.to_string() == "kubelet node2" && actor.from == ActorFrom::Inferred;
        is_silent && attributed.actor.as_ref().is_some_and(by_node2)
    };
    let changes = history(&cluster, Keys::all()).await;
    let late: Vec<_> = changes.iter().filter(is_late).map(|attributed| (attributed.change.revision, &attributed.change.key)).collect();
    assert!(late.is_empty(), "{late:?}");
}

#[tokio::test]
async fn who_forces_a_deletion_is_not_the_kubelet() {
    // `kubectl delete --force` of a running pod (story.log, "namespace: lab/spread-5"): the request leaves no trace of who sent it.
    let cluster = capture("k136-story", Options::default()).await;
    let last = history_of(&cluster, "pod/lab/spread-5").await.pop().unwrap();
    assert_eq!((last.change.kind, last.actor), (ChangeKind::Deleted, None));
}

#[tokio::test]
async fn the_number_of_a_compaction_is_no_damage() {
    let (options, notices) = noting(Options::default());
    let cluster = capture("k136-live/member.tar.zst", options).await;
    let changes = history(&cluster, Keys::all()).await;
    let numbers: Vec<_> = changes.iter().filter(|attributed| &*attributed.change.key == b"compact_rev_key").collect();
    assert!(!numbers.is_empty() && numbers.iter().all(|number| !matches!(number.change.after, ObjectVersion::Unreadable)), "{numbers:?}");
    let is_damaged = cluster.finish();
    let notices = notices.lock().unwrap();
    assert!(!is_damaged && notices.iter().all(|notice| !matches!(notice, Notice::NotDecoded { .. })), "{notices:?}");
}

/// For the garbage collector an owner is in the object's namespace or nowhere, so it deletes such objects.
#[tokio::test]
async fn an_object_with_its_owner_in_another_namespace_was_collected() {
    let owner = r#"{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "parent", "namespace": "infra", "uid": "1"}}"#;
    let child = |kind: &str, namespace: &str, uid: &str| {
        format!(
            r#"{{"apiVersion": "v1", "kind": "{kind}", "metadata": {{"name": "kid", "namespace": "{namespace}", "uid": "{kind}-{namespace}",
            "ownerReferences": [{{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "parent", "uid": "{uid}"}}]}}}}"#
        )
    };
    let (shop, pod, of_others) = ("/registry/configmaps/shop/kid", "/registry/pods/infra/kid", "/registry/configmaps/lab/kid");
    let mut written = Written::of(&[
        ("/registry/replicasets/infra/parent", owner),
        (shop, &child("ConfigMap", "shop", "1")),
        (pod, &child("Pod", "infra", "1")),
        (of_others, &child("ConfigMap", "lab", "2")),
    ]);
    [shop, pod, of_others].iter().for_each(|key| written.delete(key));
    let cluster = database(written.finish(), Options::default()).await;
    let found = cluster.owner_elsewhere(shop.as_bytes()).await.unwrap().unwrap();
    assert_eq!((&*found.object.kind, &*found.owner.namespace, &*found.owner.name, found.deleted.0), ("ConfigMap", "infra", "parent", 6));
    for key in [pod, of_others, "/registry/replicasets/infra/parent"] {
        assert_eq!(cluster.owner_elsewhere(key.as_bytes()).await.unwrap(), None, "{key}");
    }
    let deletion = async |address: &str, kind: &str, namespace: &str| {
        let asked = cluster.asked(&[address.to_owned()], false).await.unwrap();
        let story = cluster.timeline(&asked).await.unwrap();
        story.deletion(story.find(kind, namespace, "kid").unwrap()).unwrap()
    };
    let collected = deletion("cm/shop/kid", "ConfigMap", "shop").await;
    assert_eq!(collected.chain, "garbage collection");
    assert!(collected.evidence.starts_with("its owner ReplicaSet parent is in namespace infra: "), "{}", collected.evidence);
    assert_eq!(deletion("pod/infra/kid", "Pod", "infra").await.chain, "direct");
}
