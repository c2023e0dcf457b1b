//! A port of loopback where nobody listens.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::sync::LazyLock;

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with};

/// A socket that has the port and does not listen: a connection to it is refused, and no other program gets the port.
static SILENT_SOCKET: LazyLock<(OwnedFd, SocketAddrV4)> = LazyLock::new(|| {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = getsockname(&socket).unwrap().try_into().unwrap();
    (socket, address)
});

/// Returns an endpoint where nobody listens as long as this process runs.
pub fn nobody(scheme: &str) -> String {
    format!("{scheme}{}", SILENT_SOCKET.1)
}
