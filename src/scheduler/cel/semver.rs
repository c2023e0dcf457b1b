//! Semantic versions, as `github.com/blang/semver` reads and orders them.

use std::cmp::Ordering;

/// A semantic version 2.0.0; build metadata does not order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Semver {
    /// Major, minor, patch.
    pub core: [u64; 3],
    pre: Vec<Identifier>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Text(String),
}

impl Semver {
    /// Parses a strict version; `None` where the text is none (leading zeros, missing parts, a `v` in front).
    pub fn parse(text: &str) -> Option<Self> {
        let (text, build) = text.split_once('+').map_or((text, None), |(version, build)| (version, Some(build)));
        if build.is_some_and(|build| build.split('.').any(|part| part.is_empty() || !part.bytes().all(is_identifier))) {
            return None;
        }
        let (numbers, pre) = text.split_once('-').map_or((text, None), |(numbers, pre)| (numbers, Some(pre)));
        let mut parts = numbers.splitn(3, '.');
        let mut core = [0; 3];
        for number in &mut core {
            *number = digits(parts.next()?)?;
        }
        let pre = pre.map_or(Some(Vec::new()), |pre| pre.split('.').map(identifier).collect())?;
        Some(Self { core, pre })
    }

    /// Parses after the clean-up that `semver(text, true)` asks for: a leading `v`, missing parts and leading zeros are forgiven.
    pub fn parse_normalized(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let end = text.find(['-', '+']).unwrap_or(text.len());
        let mut parts: Vec<String> = text[..end].splitn(3, '.').map(|part| unpadded(part).to_owned()).collect();
        if parts.len() < 3 && end != text.len() {
            return None;
        }
        parts.resize(3, "0".to_owned());
        Self::parse(&format!("{}{}", parts.join("."), &text[end..]))
    }
}

impl PartialOrd for Semver {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Semver {
    fn cmp(&self, other: &Self) -> Ordering {
        // A release is above all its pre-releases.
        let released = |version: &Self| version.pre.is_empty();
        self.core.cmp(&other.core).then(released(self).cmp(&released(other))).then_with(|| self.pre.cmp(&other.pre))
    }
}

fn unpadded(part: &str) -> &str {
    let bare = part.trim_start_matches('0');
    if bare.is_empty() && !part.is_empty() { "0" } else { bare }
}

fn digits(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) && (text.len() == 1 || !text.starts_with('0'));
    plain.then(|| text.parse().ok())?
}

fn identifier(text: &str) -> Option<Identifier> {
    if text.is_empty() || !text.bytes().all(is_identifier) {
        return None;
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        digits(text).map(Identifier::Number)
    } else {
        Some(Identifier::Text(text.to_owned()))
    }
}

fn is_identifier(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

#[cfg(test)]
mod tests {
    use super::Semver;

    #[test]
    fn orders_as_the_specification_says() {
        let ordered =
            ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.2.0", "1.10.0"];
        let versions: Vec<_> = ordered.iter().map(|text| Semver::parse(text).unwrap()).collect();
        assert!(versions.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn refuses_what_is_none() {
        for text in ["", "1", "1.2", "v1.2.3", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "1.2.3.4"] {
            assert_eq!(Semver::parse(text), None, "{text}");
        }
        assert_eq!(Semver::parse_normalized("v01.2"), Semver::parse("1.2.0"));
    }
}
