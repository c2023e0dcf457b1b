//! Made-up lives of healthy clusters, of which there is no recording: nobody ran these control planes. Each write is made as upstream's sources say, and
//! looks like tampering to a careless rule.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use ketcd_kube::api::storage_version;
use ketcd_kube::{Kinds, Release};

use super::super::super::finding::Weight;
use super::store::{BEGIN_SECONDS, Store, object, protobuf, protobuf_of, with};

/// Seconds after [`BEGIN_SECONDS`] at which a life begins, behind what a store begins with.
const LIFE_BEGINS: i64 = 400;

/// By how many seconds the clock of one API server is ahead of the other's.
const SECONDS_AHEAD: i64 = 5;

/// A store, and the second in which it is.
struct Life {
    store: Store,
    second: i64,
}

impl Life {
    fn begin() -> Self {
        Self { store: Store::new(), second: BEGIN_SECONDS + LIFE_BEGINS }
    }

    /// The time by a clock that is ahead by some seconds.
    fn time(&self, ahead: i64) -> String {
        jiff::Timestamp::from_second(self.second + ahead).unwrap().to_string()
    }

    /// What an API server adds to an object that it creates.
    fn created(&self, object: &Value, ahead: i64) -> Value {
        let uid = format!("uid-{}", self.store.next());
        with(&self.managed(object, "maker", ahead), &json!({"metadata": {"uid": uid, "creationTimestamp": self.time(ahead)}}))
    }

