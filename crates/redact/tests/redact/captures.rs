//! A recorded cluster, redacted: references resolve, selectors select, and nothing is left of what was to go.

use std::collections::{BTreeMap, BTreeSet};

use ketcd_kube::Kinds;
use ketcd_redact::{Choice, Class, Redactor, SearchedTokens};
use ketcd_testing::testdata;
use serde_json::{Value, json};

/// Every object of the cluster with its key, as the API server returned it in one version.
fn cluster() -> Vec<(String, Value)> {
    let lines = String::from_utf8(testdata::read("captures/k136-story/apidump.jsonl.zst")).unwrap();
    let mut kinds = Kinds::builtin();
    let objects: Vec<Value> = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["object"].take()).collect();
    objects.iter().filter(|object| object["kind"] == "CustomResourceDefinition").for_each(|object| _ = kinds.add_crd(object));
    let key = |object: &Value| {
        let kind = kinds.of_object(object["apiVersion"].as_str()?, object["kind"].as_str()?)?;
        kind.is_stored()
            .then(|| kind.key("/registry", object["metadata"]["namespace"].as_str(), object["metadata"]["name"].as_str().unwrap()))
    };
    let by_key: BTreeMap<String, Value> = objects.iter().filter_map(|object| Some((key(object)?, object.clone()))).collect();
    by_key.into_iter().collect()
}

fn redactor(choice: &str, cluster: &[(String, Value)]) -> Redactor {
    let mut redactor = Redactor::new(Choice::parse(choice).unwrap(), b"salt", &[]);
    cluster.iter().for_each(|(key, object)| redactor.learn(key, object));
    redactor
}

/// The cluster as it may leave.
fn redacted(choice: &str, cluster: &[(String, Value)]) -> (Redactor, Vec<(String, Value)>) {
    let mut redactor = redactor(choice, cluster);
    let rewritten = cluster.iter().map(|(key, object)| {
        let mut rewritten = object.clone();
        redactor.object(key, &mut rewritten);
        (redactor.key(key), rewritten)
    });
    let rewritten = rewritten.collect();
    (redactor, rewritten)
}

fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[test]
fn nothing_is_left_of_what_goes() {
    let cluster = cluster();
    for choice in ["none", "names", "values", "addresses", "identities", "namespaces", "tokens", "all"] {
        let (redactor, rewritten) = redacted(choice, &cluster);
        for ((key, _), (new_key, object)) in cluster.iter().zip(&rewritten) {
            let bytes = format!("{new_key} {object}");
            let leaks = redactor.leaks(bytes.as_bytes());
            let near =
                |at: usize| String::from_utf8_lossy(&bytes.as_bytes()[at.saturating_sub(60)..(at + 60).min(bytes.len())]).into_owned();
            assert!(leaks.is_empty(), "{choice}: {key}: {leaks:?} {:?}", leaks.iter().map(|leak| near(leak.offset)).collect::<Vec<_>>());
        }
        let report = serde_json::to_value(redactor.report()).unwrap();
        assert_eq!(report["objects"], cluster.len());
    }
}

/// What comes again is rewritten as it was the first time, and counts as often.
#[test]
fn parts_that_objects_share_are_rewritten_alike() {
    let cluster = cluster();
    let mut redactor = redactor("all", &cluster);
    let counts = |redactor: &Redactor| -> Vec<u64> { redactor.report().classes.iter().map(|class| class.replaced).collect() };
    let mut counted = counts(&redactor);
    let mut round = || {
        let rewritten = cluster.iter().map(|(key, object)| {
            let mut rewritten = object.clone();
            redactor.object(key, &mut rewritten);
            rewritten
        });
        let rewritten: Vec<Value> = rewritten.collect();
        let before = std::mem::replace(&mut counted, counts(&redactor));
        let more: Vec<u64> = counted.iter().zip(before).map(|(now, before)| now - before).collect();
        (rewritten, more)
    };
    let first = round();
    assert!(first.1.iter().sum::<u64>() > 1000, "{:?}", first.1);
    for _ in 0..2 {
        let (rewritten, more) = round();
        assert_eq!(more, first.1);
        for ((key, _), (one, other)) in cluster.iter().zip(first.0.iter().zip(&rewritten)) {
            assert_eq!(one, other, "{key}");
        }
    }
}

/// Tokens that were searched are not searched again, and nothing is missed.
#[test]
fn a_search_that_remembers_finds_as_much() {
    let cluster = cluster();
    let (redactor, rewritten) = redacted("names,addresses", &cluster);
    let mut searched = SearchedTokens::default();
    for ((_, original), (_, object)) in cluster.iter().zip(&rewritten).step_by(5) {
        // What is left first, so that its tokens are known.
        for text in [object.to_string(), original.to_string()] {
            assert_eq!(redactor.leaks_but(&mut searched, text.as_bytes()), redactor.leaks(text.as_bytes()), "{text}");
        }
    }
}

