//! What helps, case by case, and that no smaller set does.

use serde_json::{Value, json};

use super::*;
use crate::cluster::{ObjectKey, PodFields, Taint, WatchedKind};
use crate::framework::{Fix, VolumeRequest};
use crate::{Cycle, Gates, Release, SchedulerConfiguration};

fn state(profile: &Profile, objects: &[(WatchedKind, &str, Value)]) -> ClusterState {
    let mut state = ClusterState::new(profile.rules.requests);
    for (number, (kind, name, object)) in objects.iter().enumerate() {
        let namespace =
            if matches!(kind, WatchedKind::Pod | WatchedKind::PersistentVolumeClaim | WatchedKind::Service) { "default" } else { "" };
        let key = ObjectKey { kind: *kind, namespace: namespace.into(), name: (*name).into() };
        let mut object = object.clone();
        object["metadata"]["name"] = json!(name);
        object["metadata"]["namespace"] = json!(namespace);
        state.apply(&key, Some(&serde_json::to_vec(&object).unwrap()), i64::try_from(number).unwrap() + 1);
    }
    state
}

/// Compares the remedies for a pod with the wanted ones, each a node with its changes.
fn check(pod: Value, objects: &[(WatchedKind, &str, Value)], wanted: &[(&str, &[Fix])]) {
    let release = Release(34);
    check_with(&Profile::new(release, Gates::new(release)), pod, objects, wanted);
}

fn check_with(profile: &Profile, pod: Value, objects: &[(WatchedKind, &str, Value)], wanted: &[(&str, &[Fix])]) {
    let mut state = state(profile, objects);
    let mut pod = json!({"metadata": {"name": "p", "namespace": "default", "labels": {"app": "a"}}, "spec": pod});
    pod["spec"]["containers"][0]["name"] = json!("c");
    let typed = PodFields::of(pod).unwrap();
    let pod = PodInfo::compile(&typed, 0, state.interner(), &mut Vec::new());
    let judgement = Cycle::new(&pod, &state, profile).evaluate();
    let before = format!("{:?}", state.nodes().collect::<Vec<_>>());
    let found = help(&pod, &mut state, profile, &judgement, None).remedies;
    let found: Vec<(&str, &[Fix])> = found.iter().map(|remedy| (&*remedy.node, &*remedy.fixes)).collect();
    assert_eq!(found, wanted);
    assert_eq!(format!("{:?}", state.nodes().collect::<Vec<_>>()), before, "the state is as it was");
}

fn lower_cpu(by: i64) -> Fix {
    Fix::LowerRequest { resource: "cpu".into(), by }
}

fn delete(name: &str) -> Fix {
    Fix::DeletePod(("default".into(), name.into()))
}

fn add_label(key: &str, value: &str) -> Fix {
    Fix::AddLabel { key: key.into(), value: value.into() }
}

fn drop_selector(key: &str) -> Fix {
    Fix::DropNodeSelector { key: key.into() }
}

fn request(class: Option<&str>) -> VolumeRequest {
    VolumeRequest { claim: "data".into(), size: Some("5Gi".into()), class: class.map(Into::into) }
}

fn node(spec: Value, labels: Value) -> Value {
    json!({"metadata": {"labels": labels}, "spec": spec, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}})
}

fn asks(cpu: &str) -> Value {
    json!({"containers": [{"resources": {"requests": {"cpu": cpu}}}]})
}

