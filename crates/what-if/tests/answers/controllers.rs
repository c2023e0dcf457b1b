//! What-ifs on small clusters, one for each thing that controllers, admission and the queue do.

use ketcd_cluster::replay::{ConfigurationFile, SchedulerOptions};
use ketcd_cluster::{Cluster, Options};
use ketcd_what_if::{Happening, NodeChoice, Unmodelled, WhatIf, WhatIfAction, WhatIfQuestion, what_if};
use serde_json::{Value, json};

use super::fixture::cluster_of;

/// A node of release 1.36 with this many CPUs.
pub(super) fn node(name: &str, zone: &str, cpu: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}},
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "20"}, "capacity": {"cpu": cpu, "memory": "8Gi", "pods": "20"},
            "conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": {"kubeletVersion": "v1.36.3"}}})
}

pub(super) fn namespace() -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})
}

/// A template of pods that request so much CPU.
fn template(app: &str, cpu: &str) -> Value {
    json!({"metadata": {"labels": {"app": app}}, "spec": {"terminationGracePeriodSeconds": 1,
        "containers": [{"name": "c", "image": "a:1", "resources": {"requests": {"cpu": cpu}}}]}})
}

/// A workload, and nothing else of it yet.
pub(super) fn workload(api: &str, kind: &str, name: &str, spec: &Value) -> Value {
    let mut object = json!({"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": "default", "uid": format!("uid-{name}")},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": template(name, "1")}});
    for (field, value) in spec.as_object().unwrap() {
        object["spec"][field] = value.clone();
    }
    object
}

/// A pod of an owner that runs on a node.
pub(super) fn running(name: &str, node: &str, cpu: &str, owner: Option<&Value>) -> Value {
    let app = owner.map_or(name, |owner| owner["metadata"]["name"].as_str().unwrap());
    let mut pod = template(app, cpu);
    pod["apiVersion"] = json!("v1");
    pod["kind"] = json!("Pod");
    pod["metadata"]["name"] = json!(name);
    pod["metadata"]["namespace"] = json!("default");
    pod["metadata"]["uid"] = json!(format!("uid-{name}"));
    pod["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    pod["spec"]["nodeName"] = json!(node);
    pod["status"] = json!({"phase": "Running",
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:02Z"}]});
    if let Some(owner) = owner {
        pod["metadata"]["ownerReferences"] = json!([{"apiVersion": owner["apiVersion"], "kind": owner["kind"],
            "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "controller": true}]);
    }
    pod
}

pub(super) async fn cluster(objects: &[Value]) -> Cluster {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    cluster_of(list.to_string(), Options { namespace: Some("default".to_owned()), ..Options::default() }).await
}

async fn answer(objects: &[Value], actions: Vec<WhatIfAction>) -> WhatIf {
    what_if(&cluster(objects).await, &WhatIfQuestion { actions, ..WhatIfQuestion::default() }).await.unwrap()
}

/// What happens, as `what pod [node]`, with the names of new pods as those of their workloads.
pub(super) fn story(answer: &WhatIf) -> Vec<String> {
    let line = |event: &ketcd_what_if::SimulatedEvent| {
        let is_generated = event.pod.is_new && event.pod.name.contains("-new");
        let name = if is_generated { event.pod.owner.as_ref().unwrap_or(&event.pod.name) } else { &event.pod.name };
        let node = event.node.as_ref().map_or_else(String::new, |node| format!(" {node}"));
        format!("{:?} {name}{node}", event.what)
    };
    answer.events.iter().map(line).collect()
}

fn messages(answer: &WhatIf, what: Happening) -> Vec<&str> {
    answer.events.iter().filter(|event| event.what == what).filter_map(|event| event.message.as_deref()).collect()
}

fn scale(address: &str, replicas: i64) -> Vec<WhatIfAction> {
    vec![WhatIfAction::Scale { address: address.to_owned(), replicas }]
}

fn local_volume(name: &str, node: &str) -> Value {
    let on_node = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": [node]});
    json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": {"capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"], "storageClassName": "local", "local": {"path": "/d"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [on_node]}]}}}, "status": {"phase": "Available"}})
}

#[tokio::test]
async fn a_stateful_sets_pods_come_one_after_the_other_each_with_its_volume() {
    let claim = json!({"metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "local", "resources": {"requests": {"storage": "1Gi"}}}});
    let set = workload("apps/v1", "StatefulSet", "db", &json!({"replicas": 0, "serviceName": "db", "volumeClaimTemplates": [claim]}));
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "local"},
        "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"});
    let volumes = [local_volume("v1", "n1"), local_volume("v2", "n2")];
    let objects = [node("n1", "a", "4"), node("n2", "b", "4"), namespace(), set, class, volumes[0].clone(), volumes[1].clone()];
    let answer = answer(&objects, scale("sts/default/db", 4)).await;
    let story = story(&answer);
    assert_eq!(story.len(), 6, "{story:?}");
    assert_eq!((&*story[0], &*story[2], &*story[4], &*story[5]), ("Created db-0", "Created db-1", "Created db-2", "Unschedulable db-2"));
    let mut nodes = [&*story[1], &*story[3]].map(|line| line.rsplit(' ').next().unwrap());
    nodes.sort_unstable();
    assert_eq!(nodes, ["n1", "n2"], "{story:?}");
    assert!(messages(&answer, Happening::Unschedulable)[0].contains("2 node(s) didn't find available persistent volumes to bind"));
}

#[tokio::test]
async fn a_stateful_set_loses_its_highest_pods_and_is_restarted_from_the_highest_on() {
    let mut set = workload("apps/v1", "StatefulSet", "db", &json!({"replicas": 3, "serviceName": "db"}));
    set["status"] = json!({"updateRevision": "db-1"});
    let mut objects = vec![node("n1", "a", "8"), namespace(), set.clone()];
    for name in ["db-0", "db-1", "db-2"] {
        let mut pod = running(name, "n1", "1", Some(&set));
        pod["metadata"]["labels"]["controller-revision-hash"] = json!("db-1");
        objects.push(pod);
    }
    let scaled = answer(&objects, scale("sts/default/db", 1)).await;
    assert_eq!(story(&scaled), ["Deleted db-2 n1", "Deleted db-1 n1"]);
    let restarted = answer(&objects, vec![WhatIfAction::Restart("sts/default/db".to_owned())]).await;
    let deleted: Vec<String> = story(&restarted).into_iter().filter(|line| line.starts_with("Deleted")).collect();
    assert_eq!(deleted, ["Deleted db-2 n1", "Deleted db-1 n1", "Deleted db-0 n1"]);
    assert_eq!(restarted.count(Happening::Scheduled), 3);
}

#[tokio::test]
async fn a_job_has_no_more_pods_at_once_than_its_parallelism_and_waits_after_a_failure() {
    let job = workload("batch/v1", "Job", "batch", &json!({"parallelism": 3, "completions": 9, "completionMode": "Indexed"}));
    let objects = [node("n1", "a", "8"), namespace()];
    let made = answer(&objects, vec![WhatIfAction::Apply(vec![job.clone()])]).await;
    assert_eq!((made.count(Happening::Created), made.count(Happening::Scheduled)), (3, 3));

    let pods: Vec<Value> = ["p1", "p2"].iter().map(|name| running(name, "n1", "1", Some(&job))).collect();
    let mut two = job.clone();
    two["spec"]["parallelism"] = json!(2);
    two["spec"]["completionMode"] = json!("NonIndexed");
    let objects = [node("n1", "a", "8"), namespace(), two, pods[0].clone(), pods[1].clone()];
    let fewer = answer(&objects, scale("job/default/batch", 1)).await;
    assert_eq!((fewer.count(Happening::Deleted), fewer.count(Happening::Created)), (1, 0));
    assert!(fewer.caveats.contains(&Unmodelled::DeletedByChance { workload: "Job/default/batch".to_owned() }), "{:?}", fewer.caveats);

    // A pod that is deleted has failed. The first is replaced after ten seconds, the second after twenty.
    let delete = |pod: &str| WhatIfAction::Delete(format!("pod/default/{pod}"));
    let replaced = answer(&objects, vec![delete("p1"), delete("p2")]).await;
    let times = |what: Happening| replaced.events.iter().filter(|event| event.what == what).map(|event| event.after).collect::<Vec<_>>();
    let (deleted, created) = (times(Happening::Deleted), times(Happening::Created));
    assert_eq!(created, [deleted[0] + 10_000, deleted[1] + 20_000], "{:?}", story(&replaced));
}

#[tokio::test]
async fn a_daemon_set_follows_its_nodes_and_is_restarted_node_by_node() {
    let mut set = workload("apps/v1", "DaemonSet", "agent", &json!({}));
    set["spec"]["template"]["spec"]["nodeSelector"] = json!({"disk": "ssd"});
    let ssd = |name: &str| {
        let mut node = node(name, "a", "4");
        node["metadata"]["labels"]["disk"] = json!("ssd");
        node
    };
    let pods: Vec<Value> = ["n1", "n2"].iter().map(|node| running(&format!("agent-{node}"), node, "1", Some(&set))).collect();
    let objects = [ssd("n1"), ssd("n2"), namespace(), set, pods[0].clone(), pods[1].clone()];
    let added = answer(&objects, vec![WhatIfAction::AddLike { count: 1, node: "n1".to_owned() }]).await;
    assert_eq!(story(&added), ["Created agent", "Scheduled agent n1-new1"]);
    let unlabelled = answer(&objects, vec![WhatIfAction::label("n2:disk-").unwrap()]).await;
    assert_eq!(story(&unlabelled), ["Deleted agent-n2 n2"]);
    let tainted = |effect: &str| vec![WhatIfAction::taint(&format!("n2=dedicated=db:{effect}")).unwrap()];
    assert_eq!(story(&answer(&objects, tainted("NoExecute")).await), ["Evicted agent-n2 n2"]);
    let only_new_ones = [tainted("NoSchedule"), vec![WhatIfAction::Cordon("n2".to_owned())]];
    for actions in only_new_ones {
        assert_eq!(story(&answer(&objects, actions).await), [""; 0], "a daemon that runs stays");
    }
    let restarted = answer(&objects, vec![WhatIfAction::Restart("ds/default/agent".to_owned())]).await;
    let expected =
        ["Deleted agent-n1 n1", "Created agent", "Scheduled agent n1", "Deleted agent-n2 n2", "Created agent", "Scheduled agent n2"];
    assert_eq!(story(&restarted), expected);
}

/// A Deployment with its ReplicaSet and as many pods, all on one node.
pub(super) fn deployment(name: &str, replicas: usize, node: &str, spec: &Value) -> Vec<Value> {
    let mut deployment = workload("apps/v1", "Deployment", name, spec);
    deployment["spec"]["replicas"] = json!(replicas);
    let mut set = workload("apps/v1", "ReplicaSet", name, &json!({"replicas": replicas, "template": deployment["spec"]["template"]}));
    set["metadata"]["uid"] = json!(format!("uid-set-{name}"));
    set["metadata"]["annotations"] = json!({"deployment.kubernetes.io/revision": "1"});
    set["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": format!("uid-{name}"), "controller": true}]);
    let pods: Vec<Value> = (0..replicas).map(|at| running(&format!("{name}-{at}"), node, "1", Some(&set))).collect();
    [deployment, set].into_iter().chain(pods).collect()
}

#[tokio::test]
async fn a_rollout_keeps_to_its_surge_and_to_what_may_be_unavailable() {
    for (surge, unavailable) in [(1, 0), (0, 1), (2, 1)] {
        let rolling = json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}});
        let mut objects = deployment("web", 4, "n1", &rolling);
        objects.extend([node("n1", "a", "16"), namespace()]);
        let answer = answer(&objects, vec![WhatIfAction::Restart("deploy/default/web".to_owned())]).await;
        assert_eq!((answer.count(Happening::Deleted), answer.count(Happening::Scheduled)), (4, 4), "{:?}", story(&answer));
        let (mut there, mut most, mut least) = (4_i64, 4, 4);
        for event in &answer.events {
            match event.what {
                Happening::Created => there += 1,
                Happening::Deleted => there -= 1,
                _ => {}
            }
            (most, least) = (most.max(there), least.min(there));
        }
        assert!(most <= 4 + surge && least >= 4 - unavailable, "surge {surge}, unavailable {unavailable}: {:?}", story(&answer));
    }
}

#[tokio::test]
async fn a_rollout_that_surges_into_a_full_cluster_stops() {
    let rolling = json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}});
    let mut objects = deployment("web", 4, "n1", &rolling);
    objects.extend([node("n1", "a", "4"), namespace()]);
    let answer = answer(&objects, vec![WhatIfAction::Restart("deploy/default/web".to_owned())]).await;
    assert_eq!(story(&answer), ["Created web", "Unschedulable web"]);
    assert!(!answer.finds_places());
}

