//! Releases of Kubernetes.

use std::fmt;
use std::str::FromStr;

/// A minor release of Kubernetes, by the number behind `1.`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release(pub u16);

impl Release {
    /// The oldest release whose types are known.
    pub const OLDEST: Self = Self(8);
    /// The newest release whose types are known.
    pub const NEWEST: Self = Self(37);
    /// The newest release whose JSON was held against an API server's; a single value, which does not show its release, is read as of this one.
    pub const PROVEN: Self = Self(36);

    /// As the tables count: those older or newer than the known ones follow the nearest known one's rules.
    pub(super) fn in_tables(self) -> u8 {
        self.clamp(Self::OLDEST, Self::NEWEST).0 as u8
    }
}

impl Default for Release {
    fn default() -> Self {
        Self::NEWEST
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.0)
    }
}

/// The text does not name a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoRelease(String);

impl fmt::Display for NoRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid release {:?}: expected a Kubernetes release such as 1.33 or v1.33.2", self.0)
    }
}

impl std::error::Error for NoRelease {}

impl FromStr for Release {
    type Err = NoRelease;

    /// Reads `1.33`, `v1.33`, `1.33.2`, `v1.33.2+k3s1`.
    fn from_str(text: &str) -> Result<Self, NoRelease> {
        let mut parts = text.strip_prefix('v').unwrap_or(text).split(['.', '+', '-']);
        match (parts.next(), parts.next().map(str::parse)) {
            (Some("1"), Some(Ok(minor))) => Ok(Self(minor)),
            _ => Err(NoRelease(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read_from_versions() {
        for text in ["1.33", "v1.33", "1.33.2", "v1.33.2+k3s1", "1.33-beta.1"] {
            assert_eq!(text.parse(), Ok(Release(33)), "{text}");
        }
        for text in ["", "33", "2.1", "1.", "1.x", "v"] {
            assert_eq!(text.parse::<Release>(), Err(NoRelease(text.to_owned())));
        }
    }
}
