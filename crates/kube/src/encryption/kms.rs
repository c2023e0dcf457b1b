//! KMS v2: the envelope around a value, and what opens the data key in it.

use prost::Message;
use zeroize::Zeroizing;

/// A data key as it is stored with a value: sealed by a plugin, which alone can open it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Wrapped {
    /// The provider's name in the configuration.
    pub provider: String,
    /// The id of the plugin's key.
    pub key_id: String,
    /// The sealed data key.
    pub ciphertext: Vec<u8>,
    /// Annotations that the plugin needs to open the key, by name.
    pub annotations: Vec<(String, Vec<u8>)>,
}

/// Opens data keys, as a plugin behind its socket does. It is asked once per data key, and only to decrypt.
pub trait KeyService: Send + Sync {
    /// Opens a data key.
    ///
    /// # Errors
    ///
    /// A fragment that says why not, with no secret in it.
    fn unwrap(&self, key: &Wrapped) -> Result<Zeroizing<Vec<u8>>, String>;

    /// The id of the key under which the plugin of that name seals now, if it answers.
    fn current_key_id(&self, provider: &str) -> Option<String>;
}

/// The value's envelope: `EncryptedObject` of apiserver's `pkg/storage/value/encrypt/envelope/kmsv2/v2/api.proto`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct EncryptedObject {
    #[prost(bytes = "vec", tag = "1")]
    pub encrypted_data: Vec<u8>,
    #[prost(string, tag = "2")]
    pub key_id: String,
    #[prost(bytes = "vec", tag = "3")]
    pub encrypted_dek_source: Vec<u8>,
    #[prost(map = "string, bytes", tag = "4")]
    pub annotations: std::collections::HashMap<String, Vec<u8>>,
    #[prost(int32, tag = "5")]
    pub encrypted_dek_source_type: i32,
}

/// An envelope, taken apart.
pub(super) struct KmsEnvelope {
    pub key_id: String,
    pub data: Vec<u8>,
    pub source: Vec<u8>,
    pub source_kind: DataKeyKind,
    pub annotations: Vec<(String, Vec<u8>)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DataKeyKind {
    /// An AES-256 key.
    Key,
    /// A seed from which each value's key is derived.
    Seed,
    /// Something newer than ketcd.
    Unknown,
}

impl KmsEnvelope {
    /// Reads an envelope; `None` if the bytes are not an envelope.
    pub(super) fn read(payload: &[u8]) -> Option<Self> {
        let read = EncryptedObject::decode(payload).ok()?;
        let mut annotations: Vec<_> = read.annotations.into_iter().collect();
        annotations.sort();
        let source_kind = match read.encrypted_dek_source_type {
            0 => DataKeyKind::Key,
            1 => DataKeyKind::Seed,
            _ => DataKeyKind::Unknown,
        };
        Some(Self { key_id: read.key_id, data: read.encrypted_data, source: read.encrypted_dek_source, source_kind, annotations })
    }
}
