//! IP and MAC addresses to others of the same networks.
//!
//! Two addresses have as many leading bits in common as their pseudonyms (the scheme of Crypto-PAn, Xu et al. 2002), so what is in a subnet stays in one.
//! Addresses that mean the same everywhere stay, and ranges for private use map into themselves.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::keyed::Keyed;

/// A range by its first address and the bits of its prefix.
struct Special {
    first: u128,
    bits: u32,
    /// Whether its addresses stay as they are; those of the others map into the range.
    stays: bool,
}

const fn v4(a: u8, b: u8, bits: u32, stays: bool) -> Special {
    Special { first: ((a as u128) << 120) | ((b as u128) << 112), bits, stays }
}

const fn v6(first: u16, bits: u32, stays: bool) -> Special {
    Special { first: (first as u128) << 112, bits, stays }
}

/// IANA's special registry: this network, private use, shared, loopback, link-local, multicast and above, where netmasks lie too.
const SPECIAL_V4: [Special; 8] = [
    v4(0, 0, 8, true),
    v4(10, 0, 8, false),
    v4(100, 64, 10, false),
    v4(127, 0, 8, true),
    v4(169, 254, 16, true),
    v4(172, 16, 12, false),
    v4(192, 168, 16, false),
    v4(224, 0, 3, true),
];

/// Loopback and unspecified, unique local, link-local, multicast.
const SPECIAL_V6: [Special; 4] = [v6(0, 16, true), v6(0xfc00, 7, false), v6(0xfe80, 10, true), v6(0xff00, 8, true)];

/// Maps addresses.
#[derive(Debug)]
pub(crate) struct Addresses {
    keyed: Keyed,
    /// Which bits of a byte flip, after the bytes before it.
    flips: HashMap<Vec<u8>, [u8; 32]>,
}

/// Where an address stands in a text.
#[derive(Debug, PartialEq)]
pub(crate) enum Found {
    /// An IP address.
    Ip(IpAddr),
    /// One with the bits of a prefix behind it.
    Network(IpAddr, u32),
    /// The address of a network card.
    Mac,
}

impl Addresses {
    pub(crate) fn new(keyed: Keyed) -> Self {
        Self { keyed, flips: HashMap::new() }
    }

    /// The pseudonym of an address; of a network, what is behind its prefix stays.
    pub(crate) fn address(&mut self, address: IpAddr, prefix: Option<u32>) -> IpAddr {
        match address {
            IpAddr::V4(address) => {
                let mapped = self.mapped(4, u128::from(u32::from(address)) << 96, 32, prefix, &SPECIAL_V4);
                IpAddr::V4(Ipv4Addr::from((mapped >> 96) as u32))
            }
            IpAddr::V6(address) => match address.to_ipv4_mapped() {
                Some(inner) => match self.address(IpAddr::V4(inner), None) {
                    IpAddr::V4(mapped) => IpAddr::V6(mapped.to_ipv6_mapped()),
                    IpAddr::V6(mapped) => IpAddr::V6(mapped),
                },
                None => IpAddr::V6(Ipv6Addr::from(self.mapped(6, u128::from(address), 128, prefix, &SPECIAL_V6))),
            },
        }
    }

    /// Flips bits of an address, whose highest bit is the highest of `bits`.
    fn mapped(&mut self, version: u8, bits: u128, length: u32, prefix: Option<u32>, special: &[Special]) -> u128 {
        let mask = |bits: u32| if bits == 0 { 0 } else { u128::MAX << (128 - bits) };
        if special.iter().any(|range| range.stays && (bits ^ range.first) & mask(range.bits) == 0) {
            return bits;
        }
        let mut mapped = bits;
        for at in 0..prefix.unwrap_or(length).min(length) {
            // On the way to a special range nothing flips, so that the range is mapped to itself.
            let leads_there = special.iter().any(|range| at < range.bits && (bits ^ range.first) & mask(at) == 0);
            if !leads_there && self.flips(version, bits, at) {
                mapped ^= 1 << (127 - at);
            }
        }
        mapped
    }

