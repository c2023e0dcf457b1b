//! A server that takes OTLP over HTTP, in protobuf: a collector, Jaeger, Tempo.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HOST, RETRY_AFTER, USER_AGENT};
use hyper::http::uri::Scheme;
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;

use crate::cli::outcome::{Error, Result};
use crate::cli::output::note;
use ketcd_render::traces::otlp;
use ketcd_render::value::cut;
use ketcd_render::visible::visible;
use ketcd_store::tls::provider;

/// Where OTLP over HTTP takes traces (specification 1.51, "OTLP/HTTP Request").
const TRACES_PATH: &str = "/v1/traces";
const PROTOBUF_TYPE: &str = "application/x-protobuf";
/// How long a request may take, with its connection.
const MAX_REQUEST: Duration = Duration::from_secs(30);
/// How often a request is sent that the server cannot take yet.
const MAX_TRIES: u32 = 5;
/// How long a server may let a request wait.
const MAX_WAIT: Duration = Duration::from_secs(30);
const MAX_ANSWER_BYTES: usize = 64 << 10;
const MAX_ANSWER_COLUMNS: usize = 300;

pub(super) struct OtlpServer {
    /// As messages name it.
    url: String,
    host: String,
    port: u16,
    authority: String,
    path: String,
    tls: Option<Arc<ClientConfig>>,
    /// The connection, while it is open.
    connection: Option<SendRequest<Full<Bytes>>>,
}

struct Answer {
    status: StatusCode,
    is_protobuf: bool,
    retry_after: Option<u64>,
    body: Bytes,
}

