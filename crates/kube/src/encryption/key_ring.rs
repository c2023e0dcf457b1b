//! The keys that open sealed values.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, Once, PoisonError};

use zeroize::Zeroizing;

use super::ciphers::{self, DoesNotOpen};
use super::kms::{DataKeyKind, KeyService, KmsEnvelope, Wrapped};
use super::{EncryptionConfig, Scheme, Seal, Secret};

/// Keys by provider and name. Several of one name (a rotation in place) are all tried, as the API server does on reading.
#[derive(Clone, Default)]
pub struct KeyRing {
    keys: Vec<(Scheme, String, Secret)>,
    kms: Vec<(Scheme, String)>,
    service: Option<Arc<dyn KeyService>>,
    data_keys: Arc<Mutex<HashMap<Wrapped, DataKey>>>,
    first: Option<Arc<FirstOpening>>,
}

/// What is done once, when the first value is opened.
struct FirstOpening {
    once: Once,
    act: Box<dyn Fn() + Send + Sync>,
}

/// A data key that a plugin opened, or why it did not.
type DataKey = Result<Zeroizing<Vec<u8>>, String>;

/// Why a sealed value stays closed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unopened {
    /// One lowercase fragment that names the provider and the key.
    pub reason: String,
    /// Whether only a key is missing, rather than something being wrong.
    pub expected: bool,
}

impl KeyRing {
    /// Gathers the keys of a configuration. Which resources it names matters for writing only.
    pub fn new(config: &EncryptionConfig) -> Self {
        let keys =
            config.providers().flat_map(|provider| provider.keys.iter().map(|key| (provider.scheme, key.name.clone(), key.secret.clone())));
        let kms = config.providers().filter(|provider| provider.scheme.is_kms()).map(|provider| (provider.scheme, provider.name.clone()));
        Self { keys: keys.collect(), kms: kms.collect(), ..Self::default() }
    }

    /// Lets `service` open the data keys of KMS v2.
    #[must_use]
    pub fn with_key_service(self, service: Arc<dyn KeyService>) -> Self {
        Self { service: Some(service), ..self }
    }

    /// Does something once, when the first value is opened with one of these keys.
    #[must_use]
    pub fn on_first_opening(self, act: impl Fn() + Send + Sync + 'static) -> Self {
        Self { first: Some(Arc::new(FirstOpening { once: Once::new(), act: Box::new(act) })), ..self }
    }

