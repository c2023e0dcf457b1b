//! Kubernetes' own EncryptionConfiguration: which resources are sealed with what.

use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{IgnoredAny, Visitor};
use serde::{Deserialize, Deserializer};
use zeroize::Zeroizing;

use super::Scheme;
use crate::go_duration::parse_go_duration;

/// An encryption configuration: its rules in order.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EncryptionConfig {
    /// The first that names a resource counts for it.
    pub rules: Vec<ResourceConfiguration>,
}

/// What holds for some resources.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResourceConfiguration {
    /// `secrets`, `deployments.apps`, `*.apps`, `*.` (the core group) or `*.*`.
    pub resources: Vec<String>,
    /// The first writes, all read.
    pub providers: Vec<Provider>,
}

/// A provider with its keys.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Provider {
    /// Which one.
    pub scheme: Scheme,
    /// The keys, the first of which writes; empty for identity and KMS.
    pub keys: Vec<Key>,
    /// KMS: the provider's name.
    pub name: String,
    /// KMS: the plugin's socket, `unix:///…`.
    pub endpoint: String,
    /// KMS: how long the plugin may take to answer, where the configuration says so.
    pub timeout: Option<Duration>,
}

/// A named key.
#[derive(Clone, Debug, Deserialize)]
pub struct Key {
    /// Its name, which sealed values bear.
    pub name: String,
    /// The key itself.
    pub secret: Secret,
}

/// Key bytes: wiped when dropped, never shown.
#[derive(Clone)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// A secret of these bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Base64;
        impl Visitor<'_> for Base64 {
            type Value = Secret;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key in standard base64")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Secret, E> {
                STANDARD.decode(text).map(Secret::new).map_err(|_| E::custom("no standard base64"))
            }
        }
        deserializer.deserialize_str(Base64)
    }
}

impl EncryptionConfig {
    /// Reads a configuration, YAML or JSON: `EncryptionConfiguration` of `apiserver.config.k8s.io/v1`, or the `EncryptionConfig` of
    /// Kubernetes up to 1.12.
    ///
    /// # Errors
    ///
    /// A fragment that says what is wrong and where. It quotes only resources and KMS plugins of the text: anything else
    /// might be a key.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: File = serde_saphyr::from_str(text).map_err(|error| {
            let place = error.location().map_or_else(String::new, |at| format!("line {}, column {}: ", at.line(), at.column()));
            format!("{place}it does not have the form of Kubernetes' EncryptionConfiguration (keys are standard base64)")
        })?;
        if !matches!(file.kind.as_str(), "EncryptionConfiguration" | "EncryptionConfig") {
            return Err("its kind is not EncryptionConfiguration".to_owned());
        }
        let rules: Vec<ResourceConfiguration> = file.resources.into_iter().map(RuleEntry::read).collect::<Result<_, _>>()?;
        if rules.is_empty() {
            return Err("it names no resources".to_owned());
        }
        Ok(Self { rules })
    }

    /// Returns the provider that writes a resource, given as `plural` or `plural.group`; `None` if no rule names it.
    pub fn writer(&self, resource: &str) -> Option<&Provider> {
        self.rules.iter().find(|rule| rule.covers(resource))?.providers.first()
    }

    /// Returns every provider of every rule.
    pub fn providers(&self) -> impl Iterator<Item = &Provider> {
        self.rules.iter().flat_map(|rule| &rule.providers)
    }
}

impl ResourceConfiguration {
    /// Whether the rule names the resource, itself or by a wildcard.
    fn covers(&self, resource: &str) -> bool {
        let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
        self.resources.iter().any(|pattern| match pattern.split_once('.') {
            Some(("*", "*")) => true,
            Some(("*", wanted)) => wanted == group,
            Some((wanted, wanted_group)) => (wanted, wanted_group) == (plural, group),
            None => group.is_empty() && pattern == plural,
        })
    }
}

#[derive(Deserialize)]
struct File {
    kind: String,
    #[serde(default)]
    resources: Vec<RuleEntry>,
}