impl OtlpServer {
    /// The server at a URL; nothing is asked yet.
    ///
    /// # Errors
    /// A URL that is not one of HTTP, or a system that trusts no certificate.
    pub(super) fn at(endpoint: &str) -> Result<Self> {
        // What stands before the host may be a password.
        let shown = endpoint.rsplit_once('@').map_or_else(|| endpoint.to_owned(), |(_, host)| format!("…@{host}"));
        let invalid = |problem: &str| {
            Error::new(format!("invalid --endpoint {:?}: {problem}", visible(&shown))).hint("write a URL such as http://127.0.0.1:4318")
        };
        let url: Uri = endpoint.parse().map_err(|_| invalid("it is not a URL"))?;
        let is_tls = match url.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            _ => return Err(invalid("it begins neither with http:// nor with https://")),
        };
        let host = url.host().filter(|host| !host.is_empty()).ok_or_else(|| invalid("it has no host"))?;
        let authority = url.authority().map(|authority| authority.as_str().to_owned()).unwrap_or_default();
        if authority.contains('@') {
            return Err(invalid("it holds credentials").hint("send through a collector that has them"));
        }
        if url.query().is_some() {
            return Err(invalid("it has a query"));
        }
        // `Uri` ignores a port that is not a number.
        if url.port_u16().is_none_or(|port| port == 0) && authority.trim_end_matches(':').len() != host.len() {
            return Err(invalid("its port is not a number from 1 to 65535"));
        }
        let base = url.path().trim_end_matches('/');
        let path = if base.ends_with(TRACES_PATH) { base.to_owned() } else { format!("{base}{TRACES_PATH}") };
        Ok(Self {
            url: format!("{}://{authority}{path}", if is_tls { "https" } else { "http" }),
            host: host.trim_matches(['[', ']']).to_owned(),
            port: url.port_u16().unwrap_or(if is_tls { 443 } else { 80 }),
            authority,
            path,
            tls: is_tls.then(trusting).transpose()?,
            connection: None,
        })
    }

    /// Sends a request, again where the server cannot take it yet.
    ///
    /// # Errors
    /// The server cannot be reached, or does not take all of it.
    pub(super) async fn send(&mut self, body: Vec<u8>) -> Result<()> {
        let body = Bytes::from(body);
        let mut tries = 0;
        loop {
            tries += 1;
            let answer = timeout(MAX_REQUEST, self.ask(body.clone())).await;
            let answer = answer.unwrap_or_else(|_| Err(io::Error::other(format!("no answer within {} s", MAX_REQUEST.as_secs()))));
            let answer = answer.map_err(|error| self.unreachable(&error))?;
            if answer.status.is_success() {
                return self.taken(&answer);
            }
            // What may be sent again (specification 1.51, "Retryable Response Codes").
            if !matches!(answer.status.as_u16(), 429 | 502 | 503 | 504) || tries == MAX_TRIES {
                return Err(self.refused(&answer));
            }
            let wait = answer.retry_after.unwrap_or(1 << (tries - 1));
            sleep(Duration::from_secs(wait).min(MAX_WAIT)).await;
        }
    }

    /// Whether the server took all of a request.
    fn taken(&self, answer: &Answer) -> Result<()> {
        match otlp::rejected(&answer.body).filter(|_| answer.is_protobuf) {
            None => Ok(()),
            Some((0, warning)) => {
                note(&format!("{} warns: {}", self.url, shown(&warning)));
                Ok(())
            }
            Some((spans, why)) => {
                let hint = "what it took before is not sent twice if you run it again: ids are the same";
                Err(Error::new(format!("{} rejected {spans} spans: {}", self.url, shown(&why))).hint(hint))
            }
        }
    }

    async fn ask(&mut self, body: Bytes) -> io::Result<Answer> {
        let request = Request::post(&self.path).header(HOST, &self.authority).header(CONTENT_TYPE, PROTOBUF_TYPE);
        let request = request.header(USER_AGENT, concat!("ketcd/", env!("CARGO_PKG_VERSION")));
        let request = request.body(Full::new(body)).map_err(io::Error::other)?;
        let open = match self.connection.take() {
            // A server may end a connection that it has answered on.
            Some(mut open) => open.ready().await.is_ok().then_some(open),
            None => None,
        };
        let mut connection = match open {
            Some(open) => open,
            None => self.connect().await?,
        };
        let response = connection.send_request(request).await.map_err(io::Error::other)?;
        let (parts, body) = response.into_parts();
        let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let is_protobuf = header(CONTENT_TYPE).is_some_and(|kind| kind.starts_with(PROTOBUF_TYPE));
        let retry_after = header(RETRY_AFTER).and_then(|value| value.parse().ok());
        let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await;
        // A longer answer is not read to its end, and the connection not used again.
        let body = body.map(|body| body.to_bytes());
        self.connection = body.is_ok().then_some(connection);
        Ok(Answer { status: parts.status, is_protobuf, retry_after, body: body.unwrap_or_default() })
    }

    async fn connect(&self) -> io::Result<SendRequest<Full<Bytes>>> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        let _ = stream.set_nodelay(true);
        match &self.tls {
            None => http(TokioIo::new(stream)).await,
            Some(tls) => {
                let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other)?;
                http(TokioIo::new(TlsConnector::from(Arc::clone(tls)).connect(name, stream).await?)).await
            }
        }
    }

    fn unreachable(&self, error: &io::Error) -> Error {
        let hint = "name an address of OTLP over HTTP, usually port 4318; port 4317 is of gRPC, which ketcd does not speak";
        Error::new(format!("cannot send traces to {}: {}", self.url, shown(&error.to_string()))).hint(hint)
    }

    fn refused(&self, answer: &Answer) -> Error {
        let Answer { status, is_protobuf, body, .. } = answer;
        let said = if *is_protobuf { otlp::refusal(body) } else { None };
        let said = said.unwrap_or_else(|| if *is_protobuf { String::new() } else { String::from_utf8_lossy(body).trim().to_owned() });
        let said = if said.is_empty() { String::new() } else { format!(": {}", shown(&said)) };
        let hint = match status.as_u16() {
            300..=399 => "redirects are not followed: name the address that it leads to",
            401 | 403 | 407 => "send through a collector that has the credentials",
            404 | 405 => "name an address of OTLP over HTTP, usually port 4318",
            413 => "raise the server's limit of bytes of a request above 1 MiB",
            429 | 500..=599 => "run it again later: ids are the same, and nothing comes twice",
            _ => "see what the server logs",
        };
        Error::new(format!("{} answered {status}{said}", self.url)).hint(hint)
    }
}

/// What another program says, in a line that is not too long.
fn shown(text: &str) -> String {
    cut(&visible(text), MAX_ANSWER_COLUMNS)
}

async fn http<S: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static>(stream: S) -> io::Result<SendRequest<Full<Bytes>>> {
    let (sender, connection) = handshake(stream).await.map_err(io::Error::other)?;
    // It ends with the sender; what goes wrong is reported where something is sent.
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}

