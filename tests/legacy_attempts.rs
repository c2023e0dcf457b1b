//! What the schedulers of 1.9 to 1.17 say of small clusters, release by release: messages, errors, order, candidates.

use ketcd::cluster::{ClusterState, ObjectKey, PodFields, PodInfo, Watched};
use ketcd::scheduler::{Cycle, Gates, Judgement, Profile, Release, Rules, Verdict, WholePod};
use serde_json::{Value, json};

/// A cluster of objects as the API server returns them.
struct Cluster {
    objects: Vec<Value>,
    gates: &'static str,
}

impl Cluster {
    fn new(objects: impl IntoIterator<Item = Value>) -> Self {
        Self { objects: objects.into_iter().collect(), gates: "" }
    }

    fn judge(&self, release: u16, pod: &Value) -> Judgement {
        let release = Release(release);
        let gates = Gates::new(release).parse(self.gates).unwrap();
        let profile = Profile::new(release, gates.clone());
        let mut state = ClusterState::new(Rules::new(release, &gates).requests);
        for (number, object) in self.objects.iter().enumerate() {
            let kind = match object["kind"].as_str().unwrap() {
                "Pod" => Watched::Pod,
                "Node" => Watched::Node,
                "PersistentVolumeClaim" => Watched::PersistentVolumeClaim,
                "PersistentVolume" => Watched::PersistentVolume,
                "StorageClass" => Watched::StorageClass,
                other => panic!("{other}"),
            };
            let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().into();
            let key = ObjectKey { kind, namespace: text("namespace"), name: text("name") };
            state.apply(&key, Some(object.to_string().as_bytes()), number as i64 + 1);
        }
        let pod = PodFields::of(pod.clone()).unwrap();
        let pod = PodInfo::compile(&pod, 0, state.interner(), &mut Vec::new());
        Cycle { pod: &pod, state: &state, profile: &profile, scope: None }.judge()
    }

    fn message(&self, release: u16, pod: &Value) -> String {
        self.judge(release, pod).message.unwrap_or_default()
    }
}

