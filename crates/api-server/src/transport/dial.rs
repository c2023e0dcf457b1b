//! One connection to the API server: TCP, a proxy if the kubeconfig names one, and TLS.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::failure::Failure;
use super::tls;
use crate::kubeconfig::{Access, Pem, Proxy, Server};

/// How long a connection may take, TLS included (client-go's dialer: 30 s).
const MAX_DIAL: Duration = Duration::from_secs(30);
/// More than any proxy answers to `CONNECT`.
const MAX_PROXY_ANSWER_BYTES: usize = 16 << 10;

/// What a connection carries bytes over.
pub(super) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

pub(super) struct Dialed {
    pub stream: Box<dyn ByteStream>,
    /// Whether the server speaks HTTP/2 on it.
    pub is_http2: bool,
}

/// Connects; `client` is a certificate that an exec plugin handed out.
pub(super) async fn dial(access: &Access, client: Option<&(Pem, Pem)>) -> Result<Dialed, Failure> {
    let made = timeout(MAX_DIAL, connect(access, client)).await;
    made.unwrap_or_else(|_| Err(Failure::unreachable(access, format!("no connection within {} s", MAX_DIAL.as_secs()))))
}

async fn connect(access: &Access, client: Option<&(Pem, Pem)>) -> Result<Dialed, Failure> {
    #[cfg(test)]
    if let Some(listener) = &access.listener {
        let (near, far) = tokio::io::duplex(1 << 16);
        return match listener.send(far) {
            Ok(()) => Ok(Dialed { stream: Box::new(near), is_http2: false }),
            Err(_) => Err(Failure::unreachable(access, "nobody listens".to_owned())),
        };
    }
    let broken = |error: io::Error| Failure::unreachable(access, in_words(&error));
    let server = &access.address;
    let tcp = match &access.proxy {
        None => TcpStream::connect((server.host.as_str(), server.port)).await.map_err(broken)?,
        Some(proxy) => {
            let through = through_proxy(proxy, server).await;
            through.map_err(|error| Failure::unreachable(access, format!("proxy-url: {}", in_words(&error))))?
        }
    };
    let _ = tcp.set_nodelay(true);
    if !server.uses_tls {
        return Ok(Dialed { stream: Box::new(tcp), is_http2: false });
    }
    let config = tls::config(&access.tls, client).map_err(Failure::Settings)?;
    let name = access.tls.server_name.as_deref().unwrap_or(&server.host).to_owned();
    let name = ServerName::try_from(name).map_err(|error| Failure::unreachable(access, error.to_string()))?;
    let stream = TlsConnector::from(Arc::new(config)).connect(name, tcp).await.map_err(broken)?;
    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    Ok(Dialed { stream: Box::new(stream), is_http2 })
}

fn in_words(error: &io::Error) -> String {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(tls) => format!("TLS: {tls}"),
        None => error.to_string(),
    }
}

async fn through_proxy(proxy: &Proxy, server: &Server) -> io::Result<TcpStream> {
    match proxy {
        Proxy::Http(address, authorization) => {
            let mut stream = TcpStream::connect(address).await?;
            let server = server.authority();
            let login = authorization.iter().map(|value| format!("Proxy-Authorization: {value}\r\n")).collect::<String>();
            let request = format!("CONNECT {server} HTTP/1.1\r\nHost: {server}\r\n{login}\r\n");
            stream.write_all(request.as_bytes()).await?;
            read_connect_answer(&mut stream).await?;
            Ok(stream)
        }
        Proxy::Socks5(address) => socks5(TcpStream::connect(address).await?, &server.host, server.port).await,
    }
}

/// Reads the answer to `CONNECT` to its empty line, byte by byte: what follows belongs to TLS.
async fn read_connect_answer(stream: &mut TcpStream) -> io::Result<()> {
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        if answer.len() > MAX_PROXY_ANSWER_BYTES {
            return Err(io::Error::other("the proxy's answer does not end"));
        }
        answer.push(stream.read_u8().await?);
    }
    let line = answer.split(|&byte| byte == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line).into_owned();
    match line.split(' ').nth(1) {
        Some("200") => Ok(()),
        _ => Err(io::Error::other(format!("the proxy refused to connect: {line}"))),
    }
}

/// RFC 1928, without a login; the proxy resolves the name.
async fn socks5(mut stream: TcpStream, host: &str, port: u16) -> io::Result<TcpStream> {
    let length = u8::try_from(host.len()).map_err(|_| io::Error::other("the host's name is too long for SOCKS5"))?;
    stream.write_all(&[5, 1, 0]).await?;
    let mut method = [0; 2];
    stream.read_exact(&mut method).await?;
    if method != [5, 0] {
        return Err(io::Error::other("the SOCKS5 proxy requires a login"));
    }
    let request = [&[5, 1, 0, 3, length][..], host.as_bytes(), &port.to_be_bytes()].concat();
    stream.write_all(&request).await?;
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    if head[1] != 0 {
        return Err(io::Error::other(format!("the SOCKS5 proxy refused to connect (reply {})", head[1])));
    }
    let rest = match head[3] {
        1 => 4 + 2,
        4 => 16 + 2,
        _ => usize::from(stream.read_u8().await?) + 2,
    };
    let mut address = vec![0; rest];
    stream.read_exact(&mut address).await?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// Answers one connection with `answers`, one after each read, and returns what it was sent.
    async fn proxy(answers: Vec<&'static [u8]>) -> (String, tokio::task::JoinHandle<Vec<u8>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let heard = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut heard = Vec::new();
            for answer in answers {
                let mut some = [0; 512];
                let read = stream.read(&mut some).await.unwrap();
                heard.extend_from_slice(&some[..read]);
                stream.write_all(answer).await.unwrap();
            }
            heard
        });
        (address, heard)
    }

    #[tokio::test]
    async fn an_http_proxy_is_asked_to_connect() {
        let (address, heard) = proxy(vec![b"HTTP/1.1 200 Connection established\r\n\r\n"]).await;
        let proxy = Proxy::Http(address, Some("Basic bWU=".to_owned()));
        through_proxy(&proxy, &Server::parse("https://api.example:6443").unwrap()).await.unwrap();
        let heard = String::from_utf8(heard.await.unwrap()).unwrap();
        assert_eq!(heard, "CONNECT api.example:6443 HTTP/1.1\r\nHost: api.example:6443\r\nProxy-Authorization: Basic bWU=\r\n\r\n");
    }

    #[tokio::test]
    async fn a_proxy_that_refuses_is_quoted() {
        let (address, _heard) = proxy(vec![b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"]).await;
        let error = through_proxy(&Proxy::Http(address, None), &Server::parse("https://a:1").unwrap()).await.unwrap_err().to_string();
        assert!(error.contains("407 Proxy Authentication Required"), "{error}");
    }

    #[tokio::test]
    async fn a_socks5_proxy_resolves_the_name() {
        let (address, heard) = proxy(vec![&[5, 0], &[5, 0, 0, 1, 127, 0, 0, 1, 0, 80]]).await;
        through_proxy(&Proxy::Socks5(address), &Server::parse("https://api:258").unwrap()).await.unwrap();
        assert_eq!(heard.await.unwrap(), [&[5, 1, 0][..], &[5, 1, 0, 3, 3], b"api", &[1, 2]].concat());
    }
}
