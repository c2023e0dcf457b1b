//! Configurations, seals and audits; values sealed here by the same ciphers' other direction.

use std::sync::Arc;

use aes_gcm::aead::{Aead, Payload};
use aes_gcm::{Aes256Gcm, KeyInit};
use proptest::prelude::*;
use prost::Message;
use zeroize::Zeroizing;

use super::kms::EncryptedObject;
use super::*;

const CONFIG_YAML: &str = r#"
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets, deployments.apps]
  providers:
  - aesgcm: {keys: [{name: new, secret: QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE=}, {name: "old:one", secret: QkJCQkJCQkJCQkJCQkJCQg==}]}
  - kms: {apiVersion: v2, name: vault, endpoint: "unix:///run/vault.sock"}
  - identity: {}
- resources: ["*.example.com"]
  providers: [{identity: {}}, {secretbox: {keys: [{name: b, secret: QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE=}]}}]
- resources: ["*."]
  providers: [{kms: {apiVersion: v2, name: vault, endpoint: "unix:///run/vault.sock"}}]
"#;

fn config() -> EncryptionConfig {
    EncryptionConfig::parse(CONFIG_YAML).unwrap()
}

/// A value sealed by AES-256-GCM with a nonce of zeros.
fn sealed(prefix: &str, secret: &[u8; 32], key: &[u8], plain: &[u8]) -> Vec<u8> {
    let nonce = [0; 12];
    let body = Aes256Gcm::new(secret.into()).encrypt(&nonce.into(), Payload { msg: plain, aad: key }).unwrap();
    [prefix.as_bytes(), &nonce, &body].concat()
}

fn kms_value(key_id: &str, data_key: &[u8; 32], key: &[u8], plain: &[u8]) -> Vec<u8> {
    let envelope = EncryptedObject {
        encrypted_data: sealed("", data_key, key, plain),
        key_id: key_id.to_owned(),
        encrypted_dek_source: b"wrapped".to_vec(),
        annotations: [("version.example.com".to_owned(), b"3".to_vec())].into(),
        encrypted_dek_source_type: 0,
    };
    [b"k8s:enc:kms:v2:vault:".to_vec(), envelope.encode_to_vec()].concat()
}

struct Plugin;

impl KeyService for Plugin {
    fn unwrap(&self, key: &Wrapped) -> Result<Zeroizing<Vec<u8>>, String> {
        assert_eq!((key.provider.as_str(), &key.ciphertext[..]), ("vault", &b"wrapped"[..]));
        if key.key_id == "lost" { Err("the plugin says: no such key".to_owned()) } else { Ok(Zeroizing::new(vec![7; 32])) }
    }

    fn current_key_id(&self, _provider: &str) -> Option<String> {
        Some("two".to_owned())
    }
}

#[test]
fn the_first_rule_that_names_a_resource_counts() {
    let config = config();
    let writer = |resource: &str| config.writer(resource).map(|writer| writer.scheme);
    assert_eq!(writer("secrets"), Some(Scheme::AesGcm));
    assert_eq!(writer("deployments.apps"), Some(Scheme::AesGcm));
    assert_eq!(writer("deployments"), Some(Scheme::KmsV2));
    assert_eq!(writer("configmaps"), Some(Scheme::KmsV2));
    assert_eq!(writer("things.example.com"), Some(Scheme::Identity));
    assert_eq!(writer("statefulsets.apps"), None);
}

#[test]
fn json_and_the_old_kind_are_read() {
    let json = r#"{"kind": "EncryptionConfig", "apiVersion": "v1", "resources": [{"resources": ["secrets"], "providers": [
        {"aescbc": {"keys": [{"name": "k", "secret": "QkJCQkJCQkJCQkJCQkJCQg=="}]}}, {"identity": {}}]}]}"#;
    assert_eq!(EncryptionConfig::parse(json).unwrap().writer("secrets").unwrap().scheme, Scheme::AesCbc);
}

