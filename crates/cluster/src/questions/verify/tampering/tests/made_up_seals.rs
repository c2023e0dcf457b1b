//! A made-up life of Secrets that are rewritten in place under other providers: plaintext, aescbc, a KMS plugin, another key of the plugin. Nobody ran this
//! control plane (no plugin was at hand); the values are really sealed, by the providers' formats (apiserver v0.37, `pkg/storage/value/encrypt`).

use std::collections::BTreeMap;
use std::sync::Arc;

use aes_gcm::aead::{Aead, Payload};
use aes_gcm::{Aes256Gcm, KeyInit};
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockEncryptMut, KeyIvInit};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use ketcd_kube::encryption::{EncryptionConfig, KeyRing, KeyService, Wrapped};

use super::super::super::finding::Weight;
use super::store::{Store, object, protobuf, with};

const CBC_SECRET: &[u8; 32] = b"0123456789abcdef0123456789abcdef";

const CONFIG: &str = r#"
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - kms: {apiVersion: v2, name: vault, endpoint: "unix:///run/vault.sock"}
  - aescbc: {keys: [{name: key1, secret: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}]}
  - identity: {}
"#;

/// The first provider of an API server's configuration: with which it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    Identity,
    AesCbc,
    /// A plugin, by the number of its key.
    Kms(u8),
}

/// Opens the data keys: each is the number of its key and of the start that made it.
struct Plugin;

impl KeyService for Plugin {
    fn unwrap(&self, key: &Wrapped) -> Result<Zeroizing<Vec<u8>>, String> {
        Ok(Zeroizing::new([&key.ciphertext[..], &[0; 30]].concat()))
    }

    fn current_key_id(&self, _: &str) -> Option<String> {
        None
    }
}

/// A store of Secrets, each with the provider that sealed it last.
struct Life {
    store: Store,
    secrets: BTreeMap<String, (Value, First)>,
    /// How often API servers were started.
    starts: u8,
}

impl Life {
    /// A write by an API server of this configuration. It leaves out what changes nothing, unless what is stored is stale to it: under another provider, or
    /// under another key of its plugin (`pkg/storage/etcd3/store.go`, `…/envelope/kmsv2/envelope.go`).
    fn write(&mut self, name: &str, by: First, changes: &Value) {
        let (before, sealed) = match self.secrets.get(name) {
            Some((before, sealed)) => (before.clone(), Some(*sealed)),
            None => {
                let created = json!({"metadata": {"uid": format!("uid-{name}"), "creationTimestamp": self.store.now()}});
                (with(&object("v1", "Secret", "default", name), &created), None)
            }
        };
        let secret = with(&before, changes);
        if sealed == Some(by) && secret == before {
            return;
        }
        let key = format!("/registry/secrets/default/{name}");
        let value = self.sealed(by, &key, &protobuf(&secret));
        self.store.put(&key, value);
        self.secrets.insert(name.to_owned(), (secret, by));
    }

    /// Writes each Secret again as it is, as `kubectl replace` and storage migration do.
    fn rewrite(&mut self, by: First) {
        for name in self.secrets.keys().cloned().collect::<Vec<_>>() {
            self.write(&name, by, &json!({}));
        }
    }

    /// Two servers of which one has the new configuration already: they alternate, also on one Secret.
    fn roll_out(&mut self, (old, new): (First, First), word: &str) {
        for number in 0..8 {
            let by = if number % 2 == 0 { new } else { old };
            self.write(&format!("s-{}", number / 2), by, &json!({"metadata": {"labels": {"at": format!("{word}-{number}")}}}));
            self.write(&format!("{word}-{number}"), by, &json!({"type": "Opaque"}));
            // Nothing changes, and what the other one sealed is stale.
            self.write("s-0", by, &json!({}));
            self.go_on(word, number);
        }
        self.starts += 1;
    }

    /// Others write too, which dates what is sealed.
    fn go_on(&mut self, word: &str, number: i32) {
        let name = format!("of-{word}-{number}");
        self.store.create(&format!("/registry/configmaps/default/{name}"), &object("v1", "ConfigMap", "default", &name));
    }