#[tokio::test]
async fn a_quota_refuses_what_a_workload_wants_beyond_it() {
    let mut objects = deployment("web", 1, "n1", &json!({}));
    objects.extend([node("n1", "a", "16"), namespace()]);
    objects.push(json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default"},
        "spec": {"hard": {"requests.cpu": "3500m"}}}));
    let answer = answer(&objects, scale("deploy/default/web", 6)).await;
    assert_eq!(answer.count(Happening::Scheduled), 2);
    let [message] = messages(&answer, Happening::Refused)[..] else { panic!("{:?}", story(&answer)) };
    assert!(
        message.ends_with("exceeded quota: q, requested: requests.cpu=1, used: requests.cpu=3, limited: requests.cpu=3500m"),
        "{message}"
    );
}

#[tokio::test]
async fn a_limit_range_gives_requests_and_sets_bounds() {
    let mut objects = deployment("web", 0, "n1", &json!({}));
    for object in &mut objects {
        object["spec"]["template"]["spec"]["containers"][0]["resources"] = json!({});
    }
    objects.extend([node("n1", "a", "4"), namespace()]);
    let range = |limit: Value| {
        json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l", "namespace": "default"},
        "spec": {"limits": [limit]}})
    };
    let given = [&objects[..], &[range(json!({"type": "Container", "defaultRequest": {"cpu": "1500m"}}))]].concat();
    let given = answer(&given, scale("deploy/default/web", 3)).await;
    assert_eq!((given.count(Happening::Scheduled), given.count(Happening::Unschedulable)), (2, 1));
    assert!(messages(&given, Happening::Unschedulable)[0].contains("1 Insufficient cpu"));
    let bounded = [&objects[..], &[range(json!({"type": "Container", "default": {"cpu": "3"}, "max": {"cpu": "2"}}))]].concat();
    let bounded = answer(&bounded, scale("deploy/default/web", 1)).await;
    let [message] = messages(&bounded, Happening::Refused)[..] else { panic!("{:?}", story(&bounded)) };
    assert!(message.contains("maximum cpu usage per Container is 2, but limit is 3"), "{message}");
}

