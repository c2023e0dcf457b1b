//! The releases whose rules are known here.

use ketcd_kube::Release;

/// The oldest release whose rules are known.
pub const OLDEST_SCHEDULER: Release = Release(9);
/// The newest release whose rules are known.
pub const NEWEST_SCHEDULER: Release = Release(37);

/// Parses a scheduler's version such as `1.28` or `v1.28.3+k3s1`. Versions newer than the newest known are accepted: see [`applied_release`].
///
/// # Errors
/// `text` is not a version, or is older than the oldest whose rules are known.
pub fn scheduler_release(text: &str) -> Result<Release, UnknownRelease> {
    match text.trim().parse() {
        Ok(release) if release >= OLDEST_SCHEDULER => Ok(release),
        _ => Err(UnknownRelease { text: text.to_owned() }),
    }
}

/// The patch of a version: 15 of `v1.20.15`.
pub fn scheduler_patch(text: &str) -> Option<u16> {
    text.trim().split(['.', '+', '-']).nth(2)?.parse().ok()
}

/// Returns the release whose rules are applied to a scheduler of `release`: itself, or the newest known.
pub fn applied_release(release: Release) -> Release {
    release.min(NEWEST_SCHEDULER)
}

/// A text that is not a version, or is older than the oldest whose rules are known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown scheduler version \"{text}\": expected one from {OLDEST_SCHEDULER} to {NEWEST_SCHEDULER}, for example 1.28")]
pub struct UnknownRelease {
    /// The text given.
    pub text: String,
}
