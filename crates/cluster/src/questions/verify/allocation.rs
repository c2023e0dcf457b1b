//! What a RangeAllocation under `ranges/` says is taken, and what Services use of it.
//!
//! It holds the range as text and a large number, its highest byte first, whose bits are the members (kubernetes v1.37.2,
//! `pkg/registry/core/service/allocator/bitmap.go`). The first bit of ports is the first port (`portallocator/allocator.go`), that of addresses
//! the first one behind the network's own; the last of IPv4 is left out, and more than 65,536 of IPv6 are not handed out (`ipallocator/bitmap.go`).

use std::fmt;
use std::net::IpAddr;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

/// More addresses of IPv6 are not handed out.
const MAX_IPV6_ADDRESSES: u128 = 1 << 16;

/// What a Service takes of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Member {
    /// A node port.
    Port(i64),
    /// A cluster IP.
    Address(IpAddr),
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(port) => port.fmt(f),
            Self::Address(address) => address.fmt(f),
        }
    }
}

/// A range of ports or addresses, and which of them are taken.
pub(super) struct Range {
    bounds: Bounds,
    /// A large number, its highest byte first, whose bits are the members.
    bits: Vec<u8>,
}

enum Bounds {
    Ports {
        first: i64,
        last: i64,
    },
    /// How many addresses follow that of the network.
    Addresses {
        network: IpAddr,
        count: u128,
    },
}

impl Range {
    /// The range of a RangeAllocation; `None` where it is not one of ports or addresses.
    pub(super) fn of(allocation: &Value) -> Option<Self> {
        let text = allocation["range"].as_str()?;
        let bits = BASE64_STANDARD.decode(allocation["data"].as_str().unwrap_or_default()).ok()?;
        let bounds = match text.split_once('/') {
            Some((network, length)) => addresses_of(network.parse().ok()?, length.parse().ok()?)?,
            None => {
                let (first, last) = text.split_once('-')?;
                Bounds::Ports { first: first.parse().ok()?, last: last.parse().ok()? }
            }
        };
        Some(Self { bounds, bits })
    }

    /// Whether it is one of the range and not taken.
    pub(super) fn is_free(&self, member: Member) -> bool {
        let place = match (&self.bounds, member) {
            (Bounds::Ports { first, last }, Member::Port(port)) if (*first..=*last).contains(&port) => {
                port.checked_sub(*first).and_then(|place| usize::try_from(place).ok())
            }
            (Bounds::Addresses { network, count }, Member::Address(address)) if network.is_ipv4() == address.is_ipv4() => {
                let behind = number(address).checked_sub(number(*network)).and_then(|place| place.checked_sub(1));
                behind.filter(|place| place < count).and_then(|place| usize::try_from(place).ok())
            }
            _ => None,
        };
        place.is_some_and(|place| !self.is_set(place))
    }

    /// What is taken, ascending.
    pub(super) fn taken(&self) -> impl Iterator<Item = Member> {
        (0..self.bits.len() * 8).filter(|place| self.is_set(*place)).filter_map(|place| self.member(place))
    }

    fn is_set(&self, place: usize) -> bool {
        let byte = self.bits.len().checked_sub(1 + place / 8).map(|byte| self.bits[byte]);
        byte.is_some_and(|byte| byte >> (place % 8) & 1 == 1)
    }

    fn member(&self, place: usize) -> Option<Member> {
        match &self.bounds {
            Bounds::Ports { first, last } => {
                let port = first.checked_add(i64::try_from(place).ok()?)?;
                (port <= *last).then_some(Member::Port(port))
            }
            Bounds::Addresses { network, count } => {
                let place = u128::try_from(place).ok().filter(|place| place < count)?;
                let number = number(*network).checked_add(place)?.checked_add(1)?;
                let address = match network {
                    IpAddr::V4(_) => IpAddr::V4(u32::try_from(number).ok()?.into()),
                    IpAddr::V6(_) => IpAddr::V6(number.into()),
                };
                Some(Member::Address(address))
            }
        }
    }
}