fn node(name: &str) -> Value {
    json!({"kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
           "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}})
}

fn with(mut object: Value, path: &str, value: Value) -> Value {
    match object.pointer_mut(path) {
        Some(place) => *place = value,
        None => {
            let (parent, field) = path.rsplit_once('/').unwrap();
            object.pointer_mut(parent).unwrap()[field.replace("~1", "/")] = value;
        }
    }
    object
}

fn pod(spec: Value) -> Value {
    let mut pod = json!({"kind": "Pod", "metadata": {"name": "new", "namespace": "default", "labels": {"app": "web"}}, "spec": spec});
    if pod["spec"]["containers"].is_null() {
        pod["spec"]["containers"] = json!([]);
    }
    pod
}

fn asking(cpu: &str) -> Value {
    pod(json!({"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}))
}

fn claiming(claim: &str) -> Value {
    pod(json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]}))
}

/// A pod on a node, with labels and anti-affinity terms of its own.
fn placed(name: &str, node: &str, labels: Value, affinity: Value) -> Value {
    json!({"kind": "Pod", "metadata": {"name": name, "namespace": "default", "labels": labels},
           "spec": {"nodeName": node, "containers": [], "affinity": affinity}})
}

fn term(key: &str, app: &str) -> Value {
    json!({"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}})
}

fn fitting(judgement: &Judgement) -> Vec<&str> {
    judgement.nodes.iter().filter(|node| node.fits()).map(|node| &*node.name).collect()
}

fn three() -> Vec<Value> {
    ["n1", "n2", "n3"].map(node).into()
}

#[test]
fn a_request_no_node_can_hold() {
    for release in 9..=17 {
        assert_eq!(Cluster::new(three()).message(release, &asking("100")), "0/3 nodes are available: 3 Insufficient cpu.", "1.{release}");
    }
    assert_eq!(Cluster::new([]).message(16, &asking("1")), "no nodes available to schedule pods");
}

/// 1.9 runs all predicates and counts every reason; 1.10 to 1.16 stop at the first predicate, whose reasons all count; 1.17 gives one.
#[test]
fn how_far_a_node_is_looked_at() {
    let tainted = with(node("n1"), "/spec", json!({"taints": [{"key": "a", "effect": "NoSchedule"}]}));
    let cluster = Cluster::new([tainted]);
    let pod = pod(
        json!({"nodeSelector": {"disk": "ssd"}, "containers": [{"name": "c", "resources": {"requests": {"cpu": "9", "memory": "9Gi"}}}]}),
    );
    let start = "0/1 nodes are available:";
    assert_eq!(
        cluster.message(9, &pod),
        format!("{start} 1 Insufficient cpu, 1 Insufficient memory, 1 MatchNodeSelector, 1 PodToleratesNodeTaints.")
    );
    let general = format!("{start} 1 Insufficient cpu, 1 Insufficient memory, 1 node(s) didn't match node selector.");
    for release in 10..=16 {
        assert_eq!(cluster.message(release, &pod), general, "1.{release}");
    }
    assert_eq!(cluster.message(17, &pod), format!("{start} 1 Insufficient cpu."));
}

/// The text is that of the release; up to 1.16 each node that gets so far adds one, in 1.17 the first ends the attempt.
#[test]
fn a_claim_that_nobody_binds() {
    let claim = json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "default"}, "spec": {}});
    let mut objects = three();
    objects.push(claim.clone());
    let cluster = Cluster::new(objects.clone());
    let message = |release| cluster.message(release, &claiming("data"));
    assert_eq!(message(9), "", "1.9 does not look at claims");
    assert_eq!(message(10), "pod has unbound PersistentVolumeClaims (repeated 3 times)");
    for release in 11..=16 {
        assert_eq!(message(release), "pod has unbound immediate PersistentVolumeClaims (repeated 3 times)", "1.{release}");
    }
    let text = "error while running \"VolumeBinding\" filter plugin for pod \"new\": pod has unbound immediate PersistentVolumeClaims";
    assert_eq!(message(17), text);
    // A node that an earlier predicate refuses does not get so far.
    objects[0]["spec"] = json!({"taints": [{"key": "a", "effect": "NoSchedule"}]});
    assert_eq!(Cluster::new(objects).message(13, &claiming("data")), "pod has unbound immediate PersistentVolumeClaims (repeated 2 times)");
}

#[test]
fn a_claim_that_is_missing_or_going_ends_the_attempt_from_1_10_on() {
    let going = json!({"kind": "PersistentVolumeClaim", "spec": {"volumeName": "pv"},
        "metadata": {"name": "data", "namespace": "default", "deletionTimestamp": "2026-01-01T00:00:00Z",
                     "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}});
    let volume = json!({"kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": {}});
    let mut objects = three();
    objects.extend([going, volume]);
    let cluster = Cluster::new(objects);
    for release in 10..=17 {
        assert_eq!(cluster.message(release, &claiming("none")), "persistentvolumeclaim \"none\" not found", "1.{release}");
        assert_eq!(cluster.message(release, &claiming("data")), "persistentvolumeclaim \"data\" is being deleted", "1.{release}");
    }
    assert_eq!(fitting(&cluster.judge(9, &claiming("none"))).len(), 3);
    assert!(matches!(cluster.judge(13, &claiming("none")).whole_pod, Some(WholePod::Error(_))));
}

/// An unbound claim on a node with a zone label: up to 1.14 in one word, from 1.15 on in another.
#[test]
fn zones_and_unbound_claims() {
    let zoned = with(node("n1"), "/metadata/labels/failure-domain.beta.kubernetes.io~1zone", json!("a"));
    let claim = json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "default"}, "spec": {}});
    let cluster = Cluster::new([zoned, node("n2"), claim]);
    assert_eq!(cluster.message(9, &claiming("data")), "PersistentVolumeClaim is not bound: \"data\"");
    let zone = |release| {
        let judgement = cluster.judge(release, &claiming("data"));
        let at = judgement.filters.iter().position(|name| matches!(*name, "NoVolumeZoneConflict" | "VolumeZone")).unwrap();
        (judgement.nodes[0].verdicts[at].clone(), judgement.nodes[1].verdicts[at].clone())
    };
    for (release, verb) in [(10, "is not bound"), (14, "is not bound"), (15, "was not found"), (17, "was not found")] {
        let want = Verdict::Error(format!("PersistentVolumeClaim {verb}: \"data\""));
        assert_eq!(zone(release), (want, Verdict::Pass), "1.{release}");
    }
}

/// A volume that names its claim, before and after both sides agreed.
#[test]
fn claims_that_name_their_volume() {
    let class = json!({"kind": "StorageClass", "metadata": {"name": "local"}, "provisioner": "example.com/p", "volumeBindingMode": "WaitForFirstConsumer"});
    let claim = |extra: Value| {
        let mut claim = json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "default", "uid": "u"},
                               "spec": {"storageClassName": "local", "resources": {"requests": {"storage": "1Gi"}}}});
        for (field, value) in extra.as_object().unwrap() {
            claim["metadata"][field] = value.clone();
        }
        claim
    };
    let free = json!({"kind": "PersistentVolume", "metadata": {"name": "pv"}, "status": {"phase": "Pending"},
        "spec": {"storageClassName": "local", "capacity": {"storage": "1Gi"}, "accessModes": []}});
    // Up to 1.12 the phase of a volume does not matter; from 1.12 on the class may provision one.
    let cluster = Cluster::new([node("n1"), class.clone(), claim(json!({})), free.clone()]);
    for release in 10..=17 {
        assert_eq!(fitting(&cluster.judge(release, &claiming("data"))), ["n1"], "1.{release}");
    }
    let static_only = with(class.clone(), "/provisioner", json!("kubernetes.io/no-provisioner"));
    let cluster = Cluster::new([node("n1"), static_only, claim(json!({})), free]);
    let none = "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind.";
    for release in 10..=17 {
        let want = if release <= 12 { "" } else { none };
        assert_eq!(cluster.message(release, &claiming("data")), want, "1.{release}");
    }
    // Without any volume, 1.10 and 1.11 do not think of provisioning.
    let cluster = Cluster::new([node("n1"), class.clone(), claim(json!({}))]);
    for release in 10..=17 {
        let want = if release <= 11 { none } else { "" };
        assert_eq!(cluster.message(release, &claiming("data")), want, "1.{release}");
    }
    // Once a node was selected, 1.12 and 1.13 wait for the claim to be bound.
    let selected = claim(json!({"annotations": {"volume.kubernetes.io/selected-node": "n1"}}));
    let cluster = Cluster::new([node("n1"), class, selected]);
    for (release, want) in
        [(12, "pod has unbound immediate PersistentVolumeClaims"), (13, "pod has unbound immediate PersistentVolumeClaims"), (14, "")]
    {
        assert_eq!(cluster.message(release, &claiming("data")), want, "1.{release}");
    }
}