    /// Whether a bit flips, by the salt and the bits before it.
    fn flips(&mut self, version: u8, bits: u128, at: u32) -> bool {
        let bytes = bits.to_be_bytes();
        let before = (at / 8) as usize;
        let context = [&[version][..], &bytes[..before]].concat();
        let keyed = &self.keyed;
        let flips = self.flips.entry(context).or_insert_with_key(|context| keyed.digest("address", context));
        // The bits before it in its byte, behind a one: a node of a tree with 255.
        let node = usize::from((256_u16 | u16::from(bytes[before])) >> (8 - at % 8));
        flips[node / 8] >> (node % 8) & 1 == 1
    }

    /// The pseudonym of a network card's address, which the bits say is of nobody's make.
    pub(crate) fn mac(&self, address: &str) -> String {
        let separator = if address.contains('-') { "-" } else { ":" };
        let digest = self.keyed.digest("mac", address.to_lowercase().replace('-', ":").as_bytes());
        let bytes: Vec<String> = (0..6).map(|at| if at == 0 { 0x02 } else { digest[at] }).map(|byte| format!("{byte:02x}")).collect();
        bytes.join(separator)
    }

    /// The pseudonym of an e-mail address: who shares a domain still does.
    pub(crate) fn mail(&self, address: &str) -> String {
        /// Digits of each of the two hashes.
        const HASH_DIGITS: usize = 8;
        let (user, domain) = address.rsplit_once('@').unwrap_or((address, ""));
        let user = self.keyed.word("mail user", &user.to_lowercase(), HASH_DIGITS);
        format!("u{user}@d{}.example", self.keyed.word("mail domain", &domain.to_lowercase(), HASH_DIGITS))
    }
}

/// Text that may be an address, with what is around it.
static CANDIDATES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)
        (?P<v4> [0-9]{1,3} (?: \.[0-9]{1,3} ){3} (?:/[0-9]{1,2})? )
      | (?P<mac> [0-9A-Fa-f]{2} (?: [:-] [0-9A-Fa-f]{2} ){5} )
      | (?P<v6> [0-9A-Fa-f]{0,4} : [0-9A-Fa-f:]* : [0-9A-Fa-f:]* (?: [0-9]{1,3} (?: \.[0-9]{1,3} ){3} )? (?:/[0-9]{1,3})? )
    ",
    )
    .unwrap_or_else(|error| unreachable!("{error}"))
});

/// The addresses of a text, in order.
pub(crate) fn found(text: &str) -> Vec<(Range<usize>, Found)> {
    let may_hold_one = |text: &str| text.bytes().filter(|byte| matches!(byte, b'.' | b':' | b'-')).nth(1).is_some();
    if !may_hold_one(text) {
        return Vec::new();
    }
    let mut all = Vec::new();
    let mut from = 0;
    while let Some(captures) = CANDIDATES.captures_at(text, from) {
        let Some(whole) = captures.get(0) else { break };
        let is_v6 = captures.name("v6").is_some();
        let end = if is_v6 {
            whole.start() + whole.as_str().trim_end_matches(|c: char| c == ':' && !whole.as_str().ends_with("::")).len()
        } else {
            whole.end()
        };
        let found = read(&text[whole.start()..end], captures.name("mac").is_some());
        let joins = |c: char| c.is_ascii_alphanumeric() || c == '.' || is_v6 && c == ':';
        let after = &text[end..];
        let goes_on = after.starts_with(|c: char| c.is_ascii_alphanumeric())
            || after.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let stands_alone = !goes_on && !text[..whole.start()].ends_with(joins);
        match found.filter(|_| stands_alone) {
            Some(found) => {
                all.push((whole.start()..end, found));
                from = end.max(whole.start() + 1);
            }
            None => {
                // What begins within the candidate may be one: behind digits and colons of a time.
                let next = whole.as_str().find(|c: char| !c.is_ascii_hexdigit()).map_or(whole.end(), |at| whole.start() + at + 1);
                from = next.max(whole.start() + 1);
            }
        }
    }
    all
}