    fn sealed(&self, by: First, key: &str, plain: &[u8]) -> Vec<u8> {
        let number = self.store.next().to_be_bytes();
        match by {
            First::Identity => plain.to_vec(),
            First::AesCbc => {
                let vector: [u8; 16] = [number, number].concat().try_into().unwrap();
                let cipher = cbc::Encryptor::<aes::Aes256>::new(CBC_SECRET.into(), &vector.into());
                [&b"k8s:enc:aescbc:v1:key1:"[..], &vector, &cipher.encrypt_padded_vec_mut::<Pkcs7>(plain)].concat()
            }
            First::Kms(id) => {
                let source = [id, self.starts];
                let data_key: [u8; 32] = [&source[..], &[0; 30]].concat().try_into().unwrap();
                let nonce: [u8; 12] = [&number[..], &[0; 4]].concat().try_into().unwrap();
                let sealed = Aes256Gcm::new(&data_key.into()).encrypt(&nonce.into(), Payload { msg: plain, aad: key.as_bytes() }).unwrap();
                let envelope =
                    [field(1, &[&nonce[..], &sealed].concat()), field(2, format!("key-{id}").as_bytes()), field(3, &source)].concat();
                [&b"k8s:enc:kms:v2:vault:"[..], &envelope].concat()
            }
        }
    }
}

/// A field of a message in protobuf.
fn field(number: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = payload.len();
    while length > 0x7f {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend(payload);
    out
}

/// Plaintext, then aescbc, then a plugin, each rewritten in place, while servers are restarted one after the other.
fn life() -> Life {
    let mut life = Life { store: Store::new(), secrets: BTreeMap::new(), starts: 0 };
    for number in 0..20 {
        life.write(&format!("s-{number}"), First::Identity, &json!({"type": "Opaque", "data": {"word": "b25l"}}));
    }
    life.roll_out((First::Identity, First::AesCbc), "cbc");
    life.rewrite(First::AesCbc);
    for number in 0..12 {
        life.write(&format!("s-{number}"), First::AesCbc, &json!({"data": {"word": "dHdv"}}));
        life.go_on("steady", number);
    }
    life.roll_out((First::AesCbc, First::Kms(1)), "kms");
    life.rewrite(First::Kms(1));
    // Another start has another data key under the same key of the plugin; what is stored is not stale.
    life.starts += 1;
    life.rewrite(First::Kms(1));
    for number in 0..12 {
        life.write(&format!("s-{number}"), First::Kms(1), &json!({"data": {"word": "dGhyZWU="}}));
        life.go_on("sealed", number);
    }
    life.roll_out((First::Kms(1), First::Kms(2)), "rotated");
    life.rewrite(First::Kms(2));
    life.store.go_on();
    life
}

#[tokio::test]
async fn made_up_secrets_rewritten_from_plaintext_over_aescbc_to_kms_are_lawful() {
    let mut life = life();
    let config = EncryptionConfig::parse(CONFIG).unwrap();
    let all = KeyRing::new(&config).with_key_service(Arc::new(Plugin));
    let opened = all.open(b"/registry/secrets/default/s-1", &life.sealed(First::Kms(2), "/registry/secrets/default/s-1", b"text")).unwrap();
    assert_eq!(opened, b"text", "the values are sealed as the plugin's are");
    let without_plugin = KeyRing::new(&config);
    for (keys, what) in [(KeyRing::default(), "no keys"), (without_plugin, "no plugin"), (all.clone(), "all keys")] {
        assert_eq!(life.store.findings_with(keys).await, [], "{what}");
    }
    // The rules are awake: a sealed value that was there before, under its own key, and plaintext among what is sealed.
    let key = "/registry/secrets/default/s-2";
    let value = life.sealed(First::AesCbc, key, b"text");
    life.store.put(key, value.clone());
    let again = life.store.put(key, value);
    let found = life.store.findings_with(all).await;
    assert!(found.iter().any(|finding| finding.revision.map(|at| at.0) == Some(again) && finding.weight == Weight::High), "{found:?}");
}