#[test]
fn a_term_with_fields_only_matches_nothing_before_1_11() {
    let cluster = Cluster::new(three());
    let daemon = pod(json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}]}}}}));
    for release in 9..=17 {
        let want: &[&str] = if release <= 10 { &[] } else { &["n2"] };
        assert_eq!(fitting(&cluster.judge(release, &daemon)), want, "1.{release}");
    }
}

/// A cordoned node: by its conditions up to 1.11, by CheckNodeUnschedulable from 1.12 on, which a toleration passes.
#[test]
fn cordoned_nodes() {
    let cordoned = with(node("n1"), "/spec", json!({"unschedulable": true}));
    let cluster = Cluster::new([cordoned]);
    let tolerant = pod(json!({"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}]}));
    for release in 9..=17 {
        let text = if release == 9 { "NodeUnschedulable" } else { "node(s) were unschedulable" };
        assert_eq!(cluster.message(release, &asking("1")), format!("0/1 nodes are available: 1 {text}."), "1.{release}");
        assert_eq!(fitting(&cluster.judge(release, &tolerant)).len(), usize::from(release >= 12), "1.{release}");
    }
}

#[test]
fn conditions_keep_pods_away_up_to_1_11_unless_a_gate_says_so() {
    let conditions = json!([{"type": "Ready", "status": "Unknown"}, {"type": "NetworkUnavailable", "status": "True"}, {"type": "OutOfDisk", "status": "Unknown"}]);
    let objects = [with(node("n1"), "/status/conditions", conditions)];
    let text = |parts: &[&str]| format!("0/1 nodes are available: {}.", parts.join(", "));
    let cluster = Cluster::new(objects.clone());
    assert_eq!(cluster.message(9, &asking("1")), text(&["1 NodeNetworkUnavailable", "1 NodeNotReady", "1 NodeOutOfDisk"]));
    let long = ["1 node(s) had unavailable network", "1 node(s) were not ready", "1 node(s) were out of disk space"];
    assert_eq!(cluster.message(11, &asking("1")), text(&long));
    assert_eq!(fitting(&cluster.judge(12, &asking("1"))), ["n1"]);
    let cluster = Cluster { gates: "TaintNodesByCondition=false", ..Cluster::new(objects) };
    assert_eq!(cluster.message(13, &asking("1")), text(&long));
    assert_eq!(cluster.message(14, &asking("1")), text(&long[..2]), "1.14 no longer knows OutOfDisk");
    assert_eq!(cluster.message(16, &asking("1")), text(&long[..2]));
}

/// Only pods without requests and limits mind memory pressure; from 1.16 on init containers count.
#[test]
fn memory_pressure_and_best_effort() {
    let pressed = with(node("n1"), "/status/conditions", json!([{"type": "MemoryPressure", "status": "True"}]));
    let init = pod(json!({"initContainers": [{"name": "i", "resources": {"limits": {"cpu": "1"}}}]}));
    let cluster = Cluster { gates: "TaintNodesByCondition=false", ..Cluster::new([pressed]) };
    for release in 9..=16 {
        assert_eq!(fitting(&cluster.judge(release, &asking("1"))), ["n1"], "1.{release}");
        assert!(fitting(&cluster.judge(release, &pod(json!({})))).is_empty(), "1.{release}");
        assert_eq!(fitting(&cluster.judge(release, &init)).len(), usize::from(release >= 16), "1.{release}");
    }
}

/// Init containers of pods on the node count from 1.16 on.
#[test]
fn what_pods_on_a_node_take() {
    let existing = json!({"kind": "Pod", "metadata": {"name": "old", "namespace": "default"}, "spec": {"nodeName": "n1",
        "containers": [{"name": "c"}], "initContainers": [{"name": "i", "resources": {"requests": {"cpu": "4"}}}]}});
    let cluster = Cluster::new([node("n1"), existing]);
    for release in 9..=17 {
        assert_eq!(fitting(&cluster.judge(release, &asking("1"))).len(), usize::from(release <= 15), "1.{release}");
    }
}

/// An existing pod's two anti-affinity terms: up to 1.11 the term that matches is checked with the key of the last one.
#[test]
fn the_last_terms_key_up_to_1_11() {
    let zoned = |name: &str| with(node(name), "/metadata/labels/zone", json!("a"));
    let anti = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term("zone", "web"), term("kubernetes.io/hostname", "other")]}});
    let cluster = Cluster::new([zoned("n1"), zoned("n2"), placed("old", "n1", json!({}), anti)]);
    for release in 9..=17 {
        let want: &[&str] = if release <= 11 { &["n2"] } else { &[] };
        assert_eq!(fitting(&cluster.judge(release, &pod(json!({})))), want, "1.{release}");
    }
}