#[tokio::test]
async fn a_runtime_class_adds_overhead_and_selects_nodes() {
    let mut pod = running("p", "", "1", None);
    pod["spec"]["runtimeClassName"] = json!("vm");
    pod["spec"].as_object_mut().unwrap().remove("nodeName");
    let class = json!({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "vm"}, "handler": "vm",
        "overhead": {"podFixed": {"cpu": "2"}}, "scheduling": {"nodeSelector": {"topology.kubernetes.io/zone": "b"}}});
    let objects = [node("n1", "a", "8"), node("n2", "b", "2"), node("n3", "b", "3"), namespace(), class];
    let answer = answer(&objects, vec![WhatIfAction::Apply(vec![pod])]).await;
    assert_eq!(story(&answer), ["Created p", "Scheduled p n3"]);
}

#[tokio::test]
async fn claims_of_devices_are_made_from_templates_and_end_with_their_pods() {
    let mut objects = deployment("gpu", 0, "n1", &json!({}));
    for object in &mut objects {
        object["spec"]["template"]["spec"]["resourceClaims"] = json!([{"name": "g", "resourceClaimTemplateName": "one"}]);
        object["spec"]["template"]["spec"]["containers"][0]["resources"]["claims"] = json!([{"name": "g"}]);
    }
    let slice = |node: &str| {
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": format!("{node}-gpu")},
        "spec": {"driver": "gpu.example.com", "nodeName": node, "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "g0"}]}})
    };
    let class = json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"},
        "spec": {"selectors": [{"cel": {"expression": "device.driver == \"gpu.example.com\""}}]}});
    let request = json!({"name": "g", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}});
    let claim = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "one", "namespace": "default"},
        "spec": {"spec": {"devices": {"requests": [request]}}}});
    objects.extend([node("n1", "a", "8"), node("n2", "a", "8"), node("n3", "a", "8"), namespace(), slice("n1"), slice("n2"), class, claim]);
    let grown = answer(&objects, scale("deploy/default/gpu", 3)).await;
    assert_eq!((grown.count(Happening::Scheduled), grown.count(Happening::Unschedulable)), (2, 1), "{:?}", story(&grown));
    assert!(messages(&grown, Happening::Unschedulable)[0].contains("cannot allocate all claims"));
    let both = [scale("deploy/default/gpu", 2), scale("deploy/default/gpu", 0), scale("deploy/default/gpu", 2)].concat();
    let again = answer(&objects, both).await;
    assert_eq!((again.count(Happening::Scheduled), again.count(Happening::Unschedulable)), (4, 0), "{:?}", story(&again));
}

