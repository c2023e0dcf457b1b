//! The URLs of a kubeconfig: a server, and a proxy before it.

use std::fmt::{Display, Formatter};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Uri;

/// Where an API server listens.
#[derive(Debug)]
pub(crate) struct Server {
    pub uses_tls: bool,
    pub host: String,
    pub port: u16,
    /// What paths begin with, without a slash at its end.
    path: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Proxy {
    /// `CONNECT` over HTTP at this address, with these credentials.
    Http(String, Option<String>),
    Socks5(String),
}

/// What is wrong with a URL: what follows its name in a sentence.
type Problem = &'static str;

const NOT_A_URL: Problem = "is not a URL";
const NO_HOST: Problem = "has no host";
const NO_PORT: Problem = "has a port that is not a number from 1 to 65535";

impl Server {
    pub(crate) fn parse(url: &str) -> Result<Self, Problem> {
        // As client-go does, a server without a scheme is one without TLS.
        let url = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
        let uri: Uri = url.parse().map_err(|_| NOT_A_URL)?;
        let uses_tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err("has an unknown scheme"),
        };
        let host = uri.host().filter(|host| !host.is_empty()).ok_or(NO_HOST)?;
        if credentials(&uri).is_some() {
            return Err("holds credentials");
        }
        Ok(Self {
            uses_tls,
            host: host.trim_matches(['[', ']']).to_owned(),
            port: port(&uri, if uses_tls { 443 } else { 80 })?,
            path: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    /// `HOST:PORT`, as in a URL.
    pub(crate) fn authority(&self) -> String {
        if self.host.contains(':') { format!("[{}]:{}", self.host, self.port) } else { format!("{}:{}", self.host, self.port) }
    }
}

impl Display for Server {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}{}", if self.uses_tls { "https" } else { "http" }, self.authority(), self.path)
    }
}

impl Proxy {
    pub(super) fn parse(url: &str) -> Result<Self, Problem> {
        let uri: Uri = url.parse().map_err(|_| NOT_A_URL)?;
        let host = uri.host().ok_or(NO_HOST)?;
        let address = |usual| port(&uri, usual).map(|port| format!("{host}:{port}"));
        match (uri.scheme_str(), credentials(&uri)) {
            (Some("http"), pair) => Ok(Self::Http(address(80)?, pair.map(|pair| format!("Basic {}", STANDARD.encode(pair))))),
            (Some("socks5" | "socks5h"), None) => Ok(Self::Socks5(address(1080)?)),
            (Some("socks5" | "socks5h"), Some(_)) => Err("holds credentials, which ketcd does not send to a SOCKS5 proxy"),
            _ => Err("has a scheme that ketcd does not support"),
        }
    }
}

fn credentials(uri: &Uri) -> Option<&str> {
    Some(uri.authority()?.as_str().rsplit_once('@')?.0)
}

/// The port of a URL, or the usual one where it names none.
fn port(uri: &Uri, usual: u16) -> Result<u16, Problem> {
    let authority = uri.authority().ok_or(NO_HOST)?;
    let place = authority.as_str().rsplit('@').next().unwrap_or_default().trim_end_matches(':');
    match authority.port_u16() {
        // `Uri` takes a port that is no number for none.
        None if place.len() == authority.host().len() => Ok(usual),
        Some(port) if port > 0 => Ok(port),
        _ => Err(NO_PORT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_is_read_from_its_url() {
        for (server, url) in [
            ("https://10.0.0.1:6443", "https://10.0.0.1:6443"),
            ("https://rancher.example/k8s/clusters/c-1/", "https://rancher.example:443/k8s/clusters/c-1"),
            ("https://[fd00::1]:6443", "https://[fd00::1]:6443"),
            ("10.0.0.1:8080", "http://10.0.0.1:8080"),
        ] {
            assert_eq!(Server::parse(server).unwrap().to_string(), url);
        }
        assert_eq!(Server::parse("ftp://a").unwrap_err(), "has an unknown scheme");
        assert_eq!(Server::parse("https://me:pass@a").unwrap_err(), "holds credentials");
    }

    #[test]
    fn port_that_is_none_is_refused() {
        for port in ["99999", "0", "65536", "99999999999999999999", "http"] {
            for server in [format!("http://127.0.0.1:{port}"), format!("9:{port}"), format!("[fd00::1]:{port}")] {
                let problem = Server::parse(&server).unwrap_err();
                assert!([NO_PORT, NOT_A_URL].contains(&problem), "{server}: {problem}");
            }
            for scheme in ["http", "socks5"] {
                let problem = Proxy::parse(&format!("{scheme}://p:{port}")).unwrap_err();
                assert!([NO_PORT, NOT_A_URL].contains(&problem), "{port}: {problem}");
            }
        }
    }

    #[test]
    fn proxy_is_read_from_its_url() {
        assert_eq!(Proxy::parse("http://p:3128"), Ok(Proxy::Http("p:3128".to_owned(), None)));
        let authorization = Some("Basic bWU6cGFzcw==".to_owned());
        assert_eq!(Proxy::parse("http://me:pass@p"), Ok(Proxy::Http("p:80".to_owned(), authorization)));
        assert_eq!(Proxy::parse("socks5://localhost"), Ok(Proxy::Socks5("localhost:1080".to_owned())));
        assert!(Proxy::parse("ftp://p").unwrap_err().contains("does not support"));
    }
}