fn read(text: &str, is_mac: bool) -> Option<Found> {
    if is_mac {
        return Some(Found::Mac);
    }
    let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
    let address: IpAddr = address.parse().ok()?;
    match prefix {
        None => Some(Found::Ip(address)),
        Some(prefix) => Some(Found::Network(address, prefix.parse().ok()?)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn addresses() -> Addresses {
        Addresses::new(Keyed::new(b"salt"))
    }

    fn texts(text: &str) -> Vec<&str> {
        found(text).into_iter().map(|(range, _)| &text[range]).collect()
    }

    #[test]
    fn addresses_are_found_in_text() {
        assert_eq!(texts("dial tcp 10.0.0.1:443: refused"), ["10.0.0.1"]);
        assert_eq!(texts("https://[fd00::1]:6443/healthz and 10.244.0.0/16."), ["fd00::1", "10.244.0.0/16"]);
        assert_eq!(texts("02:42:ac:11:00:02 fe80::42:acff:fe11:2"), ["02:42:ac:11:00:02", "fe80::42:acff:fe11:2"]);
        assert_eq!(texts("10.0.0.1,10.0.0.2"), ["10.0.0.1", "10.0.0.2"]);
        for text in
            ["12:30:45", "2026-11-21T00:14:15Z", "v1.2.3.4.5", "300.1.2.3", "system:node:a", "1.36.3", "a::b", "foo::Bar", "ip-10-0-0-1"]
        {
            assert!(texts(text).is_empty() || text == "a::b", "{text}: {:?}", texts(text));
        }
    }

    #[test]
    fn special_addresses_stay_and_private_ones_stay_private() {
        let mut addresses = addresses();
        for stays in ["0.0.0.0", "127.0.0.1", "255.255.255.0", "169.254.169.254", "224.0.0.1", "::", "::1", "fe80::1", "ff02::1"] {
            let address: IpAddr = stays.parse().unwrap();
            assert_eq!(addresses.address(address, None), address);
        }
        let mapped = addresses.address("10.1.2.3".parse().unwrap(), None);
        assert!(mapped.to_string().starts_with("10.") && mapped.to_string() != "10.1.2.3", "{mapped}");
        let network = addresses.address("10.1.2.0".parse().unwrap(), Some(24)).to_string();
        assert!(network.ends_with(".0") && mapped.to_string().starts_with(network.trim_end_matches('0')), "{network} {mapped}");
        assert_eq!(addresses.mac("02:42:AC:11:00:02"), addresses.mac("02:42:ac:11:00:02"));
        let (one, other) = (addresses.mail("Jane.Doe@acme.com"), addresses.mail("john@acme.com"));
        assert_eq!(one.split('@').nth(1), other.split('@').nth(1));
    }

    proptest! {
        #[test]
        fn common_prefixes_stay_as_long(a: u32, b: u32, same in 0_u32..33) {
            let mut addresses = addresses();
            let b = if same == 0 { b } else { a ^ (b.checked_shr(same).unwrap_or(0)) };
            let map = |addresses: &mut Addresses, bits: u32| match addresses.address(IpAddr::V4(bits.into()), None) {
                IpAddr::V4(mapped) => u32::from(mapped),
                IpAddr::V6(_) => unreachable!(),
            };
            let (one, other) = (map(&mut addresses, a), map(&mut addresses, b));
            prop_assert_eq!((a ^ b).leading_zeros(), (one ^ other).leading_zeros());
        }

        #[test]
        fn common_prefixes_stay_as_long_in_v6(a: u128, b: u128, same in 0_u32..129) {
            let mut addresses = addresses();
            let b = a ^ b.checked_shr(same).unwrap_or(0);
            let usual = |bits: u128| Ipv6Addr::from(bits).to_ipv4_mapped().is_none();
            prop_assume!(usual(a) && usual(b));
            let map = |addresses: &mut Addresses, bits: u128| match addresses.address(IpAddr::V6(bits.into()), None) {
                IpAddr::V6(mapped) => u128::from(mapped),
                IpAddr::V4(_) => unreachable!(),
            };
            prop_assert_eq!((a ^ b).leading_zeros(), (map(&mut addresses, a) ^ map(&mut addresses, b)).leading_zeros());
        }
    }
}
