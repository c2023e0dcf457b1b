//! What a sealed value says of itself: `k8s:enc:<provider>:<version>:<key name>:<payload>`.

use std::fmt;

use super::kms::KmsEnvelope;

/// What every sealed value begins with.
pub(super) const SEALED_PREFIX: &[u8] = b"k8s:enc:";

/// How a value is stored: the providers of an encryption configuration, as its file spells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Scheme {
    /// In plain text.
    Identity,
    /// AES-CBC with PKCS#7 padding.
    AesCbc,
    /// AES-GCM.
    AesGcm,
    /// XSalsa20 and Poly1305.
    Secretbox,
    /// A plugin's first API: the data key is stored with the value, sealed by the plugin.
    KmsV1,
    /// A plugin's second API.
    KmsV2,
    /// Something newer than ketcd.
    Unknown,
}

impl Scheme {
    /// The prefixes of sealed values, without [`SEALED_PREFIX`].
    const KNOWN_PREFIXES: [(&'static str, Self); 5] = [
        ("aescbc:v1:", Self::AesCbc),
        ("aesgcm:v1:", Self::AesGcm),
        ("secretbox:v1:", Self::Secretbox),
        ("kms:v1:", Self::KmsV1),
        ("kms:v2:", Self::KmsV2),
    ];

    /// Whether a plugin holds the key.
    pub fn is_kms(self) -> bool {
        matches!(self, Self::KmsV1 | Self::KmsV2)
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Identity => "identity",
            Self::AesCbc => "aescbc",
            Self::AesGcm => "aesgcm",
            Self::Secretbox => "secretbox",
            Self::KmsV1 => "kms v1",
            Self::KmsV2 => "kms v2",
            Self::Unknown => "unknown provider",
        })
    }
}

/// How one value is sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal<'a> {
    /// With what.
    pub scheme: Scheme,
    /// The key's name, or the KMS provider's; empty in plain text.
    pub name: String,
    /// KMS v2: the id of the plugin's key.
    pub key_id: Option<String>,
    /// What follows the name.
    pub(super) payload: &'a [u8],
}

impl<'a> Seal<'a> {
    /// Whether `value` is sealed at all.
    pub fn is_on(value: &[u8]) -> bool {
        value.starts_with(SEALED_PREFIX)
    }

    /// Reads how `value` is sealed. `known` are the configured names: one may hold a colon, which else ends it.
    pub fn read<'n>(value: &'a [u8], known: impl IntoIterator<Item = &'n str>) -> Self {
        let Some(sealed) = value.strip_prefix(SEALED_PREFIX) else {
            return Self { scheme: Scheme::Identity, name: String::new(), key_id: None, payload: value };
        };
        let found = Scheme::KNOWN_PREFIXES.iter().find_map(|(prefix, scheme)| Some((*scheme, sealed.strip_prefix(prefix.as_bytes())?)));
        let (scheme, rest) = found.unwrap_or((Scheme::Unknown, sealed));
        let configured = known.into_iter().filter(|name| rest.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b":")));
        let to_colon = || rest.iter().position(|&byte| byte == b':').unwrap_or(rest.len());
        let end = configured.map(str::len).max().unwrap_or_else(to_colon);
        let (name, payload) = (&rest[..end], rest.get(end + 1..).unwrap_or_default());
        let key_id = (scheme == Scheme::KmsV2).then(|| KmsEnvelope::read(payload)).flatten().map(|envelope| envelope.key_id);
        Self { scheme, name: String::from_utf8_lossy(name).into_owned(), key_id, payload }
    }
}

impl fmt::Display for Seal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.scheme, &self.key_id) {
            (Scheme::Identity, _) => write!(f, "in plain text"),
            (Scheme::KmsV2, Some(id)) => write!(f, "sealed by kms v2 plugin {} under key id {id}", self.name),
            (scheme, _) if scheme.is_kms() => write!(f, "sealed by {scheme} plugin {}", self.name),
            (scheme, _) => write!(f, "sealed by {scheme} under key {}", self.name),
        }
    }
}
