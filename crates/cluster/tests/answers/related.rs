//! What belongs to an object: owners above and what is owned below, the pods of a node, the last changes of what is described.

use std::collections::HashSet;

use ketcd_cluster::browser::{Families, Index};
use ketcd_cluster::describe::Description;
use ketcd_cluster::related::MAX_CHANGES_AT_ONCE;
use ketcd_cluster::related::owners::StoredObject;
use ketcd_cluster::{Cluster, Options};
use ketcd_history::ChangeKind;
use ketcd_history::timeline::Timeline;
use ketcd_kube::Object;
use serde_json::{Value, json};

use crate::fixture::{at_revision, capture, cluster_of};

async fn objects(cluster: &Cluster, words: &[&str]) -> Vec<StoredObject> {
    cluster.subjects(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>()).await.unwrap().objects
}

/// `Kind/name` of an object, or of an ownerReference.
fn name(object: &Value) -> String {
    let name = if object["metadata"].is_object() { &object["metadata"]["name"] } else { &object["name"] };
    format!("{}/{}", object["kind"].as_str().unwrap(), name.as_str().unwrap())
}

/// What is drawn of an object: its owners, the nearest first, with whether each is there, and all below it.
async fn family(cluster: &Cluster, address: &str) -> (Vec<(String, bool)>, Vec<String>) {
    let family = cluster.tree(objects(cluster, &[address]).await, cluster.at).await.unwrap();
    let (subject, owners) = &family.subjects[0];
    let mut below = Vec::new();
    let mut left = vec![subject.uid().to_owned()];
    let mut seen = vec![subject.uid().to_owned()];
    while let Some(uid) = left.pop() {
        for owned in family.owned(&uid) {
            below.push(name(&owned.object));
            if !seen.contains(&owned.uid().to_owned()) {
                seen.push(owned.uid().to_owned());
                left.push(owned.uid().to_owned());
            }
        }
    }
    below.sort();
    (owners.iter().map(|owner| (name(&owner.reference), owner.found.is_some())).collect(), below)
}

/// Whether an object names another as its owner.
fn is_owned(object: &Object, owner: &Object) -> bool {
    object["metadata"]["ownerReferences"].as_array().is_some_and(|all| all.iter().any(|one| one["uid"] == owner["metadata"]["uid"]))
}

#[tokio::test]
async fn families_hold_all_that_is_owned() {
    let in_web = |options: Options| Options { namespace: Some("web".to_owned()), ..options };
    for options in [Options::default(), at_revision(700)] {
        let cluster = capture("k136-story", in_web(options)).await;
        let deployment = objects(&cluster, &["deploy/web/tomcat"]).await.remove(0).object;
        let sets = objects(&cluster, &["rs"]).await;
        let sets: Vec<&Object> = sets.iter().map(|set| &set.object).filter(|set| is_owned(set, &deployment)).collect();
        let pods = objects(&cluster, &["pods"]).await;
        let pods: Vec<&Object> = pods.iter().map(|pod| &pod.object).filter(|pod| sets.iter().any(|set| is_owned(pod, set))).collect();
        assert!(sets.len() > 1 && pods.len() > 1);
        let mut wanted: Vec<String> = sets.iter().chain(&pods).map(|object| name(object)).collect();
        wanted.sort();
        assert_eq!(family(&cluster, "deploy/web/tomcat").await, (vec![], wanted));
        // From below, the way up and nothing else.
        let set = sets.iter().find(|set| is_owned(pods[0], set)).unwrap();
        let above = [(name(set), true), ("Deployment/tomcat".to_owned(), true)];
        let pod = format!("pod/web/{}", pods[0]["metadata"]["name"].as_str().unwrap());
        assert_eq!(family(&cluster, &pod).await, (above.to_vec(), vec![]));
    }
    let cluster = capture("k136-story", Options::default()).await;
    assert!(family(&cluster, "node/node1").await.1.contains(&"Lease/node1".to_owned()));
}

