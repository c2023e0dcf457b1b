//! Looks at a port that did not answer as etcd's client port does: what else may it be?

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::connector::{Connector, Failure, tls_failure};
use super::tls;

/// How long an answer to a probe may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// How long it may take while a handshake that failed is explained, which is a part of the time for dialling.
const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(1);
/// How long an answer that has begun may pause.
const MAX_ANSWER_PAUSE: Duration = Duration::from_millis(300);
/// The most that is read of an answer.
const LONGEST_ANSWER: usize = 4096;

impl Connector {
    /// Asking in plain text shows whether a handshake failed because the server does not speak TLS.
    pub(super) async fn explain_handshake(&self, failure: Failure) -> Failure {
        let maybe_plain =
            matches!(&failure, Failure::ClosedInHandshake | Failure::Broken(_) | Failure::Tls(rustls::Error::InvalidMessage(_)));
        if maybe_plain && self.speaks_plain_http2().await { Failure::PlainServer } else { failure }
    }

    /// What a port is that can be connected to and does not answer as etcd's client port; `None` where it is one, or cannot be told.
    pub(super) async fn identify(&self) -> Option<Failure> {
        if !self.endpoint.tls && self.speaks_tls().await {
            return Some(Failure::TlsServer);
        }
        // etcd's peers read each other's lists of members; its client port has no such page.
        let members = self.get("/members").await?;
        if members.contains("\"peerURLs\"") {
            return Some(Failure::PeerPort);
        }
        if self.get("/version").await.is_some_and(|version| version.contains("\"etcdserver\"")) {
            return None;
        }
        let status = members.lines().next()?.trim();
        let server = members.lines().take_while(|line| !line.trim().is_empty()).find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("server").then(|| format!(" from {}", value.trim()))
        });
        Some(Failure::OtherServer(format!("{status}{}", server.unwrap_or_default())))
    }

    /// The beginning of the port's answer to an HTTP/1.1 request.
    async fn get(&self, path: &str) -> Option<String> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.endpoint.host);
        let answered = async {
            if self.endpoint.tls {
                exchange(self.handshake(None).await.ok()?, &request).await.ok()
            } else {
                exchange(self.tcp().await.ok()?, &request).await.ok()
            }
        };
        timeout(PROBE_TIMEOUT, answered).await.ok()?
    }

    /// Whether the port answers an HTTP/2 preface in plain text with its settings.
    async fn speaks_plain_http2(&self) -> bool {
        /// The client's preface and an empty SETTINGS frame (RFC 9113, section 3.4).
        const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
        let answered = async {
            let mut tcp = self.tcp().await.ok()?;
            // A frame's length and type. An alert of TLS is shorter than a frame's head, and may be all that comes.
            let mut head = [0; 4];
            tcp.write_all(HTTP2_PREFACE).await.ok()?;
            tcp.read_exact(&mut head).await.ok()?;
            Some(head[3] == 4)
        };
        timeout(HANDSHAKE_PATIENCE, answered).await.ok().flatten().unwrap_or(false)
    }

    /// Whether the port answers a TLS client hello in TLS.
    async fn speaks_tls(&self) -> bool {
        let (Ok(tcp), Some(config)) = (self.tcp().await, tls::probe_config()) else { return false };
        let Ok(name) = ServerName::try_from(self.endpoint.host.clone()) else { return false };
        match timeout(PROBE_TIMEOUT, TlsConnector::from(Arc::clone(&config)).connect(name, tcp)).await {
            Ok(Ok(_)) => true,
            Ok(Err(error)) => matches!(tls_failure(&error), Failure::Tls(tls) if !matches!(tls, rustls::Error::InvalidMessage(_))),
            Err(_) => false,
        }
    }
}

async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> io::Result<String> {
    stream.write_all(request.as_bytes()).await?;
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    // The end may never come: etcd's peer port leaves some connections open that it was asked to close.
    let mut patience = PROBE_TIMEOUT;
    while let Ok(Ok(length @ 1..)) = timeout(patience, stream.read(&mut piece)).await {
        answer.extend_from_slice(&piece[..length]);
        patience = MAX_ANSWER_PAUSE;
        if answer.len() >= LONGEST_ANSWER {
            break;
        }
    }
    if answer.starts_with(b"HTTP/") { Ok(String::from_utf8_lossy(&answer).into_owned()) } else { Err(io::ErrorKind::InvalidData.into()) }
}