fn addresses_of(network: IpAddr, length: u32) -> Option<Bounds> {
    let bits = if network.is_ipv4() { 32 } else { 128 };
    let host_bits = u32::checked_sub(bits, length)?;
    let size = 1_u128.checked_shl(host_bits).unwrap_or(u128::MAX);
    let count = if network.is_ipv4() { size.saturating_sub(2) } else { size.min(MAX_IPV6_ADDRESSES).saturating_sub(1) };
    Some(Bounds::Addresses { network, count })
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => address.into(),
    }
}

/// The node ports of a Service.
pub(super) fn node_ports(service: &Value) -> impl Iterator<Item = Member> {
    let listed = service["spec"]["ports"].as_array().into_iter().flatten().filter_map(|port| port["nodePort"].as_i64());
    listed.chain(service["spec"]["healthCheckNodePort"].as_i64()).filter(|port| *port > 0).map(Member::Port)
}

/// The cluster IPs of a Service: an ExternalName has none, whatever it says, nor has a headless one.
pub(super) fn cluster_ips(service: &Value) -> impl Iterator<Item = Member> {
    let spec = Some(&service["spec"]).filter(|spec| spec["type"] != "ExternalName");
    let all = spec.into_iter().flat_map(|spec| spec["clusterIPs"].as_array().into_iter().flatten().chain([&spec["clusterIP"]]));
    all.filter_map(|address| address.as_str()?.parse().ok()).map(Member::Address)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn range(text: &str, bits: &[u8]) -> Range {
        Range::of(&json!({"range": text, "data": BASE64_STANDARD.encode(bits)})).unwrap()
    }

    fn address(text: &str) -> Member {
        Member::Address(text.parse().unwrap())
    }

    /// A port is taken where its bit is set, counted from the end.
    #[test]
    fn bits_are_ports() {
        let mut bits = vec![0; 11];
        bits[0] = 1;
        let taken = range("30000-32767", &bits);
        assert_eq!(taken.taken().collect::<Vec<_>>(), [Member::Port(30080)]);
        let is_free = |port| taken.is_free(Member::Port(port));
        assert!(!is_free(30080) && is_free(30081) && is_free(32767));
        assert!(!is_free(29999) && !is_free(32768), "not of the range");
        assert!(range("30000-32767", &[]).is_free(Member::Port(30080)));
    }

    #[test]
    fn bits_are_addresses_behind_the_networks_own() {
        let taken = range("10.96.0.0/12", &[0b101]);
        assert_eq!(taken.taken().collect::<Vec<_>>(), ["10.96.0.1", "10.96.0.3"].map(address));
        let is_free = |text| taken.is_free(address(text));
        assert!(!is_free("10.96.0.1") && is_free("10.96.0.2") && is_free("10.111.255.254"));
        assert!(!["10.96.0.0", "10.111.255.255", "10.112.0.1", "fd00::1"].into_iter().any(is_free), "not of the range");
        let taken = range("fd00:10:96::/112", &[0b10]);
        assert_eq!(taken.taken().collect::<Vec<_>>(), [address("fd00:10:96::2")]);
        assert!(taken.is_free(address("fd00:10:96::1")) && !taken.is_free(address("10.96.0.1")));
        assert!(["10.96.0.0/33", "a/12", "1", "::/129"].iter().all(|text| Range::of(&json!({ "range": text })).is_none()));
    }

    #[test]
    fn services_take_ports_and_addresses() {
        let service = json!({"spec": {"clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7", "fd00::7"], "healthCheckNodePort": 0,
            "ports": [{"nodePort": 30080}, {"port": 80}]}});
        assert_eq!(node_ports(&service).collect::<Vec<_>>(), [Member::Port(30080)]);
        assert_eq!(cluster_ips(&service).collect::<Vec<_>>(), ["10.96.0.7", "fd00::7", "10.96.0.7"].map(address));
        for spec in [json!({"clusterIP": "None"}), json!({"clusterIP": ""}), json!({"clusterIP": "10.96.0.7", "type": "ExternalName"})] {
            assert_eq!(cluster_ips(&json!({ "spec": spec })).count(), 0);
        }
    }
}
