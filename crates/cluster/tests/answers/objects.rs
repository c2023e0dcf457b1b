//! Clusters of API objects as kubectl prints them: the state of one moment, known only from what the objects hold.

use futures_util::TryStreamExt;
use jiff::Timestamp;
use ketcd_cluster::{Cluster, Notice, Options};
use ketcd_history::ActorFrom;
use ketcd_history::clock::Dated;
use ketcd_history::timeline::{Phase, StepDetail, StepKind, Story, Timeline};
use ketcd_kube::Body;
use ketcd_store::{KeyRange, Want};
use serde_json::{Value, json};

use crate::fixture::{at, at_revision, capture, cluster_of, noting, open};

fn list(items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}})
}

/// The kinds whose stories are held against their histories, each a file, as `kubectl get -A --show-managed-fields` would write them.
const STORY_KINDS: [&str; 15] = [
    "pods",
    "nodes",
    "deployments",
    "replicasets",
    "statefulsets",
    "daemonsets",
    "jobs",
    "cronjobs",
    "events",
    "namespaces",
    "services",
    "pvc",
    "pv",
    "hpa",
    "pdb",
];

/// A recorded cluster's objects at a revision, each kind in a file, JSON and YAML by turns.
async fn printed(name: &str, revision: i64) -> Cluster {
    let recorded = capture(name, Options { all_namespaces: true, ..at_revision(revision) }).await;
    let mut files = Vec::new();
    for (place, kind) in STORY_KINDS.iter().enumerate() {
        let mut objects = Vec::new();
        for address in recorded.address(kind).await.unwrap() {
            let range = KeyRange::prefix(address.key("/registry").0);
            let entries: Vec<_> = recorded.range(range, Want::Values).await.unwrap().entries.try_collect().await.unwrap();
            objects.extend(entries.iter().map(|entry| {
                let body = recorded.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body;
                if let Body::Object(object) = body { object.into_value() } else { panic!("{body:?}") }
            }));
        }
        let lead = if place % 4 == 1 { "---\n" } else { "" };
        if !objects.is_empty() {
            files.push(ketcd_testing::temporary::file(format!("{lead}{}", list(&objects))));
        }
    }
    let paths: Vec<String> = files.iter().map(|file| file.path().to_str().unwrap().to_owned()).collect();
    open(&paths, Options::default()).await.unwrap()
}

async fn story_of(cluster: &Cluster, addresses: &[&str]) -> Story {
    let addresses: Vec<String> = addresses.iter().map(|&address| address.to_owned()).collect();
    cluster.timeline(&cluster.asked(&addresses, true).await.unwrap()).await.unwrap()
}

fn seconds(a: Timestamp, b: Timestamp) -> f64 {
    a.duration_since(b).as_secs_f64().abs()
}

/// Whether a history shows a step that the object alone shows: by the same name at the same time or, where only the object has a word for it, by a
/// change of the same manager at that time.
fn is_in_history(phase: &Phase, history: &Timeline) -> bool {
    let at = phase.dated.unwrap();
    let near = |other: Option<Dated>| other.is_some_and(|other| seconds(at.time, other.time) <= 1.0 + at.error + other.error);
    let same = |other: &&Phase| match phase.phase {
        // A node that came back is ready since then.
        StepKind::Ready => matches!(other.phase, StepKind::Ready | StepKind::Returned),
        kind => other.phase == kind,
    };
    let name = |actor: &ketcd_history::Actor| actor.to_string();
    let by = phase.by.as_ref().map(name);
    match phase.phase {
        StepKind::Changed | StepKind::Started => {
            let own = history.changes.iter().filter(|change| by.is_none() || change.actor.as_ref().map(name) == by);
            own.map(|change| change.dated).any(near)
        }
        _ => history.phases.iter().filter(same).map(|other| other.dated).any(near),
    }
}

