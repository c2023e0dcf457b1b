//! Releases of Kubernetes, as far as JSON depends on them.

use std::fmt;
use std::str::FromStr;

/// A minor release of Kubernetes: 1.`minor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    /// The number behind `1.`.
    pub minor: u16,
}

impl Release {
    /// The oldest release whose types are known.
    pub const OLDEST: Self = Self { minor: 8 };
    /// The newest release whose types are known (1.37, as of its first beta).
    pub const NEWEST: Self = Self { minor: 37 };

    /// The release 1.`minor`.
    pub fn new(minor: u16) -> Self {
        Self { minor }
    }

    /// As the tables count: those older or newer than the known ones follow the nearest known one's rules.
    pub(super) fn in_tables(self) -> u8 {
        self.clamp(Self::OLDEST, Self::NEWEST).minor as u8
    }
}

impl Default for Release {
    fn default() -> Self {
        Self::NEWEST
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.minor)
    }
}

/// Text that names no release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoRelease(String);

impl fmt::Display for NoRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no release of Kubernetes such as 1.33 or v1.33.2", self.0)
    }
}

impl std::error::Error for NoRelease {}

impl FromStr for Release {
    type Err = NoRelease;

    /// Reads `1.33`, `v1.33`, `1.33.2`, `v1.33.2+k3s1`.
    fn from_str(text: &str) -> Result<Self, NoRelease> {
        let mut parts = text.strip_prefix('v').unwrap_or(text).split(['.', '+', '-']);
        match (parts.next(), parts.next().map(str::parse)) {
            (Some("1"), Some(Ok(minor))) => Ok(Self { minor }),
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
            assert_eq!(text.parse(), Ok(Release::new(33)), "{text}");
        }
        for text in ["", "33", "2.1", "1.", "1.x", "v"] {
            assert_eq!(text.parse::<Release>(), Err(NoRelease(text.to_owned())));
        }
    }
}
