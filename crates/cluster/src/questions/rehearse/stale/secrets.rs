//! Reads what is not secret of a Secret: when a token expires, and a certificate, which every server hands out.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::Timestamp;

use ketcd_kube::{Body, Decoder};
use ketcd_store::KeyValue;

use super::super::objects::text;
use super::super::states::RehearsedState;
use crate::questions::triage::certificates::valid_until;

pub(super) struct SecretReader(Decoder);

pub(super) struct PublicPart {
    /// When a bootstrap token expires.
    pub expiration: Option<Timestamp>,
    /// Until when the certificate is valid.
    pub valid_until: Option<Timestamp>,
}

impl SecretReader {
    pub(super) fn of(state: &RehearsedState<'_>) -> Self {
        Self(state.cluster.decoder.clone().showing_secrets(true))
    }

    pub(super) fn read(&self, entry: &KeyValue) -> Option<PublicPart> {
        let Body::Object(secret) = self.0.decode(&entry.key, &entry.value, entry.mod_revision.0).body else { return None };
        let expiration = BASE64.decode(text(&secret, "/data/expiration")).ok();
        Some(PublicPart {
            expiration: expiration.and_then(|time| std::str::from_utf8(&time).ok()?.parse().ok()),
            valid_until: valid_until(secret.pointer("/data/tls.crt").and_then(serde_json::Value::as_str).unwrap_or_default()),
        })
    }
}
