//! Names to pseudonyms, part by part: what joins parts stays, so that a name that is made of others is made of their pseudonyms.
//!
//! A part is what stands between separators. Each becomes the same pseudonym wherever it stands, in the same order as the parts themselves
//! ([`ordered`](crate::ordered)), but these stay: numbers of up to four digits, which are ordinals; times; what the Deployment and ReplicaSet controllers
//! append (apimachinery v0.36 `pkg/util/rand`); uids; and the names of Kubernetes' own.
//! Order is kept between parts that become pseudonyms, and between parts that stay.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::keyed::Keyed;
use crate::ordered;
use crate::vocabulary::{KEPT_NAMES, is_kept_value, is_public_registry};

/// A label's value has no more characters (apimachinery v0.36 `pkg/util/validation`, LabelValueMaxLength), and neither has a name that becomes one.
const MAX_LABEL_CHARS: usize = 63;
/// Numbers with no more digits are ordinals.
const MAX_ORDINAL_DIGITS: usize = 4;

/// Gives each name its pseudonym.
#[derive(Debug)]
pub(crate) struct Names {
    keyed: Keyed,
    tokens: HashMap<String, String>,
}

impl Names {
    pub(crate) fn new(keyed: Keyed) -> Self {
        Self { keyed, tokens: HashMap::new() }
    }

    /// The pseudonym of a name, of whatever form: a label's value, a host, a user, a path.
    pub(crate) fn name(&mut self, name: &str) -> String {
        if is_kept_value(name) || is_public_registry(name) || name.parse::<IpAddr>().is_ok() {
            return name.to_owned();
        }
        if let Some(rest) = name.strip_prefix("system:") {
            return format!("system:{}", self.system(rest));
        }
        let mapped = self.parts(name);
        if mapped.len() <= MAX_LABEL_CHARS || name.len() > MAX_LABEL_CHARS { mapped } else { self.shortened(name, &mapped) }
    }

    /// What follows `system:`: accounts and nodes are somebody's, the rest is Kubernetes'.
    fn system(&mut self, rest: &str) -> String {
        for prefix in ["serviceaccount:", "serviceaccounts:", "node:"] {
            if let Some(names) = rest.strip_prefix(prefix) {
                return format!("{prefix}{}", self.parts(names));
            }
        }
        rest.to_owned()
    }

    /// A long name keeps its beginning; a hash of all of it stands for the rest.
    fn shortened(&self, name: &str, mapped: &str) -> String {
        /// Digits of the hash.
        const HASH_DIGITS: usize = 12;
        let hash = self.keyed.word("long", name, HASH_DIGITS);
        let mut kept = MAX_LABEL_CHARS - HASH_DIGITS - 1;
        while !mapped.is_char_boundary(kept) {
            kept -= 1;
        }
        format!("{}-{hash}", mapped[..kept].trim_end_matches(|c: char| !c.is_ascii_alphanumeric()))
    }

    fn parts(&mut self, name: &str) -> String {
        let mut mapped = String::with_capacity(name.len() * 2);
        let mut rest = name;
        while let Some(first) = rest.chars().next() {
            let taken = if is_of_part(first) {
                self.part(rest, &mut mapped)
            } else {
                mapped.push(first);
                first.len_utf8()
            };
            rest = &rest[taken..];
        }
        mapped
    }

    /// Maps what stands at the beginning of a part; returns how much of it.
    fn part(&mut self, rest: &str, mapped: &mut String) -> usize {
        if let Some(kept) = kept(rest) {
            mapped.push_str(&rest[..kept]);
            return kept;
        }
        if let Some(address) = dashed_address(rest) {
            let start = address.prefix;
            mapped.push_str(&rest[..start]);
            mapped.push_str(&self.token(&rest[start..address.end]));
            return address.end;
        }
        let end = part_end(rest);
        mapped.push_str(&self.token(&rest[..end]));
        end
    }

    /// The pseudonym of one part.
    fn token(&mut self, part: &str) -> String {
        if let Some(token) = self.tokens.get(part) {
            return token.clone();
        }
        let token = ordered::token(&self.keyed, part);
        self.tokens.insert(part.to_owned(), token.clone());
        token
    }
}

/// Whether a character belongs to a part; others separate parts, as bytes do that are not text.
pub(crate) fn is_of_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || !c.is_ascii() && c != char::REPLACEMENT_CHARACTER
}

fn part_end(text: &str) -> usize {
    text.find(|c| !is_of_part(c)).unwrap_or(text.len())
}

/// Whether a part ends at a place.
fn ends(text: &str, at: usize) -> bool {
    text[at..].chars().next().is_none_or(|c| !is_of_part(c))
}

/// How much stays at the beginning of a text, where a part begins.
fn kept(text: &str) -> Option<usize> {
    let listed = KEPT_NAMES.iter().filter(|name| text.starts_with(**name) && ends(text, name.len())).map(|name| name.len()).max();
    listed.or_else(|| uid(text)).or_else(|| generated(text)).or_else(|| number(text))
}

/// A uid: 8-4-4-4-12 hexadecimal digits. It is random and names nobody.
fn uid(text: &str) -> Option<usize> {
    const CHARS: usize = 36;
    let bytes = text.as_bytes().get(..CHARS)?;
    let fits = bytes.iter().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    (fits && ends(text, CHARS)).then_some(CHARS)
}