    /// Reads how `value` is sealed, with the names of our keys at hand.
    pub fn seal_of<'a>(&self, value: &'a [u8]) -> Seal<'a> {
        let names = self.keys.iter().map(|(_, name, _)| name).chain(self.kms.iter().map(|(_, name)| name));
        Seal::read(value, names.map(String::as_str))
    }

    /// Opens a sealed value. `key` is the whole etcd key: AEAD providers bind the value to it.
    ///
    /// # Errors
    ///
    /// Why it stays closed.
    pub fn open(&self, key: &[u8], value: &[u8]) -> Result<Vec<u8>, Unopened> {
        let seal = self.seal_of(value);
        if seal.scheme == Scheme::Identity {
            return Ok(value.to_vec());
        }
        let opened = self.open_sealed(&seal, key)?;
        self.first.iter().for_each(|first| first.once.call_once(&first.act));
        Ok(opened)
    }

    fn open_sealed(&self, seal: &Seal<'_>, key: &[u8]) -> Result<Vec<u8>, Unopened> {
        match seal.scheme {
            _ if !cfg!(feature = "encryption") => Err(Unopened {
                reason: format!("{seal}; this program is built without the feature encryption of ketcd-kube"),
                expected: true,
            }),
            Scheme::AesCbc | Scheme::AesGcm | Scheme::Secretbox => self.open_with_keys(seal, key),
            Scheme::KmsV2 => self.open_with_plugin(seal, key),
            Scheme::KmsV1 => {
                Err(Unopened { reason: format!("{seal}, which alone can open it; ketcd asks plugins of kms v2 only"), expected: true })
            }
            Scheme::Unknown | Scheme::Identity => {
                Err(Unopened { reason: "sealed by a provider that ketcd does not know".to_owned(), expected: true })
            }
        }
    }

    fn open_with_keys(&self, seal: &Seal<'_>, key: &[u8]) -> Result<Vec<u8>, Unopened> {
        let mut named = self.keys.iter().filter(|(scheme, name, _)| (*scheme, name) == (seal.scheme, &seal.name)).peekable();
        if named.peek().is_none() {
            let what = if self.keys.is_empty() {
                "--encryption-config FILE with that key opens it"
            } else {
                "the encryption config has no such key"
            };
            return Err(Unopened { reason: format!("{seal}; {what}"), expected: true });
        }
        let open = |secret: &Secret| match seal.scheme {
            Scheme::AesCbc => ciphers::aes_cbc(secret.bytes(), seal.payload),
            Scheme::AesGcm => ciphers::aes_gcm(secret.bytes(), seal.payload, key),
            Scheme::Secretbox => ciphers::secretbox(secret.bytes(), seal.payload),
            _ => Err(DoesNotOpen),
        };
        named.find_map(|(_, _, secret)| open(secret).ok()).ok_or_else(|| Unopened {
            reason: format!("{seal}, but the config's key of that name does not open it: another secret, or a damaged value"),
            expected: false,
        })
    }

    fn open_with_plugin(&self, seal: &Seal<'_>, key: &[u8]) -> Result<Vec<u8>, Unopened> {
        let closed = |why: &str, expected| Unopened { reason: format!("{seal}{why}"), expected };
        let envelope = KmsEnvelope::read(seal.payload).ok_or_else(|| closed("; its envelope is damaged", false))?;
        let Some(service) = &self.service else {
            return Err(closed("; only the plugin can open it: --encryption-config FILE names its socket", true));
        };
        let wrapped = Wrapped {
            provider: seal.name.clone(),
            key_id: envelope.key_id.clone(),
            ciphertext: envelope.source.clone(),
            annotations: envelope.annotations.clone(),
        };
        let data_key = self.data_key(service.as_ref(), wrapped).map_err(|why| closed(&format!("; {why}"), true))?;
        match envelope.source_kind {
            DataKeyKind::Key => ciphers::aes_gcm(&data_key, &envelope.data, key),
            DataKeyKind::Seed => ciphers::aes_gcm_from_seed(&data_key, &envelope.data, key),
            DataKeyKind::Unknown => return Err(closed("; its data key is of a kind newer than ketcd", true)),
        }
        .map_err(|DoesNotOpen| closed(", but the plugin's data key does not open it: a damaged value, or moved from another key", false))
    }

    /// Asks for each data key once; a refusal is remembered too.
    fn data_key(&self, service: &dyn KeyService, wrapped: Wrapped) -> DataKey {
        let mut known = self.data_keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = known.get(&wrapped) {
            return answer.clone();
        }
        let answer = service.unwrap(&wrapped);
        known.insert(wrapped, answer.clone());
        answer
    }

    /// The id of the key under which a KMS v2 plugin seals now, if it answers.
    pub fn current_key_id(&self, provider: &str) -> Option<String> {
        self.service.as_ref()?.current_key_id(provider)
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.keys.iter().map(|(scheme, name, _)| format!("{scheme}/{name}")).collect();
        f.debug_struct("KeyRing").field("keys", &names).field("kms", &self.kms).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(feature = "encryption")))]
mod tests {
    use super::*;

    #[test]
    fn without_the_feature_a_sealed_value_stays_closed() {
        let closed = KeyRing::default().open(b"/registry/secrets/a/b", b"k8s:enc:aesgcm:v1:new:payload").unwrap_err();
        assert!(closed.expected && closed.reason.starts_with("sealed by aesgcm under key new; "), "{closed:?}");
    }
}
