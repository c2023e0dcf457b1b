//! What stands for the ciphers in a build without the feature `encryption`: nothing opens.

/// The value cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DoesNotOpen;

type Opened = Result<Vec<u8>, DoesNotOpen>;

pub(super) fn aes_cbc(_secret: &[u8], _payload: &[u8]) -> Opened {
    Err(DoesNotOpen)
}

pub(super) fn aes_gcm(_secret: &[u8], _payload: &[u8], _key: &[u8]) -> Opened {
    Err(DoesNotOpen)
}

pub(super) fn aes_gcm_from_seed(_seed: &[u8], _payload: &[u8], _key: &[u8]) -> Opened {
    Err(DoesNotOpen)
}

pub(super) fn secretbox(_secret: &[u8], _payload: &[u8]) -> Opened {
    Err(DoesNotOpen)
}