#[tokio::test]
async fn families_lead_through_custom_resources_lost_owners_and_circles() {
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "apps.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "apps", "singular": "app", "kind": "App"},
            "versions": [{"name": "v1", "served": true, "storage": true}]}});
    let owner = |api: &str, kind: &str, name: &str, uid: &str| json!([{"apiVersion": api, "kind": kind, "name": name, "uid": uid}]);
    let object = |api: &str, kind: &str, name: &str, owners: Value| {
        json!({"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": "x", "uid": format!("uid-{name}"),
            "creationTimestamp": "2026-01-01T00:00:00Z", "ownerReferences": owners}})
    };
    let objects = [
        crd,
        object("example.com/v1", "App", "shop", json!([])),
        object("example.com/v1", "App", "part", owner("example.com/v1", "App", "shop", "uid-shop")),
        object("apps/v1", "Deployment", "web", owner("example.com/v1", "App", "part", "uid-part")),
        object("v1", "Pod", "orphan", owner("apps/v1", "ReplicaSet", "gone", "uid-gone")),
        // Another object has the name by now.
        object("v1", "Pod", "left", owner("example.com/v1", "App", "shop", "uid-of-before")),
        object("v1", "ConfigMap", "a", owner("v1", "ConfigMap", "b", "uid-b")),
        object("v1", "ConfigMap", "b", owner("v1", "ConfigMap", "a", "uid-a")),
    ];
    let objects = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
    let cluster = cluster_of(objects, Options { namespace: Some("x".to_owned()), ..Options::default() }).await;
    let of = |names: &[(&str, bool)]| names.iter().map(|(name, found)| ((*name).to_owned(), *found)).collect::<Vec<_>>();
    assert_eq!(family(&cluster, "app/shop").await, (vec![], vec!["App/part".to_owned(), "Deployment/web".to_owned()]));
    assert_eq!(family(&cluster, "deploy/web").await.0, of(&[("App/part", true), ("App/shop", true)]));
    assert_eq!(family(&cluster, "pod/orphan").await.0, of(&[("ReplicaSet/gone", false)]));
    assert_eq!(family(&cluster, "pod/left").await.0, of(&[("App/shop", false)]));
    assert!(family(&cluster, "cm/a").await.1.contains(&"ConfigMap/b".to_owned()));
}

async fn description(cluster: &Cluster, address: &str) -> Description {
    let mut found = objects(cluster, &[address]).await;
    cluster.describe(found.remove(0), None, cluster.at, true).await.unwrap()
}

#[tokio::test]
async fn a_description_is_of_the_revision_looked_at() {
    let cluster = capture("k136-story", Options::default()).await;
    let whole = description(&cluster, "pod/lab/train-3").await;
    assert!(!whole.events.is_empty() && whole.changes.len() > 1);
    let first = whole.changes[0].change.revision;
    assert_eq!((whole.has_earlier_changes, whole.changes[0].change.kind), (false, ChangeKind::Added));
    let then = description(&capture("k136-story", at_revision(first.0)).await, "pod/lab/train-3").await;
    assert_eq!(then.object["metadata"]["resourceVersion"], first.0.to_string());
    assert_eq!(
        (then.events.len(), then.has_earlier_changes, then.changes.len(), then.changes[0].change.kind),
        (0, false, 1, ChangeKind::Added)
    );
}

#[tokio::test]
async fn a_node_is_described_with_its_pods() {
    let cluster = capture("k136-story", Options { all_namespaces: true, ..Options::default() }).await;
    let (nodes, pods) = (objects(&cluster, &["nodes"]).await, objects(&cluster, &["pods"]).await);
    let counts = cluster.node_pods(&nodes, cluster.at).await.unwrap();
    assert_eq!(counts.len(), 4);
    for (name, found) in &counts {
        let ended = |pod: &Object| ["Succeeded", "Failed"].iter().any(|phase| pod["status"]["phase"] == *phase);
        let own = pods.iter().filter(|pod| pod.object["spec"]["nodeName"] == **name && !ended(&pod.object)).count();
        assert_eq!(found.count, own, "{name}");
        assert!(own > 0 && found.requests.contains_key("cpu"), "{found:?}");
    }
    // A node asked for alone is found by its name in the stored bytes.
    let one = cluster.node_pods(&objects(&cluster, &["node/node2"]).await, cluster.at).await.unwrap();
    assert_eq!((one.len(), &one["node2"]), (1, &counts["node2"]));
}

