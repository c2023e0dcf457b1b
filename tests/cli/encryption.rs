//! Encryption at rest on recorded clusters: every sealed value opens with the configuration that sealed it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use aes_gcm::aead::Aead;
use aes_gcm::{Aes256Gcm, KeyInit};
use futures_util::StreamExt;
use ketcd_kube::encryption::{EncryptionConfig, KeyRing, KeyService, Seal, Wrapped};
use ketcd_kube::{Body, Decoder, Opaque};
use ketcd_store::{At, KeyRange, KeyValue, Want, load};
use zeroize::Zeroizing;

fn capture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(name)
}

fn ring(name: &str) -> KeyRing {
    let text = std::fs::read_to_string(capture(name).join("encryption-config.yaml")).unwrap();
    KeyRing::new(&EncryptionConfig::parse(&text).unwrap())
}

fn values(name: &str) -> Vec<KeyValue> {
    let path = capture(name).join("snapshot.db.zst").to_str().unwrap().to_owned();
    let source = load::open(&[path], &|_| None).unwrap();
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let listing = source.range(KeyRange::all(), At::Newest, Want::Values).await.unwrap();
        listing.entries.map(Result::unwrap).collect().await
    })
}

/// How many values of each seal there are, and how many of them turn out to be objects.
fn open_all(name: &str, ring: &KeyRing) -> BTreeMap<String, (u32, u32)> {
    let mut counts: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for kv in values(name).iter().filter(|kv| Seal::is_on(&kv.value)) {
        let count = counts.entry(ring.seal_of(&kv.value).to_string()).or_default();
        count.0 += 1;
        let plain = ring.open(&kv.key, &kv.value).unwrap_or_default();
        count.1 += u32::from(plain.starts_with(b"k8s\0") || plain.starts_with(b"{"));
    }
    counts
}

/// The recorded plugin: AES-256-GCM under one key for both key ids, the nonce before the sealed bytes.
struct Plugin;

impl KeyService for Plugin {
    fn unwrap(&self, key: &Wrapped) -> Result<Zeroizing<Vec<u8>>, String> {
        let secret: Vec<u8> = (0..32).collect();
        let (nonce, sealed) = key.ciphertext.split_at(12);
        let plain = Aes256Gcm::new_from_slice(&secret).unwrap().decrypt(nonce.into(), sealed);
        plain.map(Zeroizing::new).map_err(|_| "refused".to_owned())
    }

    fn current_key_id(&self, _: &str) -> Option<String> {
        None
    }
}

#[test]
fn aescbc_secretbox_and_aesgcm_open() {
    let counts = open_all("k120-encrypted", &ring("k120-encrypted"));
    let schemes: Vec<&str> = counts.keys().map(String::as_str).collect();
    assert_eq!(schemes, ["sealed by aescbc under key key1", "sealed by aesgcm under key gcm1", "sealed by secretbox under key box1"]);
    assert!(counts.values().all(|(values, opened)| values == opened && *values > 2), "{counts:?}");
}

#[test]
fn without_a_plugin_kms_values_stay_closed_and_the_others_open() {
    let counts = open_all("k136-encrypted", &ring("k136-encrypted"));
    assert_eq!(counts["sealed by kms v2 plugin lab-kms under key id lab-key-1"].1, 0);
    let others: Vec<_> = counts.iter().filter(|(seal, _)| !seal.contains("kms")).collect();
    assert_eq!(others.len(), 3, "{counts:?}");
    assert!(others.iter().all(|(_, (values, opened))| values == opened), "{counts:?}");
}

#[test]
fn with_the_plugin_kms_values_open_too() {
    let counts = open_all("k136-encrypted", &ring("k136-encrypted").with_key_service(Arc::new(Plugin)));
    assert_eq!(counts["sealed by kms v2 plugin lab-kms under key id lab-key-1"], (4, 4));
    assert!(counts.contains_key("sealed by kms v2 plugin lab-kms under key id lab-key-2"));
    assert!(counts.values().all(|(values, opened)| values == opened), "{counts:?}");
}

#[test]
fn a_decoder_with_keys_shows_sealed_objects() {
    let decoder = Decoder::new().with_key_ring(ring("k120-encrypted"));
    let mut shown = 0;
    for kv in values("k120-encrypted").iter().filter(|kv| Seal::is_on(&kv.value)) {
        let decoded = decoder.decode(&kv.key, &kv.value, kv.mod_revision.0);
        let object = decoded.object().unwrap_or_else(|| panic!("{:?}", decoded.body));
        let name = object.pointer("/metadata/name").and_then(|name| name.as_str()).unwrap();
        assert!(kv.key.ends_with(format!("/{name}").as_bytes()));
        let without = Decoder::new().decode(&kv.key, &kv.value, kv.mod_revision.0);
        assert!(matches!(without.body, Body::Opaque(Opaque { expected: true, .. })));
        shown += 1;
    }
    assert!(shown > 20, "{shown}");
}