#[test]
fn what_was_not_chosen_stays() {
    let cluster = cluster();
    let (redactor, rewritten) = redacted("none", &cluster);
    for ((key, object), (new_key, new)) in cluster.iter().zip(&rewritten) {
        assert!(object == new || object["kind"] == "Secret", "{key}: {object} {new}");
        assert_eq!(key, new_key);
    }
    assert!(redactor.report().classes.iter().all(|of| of.replaced == 0 || of.class == Class::Secrets));
    let (_, rewritten) = redacted("addresses", &cluster);
    for ((key, object), (_, new)) in cluster.iter().zip(&rewritten) {
        // A name that is a host goes with the hosts.
        let is_host = |text: &str| text.contains(".example.com") || text.contains("example.com/");
        let stays =
            object["kind"] == "CustomResourceDefinition" || object["kind"] != "IPAddress" && !is_host(text(object, "/metadata/name"));
        assert!(!stays || object["metadata"]["name"] == new["metadata"]["name"], "{key}: {new}");
        let (labels, new_labels) = (&object["metadata"]["labels"], &new["metadata"]["labels"]);
        assert!(labels == new_labels || is_host(&labels.to_string()), "{key}: {labels} {new_labels}");
    }
}

#[test]
fn references_resolve_and_selectors_select() {
    let cluster = cluster();
    let (_, rewritten) = redacted("all", &cluster);
    let keys: BTreeSet<&String> = rewritten.iter().map(|(key, _)| key).collect();
    assert_eq!(keys.len(), cluster.len(), "each object has a key of its own");
    let named: BTreeMap<(&str, &str, &str), usize> = rewritten
        .iter()
        .enumerate()
        .map(|(at, (_, object))| ((text(object, "/kind"), text(object, "/metadata/namespace"), text(object, "/metadata/name")), at))
        .collect();
    let mut resolved = 0;
    for (at, (key, object)) in rewritten.iter().enumerate() {
        let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
        let below = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
        assert!(key.ends_with(&format!("/{below}")), "{key} is of {below}");
        let original = &cluster[at].1;
        for (owner, before) in items(object, "/metadata/ownerReferences").zip(items(original, "/metadata/ownerReferences")) {
            let of = |cluster: &[(String, Value)], owner: &Value| {
                cluster.iter().position(|(_, object)| object["metadata"]["uid"] == owner["uid"])
            };
            if let Some(found) = of(&rewritten, owner) {
                assert_eq!(rewritten[found].1["metadata"]["name"], owner["name"], "{key}: {before}");
                resolved += 1;
            }
        }
        let node = text(object, "/spec/nodeName");
        assert_eq!(node.is_empty(), text(original, "/spec/nodeName").is_empty());
        if object["kind"] == "Pod" && !node.is_empty() {
            let found = named.get(&("Node", "", node)).map(|found| &cluster[*found].1["metadata"]["name"]);
            assert_eq!(found.unwrap_or(&original["spec"]["nodeName"]), &original["spec"]["nodeName"]);
        }
    }
    assert!(resolved > 20, "{resolved}");
    let selected = |cluster: &[(String, Value)]| -> Vec<Vec<usize>> {
        let selectors = cluster.iter().filter_map(|(_, object)| {
            let selector = ["/spec/selector/matchLabels", "/spec/selector", "/spec/podSelector/matchLabels"]
                .into_iter()
                .find_map(|at| object.pointer(at))?;
            selector.as_object().filter(|selector| selector.values().all(Value::is_string) && !selector.is_empty())
        });
        let pods = |selector: &serde_json::Map<String, Value>| {
            let fits = |object: &Value| selector.iter().all(|(key, value)| object["metadata"]["labels"].get(key) == Some(value));
            cluster.iter().enumerate().filter(|(_, (_, object))| object["kind"] == "Pod" && fits(object)).map(|(at, _)| at).collect()
        };
        selectors.map(pods).collect()
    };
    let wanted = selected(&cluster);
    assert!(wanted.iter().filter(|pods| !pods.is_empty()).count() > 5, "{wanted:?}");
    assert_eq!(selected(&rewritten), wanted);
}

fn items<'v>(object: &'v Value, pointer: &str) -> impl Iterator<Item = &'v Value> {
    object.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

