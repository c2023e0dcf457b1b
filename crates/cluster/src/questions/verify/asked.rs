//! How thorough `verify` is, and against what it checks.

use std::time::Duration;

use jiff::Timestamp;

use ketcd_kube::Release;
use ketcd_kube::encryption::EncryptionConfig;

use super::comparison::Holdings;

/// What is asked of `verify` besides the source.
#[derive(Clone, Debug, Default)]
pub struct VerifyAsked {
    /// How long ago the newest write may be; `None` for as long as it likes.
    pub max_age: Option<Duration>,
    /// The release of Kubernetes that an upgrade goes to.
    pub target: Option<Release>,
    /// The API server's EncryptionConfiguration; `None` where it is not known.
    pub encryption: Option<EncryptionConfig>,
    /// Reads a part of the contents alone: every n-th key; `None` reads all.
    pub sample_every: Option<usize>,
    /// Which percentage of a namespace's or kind's keys may have gone since the file that it is compared with; [`KEYS_WITHIN`](super::KEYS_WITHIN) by default.
    pub keys_within: Option<u8>,
    /// What an earlier backup held, and what it is called.
    pub against: Option<(String, Holdings)>,
    /// The time at which the question is asked; `None` where it is not known, so that nothing has an age.
    pub now: Option<Timestamp>,
}
