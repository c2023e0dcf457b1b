//! Values in a form that no API server stores.

use serde_json::{Value, json};

use super::super::super::finding::Weight;
use super::store::{Store, object, with};

fn config_map(name: &str) -> Value {
    object("v1", "ConfigMap", "default", name)
}

/// A custom resource, which API servers store as JSON.
fn custom(store: &Store, name: &str) -> Value {
    let created = json!({"metadata": {"uid": format!("uid-of-{name}"), "creationTimestamp": store.now()}});
    with(&object("example.com/v1", "Thing", "default", name), &created)
}

fn line(object: &Value) -> Vec<u8> {
    let mut text = serde_json::to_vec(object).unwrap();
    text.push(b'\n');
    text
}

#[tokio::test]
async fn a_healthy_store_is_clean() {
    let mut store = Store::new();
    for number in 0..12 {
        let name = format!("thing-{number}");
        let value = line(&custom(&store, &name));
        store.put(&format!("/registry/example.com/things/default/{name}"), value);
    }
    store.is_clean().await;
}

#[tokio::test]
async fn what_api_servers_strip_is_found() {
    for stripped in [json!({"metadata": {"resourceVersion": "7"}}), json!({"metadata": {"selfLink": "/api/v1/x"}})] {
        let mut store = Store::new();
        let object = store.create("/registry/configmaps/default/a", &config_map("a"));
        let revision = store.write("/registry/configmaps/default/a", &with(&object, &stripped));
        assert_eq!(store.found().await, [(revision, Weight::High)], "{stripped}");
    }
}

#[tokio::test]
async fn what_kubectl_prints_is_found() {
    let mut store = Store::new();
    let printed = serde_json::to_vec_pretty(&custom(&store, "a")).unwrap();
    let revision = store.put("/registry/example.com/things/default/a", printed);
    assert_eq!(store.found().await, [(revision, Weight::High)]);
}

#[tokio::test]
async fn a_line_that_does_not_end_is_found_where_all_others_do() {
    let mut store = Store::new();
    for number in 0..12 {
        let value = line(&custom(&store, &format!("thing-{number}")));
        store.put(&format!("/registry/example.com/things/default/thing-{number}"), value);
    }
    let value = serde_json::to_vec(&custom(&store, "a")).unwrap();
    let revision = store.put("/registry/example.com/things/default/a", value);
    assert_eq!(store.found().await, [(revision, Weight::Medium)]);
}

#[tokio::test]
async fn json_among_protobuf_is_found() {
    let mut store = Store::new();
    let created = json!({"metadata": {"uid": "uid-of-a", "creationTimestamp": store.now()}});
    let revision = store.put("/registry/configmaps/default/a", line(&with(&config_map("a"), &created)));
    store.go_on();
    assert_eq!(store.found().await, [(revision, Weight::Medium)]);
}

#[tokio::test]
async fn half_a_value_is_found() {
    let mut store = Store::new();
    let whole = store.create("/registry/configmaps/default/a", &with(&config_map("a"), &json!({"data": {"text": "x".repeat(200)}})));
    let bytes = super::store::protobuf(&whole);
    let revision = store.put("/registry/configmaps/default/a", &bytes[..bytes.len() / 2]);
    assert_eq!(store.found().await, [(revision, Weight::High)]);
}

/// What was never readable is for the check of the contents.
#[tokio::test]
async fn a_value_that_was_never_readable_accuses_nobody() {
    let mut store = Store::new();
    store.put("/registry/configmaps/default/a", &b"k8s\0\x0a\xff"[..]);
    store.is_clean().await;
}

#[tokio::test]
async fn the_same_bytes_again_are_found() {
    let mut store = Store::new();
    let object = store.create("/registry/configmaps/default/a", &config_map("a"));
    let revision = store.write("/registry/configmaps/default/a", &object);
    assert_eq!(store.found().await, [(revision, Weight::High)]);
}

#[tokio::test]
async fn a_lease_where_none_belongs_is_found() {
    let mut store = Store::new();
    let account =
        with(&object("v1", "ServiceAccount", "default", "a"), &json!({"metadata": {"uid": "u", "creationTimestamp": store.now()}}));
    let revision = store.put_leased("/registry/serviceaccounts/default/a", super::store::protobuf(&account), 77);
    assert_eq!(store.found().await, [(revision, Weight::High)]);
    let mut healthy = Store::new();
    let event = with(&object("v1", "Event", "default", "a.1"), &json!({"metadata": {"uid": "u", "creationTimestamp": healthy.now()}}));
    healthy.put_leased("/registry/events/default/a.1", super::store::protobuf(&event), 77);
    healthy.is_clean().await;
}