/// TLS to servers that the system trusts.
fn trusting() -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(
            Error::new("the system trusts no certificate").hint("install its CA certificates, or name the file of one in SSL_CERT_FILE")
        );
    }
    let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| Error::new(format!("TLS cannot be set up: {error}")))?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// A server that gives these answers, each to one request of a connection of its own; returns its URL and what it was sent.
    async fn server(answers: Vec<String>) -> (String, tokio::task::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heard = tokio::spawn(async move {
            let mut heard = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"BODY") {
                    let mut some = [0; 1024];
                    let read = stream.read(&mut some).await.unwrap();
                    assert!(read > 0, "the request ends before its body");
                    request.extend_from_slice(&some[..read]);
                }
                heard.push(String::from_utf8(request).unwrap());
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
            heard
        });
        (url, heard)
    }

    fn answer(status: &str, headers: &str, body: &str) -> String {
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}", body.len())
    }

    /// What becomes of a request.
    async fn sent(answers: Vec<String>) -> (Result<()>, Vec<String>) {
        let (url, heard) = server(answers).await;
        let sent = OtlpServer::at(&url).unwrap().send(b"BODY".to_vec()).await;
        (sent, heard.await.unwrap())
    }

    #[tokio::test]
    async fn requests_are_those_of_the_specification() {
        let (sent, heard) = sent(vec![answer("200 OK", "", "")]).await;
        sent.unwrap();
        assert!(heard[0].starts_with("POST /v1/traces HTTP/1.1\r\n"), "{heard:?}");
        assert!(heard[0].to_lowercase().contains("content-type: application/x-protobuf\r\n"), "{heard:?}");
    }

    #[tokio::test]
    async fn a_server_that_is_busy_is_asked_again() {
        let busy = answer("503 Service Unavailable", "Retry-After: 0\r\n", "");
        let (sent, heard) = sent(vec![busy.clone(), busy, answer("200 OK", "", "")]).await;
        sent.unwrap();
        assert_eq!(heard.len(), 3);
    }

    #[tokio::test]
    async fn what_the_server_says_is_quoted_and_drives_nothing() {
        let (sent, _) = sent(vec![answer("400 Bad Request", "", "no\u{1b}[31m\nspan")]).await;
        let error = sent.unwrap_err().to_string();
        assert!(error.contains("answered 400 Bad Request: no\\x1b[31m\\nspan"), "{error}");
        let long = answer("400 Bad Request", "", &"x".repeat(100_000));
        let (sent, _) = self::sent(vec![long]).await;
        assert!(sent.unwrap_err().to_string().len() < 500);
    }

    #[tokio::test]
    async fn rejected_spans_and_refusals_in_protobuf_are_read() {
        let rejected = "\n\u{8}\u{8}\u{3}\u{12}\u{4}full";
        let (sent, _) = sent(vec![answer("200 OK", "Content-Type: application/x-protobuf\r\n", rejected)]).await;
        let error = sent.unwrap_err().to_string();
        assert!(error.contains("rejected 3 spans: full"), "{error}");
        let (sent, _) = self::sent(vec![answer("400 Bad Request", "Content-Type: application/x-protobuf\r\n", "\u{12}\u{3}why")]).await;
        let error = sent.unwrap_err().to_string();
        assert!(error.contains("400 Bad Request: why"), "{error}");
    }

    #[tokio::test]
    async fn endpoints_that_cannot_be_are_refused() {
        for (endpoint, problem) in [
            ("127.0.0.1:4318", "begins neither"),
            ("ftp://a", "begins neither"),
            ("http://", "not a URL"),
            ("http://me:secret@a:1", "credentials"),
            ("http://a/?b", "query"),
            ("http://a:99999", "port"),
            ("http://a:0", "port"),
        ] {
            let error = OtlpServer::at(endpoint).err().unwrap().to_string();
            assert!(error.contains(problem), "{endpoint}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
        for (endpoint, url) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("http://a/otlp/", "http://a/otlp/v1/traces"),
            ("http://a/v1/traces", "http://a/v1/traces"),
        ] {
            assert_eq!(OtlpServer::at(endpoint).unwrap().url, url);
        }
        let error = OtlpServer::at("http://127.0.0.1:1").unwrap().send(Vec::new()).await.unwrap_err().to_string();
        assert!(error.contains("cannot send traces to http://127.0.0.1:1/v1/traces"), "{error}");
    }
}
