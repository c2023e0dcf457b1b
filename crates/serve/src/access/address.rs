//! Where the server is found: the address it listens on, the one in the kubeconfig, and every name it answers to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use rustls::pki_types::ServerName;

/// The addresses of one server.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    /// The address that the kubeconfig names.
    pub told: SocketAddr,
    /// Whether it answers on every address of this machine.
    is_any: bool,
    /// What its certificate is for: names, and addresses as text.
    names: Vec<String>,
}

impl Address {
    /// The address of a server that listens on `bound`.
    pub(crate) fn new(bound: SocketAddr) -> Self {
        let is_any = bound.ip().is_unspecified();
        let ip = if is_any { outward(bound.ip()) } else { bound.ip() };
        Self { told: SocketAddr::new(ip, bound.port()), is_any, names: Vec::new() }
    }

    /// Adds the names of its certificate.
    pub(crate) fn with_names(self, names: &[String]) -> Self {
        Self { names: names.to_vec(), ..self }
    }

    /// What a certificate for it names.
    pub(crate) fn subjects(&self) -> Vec<String> {
        let mut subjects = vec![self.told.ip().to_string(), "localhost".to_owned()];
        if self.is_any && !self.told.ip().is_loopback() {
            subjects.push(loopback(self.told.ip()).to_string());
        }
        subjects
    }

    /// The name that clients must look for in the certificate, where that is not for the address in the kubeconfig.
    pub(crate) fn certified_name(&self) -> Option<&str> {
        let told = self.told.ip().to_string();
        if self.names.contains(&told) {
            return None;
        }
        self.names.iter().find(|name| matches!(ServerName::try_from(name.as_str()), Ok(ServerName::DnsName(_)))).map(String::as_str)
    }

    /// Whether a `Host` is this server's. Its port may be left out, as some clients do: a page of the web can choose a name of its own to point here, but
    /// no name or address that is the server's.
    pub(crate) fn is_host(&self, host: &str) -> bool {
        let (name, port) = split(host);
        port.is_none_or(|port| self.is_port(port)) && self.is_name(name)
    }

    /// Whether this is what follows `https://` in the `Origin` of the server's own pages. Without a port it is another server's.
    pub(crate) fn is_origin(&self, host: &str) -> bool {
        let (name, port) = split(host);
        self.is_port(port.unwrap_or("443")) && self.is_name(name)
    }

    fn is_port(&self, port: &str) -> bool {
        port == self.told.port().to_string()
    }

    fn is_name(&self, name: &str) -> bool {
        let name = name.trim_start_matches('[').trim_end_matches(']');
        let is_address = name.parse::<IpAddr>().is_ok_and(|ip| ip == self.told.ip() || self.is_any);
        is_address || name.eq_ignore_ascii_case("localhost") || self.names.iter().any(|own| own.eq_ignore_ascii_case(name))
    }
}

/// The name and the port of a host, which is IPv6 in brackets or has one colon at most.
fn split(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port).filter(|port| !port.is_empty())),
        _ => (host, None),
    }
}

/// The address of this machine from which it would reach others; nothing is sent.
fn outward(any: IpAddr) -> IpAddr {
    let (bound, far): (SocketAddr, SocketAddr) = match any {
        // Addresses for documentation, which are nobody's.
        IpAddr::V4(_) => ((Ipv4Addr::UNSPECIFIED, 0).into(), (Ipv4Addr::new(192, 0, 2, 1), 9).into()),
        IpAddr::V6(_) => ((Ipv6Addr::UNSPECIFIED, 0).into(), (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), 9).into()),
    };
    let found = UdpSocket::bind(bound).and_then(|socket| socket.connect(far).and_then(|()| socket.local_addr()));
    found.map_or_else(|_| loopback(any), |found| found.ip())
}

fn loopback(like: IpAddr) -> IpAddr {
    if like.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bound: &str, names: &[&str], host: &str, wanted: bool) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let address = Address::new(bound.parse().unwrap()).with_names(&names);
        assert_eq!(address.is_host(host), wanted, "{bound} {host}");
    }

    #[test]
    fn hosts_are_the_servers_own_addresses_and_names() {
        check("127.0.0.1:4321", &[], "127.0.0.1:4321", true);
        check("127.0.0.1:4321", &[], "LOCALHOST:4321", true);
        check("127.0.0.1:4321", &[], "127.0.0.1:80", false);
        check("127.0.0.1:4321", &[], "127.0.0.1", true);
        check("127.0.0.1:4321", &[], "127.0.0.1:", true);
        check("127.0.0.1:4321", &[], "localhost", true);
        check("127.0.0.1:4321", &[], "evil.example", false);
        check("127.0.0.1:4321", &[], "evil.example:", false);
        check("127.0.0.1:4321", &[], "", false);
        check("127.0.0.1:4321", &[], ":4321", false);
        check("127.0.0.1:4321", &[], "10.0.0.1:4321", false);
        check("127.0.0.1:4321", &[], "evil.example:4321", false);
        check("[::1]:4321", &[], "[::1]:4321", true);
        check("[::1]:4321", &[], "[::1]", true);
        check("[::1]:4321", &[], "[::2]", false);
        check("0.0.0.0:4321", &[], "10.0.0.1:4321", true);
        check("0.0.0.0:4321", &["etcd-1.example"], "etcd-1.example:4321", true);
        check("0.0.0.0:4321", &["etcd-1.example"], "etcd-2.example:4321", false);
    }

    #[test]
    fn origins_name_the_port() {
        let (address, usual) = (Address::new("127.0.0.1:4321".parse().unwrap()), Address::new("127.0.0.1:443".parse().unwrap()));
        assert!(address.is_origin("127.0.0.1:4321") && !address.is_origin("127.0.0.1") && !address.is_origin("127.0.0.1:443"));
        assert!(usual.is_origin("127.0.0.1") && usual.is_origin("localhost:443") && !usual.is_origin("evil.example"));
    }

    #[test]
    fn a_certificate_for_another_name_is_looked_at_by_that_name() {
        let address = Address::new("127.0.0.1:4321".parse().unwrap());
        assert_eq!(address.clone().with_names(&address.subjects()).certified_name(), None);
        let names = ["10.0.0.1".to_owned(), "etcd-1.example".to_owned()];
        assert_eq!(address.with_names(&names).certified_name(), Some("etcd-1.example"));
    }
}