#[tokio::test]
async fn the_queue_takes_the_highest_priority_first_and_of_equals_the_one_that_waits_longest() {
    let pod = |name: &str, priority: i64| {
        let mut pod = running(name, "", "2", None);
        pod["spec"].as_object_mut().unwrap().remove("nodeName");
        pod["spec"]["priority"] = json!(priority);
        pod["spec"]["preemptionPolicy"] = json!("Never");
        pod["status"] = json!({"phase": "Pending"});
        pod
    };
    let created = |mut pod: Value, second: u32| {
        pod["metadata"]["creationTimestamp"] = json!(format!("2026-01-01T00:00:{second:02}Z"));
        pod
    };
    let mut full = node("n1", "a", "4");
    full["spec"] = json!({"unschedulable": true, "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]});
    let objects = [full, namespace(), created(pod("late", 5), 9), created(pod("early", 5), 1), created(pod("first", 9), 20)];
    let answer = answer(&objects, vec![WhatIfAction::Uncordon("n1".to_owned())]).await;
    let scheduled: Vec<&str> =
        answer.events.iter().filter(|event| event.what == Happening::Scheduled).map(|event| &*event.pod.name).collect();
    assert_eq!(scheduled[0], "first");
    assert_eq!(scheduled.len(), 2);
}

#[tokio::test]
async fn where_most_nodes_of_a_zone_are_silent_nothing_leaves_them_unless_all_are() {
    let mut objects = deployment("web", 1, "a1", &json!({}));
    objects.extend(["a1", "a2", "a3", "a4"].map(|name| node(name, "a", "4")));
    objects.extend([node("b1", "b", "4"), namespace()]);
    let fail = |names: &[&str]| names.iter().map(|name| WhatIfAction::Fail(NodeChoice::Named((*name).to_owned()))).collect::<Vec<_>>();
    let one = answer(&objects, fail(&["a1"])).await;
    assert_eq!((one.count(Happening::Evicted), one.count(Happening::Scheduled)), (1, 1));
    let mut labelled = objects.clone();
    for object in labelled.iter_mut().filter(|object| ["a1", "a2", "a3"].iter().any(|name| object["metadata"]["name"] == *name)) {
        object["metadata"]["labels"]["rack"] = json!("r");
    }
    let most = answer(&labelled, vec![WhatIfAction::Fail(NodeChoice::parse("rack=r"))]).await;
    assert_eq!(most.count(Happening::Evicted), 0);
    assert!(most.caveats.contains(&Unmodelled::NoEvictions { zone: Some("a".to_owned()) }), "{:?}", most.caveats);
    let zone = answer(&objects, vec![WhatIfAction::Fail(NodeChoice::parse("topology.kubernetes.io/zone=a"))]).await;
    assert_eq!((zone.count(Happening::Evicted), zone.count(Happening::Scheduled)), (1, 1), "{:?}", story(&zone));
}

#[tokio::test]
async fn nodes_are_added_from_what_makes_them_where_it_says_what_they_offer() {
    let mut objects = deployment("web", 1, "n1", &json!({}));
    objects.extend([node("n1", "a", "1"), namespace()]);
    let add = |object: Value| [vec![WhatIfAction::AddNodes(vec![object])], scale("deploy/default/web", 3)].concat();
    let capacity = |name: &str| format!("capacity.cluster-autoscaler.kubernetes.io/{name}");
    let mut machines = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineDeployment", "metadata": {"name": "pool",
        "annotations": {capacity("cpu"): "2", capacity("memory"): "4Gi", capacity("labels"): "disk=ssd"}},
        "spec": {"replicas": 1, "template": {"spec": {"failureDomain": "b"}}}});
    let made = answer(&objects, add(machines.clone())).await;
    assert_eq!(made.count(Happening::Scheduled), 2, "{:?}", story(&made));
    assert!(made.after.keys().any(|node| node.starts_with("pool-new")), "{:?}", made.after);
    machines["metadata"]["annotations"].as_object_mut().unwrap().remove(&capacity("memory"));
    let question = |object: Value| WhatIfQuestion { actions: add(object), ..WhatIfQuestion::default() };
    let error = what_if(&cluster(&objects).await, &question(machines)).await.unwrap_err().to_string();
    assert!(error.contains("MachineDeployment pool does not say what its nodes offer: it has no annotation"), "{error}");

    let pool = |requirement: Value| {
        json!({"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "default"},
        "spec": {"template": {"spec": {"requirements": [requirement], "taints": []}}}})
    };
    let instance = json!({"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["m5.large"]});
    let error =
        what_if(&cluster(&objects).await, &question(pool(json!({"key": "a", "operator": "Exists"})))).await.unwrap_err().to_string();
    assert!(error.contains("its requirements do not name one node.kubernetes.io/instance-type"), "{error}");
    let error = what_if(&cluster(&objects).await, &question(pool(instance.clone()))).await.unwrap_err().to_string();
    assert!(error.contains("the cluster has no node of the instance type m5.large"), "{error}");
    let mut known = node("n2", "a", "2");
    known["metadata"]["labels"]["node.kubernetes.io/instance-type"] = json!("m5.large");
    known["spec"] = json!({"unschedulable": true, "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]});
    objects.push(known);
    assert_eq!(answer(&objects, add(pool(instance))).await.count(Happening::Scheduled), 2);
}

#[tokio::test]
async fn from_a_hundred_nodes_on_a_choice_says_how_many_nodes_it_saw() {
    let mut objects: Vec<Value> = (0..130).map(|at| node(&format!("n{at:03}"), "a", "4")).collect();
    objects.push(namespace());
    let mut pod = running("p", "", "1", None);
    pod["spec"].as_object_mut().unwrap().remove("nodeName");
    let question =
        |seeds: u64| WhatIfQuestion { actions: vec![WhatIfAction::Apply(vec![pod.clone()])], seeds, ..WhatIfQuestion::default() };
    let cluster = cluster(&objects).await;
    let answer = what_if(&cluster, &question(0)).await.unwrap();
    let chosen = answer.events.iter().find(|event| event.what == Happening::Scheduled).unwrap();
    assert_eq!(chosen.sampled, Some((100, 130)));
    assert!(chosen.node.as_deref().unwrap() <= "n099", "{chosen:?}");
    let futures = what_if(&cluster, &question(12)).await.unwrap().futures.unwrap();
    assert!(futures.workloads[0].nodes.keys().any(|node| node.as_str() > "n099"), "{futures:?}");
}

#[tokio::test]
async fn what_is_not_simulated_is_named_where_it_matters() {
    let mut full = deployment("web", 1, "n1", &json!({}));
    full.extend([node("n1", "a", "2"), namespace()]);
    full.push(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cluster-autoscaler-status", "namespace": "kube-system"}}),
    );
    full.push(
        json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"maxReplicas": 9, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}}),
    );
    let waits = answer(&full, scale("deploy/default/web", 3)).await;
    let by = Unmodelled::NodesAutoscaled { by: "the cluster autoscaler".to_owned() };
    let scaled = Unmodelled::Autoscaled { workload: "Deployment/default/web".to_owned() };
    assert!(waits.caveats.contains(&by) && waits.caveats.contains(&scaled), "{:?}", waits.caveats);
    let fits = answer(&full, scale("deploy/default/web", 2)).await;
    assert!(!fits.caveats.contains(&by), "{:?}", fits.caveats);

    let text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nextenders:\n- urlPrefix: http://extender/\n  filterVerb: filter\n";
    let configuration = Some(ConfigurationFile { name: "config.yaml".to_owned(), text });
    let scheduler = SchedulerOptions { configuration, ..SchedulerOptions::default() };
    let question = WhatIfQuestion { actions: scale("deploy/default/web", 2), scheduler, ..WhatIfQuestion::default() };
    let extended = what_if(&cluster(&full).await, &question).await.unwrap();
    let extender = Unmodelled::Extension { name: "the extender http://extender/".to_owned() };
    assert!(extended.caveats.contains(&extender), "{:?}", extended.caveats);
}

/// Where a driver allocates a pod's devices, which nodes it can serve is not known.
#[tokio::test]
async fn a_pod_whose_fit_is_unknown_is_named() {
    let claim = json!({"apiVersion": "resource.k8s.io/v1alpha2", "kind": "ResourceClaim", "metadata": {"name": "gpu", "namespace": "default"},
        "spec": {"resourceClassName": "gpu"}});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default", "uid": "p"},
        "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "c", "image": "a:1"}],
            "resourceClaims": [{"name": "g", "source": {"resourceClaimName": "gpu"}}]}});
    let gates = Some("DynamicResourceAllocation=true");
    let scheduler = SchedulerOptions { version: Some("1.29"), feature_gates: gates, ..SchedulerOptions::default() };
    let question = WhatIfQuestion { scheduler, ..WhatIfQuestion::default() };
    let answer = what_if(&cluster(&[namespace(), node("n1", "a", "4"), claim, pod]).await, &question).await.unwrap();
    let is_named = |caveat: &Unmodelled| match caveat {
        Unmodelled::UnknownFit { pod, missing } => pod == "default/p" && missing.contains("claim default/gpu"),
        _ => false,
    };
    assert!(answer.caveats.iter().any(is_named), "{:?}", answer.caveats);
}
