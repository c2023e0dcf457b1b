//! Objects that changed as no API server lets them.

use serde_json::{Value, json};

use super::super::super::finding::Weight;
use super::store::{Store, object, protobuf, with};

const DEPLOYMENT_KEY: &str = "/registry/deployments/default/web";
const POD_KEY: &str = "/registry/pods/default/web-0";
const CLAIM_KEY: &str = "/registry/persistentvolumeclaims/default/data";
const RANGE_KEY: &str = "/registry/ranges/servicenodeports";

fn deployment(generation: i64, image: &str) -> Value {
    let container = json!({"name": "c", "image": image});
    let spec = json!({"replicas": 1, "template": {"spec": {"containers": [container]}}});
    with(&object("apps/v1", "Deployment", "default", "web"), &json!({"metadata": {"generation": generation}, "spec": spec}))
}

#[tokio::test]
async fn a_spec_that_changes_without_its_generation_is_found() {
    let mut store = Store::new();
    let first = store.create(DEPLOYMENT_KEY, &deployment(1, "web:1"));
    store.write(DEPLOYMENT_KEY, &with(&first, &deployment(2, "web:2")));
    let revision = store.write(DEPLOYMENT_KEY, &with(&first, &deployment(2, "web:3")));
    assert_eq!(store.found().await, [(revision, Weight::High)]);
}

#[tokio::test]
async fn a_generation_that_goes_back_is_found() {
    let mut store = Store::new();
    let first = store.create(DEPLOYMENT_KEY, &deployment(1, "web:1"));
    store.write(DEPLOYMENT_KEY, &with(&first, &deployment(2, "web:2")));
    let revision = store.write(DEPLOYMENT_KEY, &first);
    assert_eq!(store.found().await, [(revision, Weight::High)]);
}

fn pod(node: &str) -> Value {
    let spec = json!({"containers": [{"name": "c", "image": "i"}]});
    let node = if node.is_empty() { json!({}) } else { json!({"spec": {"nodeName": node}}) };
    with(&with(&object("v1", "Pod", "default", "web-0"), &json!({"metadata": {"generation": 1}, "spec": spec})), &node)
}

#[tokio::test]
async fn a_pod_that_is_bound_twice_is_found() {
    let mut store = Store::new();
    let first = store.create(POD_KEY, &pod(""));
    store.write(POD_KEY, &with(&first, &pod("n1")));
    store.is_clean().await;
    let revision = store.write(POD_KEY, &with(&first, &pod("n2")));
    assert_eq!(store.found().await, [(revision, Weight::High)]);
}

fn claim() -> Value {
    with(&object("v1", "PersistentVolumeClaim", "default", "data"), &json!({"metadata": {"finalizers": ["kubernetes.io/pvc-protection"]}}))
}

#[tokio::test]
async fn a_deletion_past_finalizers_is_found() {
    let mut store = Store::new();
    store.create(CLAIM_KEY, &claim());
    let revision = store.delete(CLAIM_KEY);
    assert_eq!(store.found().await, [(revision, Weight::High)]);
}

/// The update that takes the last finalizer is not stored, so that the last version of a healthy object has it.
#[tokio::test]
async fn a_marked_object_goes_with_its_finalizers() {
    let mut store = Store::new();
    let first = store.create(CLAIM_KEY, &claim());
    store.write(CLAIM_KEY, &with(&first, &json!({"metadata": {"deletionTimestamp": store.now()}})));
    store.delete(CLAIM_KEY);
    store.is_clean().await;
}

#[tokio::test]
async fn a_namespace_is_marked_before_it_goes() {
    let key = "/registry/namespaces/gone";
    let mut store = Store::new();
    let first = store.create(key, &object("v1", "Namespace", "", "gone"));
    let mut healthy = Store::new();
    healthy.create(key, &object("v1", "Namespace", "", "gone"));
    let revision = store.delete(key);
    assert_eq!(store.found().await, [(revision, Weight::High)]);
    let marked = with(&first, &json!({"metadata": {"deletionTimestamp": healthy.now()}}));
    healthy.write(key, &marked);
    healthy.delete(key);
    healthy.is_clean().await;
}

fn range(taken: &[u8]) -> Value {
    use base64::Engine;
    let data = base64::prelude::BASE64_STANDARD.encode(taken);
    json!({"apiVersion": "v1", "kind": "RangeAllocation", "metadata": {}, "range": "30000-32767", "data": data})
}

#[tokio::test]
async fn a_range_that_lets_go_of_ports_in_use_is_found() {
    let mut taken = vec![0; 11];
    taken[0] = 1;
    let mut store = Store::new();
    store.write(RANGE_KEY, &range(&[]));
    store.write(RANGE_KEY, &range(&taken));
    let ports = json!({"spec": {"ports": [{"port": 80, "nodePort": 30080}], "type": "NodePort"}});
    store.create("/registry/services/specs/default/web", &with(&object("v1", "Service", "default", "web"), &ports));
    store.is_clean().await;
    let revision = store.write(RANGE_KEY, &range(&[]));
    assert_eq!(store.found().await, [(revision, Weight::High)]);
}

fn secret(store: &Store, value: &str) -> Value {
    let entry = json!({"manager": "kubectl", "operation": "Update", "apiVersion": "v1", "time": store.now(), "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:a": {}}}});
    with(&object("v1", "Secret", "default", "s"), &json!({"metadata": {"managedFields": [entry]}, "data": {"a": value}, "type": "Opaque"}))
}

#[tokio::test]
async fn a_content_that_nobody_manages_is_found() {
    let key = "/registry/secrets/default/s";
    let mut store = Store::new();
    let first = store.create(key, &secret(&store, "b25l"));
    store.go_on();
    let revision = store.write(key, &with(&first, &json!({"data": {"a": "dHdv"}})));
    let findings = store.findings().await;
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].revision.unwrap().0, findings[0].weight), (revision, Weight::Medium));
    assert!(!format!("{findings:?}").contains("dHdv"), "Secrets stay masked");
    let mut healthy = Store::new();
    let first = healthy.create(key, &secret(&healthy, "b25l"));
    healthy.go_on();
    let second = secret(&healthy, "dHdv");
    healthy.write(key, &with(&first, &second));
    healthy.is_clean().await;
}

/// Two changes within a second have one time.
#[tokio::test]
async fn a_manager_may_write_twice_at_once() {
    let key = "/registry/secrets/default/s";
    let mut store = Store::new();
    let first = store.create(key, &secret(&store, "b25l"));
    store.put(key, protobuf(&with(&first, &json!({"data": {"a": "dHdv"}}))));
    store.is_clean().await;
}
