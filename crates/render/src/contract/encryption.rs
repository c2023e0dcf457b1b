//! The JSON of `encryption`.

use schemars::JsonSchema;
use serde::Serialize;

use ketcd_kube::encryption::{self, AuditRow};

/// The audit of encryption at rest.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Encryption<'a> {
    /// One row for each way in which values of a resource are sealed; two for a key that opens some of the values that name it and not the others.
    pub encryption: Vec<SealedRow<'a>>,
    /// Whether every value is as `--encryption-config` says; null where none was given, or where only the KMS plugin knows.
    pub promise_kept: Option<bool>,
}

/// Values of one resource that are sealed alike.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SealedRow<'a> {
    /// The name of the key or of the KMS plugin; null for plain text.
    pub key: Option<&'a str>,
    /// The id of the KMS v2 plugin's key; null elsewhere.
    pub key_id: Option<&'a str>,
    /// How many of the values could be decrypted; all of those in plain text.
    pub opened: u64,
    /// Whether the values are as the configuration says; null where no configuration was given or it does not name the resource.
    pub promise: Option<Promise>,
    /// The provider: `identity` (plain text), `aescbc`, `aesgcm`, `secretbox`, `kms v1`, `kms v2` or `unknown provider`.
    pub provider: String,
    /// Why the first value that could not be decrypted could not; null where all could.
    pub reason: Option<&'a str>,
    /// The resource with its group, such as `secrets` or `deployments.apps`.
    pub resource: &'a str,
    /// How many values.
    pub values: u64,
}

/// Whether values are as the configuration says.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Promise {
    /// They are.
    Kept,
    /// Only the KMS plugin knows its current key.
    Unknown,
    /// They are in plain text, though they should be encrypted.
    PlainText,
    /// They are encrypted with another key than the one that the configuration writes with.
    OtherKey,
    /// They are encrypted, though the configuration writes plain text.
    StillSealed,
    /// The configuration's key does not decrypt them.
    DoesNotOpen,
}

impl<'a> From<&'a [AuditRow]> for Encryption<'a> {
    fn from(rows: &'a [AuditRow]) -> Self {
        let kept = rows.iter().all(|row| row.promise == encryption::Promise::Kept);
        let is_known = kept || rows.iter().any(|row| row.promise.is_broken());
        Self { encryption: rows.iter().map(SealedRow::from).collect(), promise_kept: is_known.then_some(kept) }
    }
}

impl<'a> From<&'a AuditRow> for SealedRow<'a> {
    fn from(row: &'a AuditRow) -> Self {
        Self {
            key: (!row.name.is_empty()).then_some(&row.name),
            key_id: row.key_id.as_deref(),
            opened: row.opened,
            promise: promise(row.promise),
            provider: row.scheme.to_string(),
            reason: row.reason.as_deref(),
            resource: &row.resource,
            values: row.values,
        }
    }
}

fn promise(promise: encryption::Promise) -> Option<Promise> {
    Some(match promise {
        encryption::Promise::NotAsked => return None,
        encryption::Promise::Kept => Promise::Kept,
        encryption::Promise::Unknown => Promise::Unknown,
        encryption::Promise::PlainText => Promise::PlainText,
        encryption::Promise::OtherKey => Promise::OtherKey,
        encryption::Promise::StillSealed => Promise::StillSealed,
        encryption::Promise::DoesNotOpen => Promise::DoesNotOpen,
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    })
}
