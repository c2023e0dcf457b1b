//! The ciphers, opening only.

use aes::{Aes128, Aes192, Aes256};
use aes_gcm::aead::consts::U12;
use aes_gcm::aead::{Aead, Payload};
use aes_gcm::{AesGcm, KeyInit};
use cbc::Decryptor;
use cbc::cipher::block_padding::NoPadding;
use cbc::cipher::{BlockDecryptMut, KeyIvInit};
use crypto_secretbox::XSalsa20Poly1305;
use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

/// The key does not fit the cipher or the payload: a wrong key, damage, or a value moved from another etcd key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DoesNotOpen;

type Opened = Result<Vec<u8>, DoesNotOpen>;

const BLOCK_BYTES: usize = 16;
const GCM_NONCE: usize = 12;
const BOX_NONCE: usize = 24;
/// KMS v2 with a seed: what the key is derived from lies before the nonce.
const KMS_INFO: usize = 32;

/// AES-CBC: 16 bytes IV, then the ciphertext, padded as PKCS#7 says. Nothing authenticates it.
pub(super) fn aes_cbc(secret: &[u8], payload: &[u8]) -> Opened {
    let (iv, sealed) = payload.split_at_checked(BLOCK_BYTES).ok_or(DoesNotOpen)?;
    if sealed.is_empty() || sealed.len() % BLOCK_BYTES != 0 {
        return Err(DoesNotOpen);
    }
    let mut plain = match secret.len() {
        16 => unpadded::<Decryptor<Aes128>>(secret, iv, sealed),
        24 => unpadded::<Decryptor<Aes192>>(secret, iv, sealed),
        32 => unpadded::<Decryptor<Aes256>>(secret, iv, sealed),
        _ => Err(DoesNotOpen),
    }?;
    let padding = usize::from(*plain.last().ok_or(DoesNotOpen)?);
    let length = plain.len().checked_sub(padding).filter(|_| padding > 0).ok_or(DoesNotOpen)?;
    if plain[length..].iter().any(|&byte| usize::from(byte) != padding) {
        return Err(DoesNotOpen);
    }
    plain.truncate(length);
    Ok(plain)
}

fn unpadded<C: KeyIvInit + BlockDecryptMut>(secret: &[u8], iv: &[u8], sealed: &[u8]) -> Opened {
    let cipher = C::new_from_slices(secret, iv).map_err(|_| DoesNotOpen)?;
    cipher.decrypt_padded_vec_mut::<NoPadding>(sealed).map_err(|_| DoesNotOpen)
}

/// AES-GCM: 12 bytes nonce, then ciphertext and tag; the whole etcd key is the additional data.
pub(super) fn aes_gcm(secret: &[u8], payload: &[u8], key: &[u8]) -> Opened {
    let (nonce, sealed) = payload.split_at_checked(GCM_NONCE).ok_or(DoesNotOpen)?;
    let payload = Payload { msg: sealed, aad: key };
    match secret.len() {
        16 => authenticated(AesGcm::<Aes128, U12>::new_from_slice(secret).map_err(|_| DoesNotOpen)?, nonce, payload),
        24 => authenticated(AesGcm::<Aes192, U12>::new_from_slice(secret).map_err(|_| DoesNotOpen)?, nonce, payload),
        32 => authenticated(AesGcm::<Aes256, U12>::new_from_slice(secret).map_err(|_| DoesNotOpen)?, nonce, payload),
        _ => Err(DoesNotOpen),
    }
}

/// NaCl's secretbox: 24 bytes nonce, then tag and ciphertext.
pub(super) fn secretbox(secret: &[u8], payload: &[u8]) -> Opened {
    let (nonce, sealed) = payload.split_at_checked(BOX_NONCE).ok_or(DoesNotOpen)?;
    let cipher = XSalsa20Poly1305::new_from_slice(secret).map_err(|_| DoesNotOpen)?;
    authenticated(cipher, nonce, sealed.into())
}

/// KMS v2 with a seed: AES-256-GCM under HKDF-Expand-SHA256(seed, info).
pub(super) fn aes_gcm_from_seed(seed: &[u8], payload: &[u8], key: &[u8]) -> Opened {
    let (info, rest) = payload.split_at_checked(KMS_INFO).ok_or(DoesNotOpen)?;
    let mut secret = Zeroizing::new([0; 32]);
    Hkdf::<Sha256>::from_prk(seed).map_err(|_| DoesNotOpen)?.expand(info, secret.as_mut()).map_err(|_| DoesNotOpen)?;
    aes_gcm(secret.as_ref(), rest, key)
}

fn authenticated<C: Aead>(cipher: C, nonce: &[u8], payload: Payload<'_, '_>) -> Opened {
    cipher.decrypt(nonce.into(), payload).map_err(|_| DoesNotOpen)
}