/// What controllers append: the hash of a template, with what the ReplicaSet appended to it; a token's suffix; an Event's time.
fn generated(text: &str) -> Option<usize> {
    let end = part_end(text);
    let part = &text[..end];
    let suffix = |at: usize| {
        let rest = text[at..].strip_prefix('-')?;
        let end = part_end(rest);
        (end == 5 && rest[..end].bytes().all(|byte| b"bcdfghjklmnpqrstvwxz2456789".contains(&byte))).then_some(at + 1 + end)
    };
    let has = |of: fn(&u8) -> bool| part.bytes().any(|byte| of(&byte));
    let is_hash = (8..=10).contains(&end) && part.bytes().all(|byte| b"456789bcdf".contains(&byte));
    if is_hash && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic) {
        return Some(suffix(end).unwrap_or(end));
    }
    if matches!(part, "token" | "dockercfg") {
        return suffix(end);
    }
    let is_time = (14..=16).contains(&end)
        && part.starts_with('1')
        && part.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    is_time.then_some(end)
}

/// A number that is an ordinal, a CronJob's minutes, or seconds.
fn number(text: &str) -> Option<usize> {
    let end = part_end(text);
    let digits = text[..end].bytes().all(|byte| byte.is_ascii_digit());
    let is_time = end == 8 && (text.starts_with('2') || text.starts_with('3')) || end == 10 && text.starts_with('1');
    (digits && (end <= MAX_ORDINAL_DIGITS || is_time)).then_some(end)
}

/// An address in a name: `ip-10-0-1-12`.
struct DashedAddress {
    /// Where its numbers begin.
    prefix: usize,
    end: usize,
}

fn dashed_address(text: &str) -> Option<DashedAddress> {
    let prefix = if text.starts_with("ip-") { 3 } else { 0 };
    let mut at = prefix;
    let separator = *text.as_bytes().get(prefix + part_end(&text[prefix..]))?;
    for place in 0..4 {
        let end = at + part_end(&text[at..]);
        text[at..end].parse::<u8>().ok()?;
        at = end;
        if place < 3 {
            if !matches!(separator, b'-' | b'.') || text.as_bytes().get(at) != Some(&separator) {
                return None;
            }
            at += 1;
        }
    }
    Some(DashedAddress { prefix, end: at })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names() -> Names {
        Names::new(Keyed::new(b"salt"))
    }

    #[test]
    fn what_rules_depend_on_stays() {
        let mut names = names();
        let web = names.name("web");
        for (name, wanted) in [
            ("web-0", format!("{web}-0")),
            ("web-7d9f8b5c4", format!("{web}-7d9f8b5c4")),
            ("web-7d9f8b5c4-x2x9k", format!("{web}-7d9f8b5c4-x2x9k")),
            ("web-29012345", format!("{web}-29012345")),
            ("web.17a2b3c4d5e6f708", format!("{web}.17a2b3c4d5e6f708")),
            ("default-token-x2x9k", "default-token-x2x9k".to_owned()),
            ("pvc-ddc7ef4c-7a5a-4b5e-9ac6-1c0e8f9a7b6d", format!("{}-ddc7ef4c-7a5a-4b5e-9ac6-1c0e8f9a7b6d", names.name("pvc"))),
            ("kube-proxy-web", format!("kube-proxy-{web}")),
            ("system:serviceaccount:web:default", format!("system:serviceaccount:{web}:default")),
            ("svc-21", "svc-21".to_owned()),
            ("system:controller:job-controller", "system:controller:job-controller".to_owned()),
            ("10.0.0.1", "10.0.0.1".to_owned()),
            ("true", "true".to_owned()),
            ("quay.io", "quay.io".to_owned()),
        ] {
            assert_eq!(names.name(name), wanted, "{name}");
        }
        assert_eq!(names.name("data-web-0"), format!("{}-{web}-0", names.name("data")));
    }

    #[test]
    fn addresses_and_long_numbers_in_names_go() {
        let mut names = names();
        let node = names.name("ip-10-0-1-12.ec2.internal");
        assert!(node.starts_with("ip-") && !node.contains("10-0-1-12") && !node.contains("ec2"), "{node}");
        assert_eq!(names.name("etcd-ip-10-0-1-12.ec2.internal"), format!("etcd-{node}"));
        assert!(!names.name("tenant-123456789012").contains("123456789012"));
    }

    #[test]
    fn a_pseudonym_of_a_label_is_a_label() {
        let mut names = names();
        let long = "a".repeat(31) + "-" + &"zq".repeat(15);
        let name = names.name(&long);
        assert!(name.len() <= MAX_LABEL_CHARS && ketcd_kube::is_label_value(&name), "{name}");
        assert_ne!(name, names.name(&(long.clone() + "x")));
    }

    proptest! {
        #[test]
        fn names_stay_in_order(a in "[a-z]{1,8}(-[a-z]{1,8}){0,2}(-[0-9]{1,3})?", b in "[a-z]{1,8}(-[a-z]{1,8}){0,2}(-[0-9]{1,3})?") {
            let mut names = names();
            prop_assert_eq!(a.cmp(&b), names.name(&a).cmp(&names.name(&b)));
        }

        #[test]
        fn owners_begin_the_names_of_what_they_own(owner in "[a-z]{1,8}(-[a-z0-9]{1,8}){0,2}", suffix in "[a-z0-9]{1,5}") {
            let mut names = names();
            let owned = names.name(&format!("{owner}-{suffix}"));
            prop_assert!(owned.starts_with(&format!("{}-", names.name(&owner))), "{}", owned);
        }
    }
}
