//! Sockets that are files, on which KMS plugins listen.

use std::io;

pub(in crate::cli) use tokio::net::UnixStream as Stream;

/// Connects to `unix:///path`, or `unix:///@name` in Linux' abstract namespace.
///
/// # Errors
/// The system's; the endpoint is of another kind.
pub(in crate::cli) async fn connect(endpoint: &str) -> io::Result<Stream> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "a plugin's endpoint is unix:///path");
    let path = endpoint.strip_prefix("unix://").ok_or_else(invalid)?;
    match path.strip_prefix("/@").or_else(|| path.strip_prefix('@')) {
        Some(name) => connect_abstract(name),
        None => Stream::connect(path).await,
    }
}

#[cfg(target_os = "linux")]
fn connect_abstract(name: &str) -> io::Result<Stream> {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixStream};
    let stream = UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?)?;
    stream.set_nonblocking(true)?;
    Stream::from_std(stream)
}

#[cfg(not(target_os = "linux"))]
fn connect_abstract(_name: &str) -> io::Result<Stream> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "abstract sockets exist on Linux only"))
}