#[test]
fn uncordon_a_node_or_tolerate_its_taint() {
    let cordoned =
        node(json!({"unschedulable": true, "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]}), json!({}));
    let tainted = node(json!({"taints": [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}]}), json!({}));
    let ill = node(json!({"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]}), json!({}));
    let objects = [(WatchedKind::Node, "n1", cordoned), (WatchedKind::Node, "n2", tainted), (WatchedKind::Node, "n3", ill)];
    let taint = Taint { key: "dedicated".into(), value: "db".into(), effect: "NoSchedule".into() };
    check(asks("1"), &objects, &[("n1", &[Fix::Uncordon]), ("n2", &[Fix::Tolerate(taint.clone())]), ("n2", &[Fix::RemoveTaint(taint)])]);
}

#[test]
fn lower_the_request_or_delete_a_pod() {
    let mut running = json!({"metadata": {}, "spec": asks("3500m")});
    running["spec"]["nodeName"] = json!("n1");
    running["spec"]["containers"][0]["name"] = json!("c");
    let objects = [(WatchedKind::Node, "n1", node(json!({}), json!({}))), (WatchedKind::Pod, "other", running)];
    check(asks("1"), &objects, &[("n1", &[lower_cpu(500)]), ("n1", &[delete("other")])]);
}

#[test]
fn a_request_above_allocatable_must_be_lowered() {
    let objects = [(WatchedKind::Node, "n1", node(json!({}), json!({})))];
    check(asks("6"), &objects, &[("n1", &[lower_cpu(2000)])]);
}

#[test]
fn labels_are_added_unless_they_identify_the_node() {
    let mut pod = asks("1");
    pod["nodeSelector"] = json!({"disk": "ssd"});
    let objects = [(WatchedKind::Node, "n1", node(json!({}), json!({})))];
    check(pod, &objects, &[("n1", &[add_label("disk", "ssd")]), ("n1", &[drop_selector("disk")])]);
    let mut pod = asks("1");
    pod["nodeSelector"] = json!({"kubernetes.io/hostname": "gone"});
    check(pod, &objects, &[("n1", &[drop_selector("kubernetes.io/hostname")])]);
}

#[test]
fn several_rejections_need_several_changes() {
    let mut pod = asks("6");
    pod["nodeSelector"] = json!({"disk": "ssd"});
    let objects = [(WatchedKind::Node, "n1", node(json!({"unschedulable": true}), json!({})))];
    let with = |last: Fix| [Fix::Uncordon, lower_cpu(2000), last];
    check(pod, &objects, &[("n1", &with(add_label("disk", "ssd"))), ("n1", &with(drop_selector("disk")))]);
}

#[test]
fn the_smallest_set_has_the_cheapest_change_of_each_filter() {
    // Two labels or no affinity; two requests or one pod: one and one.
    let mut pod = json!({"containers": [{"resources": {"requests": {"cpu": "2", "memory": "5Gi"}}}]});
    let terms = json!([{"key": "disk", "operator": "In", "values": ["ssd"]}, {"key": "rack", "operator": "In", "values": ["r"]}]);
    pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] =
        json!([{"matchExpressions": terms}]);
    let mut running =
        json!({"metadata": {}, "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "3", "memory": "4Gi"}}}]}});
    running["spec"]["nodeName"] = json!("n1");
    let objects = [(WatchedKind::Node, "n1", node(json!({}), json!({}))), (WatchedKind::Pod, "other", running)];
    check(pod, &objects, &[("n1", &[Fix::DropNodeAffinity, delete("other")])]);
}

#[test]
fn an_anti_affine_pod_elsewhere_in_the_zone() {
    let rival = json!({"metadata": {}, "spec": {"nodeName": "n2", "containers": [{"name": "c"}], "affinity": {"podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}}]}}}});
    let full =
        json!({"metadata": {"labels": {"zone": "z"}}, "spec": {}, "status": {"allocatable": {"cpu": "1", "memory": "8Gi", "pods": "1"}}});
    let objects = [
        (WatchedKind::Node, "n1", node(json!({}), json!({"zone": "z"}))),
        (WatchedKind::Node, "n2", full),
        (WatchedKind::Pod, "rival", rival),
    ];
    let pod = json!({"containers": [{"resources": {"requests": {"cpu": "2"}}}]});
    check(pod, &objects, &[("n1", &[delete("rival")]), ("n2", &[lower_cpu(1000), delete("rival")])]);
}

/// A control plane's node counts as an empty host, unless its taint is honored.
#[test]
fn a_spread_can_leave_tainted_nodes_out() {
    let host = |name: &str| json!({"kubernetes.io/hostname": name});
    let taint = json!([{"key": "control-plane", "effect": "NoSchedule"}]);
    let running = |node: &str| json!({"metadata": {"labels": {"app": "a"}}, "spec": {"nodeName": node, "containers": [{"name": "c"}]}});
    let with = |spec: Value| {
        [
            (WatchedKind::Node, "n1", node(json!({}), host("n1"))),
            (WatchedKind::Node, "cp", node(spec, host("cp"))),
            (WatchedKind::Pod, "one", running("n1")),
        ]
    };
    let mut pod = asks("1");
    pod["topologySpreadConstraints"] = json!([{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}}}]);
    let key = || "kubernetes.io/hostname".into();
    let honor = Fix::HonorTaints { constraint: 0, topology_key: key() };
    let raise = Fix::RaiseMaxSkew { constraint: 0, topology_key: key(), max_skew: 2 };
    let taints = Taint { key: "control-plane".into(), value: "".into(), effect: "NoSchedule".into() };
    check(
        pod.clone(),
        &with(json!({"taints": taint})),
        &[
            ("cp", &[Fix::Tolerate(taints.clone())]),
            ("cp", &[Fix::RemoveTaint(taints.clone())]),
            ("n1", std::slice::from_ref(&honor)),
            ("n1", std::slice::from_ref(&raise)),
        ],
    );
    // Before 1.26 constraints could not leave nodes out.
    let old = Profile::new(Release(25), Gates::new(Release(25)));
    let mut state = state(&old, &with(json!({"taints": taint})));
    let typed = PodFields::of(json!({"metadata": {"name": "p", "namespace": "default", "labels": {"app": "a"}}, "spec": pod})).unwrap();
    let pod = PodInfo::compile(&typed, 0, state.interner(), &mut Vec::new());
    let judgement = Cycle::new(&pod, &state, &old).evaluate();
    let found = help(&pod, &mut state, &old, &judgement, None).remedies;
    assert!(!found.is_empty() && found.iter().all(|remedy| !remedy.fixes.contains(&honor)), "{found:?}");
}

#[test]
fn missing_and_unbound_claims_affect_every_node() {
    let mut pod = asks("1");
    pod["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]);
    let one = [(WatchedKind::Node, "n1", node(json!({}), json!({})))];
    check(pod.clone(), &one, &[("n1", &[Fix::CreateClaim { claim: "data".into() }])]);
    let claim = json!({"metadata": {}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}}});
    let [node] = one;
    check(pod, &[node, (WatchedKind::PersistentVolumeClaim, "data", claim)], &[("n1", &[Fix::BindClaim(request(None))])]);
}

#[test]
fn a_volume_for_a_claim() {
    let mut pod = asks("1");
    pod["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]);
    let claim = json!({"metadata": {}, "spec": {"storageClassName": "local", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}}});
    let class = json!({"metadata": {}, "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"});
    let objects = [
        (WatchedKind::Node, "n1", node(json!({}), json!({"kubernetes.io/hostname": "n1"}))),
        (WatchedKind::PersistentVolumeClaim, "data", claim),
        (WatchedKind::StorageClass, "local", class),
    ];
    check(pod, &objects, &[("n1", &[Fix::ProvideVolume(request(Some("local")))])]);
}

/// A volume that was released is there already, with its data; one of another class, or out of the node's reach, is of no use.
#[test]
fn a_released_volume_is_made_available_before_another_is_provided() {
    let mut pod = asks("1");
    pod["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]);
    let claim = json!({"metadata": {}, "spec": {"storageClassName": "local", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}}});
    let class = json!({"metadata": {}, "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"});
    let with = |phase: &str, class_name: &str, host: &str| {
        let terms = json!([{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [host]}]}]);
        let volume = json!({"metadata": {}, "spec": {"storageClassName": class_name, "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "5Gi"},
            "claimRef": {"namespace": "default", "name": "gone", "uid": "1"}, "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}},
            "status": {"phase": phase}});
        [
            (WatchedKind::Node, "n1", node(json!({}), json!({"kubernetes.io/hostname": "n1"}))),
            (WatchedKind::PersistentVolumeClaim, "data", claim.clone()),
            (WatchedKind::StorageClass, "local", class.clone()),
            (WatchedKind::PersistentVolume, "pv-1", volume),
        ]
    };
    let provide = || Fix::ProvideVolume(request(Some("local")));
    let free = Fix::FreeVolume { volume: "pv-1".into() };
    check(pod.clone(), &with("Released", "local", "n1"), &[("n1", &[free]), ("n1", &[provide()])]);
    for (phase, class_name, host) in [("Bound", "local", "n1"), ("Released", "other", "n1"), ("Released", "local", "n2")] {
        check(pod.clone(), &with(phase, class_name, host), &[("n1", &[provide()])]);
    }
}

/// The made-up clusters of `testdata/releases`.
const MADE_UP: [&str; 17] = [
    "1.21",
    "1.22",
    "1.22-nopreempt",
    "1.23",
    "1.24",
    "1.25",
    "1.26",
    "1.28",
    "1.29",
    "1.29-bare",
    "1.29-order",
    "1.30",
    "1.33",
    "1.33-most",
    "1.34",
    "1.35",
    "1.36",
];

/// One of the made-up clusters: its profile, its state and its pods that wait.
fn made_up(name: &str) -> (Profile, ClusterState, Vec<PodInfo>) {
    let text = ketcd_testing::testdata::read(&format!("releases/{name}.ndjson.zst"));
    let mut lines =
        text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(|line| serde_json::from_slice::<Value>(line).unwrap());
    let (head, objects) = (lines.next().unwrap(), lines.next().unwrap());
    let release = Release(head["version"].as_str().unwrap().split('.').nth(1).unwrap().parse().unwrap());
    let gates = Gates::new(release);
    let profile = match &head["config"] {
        Value::Null => Profile::new(release, gates),
        config => SchedulerConfiguration::read(config, release, &gates).unwrap().profiles.remove(0),
    };
    let mut state = ClusterState::new(profile.rules.requests);
    let folders =
        [("Node", "minions"), ("Service", "services/specs"), ("ReplicationController", "controllers"), ("StorageClass", "storageclasses")];
    for object in objects["objects"].as_array().unwrap() {
        let (kind, metadata) = (object["kind"].as_str().unwrap(), &object["metadata"]);
        let plural = if kind.ends_with("ity") { kind.replace("ity", "ities") } else { format!("{kind}s") }.to_lowercase();
        let folder = folders.iter().find(|(known, _)| *known == kind).map_or(plural, |(_, folder)| (*folder).to_owned());
        let name = metadata["name"].as_str().unwrap();
        let path = metadata["namespace"].as_str().map_or(format!("{folder}/{name}"), |namespace| format!("{folder}/{namespace}/{name}"));
        if let Some(key) = ObjectKey::parse(&path) {
            state.apply(&key, Some(&serde_json::to_vec(object).unwrap()), metadata["resourceVersion"].as_str().unwrap().parse().unwrap());
        }
    }
    let pods = lines.map(|line| {
        let (namespace, name) = line["pod"].as_str().unwrap().split_once('/').unwrap();
        (**state.pod(namespace, name).unwrap()).clone()
    });
    let pods = pods.collect();
    (profile, state, pods)
}

/// Every set of this many of some things.
fn sets<T: Clone>(of: &[T], size: usize) -> Vec<Vec<T>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let with = |at: usize| sets(&of[at + 1..], size - 1).into_iter().map(move |rest| [vec![of[at].clone()], rest].concat());
    (0..of.len()).flat_map(with).collect()
}

#[test]
fn no_smaller_set_of_the_considered_changes_suffices() {
    const MAX_CHANGE_SETS: usize = 1000;
    let (mut tried, mut searched, mut sizes) = (0, 0, [0; 8]);
    for file in MADE_UP {
        let (profile, mut state, pods) = made_up(file);
        for (number, pod) in pods.iter().enumerate() {
            let judgement = Cycle { pod, state: &state, profile: &profile, scope: None }.evaluate();
            if judgement.nodes.iter().any(NodeJudgement::fits) || matches!(judgement.whole_pod, Some(WholePod::Gated { .. })) {
                continue;
            }
            // Each pod names other nodes.
            for node in judgement.nodes.iter().skip(number % 2).step_by(2) {
                let search = RemedySearch::run(pod, &mut state, &profile, &node.name, MAX_NODE_TRIALS);
                let smallest = search.found.first().map_or(3, |(_, fixes)| fixes.len());
                sizes[search.found.first().map_or(0, |_| smallest)] += 1;
                let all = search.considered();
                searched += 1;
                let mut enough = |fixes: &[Fix]| {
                    tried += 1;
                    let trial = trial::Trial::with(pod, &mut state, &profile, fixes, &node.name);
                    trial.needs(&profile, &node.name).is_empty().then(|| trial.fixes.clone())
                };
                let found: Vec<&Vec<Fix>> = search.found.iter().map(|(_, fixes)| fixes).collect();
                for size in 1..smallest {
                    for fixes in sets(&all, size).into_iter().take(MAX_CHANGE_SETS) {
                        assert!(
                            enough(&fixes).is_none(),
                            "{file} {} on {}: {fixes:?} is enough, not {found:?}",
                            pod.full_name(),
                            node.name
                        );
                    }
                }
                // Nor does another one of that size ask for less.
                let least = search.found.first().map_or(0, |(cost, _)| *cost);
                for fixes in sets(&all, smallest).into_iter().take(if least > 0 { MAX_CHANGE_SETS } else { 0 }) {
                    let cheaper = enough(&fixes).filter(|fixes| search.cost(fixes) < least);
                    assert!(cheaper.is_none(), "{file} {} on {}: {cheaper:?} asks for less than {found:?}", pod.full_name(), node.name);
                }
                for (_, fixes) in &search.found {
                    assert!(enough(fixes).is_some(), "{file} {} on {}: {found:?} is not enough", pod.full_name(), node.name);
                }
            }
        }
    }
    assert!(tried > 5_000 && sizes[1..4].iter().all(|count| *count > 10), "{tried} sets on {searched} nodes, {sizes:?} by size");
}

#[test]
fn labels_required_by_a_policy() {
    let release = Release(14);
    let profile = |label: &str, presence: bool| {
        let policy = json!({"kind": "Policy", "apiVersion": "v1", "predicates": [
            {"name": "CheckNodeLabelPresence", "argument": {"labelsPresence": {"labels": [label], "presence": presence}}},
            {"name": "CheckServiceAffinity", "argument": {"serviceAffinity": {"labels": ["rack"]}}},
        ]});
        SchedulerConfiguration::read(&policy, release, &Gates::new(release)).unwrap().profiles.remove(0)
    };
    let sibling = json!({"metadata": {"labels": {"app": "a"}}, "spec": {"nodeName": "n1", "containers": [{"name": "c"}]}});
    let objects = [
        (WatchedKind::Service, "a", json!({"metadata": {}, "spec": {"selector": {"app": "a"}}})),
        (WatchedKind::Node, "n1", node(json!({}), json!({"rack": "r1", "retiring": "soon"}))),
        (WatchedKind::Node, "n2", node(json!({}), json!({"in-use": "yes", "retiring": "soon"}))),
        (WatchedKind::Node, "n3", node(json!({}), json!({"in-use": "yes", "rack": "r2", "retiring": "soon"}))),
        (WatchedKind::Pod, "other", sibling),
    ];
    check_with(&profile("in-use", true), asks("1"), &objects, &[("n1", &[add_label("in-use", "")]), ("n2", &[add_label("rack", "r1")])]);
    let remove = || Fix::RemoveLabel { key: "retiring".into() };
    let wanted: [(&str, &[Fix]); 2] = [("n1", &[remove()]), ("n2", &[remove(), add_label("rack", "r1")])];
    check_with(&profile("retiring", false), asks("1"), &objects, &wanted);
}
