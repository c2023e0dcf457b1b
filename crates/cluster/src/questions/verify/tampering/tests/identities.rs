//! Objects that are not what their keys say, and identities that change.

use serde_json::{Value, json};

use super::super::super::finding::Weight;
use super::store::{Store, object, with};

const KEY_A: &str = "/registry/configmaps/default/a";

fn config_map(name: &str) -> Value {
    object("v1", "ConfigMap", "default", name)
}

#[tokio::test]
async fn another_name_or_namespace_than_the_keys_is_found() {
    for (namespace, name) in [("default", "b"), ("other", "a")] {
        let mut store = Store::new();
        let revision = store.next();
        store.create(KEY_A, &object("v1", "ConfigMap", namespace, name));
        assert_eq!(store.found().await, [(revision, Weight::High)]);
    }
}

#[tokio::test]
async fn a_copy_under_another_key_is_found() {
    let mut store = Store::new();
    let object = store.create(KEY_A, &config_map("a"));
    let revision = store.write("/registry/configmaps/default/a-copy", &object);
    let findings = store.findings().await;
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].revision.unwrap().0, revision);
    assert!(findings[0].evidence.iter().any(|fact| fact.contains(KEY_A)), "its uid is that of the original: {:?}", findings[0].evidence);
}

#[tokio::test]
async fn a_uid_or_creation_time_that_changes_is_found() {
    for other in [json!({"metadata": {"uid": "another"}}), json!({"metadata": {"creationTimestamp": "2026-11-20T00:00:00Z"}})] {
        let mut store = Store::new();
        let object = store.create(KEY_A, &config_map("a"));
        let revision = store.write(KEY_A, &with(&object, &other));
        assert_eq!(store.found().await, [(revision, Weight::High)], "{other}");
    }
}

#[tokio::test]
async fn a_missing_uid_is_found() {
    let mut store = Store::new();
    let revision = store.write(KEY_A, &with(&config_map("a"), &json!({"metadata": {"creationTimestamp": store.now()}})));
    assert_eq!(store.found().await, [(revision, Weight::Medium)]);
}

#[tokio::test]
async fn an_object_that_comes_back_with_its_uid_is_found() {
    let mut store = Store::new();
    let object = store.create(KEY_A, &config_map("a"));
    store.delete(KEY_A);
    let revision = store.write(KEY_A, &object);
    assert_eq!(store.found().await, [(revision, Weight::High)]);
    let mut healthy = Store::new();
    healthy.create(KEY_A, &config_map("a"));
    healthy.delete(KEY_A);
    healthy.create(KEY_A, &config_map("a"));
    healthy.is_clean().await;
}

#[tokio::test]
async fn an_object_older_than_its_key_is_found() {
    let mut store = Store::new();
    let old = json!({"metadata": {"uid": "u", "creationTimestamp": "2026-11-20T00:00:00Z"}});
    let revision = store.write(KEY_A, &with(&config_map("a"), &old));
    store.go_on();
    assert_eq!(store.found().await, [(revision, Weight::Medium)]);
}
