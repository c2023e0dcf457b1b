//! Semantic versions, as `github.com/blang/semver` reads and orders them.

use std::cmp::Ordering;
use std::fmt;

/// A semantic version 2.0.0; build metadata does not order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Semver {
    /// Major, minor, patch.
    pub core: [u64; 3],
    pre: Vec<Identifier>,
    build: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Text(String),
}

impl Semver {
    /// Parses a strict version.
    ///
    /// # Errors
    /// The library's error for an invalid text (leading zeros, missing parts, a leading `v`).
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("Version string empty".to_owned());
        }
        let parts: Vec<&str> = text.splitn(3, '.').collect();
        let [major, minor, patch] = parts[..] else { return Err("No Major.Minor.Patch elements found".to_owned()) };
        let (major, minor) = (number("Major", major)?, number("Minor", minor)?);
        let (patch, build) = patch.split_once('+').map_or((patch, None), |(patch, build)| (patch, Some(build)));
        let (patch, pre) = patch.split_once('-').map_or((patch, None), |(patch, pre)| (patch, Some(pre)));
        let core = [major, minor, number("Patch", patch)?];
        let pre = pre.map_or(Ok(Vec::new()), |pre| pre.split('.').map(identifier).collect())?;
        for part in build.into_iter().flat_map(|build| build.split('.')) {
            if part.is_empty() {
                return Err("Build meta data is empty".to_owned());
            }
            if !part.bytes().all(is_identifier) {
                return Err(format!("Invalid character(s) found in build meta data {part:?}"));
            }
        }
        Ok(Self { core, pre, build: build.map(str::to_owned) })
    }

    /// Parses with the clean-up of `semver(text, true)`: a leading `v`, missing parts and leading zeros are accepted.
    pub(crate) fn parse_normalized(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(unpadded).collect();
        if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            return Err("short version cannot contain PreRelease/Build meta data".to_owned());
        }
        parts.resize(3, "0".to_owned());
        Self::parse(&parts.join("."))
    }
}

impl fmt::Display for Semver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.core;
        write!(f, "{major}.{minor}.{patch}")?;
        for (at, identifier) in self.pre.iter().enumerate() {
            let before = if at == 0 { '-' } else { '.' };
            match identifier {
                Identifier::Number(number) => write!(f, "{before}{number}")?,
                Identifier::Text(text) => write!(f, "{before}{text}")?,
            }
        }
        self.build.iter().try_for_each(|build| write!(f, "+{build}"))
    }
}

impl PartialOrd for Semver {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Semver {
    fn cmp(&self, other: &Self) -> Ordering {
        // A release is greater than all its pre-releases.
        let released = |version: &Self| version.pre.is_empty();
        self.core.cmp(&other.core).then(released(self).cmp(&released(other))).then_with(|| self.pre.cmp(&other.pre))
    }
}

fn unpadded(part: &str) -> String {
    let bare = part.trim_start_matches('0');
    match part.len() {
        ..=1 => part.to_owned(),
        _ if bare.starts_with(|c: char| c.is_ascii_digit()) => bare.to_owned(),
        _ => format!("0{bare}"),
    }
}

fn number(which: &str, text: &str) -> Result<u64, String> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("Invalid character(s) found in {} number {text:?}", which.to_ascii_lowercase()));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(format!("{which} number must not contain leading zeroes {text:?}"));
    }
    digits(text)
}

fn digits(text: &str) -> Result<u64, String> {
    let problem = if text.is_empty() { "invalid syntax" } else { "value out of range" };
    text.parse().map_err(|_| format!("strconv.ParseUint: parsing {text:?}: {problem}"))
}

fn identifier(text: &str) -> Result<Identifier, String> {
    if text.is_empty() {
        return Err("Prerelease is empty".to_owned());
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        if text.len() > 1 && text.starts_with('0') {
            return Err(format!("Numeric PreRelease version must not contain leading zeroes {text:?}"));
        }
        return digits(text).map(Identifier::Number);
    }
    if text.bytes().all(is_identifier) {
        return Ok(Identifier::Text(text.to_owned()));
    }
    Err(format!("Invalid character(s) found in prerelease {text:?}"))
}

fn is_identifier(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

#[cfg(test)]
mod tests {
    use super::Semver;

    #[test]
    fn orders_as_the_specification_does() {
        let ordered =
            ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.2.0", "1.10.0"];
        let versions: Vec<_> = ordered.iter().map(|text| Semver::parse(text).unwrap()).collect();
        assert!(versions.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn errors_are_those_of_the_library() {
        let error = |text: &str| Semver::parse(text).unwrap_err();
        assert_eq!(error("1.2"), "No Major.Minor.Patch elements found");
        assert_eq!(error("1.2.3.4"), "Invalid character(s) found in patch number \"3.4\"");
        assert_eq!(error("1.02.3"), "Minor number must not contain leading zeroes \"02\"");
        assert_eq!(error("1.2.3-"), "Prerelease is empty");
    }

    #[test]
    fn rejects_invalid_text() {
        for text in ["", "1", "1.2", "v1.2.3", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "1.2.3.4"] {
            assert!(Semver::parse(text).is_err(), "{text}");
        }
        assert_eq!(Semver::parse_normalized("v01.2"), Semver::parse("1.2.0"));
    }
}