#[test]
fn order_of_names_and_relations_of_owners_stay() {
    let cluster = cluster();
    let (_, rewritten) = redacted("all", &cluster);
    let of_kind = |cluster: &[(String, Value)], kind: &str| -> Vec<String> {
        cluster.iter().filter(|(_, object)| object["kind"] == kind).map(|(_, object)| text(object, "/metadata/name").to_owned()).collect()
    };
    for kind in ["Node", "Namespace", "Deployment", "PersistentVolumeClaim"] {
        let (names, pseudonyms) = (of_kind(&cluster, kind), of_kind(&rewritten, kind));
        assert!(!names.is_empty());
        for (one, new_one) in names.iter().zip(&pseudonyms) {
            for (other, new_other) in names.iter().zip(&pseudonyms) {
                let stays = |name: &String, new: &String| name == new;
                if stays(one, new_one) == stays(other, new_other) {
                    assert_eq!(one.cmp(other), new_one.cmp(new_other), "{one} {other} {new_one} {new_other}");
                }
            }
        }
    }
    for (_, object) in rewritten.iter().filter(|(_, object)| object["kind"] == "Pod") {
        let (name, generated) = (text(object, "/metadata/name"), text(object, "/metadata/generateName"));
        assert!(name.starts_with(generated), "{name} {generated}");
        let hash = text(object, "/metadata/labels/pod-template-hash");
        assert!(hash.is_empty() || name.contains(&format!("-{hash}-")), "{name} {hash}");
    }
}

#[test]
fn part_of_a_cluster_has_the_same_pseudonyms() {
    let cluster = cluster();
    let (_, whole) = redacted("all", &cluster);
    let part: Vec<(String, Value)> = cluster.iter().filter(|(key, _)| key.starts_with("/registry/pods/web/")).cloned().collect();
    let (_, rewritten) = redacted("all", &part);
    let names = |of: &(String, Value)| {
        (of.0.clone(), of.1["metadata"]["name"].clone(), of.1["metadata"]["labels"].clone(), of.1["spec"]["nodeName"].clone())
    };
    let whole: BTreeSet<String> = whole.iter().map(|object| format!("{:?}", names(object))).collect();
    assert!(!part.is_empty() && rewritten.iter().all(|object| whole.contains(&format!("{:?}", names(object)))));
    let mut other = Redactor::new(Choice::parse("all").unwrap(), b"another", &[]);
    part.iter().for_each(|(key, object)| other.learn(key, object));
    assert_ne!(other.key(&part[0].0), rewritten[0].0);
}

#[test]
fn text_of_events_names_the_pseudonyms() {
    let cluster = cluster();
    let (_, rewritten) = redacted("names", &cluster);
    let mut count = 0;
    for (_, event) in rewritten.iter().filter(|(_, object)| object["kind"] == "Event" && object["reason"] == "Scheduled") {
        let message = event.get("message").or_else(|| event.get("note")).and_then(Value::as_str).unwrap();
        let about = event.get("involvedObject").or_else(|| event.get("regarding")).unwrap();
        let wanted = format!("Successfully assigned {}/{} to ", about["namespace"].as_str().unwrap(), about["name"].as_str().unwrap());
        assert!(message.starts_with(&wanted), "{message} {wanted}");
        count += 1;
    }
    assert!(count > 20, "{count}");
}

#[test]
fn fields_and_copies_of_objects_are_rewritten_too() {
    let applied = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "payments", "namespace": "shop"},
        "spec": {"template": {"spec": {"containers": [{"name": "ledger", "env": [{"name": "DSN", "value": "hunter2-canary"}]}]}}}});
    let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "payments", "namespace": "shop", "labels": {"acme.com/team": "orange"},
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": applied.to_string() + "\n", "deployment.kubernetes.io/revision": "7"},
        "managedFields": [{"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:metadata": {"f:labels": {"f:acme.com/team": {}}},
            "f:spec": {"f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"ledger\"}": {".": {}, "f:name": {}}}}}}}}]},
        "spec": {"template": {"spec": {"containers": [{"name": "ledger"}], "nodeSelector": {"acme.com/team": "orange"}}}}});
    let cluster = [("/registry/deployments/shop/payments".to_owned(), object)];
    let (_, rewritten) = redacted("names,values", &cluster);
    let new = &rewritten[0].1;
    let team = new["metadata"]["labels"].as_object().unwrap().keys().next().unwrap();
    let container = text(new, "/spec/template/spec/containers/0/name");
    let fields = &new["metadata"]["managedFields"][0]["fieldsV1"];
    assert!(fields["f:metadata"]["f:labels"].get(format!("f:{team}")).is_some(), "{fields}");
    let items = fields.pointer("/f:spec/f:template/f:spec/f:containers").unwrap();
    assert!(items.get(format!("k:{{\"name\":\"{container}\"}}")).is_some(), "{items}");
    assert_eq!(new["spec"]["template"]["spec"]["nodeSelector"], new["metadata"]["labels"]);
    let copy: Value = serde_json::from_str(text(new, "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration")).unwrap();
    assert_eq!(copy["metadata"]["name"], new["metadata"]["name"]);
    assert_eq!(copy.pointer("/spec/template/spec/containers/0/name").unwrap(), container);
    assert_eq!(new["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "7");
    for original in ["payments", "shop", "acme", "orange", "ledger", "hunter2"] {
        assert!(!new.to_string().contains(original), "{original}: {new}");
    }
}
