//! Addresses on loopback that nobody else takes, for servers under test and for endpoints where nobody listens.

use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// The first port that is handed out.
const FIRST_PORT: u16 = 12_000;
/// Where the kernel's own choice of ports begins.
const LAST_PORT: u16 = 32_000;

/// Returns an address of its own to each process, out of 127.64.0.0/10: on Linux all of 127/8 is loopback.
///
/// A server that is restarted, or that others have to know before it starts, needs a port that stays free while it is not open. On 127.0.0.1 there is
/// none: any program, and any outgoing connection, may take it. Nobody but this process uses this address, and connections to it come from 127.0.0.1.
/// The process holds the name of the address, a socket in the same network namespace, until it ends; a process that finds a name taken goes to the next.
pub fn host() -> Ipv4Addr {
    static LOOPBACK_HOST: OnceLock<(Ipv4Addr, UnixListener)> = OnceLock::new();
    let own = LOOPBACK_HOST.get_or_init(|| {
        let candidates = (std::process::id()..).map(|number| Ipv4Addr::from((0x7f40_0000 | (number & 0x3f_ffff)).to_be_bytes()));
        let mut own = candidates.filter_map(|host| {
            let name = SocketAddr::from_abstract_name(format!("ketcd-testing {host}")).ok()?;
            Some((host, UnixListener::bind_addr(&name).ok()?))
        });
        own.next().expect("an address of this process's own")
    });
    own.0
}

/// Returns an address with a port that is this caller's alone: each is handed out once. A port is passed over if some program listens on it on all addresses.
pub fn address() -> SocketAddrV4 {
    static NEXT_PORT: AtomicU16 = AtomicU16::new(FIRST_PORT);
    let candidates = std::iter::repeat_with(|| SocketAddrV4::new(host(), NEXT_PORT.fetch_add(1, Ordering::Relaxed)));
    let mut free = candidates.take_while(|address| address.port() < LAST_PORT).filter(|address| TcpListener::bind(address).is_ok());
    free.next().expect("a process needs no more ports than there are")
}

#[cfg(test)]
mod tests {
    use super::{address, host};

    #[test]
    fn each_address_is_handed_out_once() {
        let (one, other) = (address(), address());
        assert_ne!(one, other);
        assert!(host().is_loopback() && *one.ip() == host());
    }
}