/// Two affinity terms met by different pods: each for itself up to 1.10, never by one pod from 1.11 on.
#[test]
fn affinity_terms_alone_or_together() {
    let affinity = |terms: Value| pod(json!({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}));
    let host = "kubernetes.io/hostname";
    let cluster =
        Cluster::new([node("n1"), placed("a", "n1", json!({"app": "a"}), json!({})), placed("b", "n1", json!({"app": "b"}), json!({}))]);
    let both = affinity(json!([term(host, "a"), term(host, "b")]));
    for release in 9..=17 {
        assert_eq!(fitting(&cluster.judge(release, &both)).len(), usize::from(release <= 10), "1.{release}");
    }
    // One pod for one key, another for the other: 1.11 wants one node's pods to share both, later releases do not.
    let labelled = |name: &str, zone: &str, rack: &str| {
        let node = with(node(name), "/metadata/labels/zone", json!(zone));
        with(node, "/metadata/labels/rack", json!(rack))
    };
    let cluster = Cluster::new([
        labelled("n1", "z1", "r1"),
        labelled("n2", "z1", "r2"),
        labelled("n3", "z2", "r1"),
        placed("a", "n2", json!({"app": "a"}), json!({})),
        placed("b", "n3", json!({"app": "a"}), json!({})),
    ]);
    let keys = affinity(json!([term("zone", "a"), term("rack", "a")]));
    for release in 9..=17 {
        let want: &[&str] = if release == 11 { &["n2", "n3"] } else { &["n1", "n2", "n3"] };
        assert_eq!(fitting(&cluster.judge(release, &keys)), want, "1.{release}");
    }
}

/// The first pod of a series passes everywhere, also where the key is missing; a sibling on a node without the key counts up to 1.11 only.
#[test]
fn the_first_pod_of_a_series() {
    let own = pod(json!({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term("zone", "web")]}}}));
    let zoned = with(node("n1"), "/metadata/labels/zone", json!("a"));
    for release in 9..=17 {
        let cluster = Cluster::new([zoned.clone(), node("n2")]);
        assert_eq!(fitting(&cluster.judge(release, &own)), ["n1", "n2"], "1.{release}");
        let sibling = placed("old", "n2", json!({"app": "web"}), json!({}));
        let cluster = Cluster::new([zoned.clone(), node("n2"), sibling]);
        let want: &[&str] = if release <= 11 { &[] } else { &["n1", "n2"] };
        assert_eq!(fitting(&cluster.judge(release, &own)), want, "1.{release}");
    }
}

