//! What healthy clusters do that looks like tampering, and is none. The exemptions that need no store are tested next to their rules.

use serde_json::json;

use super::super::super::finding::Weight;
use super::store::{Store, object, protobuf, with};

/// kubernetes v1.37, `pkg/controlplane/reconcilers/lease.go`: neither name nor uid, a lease, and a generation that forces each write.
#[tokio::test]
async fn api_servers_renew_their_own_leases() {
    let mut store = Store::new();
    for generation in 1..6 {
        let lease = json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"generation": generation}});
        store.put_leased("/registry/masterleases/10.0.0.1", protobuf(&lease), 7 + generation);
    }
    store.delete("/registry/masterleases/10.0.0.1");
    store.is_clean().await;
}

/// kubernetes v1.37, `pkg/registry/core/service/storage/storage.go`, `defaultOnRead`: a default enters with the next write by anybody.
#[tokio::test]
async fn defaults_enter_with_any_write() {
    let key = "/registry/deployments/default/web";
    let mut store = Store::new();
    let counted =
        with(&object("apps/v1", "Deployment", "default", "web"), &json!({"metadata": {"generation": 3}, "spec": {"replicas": 1}}));
    let first = store.create(key, &counted);
    store.write(key, &with(&first, &json!({"spec": {"progressDeadlineSeconds": 600}, "status": {"replicas": 1}})));
    store.is_clean().await;
}

/// kubernetes v1.37, `pkg/registry/core/*/strategy.go`: Services, ConfigMaps and Nodes count no generation.
#[tokio::test]
async fn kinds_that_count_nothing_may_change() {
    let key = "/registry/services/specs/default/web";
    let mut store = Store::new();
    let first = store.create(key, &with(&object("v1", "Service", "default", "web"), &json!({"spec": {"clusterIP": "10.0.0.9"}})));
    store.write(key, &with(&first, &json!({"spec": {"clusterIP": "10.0.0.10"}})));
    store.is_clean().await;
}

/// client-go v0.37, `util/csaupgrade/upgrade.go`: tools rewrite managers lawfully.
#[tokio::test]
async fn managers_may_be_taken_over() {
    let key = "/registry/configmaps/default/a";
    let mut store = Store::new();
    let entry = |manager: &str| json!({"metadata": {"managedFields": [{"manager": manager, "operation": "Apply", "time": "2026-11-21T00:00:00Z"}]}});
    let first = store.create(key, &with(&object("v1", "ConfigMap", "default", "a"), &entry("kubectl-client-side-apply")));
    store.go_on();
    store.write(key, &with(&first, &entry("argocd-controller")));
    store.is_clean().await;
}

/// apiserver v0.37, `pkg/endpoints/handlers/update.go`: managers are computed before webhooks change what is written.
#[tokio::test]
async fn webhooks_change_what_nobody_manages() {
    let key = "/registry/configmaps/default/a";
    let mut store = Store::new();
    let webhook = json!({"webhooks": [{"name": "w", "rules": [{"operations": ["UPDATE"], "resources": ["configmaps"]}]}]});
    let configuration = object("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "", "w");
    store.create("/registry/mutatingwebhookconfigurations/w", &with(&configuration, &webhook));
    let managed =
        json!({"metadata": {"managedFields": [{"manager": "m", "operation": "Update", "time": store.now()}]}, "data": {"a": "1"}});
    let first = store.create(key, &with(&object("v1", "ConfigMap", "default", "a"), &managed));
    store.go_on();
    store.write(key, &with(&first, &json!({"data": {"a": "2"}})));
    store.is_clean().await;
}

/// apiserver v0.37, `pkg/storage/etcd3/store.go`: stale ciphertext is written again, with equal content and other bytes.
#[tokio::test]
async fn storage_migration_seals_anew() {
    let key = "/registry/secrets/default/s";
    let mut store = Store::new();
    store.put(key, "k8s:enc:aescbc:v1:key1:one ciphertext");
    store.put(key, "k8s:enc:aescbc:v1:key2:another ciphertext");
    store.put(key, "k8s:enc:secretbox:v1:key3:and another one");
    store.is_clean().await;
    let revision = store.put(key, "k8s:enc:secretbox:v1:key3:and another one");
    assert_eq!(store.found().await, [(revision, Weight::High)], "no seal is renewed");
}

/// kubernetes v1.37, `pkg/features/kube_features.go`, `DisableAllocatorDualWrite`: nobody writes the range of addresses any more.
#[tokio::test]
async fn the_range_of_addresses_is_frozen() {
    let mut store = Store::new();
    let range = json!({"apiVersion": "v1", "kind": "RangeAllocation", "metadata": {}, "range": "10.0.0.0/24", "data": ""});
    store.write("/registry/ranges/serviceips", &range);
    let address = json!({"spec": {"clusterIP": "10.0.0.9", "ports": [{"port": 80}]}});
    store.create("/registry/services/specs/default/web", &with(&object("v1", "Service", "default", "web"), &address));
    store.is_clean().await;
}

/// oauth-apiserver, `pkg/oauth/apiserver/registry/oauthaccesstoken/etcd/etcd.go`, `TTLFunc`; the kinds of aggregated API servers are theirs.
#[tokio::test]
async fn aggregated_kinds_may_expire() {
    let mut store = Store::new();
    store.put_leased("/openshift.io/oauth/accesstokens/sha256~a", "{\"kind\":\"OAuthAccessToken\"}\n", 7);
    store.put_leased("/registry/sessions.example.com/tokens/a", "{\"kind\":\"Token\",\"metadata\":{\"name\":\"a\"}}\n", 7);
    store.is_clean().await;
}

/// Other programs share the etcd: k3s's keys, Calico's, and those of a program that nobody knows.
#[tokio::test]
async fn keys_of_other_programs_are_no_sign() {
    let mut store = Store::new();
    for number in 0..9 {
        store.put("k3s/etcd/learnerProgress", format!("{number}"));
        store.put(&format!("/calico/ipam/{number}"), "{}");
        store.put(&format!("/unknown/{number}"), "x");
    }
    store.put("/lock/leader", "a");
    store.put("/lock/leader", "b");
    store.put("", "");
    store.is_clean().await;
}

#[tokio::test]
async fn a_key_of_nobody_that_came_late_weighs_little() {
    let mut store = Store::new();
    let revision = store.put("/backup-agent/state", "x");
    assert_eq!(store.found().await, [(revision, Weight::Low)]);
    let mut early = Store::new();
    early.put("/backup-agent/state", "x");
    for _ in 0..20 {
        early.go_on();
    }
    early.is_clean().await;
}

/// etcd-manager and others restore key by key: create revisions are new, uids and times old.
#[tokio::test]
async fn a_copied_store_is_recognised() {
    let mut store = Store::new();
    let mut copied: Vec<(String, serde_json::Value)> = Vec::new();
    for number in 0..60 {
        let key = format!("/registry/configmaps/default/c-{}", number * 37 % 60);
        let name = key.rsplit('/').next().unwrap().to_owned();
        copied.push((key.clone(), store.create(&key, &object("v1", "ConfigMap", "default", &name))));
    }
    copied.sort_by(|one, other| one.0.cmp(&other.0));
    let mut copy = Store::empty();
    for (key, object) in &copied {
        copy.write(key, object);
    }
    copy.is_clean().await;
}
