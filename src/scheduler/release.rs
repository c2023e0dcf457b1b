//! The releases whose scheduler is known here.

use std::fmt;

/// A Kubernetes minor release: 1.`minor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release(pub u16);

impl Release {
    /// The oldest release whose rules are known.
    pub const OLDEST: Self = Self(9);
    /// The newest release whose rules are known.
    pub const NEWEST: Self = Self(36);

    /// Parses `1.28`, `v1.28.3`, `v1.28.3+k3s1`. Releases newer than the newest known are taken as that one: see `is_newer`.
    pub fn parse(text: &str) -> Result<Self, UnknownRelease> {
        let unknown = || UnknownRelease { text: text.to_owned() };
        let rest = text.trim().trim_start_matches('v').strip_prefix("1.").ok_or_else(unknown)?;
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        let release = Self(digits.parse().map_err(|_| unknown())?);
        if release < Self::OLDEST { Err(unknown()) } else { Ok(release) }
    }

    /// The release whose rules are applied: itself, or the newest known.
    pub fn known(self) -> Self {
        self.min(Self::NEWEST)
    }

    /// Whether it is newer than the newest whose rules are known.
    pub fn is_newer(self) -> bool {
        self > Self::NEWEST
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.0)
    }
}

/// A version that is none, or older than any whose rules are known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is no scheduler version known here: give one from 1.9 to 1.36, for example 1.28")]
pub struct UnknownRelease {
    /// What was given.
    pub text: String,
}