#[test]
fn errors_do_not_hold_the_keys() {
    let secret = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE=";
    let table = [
        (
            CONFIG_YAML.replace("QkJCQkJCQkJCQkJCQkJCQg==", "QkJC"),
            "secrets, deployments.apps: keys[1] of aesgcm has 3 bytes, not 16 or 24 or 32",
        ),
        (CONFIG_YAML.replace("kind: EncryptionConfiguration", "kind: Pod"), "its kind is not EncryptionConfiguration"),
        (CONFIG_YAML.replace("apiVersion: v2, name", "apiVersion: v7, name"), "kms vault: its apiVersion is neither v1 nor v2"),
        (CONFIG_YAML.replace("name: vault,", "name: vault, timeout: 0s,"), "kms vault: its timeout is not a positive duration"),
        (CONFIG_YAML.replace("identity: {}}, {secretbox", "identity: {}, secretbox"), "not one"),
        (CONFIG_YAML.replace("secret: Q", "secret: !Q"), "line 7"),
        (CONFIG_YAML.replace(secret, &format!("{{x: {secret}}}")), "line 7"),
        (CONFIG_YAML.replace(&format!("new, secret: {secret}"), &format!("{secret}, secret: QkJC")), "keys[0] of aesgcm has 3 bytes"),
        (CONFIG_YAML.replace("kind: EncryptionConfiguration", &format!("kind: {secret}")), "its kind is not EncryptionConfiguration"),
        (CONFIG_YAML.replace("- identity", "- enigma"), "line 9"),
        ("kind: EncryptionConfiguration".to_owned(), "it names no resources"),
        ("\u{0}".to_owned(), "EncryptionConfiguration"),
    ];
    for (text, wanted) in table {
        let problem = EncryptionConfig::parse(&text).unwrap_err();
        assert!(problem.contains(wanted), "{problem}, not {wanted}");
        assert!(!problem.contains("QUFB") && !problem.contains("QkJC"), "{problem}");
    }
}

#[test]
fn keys_are_never_shown() {
    let (config, ring) = (config(), KeyRing::new(&config()));
    let shown = format!("{config:?} {ring:?} {config:#?}");
    assert!(shown.contains("old:one") && shown.contains("***"));
    assert!(!shown.contains("65") && !shown.contains("AAAA") && !shown.contains("QUFB"), "{shown}");
}

#[test]
fn a_value_opens_with_the_key_it_names_and_only_in_its_place() {
    let ring = KeyRing::new(&config());
    let value = sealed("k8s:enc:aesgcm:v1:new:", &[0x41; 32], b"/registry/secrets/a/b", b"hello");
    assert_eq!(ring.open(b"/registry/secrets/a/b", &value).unwrap(), b"hello");
    let moved = ring.open(b"/registry/secrets/a/c", &value).unwrap_err();
    assert!(!moved.expected && moved.reason.starts_with("sealed by aesgcm under key new, but"), "{moved:?}");
    let unknown = ring.open(b"/k", b"k8s:enc:aesgcm:v1:gone:xxxx").unwrap_err();
    assert_eq!(
        unknown,
        Unopened { reason: "sealed by aesgcm under key gone; the encryption config has no such key".to_owned(), expected: true }
    );
    let no_keys = KeyRing::default().open(b"/k", b"k8s:enc:secretbox:v1:b:xxxx").unwrap_err();
    assert_eq!(no_keys.reason, "sealed by secretbox under key b; --encryption-config FILE with that key opens it");
    assert!(ring.open(b"/k", b"k8s:enc:quantum:v9:q:xxxx").unwrap_err().expected);
    assert_eq!(ring.open(b"/k", b"plain").unwrap(), b"plain");
}

#[test]
fn a_name_may_hold_a_colon_where_the_config_has_it() {
    let ring = KeyRing::new(&config());
    assert_eq!(ring.seal_of(b"k8s:enc:aesgcm:v1:old:one:payload").name, "old:one");
    assert_eq!(ring.seal_of(b"k8s:enc:aesgcm:v1:old:two:payload").name, "old");
}

