//! Encryption at rest in recorded clusters: every sealed value opens with the configuration that sealed it.

use std::collections::BTreeMap;

use futures_util::TryStreamExt;
use ketcd_cluster::Options;
use ketcd_kube::encryption::{EncryptionConfig, KeyRing, Seal};
use ketcd_kube::{Body, Decoder, Opaque};
use ketcd_store::{KeyRange, KeyValue, Want};
use ketcd_testing::testdata;

use crate::fixture::capture;

fn ring(name: &str) -> KeyRing {
    let text = std::fs::read_to_string(testdata::path(&format!("captures/{name}/encryption-config.yaml"))).unwrap();
    KeyRing::new(&EncryptionConfig::parse(&text).unwrap())
}

async fn values(name: &str) -> Vec<KeyValue> {
    let cluster = capture(name, Options::default()).await;
    cluster.range(KeyRange::all(), Want::Values).await.unwrap().entries.try_collect().await.unwrap()
}

/// How many values of each seal there are, and how many of them turn out to be objects.
async fn open_all(name: &str) -> BTreeMap<String, (u32, u32)> {
    let mut counts: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    let ring = ring(name);
    for kv in values(name).await.iter().filter(|kv| Seal::is_on(&kv.value)) {
        let count = counts.entry(ring.seal_of(&kv.value).to_string()).or_default();
        count.0 += 1;
        let plain = ring.open(&kv.key, &kv.value).unwrap_or_default();
        count.1 += u32::from(plain.starts_with(b"k8s\0") || plain.starts_with(b"{"));
    }
    counts
}

#[tokio::test]
async fn aescbc_secretbox_and_aesgcm_open() {
    let counts = open_all("k120-encrypted").await;
    let schemes: Vec<&str> = counts.keys().map(String::as_str).collect();
    assert_eq!(schemes, ["sealed by aescbc under key key1", "sealed by aesgcm under key gcm1", "sealed by secretbox under key box1"]);
    assert!(counts.values().all(|(values, opened)| values == opened && *values > 2), "{counts:?}");
}

#[tokio::test]
async fn without_a_plugin_kms_values_stay_closed_and_the_others_open() {
    let counts = open_all("k136-encrypted").await;
    assert_eq!(counts["sealed by kms v2 plugin lab-kms under key id lab-key-1"].1, 0);
    let others: Vec<_> = counts.iter().filter(|(seal, _)| !seal.contains("kms")).collect();
    assert_eq!(others.len(), 3, "{counts:?}");
    assert!(others.iter().all(|(_, (values, opened))| values == opened), "{counts:?}");
}

#[tokio::test]
async fn a_decoder_with_keys_shows_sealed_objects() {
    let cluster = capture("k120-encrypted", Options { keys: ring("k120-encrypted"), ..Options::default() }).await;
    let mut shown = 0;
    for kv in values("k120-encrypted").await.iter().filter(|kv| Seal::is_on(&kv.value)) {
        let decoded = cluster.decoder.decode(&kv.key, &kv.value, kv.mod_revision.0);
        let object = decoded.object().unwrap_or_else(|| panic!("{:?}", decoded.body));
        let name = object.pointer("/metadata/name").and_then(|name| name.as_str()).unwrap();
        assert!(kv.key.ends_with(format!("/{name}").as_bytes()));
        let without = Decoder::new().decode(&kv.key, &kv.value, kv.mod_revision.0);
        assert!(matches!(without.body, Body::Opaque(Opaque { expected: true, .. })));
        shown += 1;
    }
    assert!(shown > 20, "{shown}");
}