    /// The object with a manager's entry of now, and no other.
    fn managed(&self, object: &Value, manager: &str, ahead: i64) -> Value {
        let entry = json!({"manager": manager, "operation": "Update", "apiVersion": object["apiVersion"], "time": self.time(ahead),
            "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}, "f:spec": {}}});
        with(object, &json!({"metadata": {"managedFields": [entry]}}))
    }
}

fn deployment(name: &str, replicas: i64, generation: i64) -> Value {
    let template = json!({"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "web:1"}]}});
    let spec = json!({"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template});
    with(&object("apps/v1", "Deployment", "default", name), &json!({"metadata": {"generation": generation}, "spec": spec}))
}

fn pod(name: &str) -> Value {
    let spec = json!({"containers": [{"name": "c", "image": "web:1"}]});
    with(&object("v1", "Pod", "default", name), &json!({"metadata": {"generation": 1}, "spec": spec}))
}

/// Two API servers behind one address, whose clocks are five seconds apart: requests go to one, then to the other, and each writes its own time as
/// creation time, in managers' entries and in marks of deletion (apiserver v0.37, `pkg/registry/rest/{meta,delete}.go`). Made up.
#[tokio::test]
async fn made_up_clocks_of_api_servers_may_be_five_seconds_apart() {
    let mut life = Life::begin();
    let ahead = |number: i64| if number % 2 == 0 { SECONDS_AHEAD } else { 0 };
    let shared = life.created(&with(&object("v1", "ConfigMap", "default", "shared"), &json!({"data": {"a": "0"}})), SECONDS_AHEAD);
    life.store.write("/registry/configmaps/default/shared", &shared);
    let lease = life.created(&object("coordination.k8s.io/v1", "Lease", "kube-system", "manager"), 0);
    life.store.write("/registry/leases/kube-system/manager", &lease);
    for number in 0..60 {
        let (one, other) = (ahead(number), ahead(number + 1));
        // Created by one server, written by the other, whose clock may say an earlier time.
        let name = format!("c-{}", number * 7 % 60);
        let made = life.created(&with(&object("v1", "ConfigMap", "default", &name), &json!({"data": {"a": "1"}})), one);
        life.store.write(&format!("/registry/configmaps/default/{name}"), &made);
        life.second += 1;
        let changed = with(&life.managed(&made, "maker", other), &json!({"data": {"a": "2"}}));
        life.store.write(&format!("/registry/configmaps/default/{name}"), &changed);
        // Five seconds later the other clock says the same second: the entry is the same, and the content is not.
        let data = json!({"data": {"a": number.to_string()}});
        life.store.write("/registry/configmaps/default/shared", &with(&life.managed(&shared, "maker", other), &data));
        let renewed = json!({"spec": {"holderIdentity": "m", "renewTime": life.time(0).replace('Z', ".000000Z")}});
        life.store.write("/registry/leases/kube-system/manager", &with(&life.managed(&lease, "manager", one), &renewed));
        life.second += 4;
    }
    life_of_a_pod(&mut life);
    for (number, (address, ahead)) in [("192.0.2.1", SECONDS_AHEAD), ("192.0.2.2", 0)].into_iter().cycle().take(8).enumerate() {
        let lease = json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"generation": number + 1}});
        life.store.put_leased(&format!("/registry/masterleases/{address}"), protobuf(&lease), 7 + ahead);
    }
    life.store.is_clean().await;
    // The rule is awake: hours apart are not a difference of clocks.
    let old = life.created(&object("v1", "ConfigMap", "default", "old"), -40_000);
    let revision = life.store.write("/registry/configmaps/default/old", &old);
    life.store.go_on();
    assert_eq!(life.store.found().await, [(revision, Weight::Medium)]);
}

/// Created and deleted by the server whose clock is ahead, bound and hurried on by the other.
fn life_of_a_pod(life: &mut Life) {
    let key = "/registry/pods/default/web-0";
    let made = life.created(&pod("web-0"), SECONDS_AHEAD);
    life.store.write(key, &made);
    life.second += 1;
    let bound = with(&made, &json!({"spec": {"nodeName": "n1"}}));
    life.store.write(key, &bound);
    // The kubelet's clock is the other server's.
    let runs = with(&bound, &json!({"status": {"phase": "Running", "startTime": life.time(0)}}));
    life.store.write(key, &runs);
    let marked = |life: &Life, ahead: i64, grace: i64| {
        with(
            &runs,
            &json!({"metadata": {"deletionTimestamp": life.time(ahead + grace), "deletionGracePeriodSeconds": grace, "generation": 2}}),
        )
    };
    let first = marked(life, SECONDS_AHEAD, 30);
    life.store.write(key, &first);
    life.second += 1;
    let sooner = marked(life, 0, 1);
    life.store.write(key, &sooner);
    life.store.delete(key);
}

/// Kinds whose stored version changes between 1.33 and 1.37: kind, key, and what they need besides metadata.
fn restored_kinds() -> [(&'static str, &'static str, Value); 4] {
    let reference = json!({"parentRef": {"resource": "services", "namespace": "default", "name": "web"}});
    let guard = json!({"matchConstraints": {"resourceRules": []}, "failurePolicy": "Fail"});
    [
        ("IPAddress", "ipaddresses/10.0.0.9", json!({ "spec": reference })),
        ("ServiceCIDR", "servicecidrs/kubernetes", json!({"spec": {"cidrs": ["10.0.0.0/16"]}})),
        ("VolumeAttributesClass", "volumeattributesclasses/fast", json!({"driverName": "disks.example.com", "parameters": {"speed": "7"}})),
        ("ValidatingAdmissionPolicy", "validatingadmissionpolicies/guard", json!({ "metadata": {"generation": 1}, "spec": guard })),
    ]
}

/// The same cluster under API servers of 1.33, 1.34 and 1.37, upgraded in place (kubernetes v1.33 to v1.37): kinds are stored in other versions, the
/// empty creation time in pod templates goes (1.34), defaults enter with a status, `ranges/serviceips` is frozen, roles and flow schemas of the API server
/// are brought to its release, and everything is written anew after each step. Made up.
#[tokio::test]
async fn made_up_upgrades_from_1_33_over_1_34_to_1_37_in_place_are_lawful() {
    let mut life = Life::begin();
    let kinds = Kinds::builtin();
    let mut stored: Vec<(String, Value)> = Vec::new();
    let mut versions = BTreeSet::new();
    for (step, release) in [33, 34, 37].map(Release).into_iter().enumerate() {
        let step = step as i64;
        servers_own(&mut life, release, step);
        for (kind, place, more) in restored_kinds() {
            let known = kinds.iter().find(|known| known.kind == kind).unwrap();
            let api_version = storage_version(known, release).unwrap();
            versions.insert(api_version.clone());
            let name = place.rsplit('/').next().unwrap();
            let made = life.created(&with(&object(&api_version, kind, "", name), &more), 0);
            stored_as(&mut life, &mut stored, &format!("/registry/{place}"), &made, release);
        }
        // A Deployment's status alone is written; the spec's bytes differ, its generation does not.
        let mut web = deployment("web", 2, 1);
        if release < Release(34) {
            web["spec"]["template"]["metadata"]["creationTimestamp"] = Value::Null;
        } else {
            web["spec"]["progressDeadlineSeconds"] = json!(600);
        }
        let web = with(&life.created(&web, 0), &json!({"status": {"replicas": step + 1}}));
        stored_as(&mut life, &mut stored, "/registry/deployments/default/web", &web, release);
        // Pods of before 1.33 have no generation; the first update after gives them one.
        let old = json!({"metadata": {"generation": step}, "spec": {"activeDeadlineSeconds": 900 - step}});
        let old = life.created(&with(&pod("old"), &old), 0);
        stored_as(&mut life, &mut stored, "/registry/pods/default/old", &old, release);
        for number in 0..6 {
            let name = format!("s-{step}-{number}");
            let address = json!({"spec": {"clusterIP": format!("10.0.{step}.{number}"), "ports": [{"port": 80}]}});
            let service = life.created(&with(&object("v1", "Service", "default", &name), &address), 0);
            life.store.put(&format!("/registry/services/specs/default/{name}"), protobuf_of(&service, release));
            life.second += 20;
        }
        life.second += 3_600;
    }
    let changed = ["networking.k8s.io/v1", "networking.k8s.io/v1beta1", "storage.k8s.io/v1", "storage.k8s.io/v1beta1"];
    assert!(changed.iter().all(|version| versions.contains(*version)), "{versions:?}");
    life.store.is_clean().await;
}

/// What API servers of a release write for themselves when they start.
fn servers_own(life: &mut Life, release: Release, step: i64) {
    let node = with(&object("v1", "Node", "", "n1"), &json!({"metadata": {"uid": "uid-n1", "creationTimestamp": first_time()}}));
    let node = with(&node, &json!({"status": {"nodeInfo": {"kubeletVersion": format!("v{release}.1")}}}));
    life.store.put("/registry/minions/n1", protobuf_of(&node, release));
    if release < Release(34) {
        let range = json!({"apiVersion": "v1", "kind": "RangeAllocation", "metadata": {}, "range": "10.0.0.0/16", "data": "AA=="});
        life.store.put("/registry/ranges/serviceips", protobuf_of(&range, release));
    }
    let rules: Vec<Value> =
        (0..=step).map(|number| json!({"apiGroups": [""], "resources": [format!("r{number}")], "verbs": ["get"]})).collect();
    let role = with(&object("rbac.authorization.k8s.io/v1", "ClusterRole", "", "system:node"), &json!({ "rules": rules }));
    let role = with(&life.managed(&role, "kube-apiserver", 0), &json!({"metadata": {"uid": "uid-r", "creationTimestamp": first_time()}}));
    life.store.put("/registry/clusterroles/system:node", protobuf_of(&role, release));
    let spec = json!({"matchingPrecedence": 400 + step, "priorityLevelConfiguration": {"name": "system"}});
    let schema = with(&object("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", "", "system-nodes"), &json!({ "spec": spec }));
    let schema = with(
        &life.managed(&schema, "api-priority-and-fairness-config-producer-v1", 0),
        &json!({"metadata": {
        "uid": "uid-f", "generation": step + 1, "creationTimestamp": first_time()}}),
    );
    life.store.put("/registry/flowschemas/system-nodes", protobuf_of(&schema, release));
}

/// The creation time of what is there from the beginning of a life.
fn first_time() -> String {
    jiff::Timestamp::from_second(BEGIN_SECONDS + LIFE_BEGINS).unwrap().to_string()
}

/// Stores an object as a release does: with the uid and the creation time that it has, if it is there.
fn stored_as(life: &mut Life, stored: &mut Vec<(String, Value)>, key: &str, object: &Value, release: Release) {
    let mut object = object.clone();
    match stored.iter().find(|(other, _)| other == key) {
        Some((_, first)) => {
            for member in ["uid", "creationTimestamp"] {
                object["metadata"][member] = first["metadata"][member].clone();
            }
        }
        None => stored.push((key.to_owned(), object.clone())),
    }
    life.store.put(key, protobuf_of(&object, release));
    life.second += 1;
}