#[test]
fn kms_values_name_their_key_and_open_through_the_plugin() {
    let value = kms_value("one", &[7; 32], b"/k", b"hello");
    let ring = KeyRing::new(&config());
    assert_eq!(ring.seal_of(&value).key_id.as_deref(), Some("one"));
    let closed = ring.open(b"/k", &value).unwrap_err();
    assert!(closed.expected && closed.reason.starts_with("sealed by kms v2 plugin vault under key id one; only the plugin"), "{closed:?}");
    let ring = ring.with_key_service(Arc::new(Plugin));
    assert_eq!(ring.open(b"/k", &value).unwrap(), b"hello");
    let lost = ring.open(b"/k", &kms_value("lost", &[7; 32], b"/k", b"hello")).unwrap_err();
    assert_eq!(lost.reason, "sealed by kms v2 plugin vault under key id lost; the plugin says: no such key");
}

#[test]
fn kms_v1_stays_closed_with_every_key_and_plugin() {
    let ring = KeyRing::new(&config()).with_key_service(Arc::new(Plugin));
    let closed = ring.open(b"/k", b"k8s:enc:kms:v1:vault:xxxx").unwrap_err();
    assert!(closed.expected && closed.reason.ends_with("ketcd asks plugins of kms v2 only"), "{closed:?}");
}

#[test]
fn an_audit_shows_what_keeps_the_promise() {
    let config = config();
    let ring = KeyRing::new(&config).with_key_service(Arc::new(Plugin));
    let mut audit = Audit::new(Some(&config), &ring);
    audit.add("secrets", b"/k", &sealed("k8s:enc:aesgcm:v1:new:", &[0x41; 32], b"/k", b"hello"));
    // Another cluster's key of the same name: one value, not all of that name.
    audit.add("secrets", b"/k", &sealed("k8s:enc:aesgcm:v1:new:", &[0x42; 32], b"/k", b"hello"));
    audit.add("secrets", b"/l", &sealed("k8s:enc:aesgcm:v1:new:", &[0x41; 32], b"/l", b"hello"));
    audit.add("secrets", b"/k", b"k8s\0plain");
    audit.add("secrets", b"/k", b"k8s:enc:aesgcm:v1:old:one:damaged");
    audit.add("secrets", b"/k", &sealed("k8s:enc:aesgcm:v1:old:one:", &[0x41; 32], b"/k", b"hello"));
    audit.add("things.example.com", b"/k", b"k8s:enc:secretbox:v1:b:damaged");
    audit.add("configmaps", b"/k", &kms_value("one", &[7; 32], b"/k", b"hello"));
    audit.add("configmaps", b"/k", &kms_value("two", &[7; 32], b"/k", b"hello"));
    audit.add("leases.coordination.k8s.io", b"/k", b"k8s\0plain");
    let rows: Vec<_> = audit.finish().into_iter().map(|row| (row.resource, row.scheme, row.values, row.opened, row.promise)).collect();
    let wanted = [
        ("configmaps", Scheme::KmsV2, 1, 1, Promise::OtherKey),
        ("configmaps", Scheme::KmsV2, 1, 1, Promise::Kept),
        ("leases.coordination.k8s.io", Scheme::Identity, 1, 1, Promise::Kept),
        ("secrets", Scheme::Identity, 1, 1, Promise::PlainText),
        ("secrets", Scheme::AesGcm, 2, 2, Promise::Kept),
        ("secrets", Scheme::AesGcm, 1, 0, Promise::DoesNotOpen),
        ("secrets", Scheme::AesGcm, 2, 0, Promise::OtherKey),
        ("things.example.com", Scheme::Secretbox, 1, 0, Promise::StillSealed),
    ];
    assert_eq!(rows, wanted.map(|(resource, scheme, values, opened, promise)| (resource.to_owned(), scheme, values, opened, promise)));
}

proptest! {
    #[test]
    fn any_value_is_opened_or_refused(kind in 0..6_usize, bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let prefix = ["aescbc:v1:new:", "aesgcm:v1:new:", "secretbox:v1:b:", "kms:v1:vault:", "kms:v2:vault:", ""][kind];
        let ring = KeyRing::new(&config()).with_key_service(Arc::new(Refuses));
        prop_assert!(ring.open(b"/k", &[b"k8s:enc:", prefix.as_bytes(), &bytes].concat()).is_err());
    }
}

struct Refuses;

impl KeyService for Refuses {
    fn unwrap(&self, _: &Wrapped) -> Result<Zeroizing<Vec<u8>>, String> {
        Err("no".to_owned())
    }

    fn current_key_id(&self, _: &str) -> Option<String> {
        None
    }
}
