//! Sockets that are files, on which KMS plugins listen: not here.

use std::io;

pub(in crate::cli) use tokio::net::TcpStream as Stream;

/// Refuses.
///
/// # Errors
/// Always.
pub(in crate::cli) async fn connect(_endpoint: &str) -> io::Result<Stream> {
    std::future::ready(Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "KMS plugins listen on Unix sockets, which ketcd does not reach on this system; read the data where the plugin runs",
    )))
    .await
}