#[tokio::test]
async fn what_objects_alone_show_is_in_their_history() {
    for (name, revisions) in [("k120-story", [700, 1100, 1786]), ("k136-story", [1300, 2000, 3190])] {
        let recorded = capture(name, Options::default()).await;
        let history = story_of(&recorded, &[]).await;
        let mut phases = 0;
        let mut wrong = Vec::new();
        for revision in revisions {
            let cluster = printed(name, revision).await;
            let wanted = cluster.asked(&[], true).await.unwrap();
            let alone = story_of(&cluster, &[]).await;
            for (key, timeline) in alone.timelines.iter().filter(|(key, _)| wanted.contains(key)) {
                assert_eq!((timeline.complete, timeline.one_moment, &timeline.gaps), (false, true, &vec![]), "{timeline:?}");
                let Some(past) = history.timelines.get(key) else { continue };
                for phase in &timeline.phases {
                    phases += 1;
                    assert!(phase.by.as_ref().is_none_or(|actor| actor.from == ActorFrom::Recorded), "{phase:?}");
                    if !is_in_history(phase, past) {
                        wrong.push(format!("{name} r{revision} {}: {phase:?}", String::from_utf8_lossy(key)));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{} of {phases}:\n{}", wrong.len(), wrong.join("\n"));
        assert!(phases > 300, "{phases}");
    }
}

#[tokio::test]
async fn a_pod_alone_shows_its_steps() {
    let cluster = printed("k136-story", 1300).await;
    let story = story_of(&cluster, &["pod/web/logged"]).await;
    let pod = &story.timelines[&b"/registry/pods/web/logged"[..]];
    let kinds: Vec<StepKind> = pod.phases.iter().map(|phase| phase.phase).collect();
    assert_eq!(
        kinds,
        [
            StepKind::Created,
            StepKind::Scheduled,
            StepKind::SandboxReady,
            StepKind::SidecarStarted,
            StepKind::InitStarted,
            StepKind::InitFinished,
            StepKind::Initialized,
            StepKind::ContainersStarted,
            StepKind::Ready,
        ]
    );
    assert_eq!(pod.phases[1].detail, StepDetail::Target("node3".to_owned()));
    assert_eq!(pod.phases[0].by.as_ref().map(ToString::to_string).as_deref(), Some("kubectl-client-side-apply"));
    let own = pod.changes[0].change.revision;
    assert!(pod.phases.iter().all(|phase| phase.revision == own));
    assert!(pod.notes.iter().any(|note| note.reason == "Scheduled"));
}

#[tokio::test]
async fn ages_count_from_the_newest_time_or_at() {
    let object = |name: &str, born: Value| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "x", "creationTimestamp": born,
            "annotations": {"expires": "2030-01-01T00:00:00Z"}}})
    };
    let objects = [object("a", "2026-01-01T00:00:00Z".into()), object("b", "2026-01-01T01:00:00Z".into()), object("c", Value::Null)];
    let objects = list(&objects).to_string();
    let moment = async |options: Options| cluster_of(&objects, options).await.moment().await.unwrap().unwrap().to_string();
    assert_eq!(moment(Options::default()).await, "2026-01-01T01:00:00Z");
    assert_eq!(moment(at("2026-01-01T03:00:00Z")).await, "2026-01-01T03:00:00Z");
    let (options, kept) = noting(at("-30m"));
    assert_eq!(moment(options).await, "2026-01-01T00:30:00Z");
    let kept = kept.lock().unwrap();
    let [Notice::MomentBeforeObjects { asked, newest }] = &kept[..] else { panic!("{kept:?}") };
    assert_eq!((asked.to_string(), newest.to_string()), ("2026-01-01T00:30:00Z".to_owned(), "2026-01-01T01:00:00Z".to_owned()));
}

#[tokio::test]
async fn no_clock_is_accused_by_objects() {
    for name in ["k120-story", "k136-story"] {
        let cluster = printed(name, 1500).await;
        assert_eq!((cluster.clock().await.unwrap().problems(), cluster.finish()), (&[][..], false));
        assert!(cluster.source.is_one_moment() && cluster.source.status().await.unwrap().problems.is_empty());
    }
}

#[tokio::test]
async fn definitions_of_another_file_make_kinds_known() {
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things", "singular": "thing"},
            "versions": [{"name": "v1", "served": true, "storage": true}]}});
    let thing = |number: usize| json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": format!("t{number}"), "namespace": "x"}});
    let things: Vec<Value> = (0..3).map(thing).collect();
    let files = [list(&things), definition].map(|objects| ketcd_testing::temporary::file(objects.to_string()));
    let [things, definition] = files.each_ref().map(|file| file.path().to_str().unwrap().to_owned());
    let both = open(&[things.clone(), definition], Options::default()).await.unwrap();
    let keys = KeyRange::prefix(both.kinds().await.unwrap().find("things").unwrap().key_prefix("/registry", Some("x")));
    assert_eq!(both.source.count(keys, both.at).await.unwrap(), 3);
    let alone = open(&[things], Options { all_namespaces: true, ..Options::default() }).await.unwrap();
    assert_eq!(alone.subjects(&["things.example.com".to_owned()]).await.unwrap().objects.len(), 3);
    let wanted = "3 objects example.com/v1 Thing: shown as things.example.com, the plural that kubectl would guess";
    assert!(alone.source.left_out().iter().any(|said| said.contains(wanted)), "{:?}", alone.source.left_out());
}