#[tokio::test]
async fn a_story_in_parts_holds_one_part_at_a_time() {
    let cluster = capture("k136-story", Options { all_namespaces: true, ..Options::default() }).await;
    let asked = cluster.asked(&["configmaps".to_owned()], false).await.unwrap();
    let whole = cluster.timeline(&asked).await.unwrap();
    let mut parts = cluster.timeline_parts(&asked, false, 0).await.unwrap().unwrap();
    let (settled, all) = (parts.story().timelines.len(), parts.left());
    assert!(all > 3, "{all}");
    let (mut told, mut most) = (HashSet::new(), 0);
    while parts.next(|_| {}).await.unwrap() {
        let story = parts.story();
        let held: Vec<&Timeline> = story.timelines.iter().filter(|(key, _)| !story.is_settled(key)).map(|(_, timeline)| timeline).collect();
        assert_eq!(held.len() + settled, story.timelines.len(), "what all have in common is kept");
        assert!(held.iter().all(|timeline| timeline.subject.namespace == held[0].subject.namespace), "namespaces are told apart");
        assert!(held.iter().all(|timeline| timeline.changes.is_empty()));
        let new = story.timelines.iter().filter(|(key, _)| !story.is_settled(key) && asked.contains(key));
        new.for_each(|(key, _)| assert!(told.insert(key.clone()), "{key:?} is told twice"));
        most = most.max(held.len());
    }
    assert_eq!(parts.story().timelines.len(), settled, "the last part is forgotten");
    assert_eq!(told.len(), whole.timelines.keys().filter(|key| asked.contains(key)).count());
    assert!(most + settled < whole.timelines.len(), "{most} and {settled} of {} are held at once", whole.timelines.len());
}

#[tokio::test]
async fn a_namespace_alone_shows_what_its_objects_own() {
    let cluster = capture("k136-story", Options::default()).await;
    let index = Index::read(&cluster).await.unwrap();
    let all = Families::read(&cluster, &index, None).await.unwrap();
    let namespaces: HashSet<&str> = index.lives.iter().map(|life| &*life.namespace).filter(|namespace| !namespace.is_empty()).collect();
    let mut owned = 0;
    for namespace in namespaces {
        let alone = Families::read(&cluster, &index, Some(namespace)).await.unwrap();
        for (place, life) in index.lives.iter().enumerate() {
            let of = |families: &Families| families.owned(place).map(|owned| (owned, families.of(owned).uid.clone())).collect::<Vec<_>>();
            let expected = if &*life.namespace == namespace { of(&all) } else { Vec::new() };
            assert_eq!(of(&alone), expected, "{life:?}");
            owned += expected.len();
        }
    }
    assert!(owned > 0);
}

#[tokio::test]
async fn nothing_is_owned_from_another_namespace() {
    let config_map = |namespace: &str, name: &str, owner: &str| {
        let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": format!("{owner}-uid"), "controller": true});
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata":
            {"name": name, "namespace": namespace, "uid": format!("{name}-uid"), "creationTimestamp": "2026-11-20T00:00:00Z", "ownerReferences": [owner]}})
    };
    let items = [config_map("shop", "above", "nobody"), config_map("shop", "below", "above"), config_map("web", "elsewhere", "above")];
    let cluster = cluster_of(json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string(), Options::default()).await;
    let index = Index::read(&cluster).await.unwrap();
    let families = Families::read(&cluster, &index, None).await.unwrap();
    let above = index.find("ConfigMap", "shop", "above").unwrap();
    let owned: Vec<usize> = families.owned(above).collect();
    assert_eq!(owned, [index.find("ConfigMap", "shop", "below").unwrap()]);
}

#[tokio::test]
async fn what_is_small_or_of_no_namespace_is_told_at_once() {
    let cluster = capture("k136-story", Options { all_namespaces: true, ..Options::default() }).await;
    let is_in_parts = async |words: &[&str], most: usize| {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let asked = cluster.asked(&words, false).await.unwrap();
        cluster.timeline_parts(&asked, true, most).await.unwrap().is_some()
    };
    assert!(is_in_parts(&["deployments"], 0).await);
    assert!(!is_in_parts(&["deployments"], MAX_CHANGES_AT_ONCE).await, "few changes");
    for words in [&["nodes"][..], &["persistentvolumes"], &["deployments,pods"], &["deploy/web/tomcat"]] {
        assert!(!is_in_parts(words, 0).await, "{words:?}");
    }
}