/// Two anti-affinity terms: 1.11 refuses only where one pod matches both.
#[test]
fn anti_affinity_terms_of_1_11_are_held_together() {
    let host = "kubernetes.io/hostname";
    let anti = pod(
        json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term(host, "a"), term(host, "b")]}}}),
    );
    let cluster = Cluster::new([node("n1"), placed("a", "n1", json!({"app": "a"}), json!({}))]);
    for release in 9..=17 {
        assert_eq!(fitting(&cluster.judge(release, &anti)).len(), usize::from(release == 11), "1.{release}");
    }
}

/// Disks: a claim without its volume counts for every kind up to 1.15.
#[test]
fn disks_behind_claims_without_volumes() {
    let full = with(node("n1"), "/status/allocatable/attachable-volumes-gce-pd", json!("0"));
    let claim = json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "default"}, "spec": {}});
    let cluster = Cluster::new([full, claim]);
    let refused = |release| {
        let judgement = cluster.judge(release, &claiming("data"));
        let at = judgement.filters.iter().position(|name| matches!(*name, "MaxGCEPDVolumeCount" | "GCEPDLimits")).unwrap();
        judgement.nodes[0].verdicts[at].clone()
    };
    for release in 9..=17 {
        let want = match release {
            // Up to 1.11 limits are not read from the node.
            12..=15 => Verdict::unschedulable("node(s) exceed max volume count"),
            _ => Verdict::Pass,
        };
        assert_eq!(refused(release), want, "1.{release}");
    }
}

/// Pods nominated to a node count from the release on that knows priorities.
#[test]
fn nominated_pods_count_from_1_11_on() {
    let nominated = json!({"kind": "Pod", "metadata": {"name": "first", "namespace": "default"}, "status": {"nominatedNodeName": "n1"},
        "spec": {"priority": 5, "containers": [{"name": "c", "resources": {"requests": {"cpu": "4"}}}]}});
    let cluster = Cluster::new([node("n1"), nominated]);
    for release in 9..=17 {
        assert_eq!(fitting(&cluster.judge(release, &asking("1"))).len(), usize::from(release <= 10), "1.{release}");
    }
}

/// Whether taking lower pods away is tried on a node depends on what was wrong with it.
#[test]
fn preemption_looks_at_nodes_it_can_help() {
    let labels = json!({"app": "other"});
    let lower = placed("old", "n1", labels, json!({}));
    let lower = with(lower, "/spec/containers", json!([{"name": "c", "resources": {"requests": {"cpu": "4"}}}]));
    let wanting = |spec: Value| with(pod(spec), "/spec/priority", json!(10));
    let cpu = json!([{"name": "c", "resources": {"requests": {"cpu": "1"}}}]);
    let cluster = Cluster::new([node("n1"), lower]);
    let helps = |release, pod: &Value| cluster.judge(release, pod).preemption_helps;
    for release in 11..=17 {
        assert!(helps(release, &wanting(json!({"containers": cpu}))), "1.{release}");
        assert!(!helps(release, &wanting(json!({"containers": cpu, "nodeSelector": {"disk": "ssd"}}))), "1.{release}");
    }
    assert!(!helps(10, &wanting(json!({"containers": cpu}))), "priorities are off by default up to 1.10");
}

#[test]
fn pods_are_spread_over_those_of_every_namespace_up_to_1_17() {
    let running = json!({"kind": "Pod", "metadata": {"name": "other", "namespace": "elsewhere", "labels": {"app": "a"}},
                         "spec": {"nodeName": "n1", "containers": [{"name": "c"}]}});
    let constraint = json!({"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
                            "labelSelector": {"matchLabels": {"app": "a"}}});
    let pod = json!({"kind": "Pod", "metadata": {"name": "p", "namespace": "default", "labels": {"app": "a"}},
                     "spec": {"containers": [{"name": "c"}], "topologySpreadConstraints": [constraint]}});
    let cluster = Cluster { gates: "EvenPodsSpread=true", ..Cluster::new([node("n1"), node("n2"), running]) };
    let points = [(16, "EvenPodsSpreadPriority", [0, 10]), (17, "PodTopologySpread", [0, 100]), (18, "PodTopologySpread", [100, 100])];
    for (release, plugin, expected) in points {
        let scores = cluster.judge(release, &pod).scores.unwrap();
        let scored = scores.plugins.iter().find(|scored| scored.plugin == plugin).unwrap();
        assert_eq!(scored.normalized, expected, "1.{release}");
    }
}