/// As `kubectl apply` does it where nobody names a namespace; what has no namespace stays without one.
#[tokio::test]
async fn objects_that_name_no_namespace_are_of_the_default_one() {
    let config_map = |metadata: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things", "singular": "thing"},
            "versions": [{"name": "v1", "served": true, "storage": true}]}});
    let objects = [
        config_map(json!({"name": "bare"})),
        config_map(json!({"name": "empty", "namespace": ""})),
        config_map(json!({"name": "named", "namespace": "shop"})),
        json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "own"}}),
        definition,
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}),
    ];
    let yaml: String = objects.iter().map(|object| format!("---\n{object}\n")).collect();
    for text in [list(&objects).to_string(), yaml] {
        let cluster = cluster_of(&text, Options { all_namespaces: true, ..Options::default() }).await;
        let entries: Vec<_> = cluster.range(KeyRange::all(), Want::Values).await.unwrap().entries.try_collect().await.unwrap();
        let namespace = |value: &[u8]| serde_json::from_slice::<Value>(value).unwrap()["metadata"]["namespace"].clone();
        let found: Vec<_> =
            entries.iter().map(|entry| (String::from_utf8_lossy(&entry.key).into_owned(), namespace(&entry.value))).collect();
        let wanted = [
            ("/registry/apiextensions.k8s.io/customresourcedefinitions/things.example.com", Value::Null),
            ("/registry/configmaps/default/bare", json!("default")),
            ("/registry/configmaps/default/empty", json!("default")),
            ("/registry/configmaps/shop/named", json!("shop")),
            ("/registry/example.com/things/default/own", json!("default")),
            ("/registry/namespaces/shop", Value::Null),
        ];
        assert_eq!(found, wanted.map(|(key, namespace)| (key.to_owned(), namespace)), "{text}");
        let told = "3 objects name no namespace: shown in default, where kubectl apply puts it without -n";
        assert!(cluster.source.left_out().iter().any(|said| said.contains(told)), "{:?}", cluster.source.left_out());
        assert_eq!(cluster.subjects(&["cm".to_owned()]).await.unwrap().objects.len(), 3, "{text}");
    }
    let named = cluster_of(objects[2].to_string(), Options::default()).await;
    assert_eq!(named.source.left_out(), &[] as &[String]);
}

/// What the API server lets pass must not stop the reading.
#[tokio::test]
async fn null_times_and_lists_are_no_obstacle() {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "x", "creationTimestamp": null, "managedFields": null, "ownerReferences": null},
        "spec": null, "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": null}, null], "containerStatuses": null}});
    let story = story_of(&cluster_of(pod.to_string(), Options::default()).await, &["pod/x/p"]).await;
    assert_eq!(story.timelines[&b"/registry/pods/x/p"[..]].phases, [], "what has no time is no step");
}

#[tokio::test]
async fn a_custom_resource_that_a_webhook_converts_is_shown_as_it_is_stored() {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let version = |name: &str| json!({"name": name, "served": true, "storage": name == "v1", "schema": schema});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "wheels.cars.example"},
        "spec": {
            "group": "cars.example", "scope": "Namespaced", "names": {"kind": "Wheel", "plural": "wheels", "singular": "wheel"},
            "conversion": {"strategy": "Webhook"}, "versions": [version("v1"), version("v2")],
        },
    });
    let stored = json!({"apiVersion": "cars.example/v1", "kind": "Wheel", "metadata": {"name": "left", "namespace": "x"}, "old": "field"});
    let cluster = cluster_of(list(&[definition, stored]).to_string(), Options::default()).await;
    let found = cluster.subjects(&["wheel/x/left".to_owned()]).await.unwrap().objects;
    assert_eq!((found.len(), &found[0].object["apiVersion"], &found[0].object["old"]), (1, &json!("cars.example/v1"), &json!("field")));
}

#[tokio::test]
async fn openshifts_objects_lie_where_openshift_keeps_them() {
    let route = json!({"apiVersion": "route.openshift.io/v1", "kind": "Route", "metadata": {"name": "web", "namespace": "shop", "resourceVersion": "7"},
        "spec": {"host": "web.example.com", "to": {"kind": "Service", "name": "web"}, "wildcardPolicy": "None"}});
    let cluster = cluster_of(route.to_string(), Options::default()).await;
    let found = cluster.subjects(&["routes/shop/web".to_owned()]).await.unwrap().objects;
    assert_eq!((found.len(), &*found[0].entry.key), (1, &b"/openshift.io/routes/shop/web"[..]));
}
