//! Hashes under a salt: who does not have it cannot try out originals.

use std::fmt;

use hmac::{Hmac, Mac};
use sha2::Sha256;

/// The digits of pseudonyms, in their order: a name may hold each, and no word is spelled by accident.
pub(crate) const DIGITS: &[u8; 32] = b"0123456789abcdfghjklmnpqrstvwxyz";

/// HMAC-SHA256 under a salt.
#[derive(Clone)]
pub(crate) struct Keyed {
    mac: Hmac<Sha256>,
}

impl fmt::Debug for Keyed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Keyed {
    pub(crate) fn new(salt: &[u8]) -> Self {
        // A key of any length is taken.
        let mac = <Hmac<Sha256> as Mac>::new_from_slice(salt).unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
        Self { mac }
    }

    /// The hash of a text for one purpose; hashes for different purposes tell nothing of each other.
    pub(crate) fn digest(&self, purpose: &str, text: &[u8]) -> [u8; 32] {
        let mut mac = self.mac.clone();
        mac.update(purpose.as_bytes());
        mac.update(&[0]);
        mac.update(text);
        mac.finalize().into_bytes().into()
    }

    /// The hash as digits of pseudonyms, at most 32.
    pub(crate) fn word(&self, purpose: &str, text: &str, digits: usize) -> String {
        let digest = self.digest(purpose, text.as_bytes());
        digest.iter().take(digits).map(|byte| char::from(DIGITS[usize::from(byte & 31)])).collect()
    }

    /// The hash as hexadecimal digits, at most 64.
    pub(crate) fn hex(&self, purpose: &str, text: &str, digits: usize) -> String {
        let digest = self.digest(purpose, text.as_bytes());
        let mut hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        hex.truncate(digits);
        hex
    }
}