#[derive(Deserialize)]
struct RuleEntry {
    #[serde(default)]
    resources: Vec<String>,
    #[serde(default)]
    providers: Vec<ProviderEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderEntry {
    aescbc: Option<Keys>,
    aesgcm: Option<Keys>,
    secretbox: Option<Keys>,
    kms: Option<Kms>,
    identity: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Keys {
    #[serde(default)]
    keys: Vec<Key>,
}

#[derive(Deserialize)]
struct Kms {
    #[serde(rename = "apiVersion", default)]
    api_version: String,
    name: String,
    #[serde(default)]
    endpoint: String,
    timeout: Option<String>,
}

fn positive(text: &str) -> Option<Duration> {
    let nanos = parse_go_duration(text).ok().and_then(|nanos| u64::try_from(nanos).ok());
    nanos.filter(|nanos| *nanos > 0).map(Duration::from_nanos)
}

impl RuleEntry {
    fn read(self) -> Result<ResourceConfiguration, String> {
        let named = self.resources.join(", ");
        if self.resources.is_empty() {
            return Err("one of its rules names no resources".to_owned());
        }
        let providers: Vec<Provider> = self
            .providers
            .into_iter()
            .map(ProviderEntry::read)
            .collect::<Result<_, _>>()
            .map_err(|problem| format!("{named}: {problem}"))?;
        if providers.is_empty() {
            return Err(format!("{named}: it names no providers"));
        }
        Ok(ResourceConfiguration { resources: self.resources, providers })
    }
}

impl ProviderEntry {
    fn read(self) -> Result<Provider, String> {
        let keyed = |scheme, keys: Keys| Provider { scheme, keys: keys.keys, name: String::new(), endpoint: String::new(), timeout: None };
        let kms = |kms: Kms| {
            let scheme = match kms.api_version.as_str() {
                "" | "v1" => Scheme::KmsV1,
                "v2" => Scheme::KmsV2,
                _ => return Err(format!("kms {}: its apiVersion is neither v1 nor v2", kms.name)),
            };
            let timeout =
                kms.timeout.map(|text| positive(&text).ok_or_else(|| format!("kms {}: its timeout is not a positive duration", kms.name)));
            Ok(Provider { scheme, keys: Vec::new(), timeout: timeout.transpose()?, name: kms.name, endpoint: kms.endpoint })
        };
        let mut found: Vec<Provider> = Vec::new();
        found.extend(self.aescbc.map(|keys| keyed(Scheme::AesCbc, keys)));
        found.extend(self.aesgcm.map(|keys| keyed(Scheme::AesGcm, keys)));
        found.extend(self.secretbox.map(|keys| keyed(Scheme::Secretbox, keys)));
        found.extend(self.identity.map(|_| keyed(Scheme::Identity, Keys { keys: Vec::new() })));
        found.extend(self.kms.map(kms).transpose()?);
        let [provider] = <[Provider; 1]>::try_from(found)
            .map_err(|found| format!("a provider has {} of aescbc, aesgcm, secretbox, kms and identity, not one", found.len()))?;
        provider.check()
    }
}

impl Provider {
    /// Checks the keys as the API server does.
    fn check(self) -> Result<Self, String> {
        let lengths: &[usize] = match self.scheme {
            Scheme::AesCbc | Scheme::AesGcm => &[16, 24, 32],
            Scheme::Secretbox => &[32],
            _ => return Ok(self),
        };
        if self.keys.is_empty() {
            return Err(format!("{} has no keys", self.scheme));
        }
        // A key's name is not printed: the key itself may be in its place.
        for (at, key) in self.keys.iter().enumerate() {
            let length = key.secret.bytes().len();
            if key.name.is_empty() {
                return Err(format!("keys[{at}] of {} has no name", self.scheme));
            }
            if !lengths.contains(&length) {
                let wanted: Vec<String> = lengths.iter().map(usize::to_string).collect();
                return Err(format!("keys[{at}] of {} has {length} bytes, not {}", self.scheme, wanted.join(" or ")));
            }
        }
        Ok(self)
    }
}
