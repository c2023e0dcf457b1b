//! Endpoints as etcdctl writes them.

use std::fmt;

use crate::{Error, Result};

/// One member's client address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Endpoint {
    /// As the user gave it.
    name: String,
    /// Host name or IP address, without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Whether to speak TLS.
    pub tls: bool,
}

const CLIENT_PORT: u16 = 2379;

/// Refuses endpoints with a user name or password in them (`https://user:password@host`), before anything names them. etcdctl drops
/// that part without a word (etcd v3.5 `client/v3/internal/endpoint`, which takes the URL's host alone) and goes on without a user.
///
/// # Errors
/// One of them has an `@`. The error does not quote them: a comma in a password splits it over two.
pub fn refuse_credentials(endpoints: &[String]) -> Result<()> {
    if endpoints.iter().all(|endpoint| !endpoint.contains('@')) {
        return Ok(());
    }
    Err(Error::Remote {
        endpoint: String::new(),
        problem: "an endpoint has a user name or password in it (before the @)".to_owned(),
        hint: Some("write https://HOST:PORT, with --user NAME and --password (ETCDCTL_USER, ETCDCTL_PASSWORD)".to_owned()),
    })
}

impl Endpoint {
    /// Reads all endpoints, as [`Endpoint::parse`].
    pub(super) fn parse_all(endpoints: &[String], prefers_tls: bool) -> Result<Vec<Self>> {
        refuse_credentials(endpoints)?;
        endpoints.iter().map(|text| Self::parse(text, prefers_tls)).collect()
    }

    /// Reads `https://host:port`, `http://host:port` or `host:port`; without a scheme, `prefers_tls` decides.
    fn parse(text: &str, prefers_tls: bool) -> Result<Self> {
        let wrong = |problem: &str| Error::Remote {
            endpoint: text.to_owned(),
            problem: format!("invalid endpoint {text:?}: {problem}"),
            hint: Some("write https://HOST:PORT, http://HOST:PORT or HOST:PORT".to_owned()),
        };
        let (tls, address) = match text.split_once("://") {
            None => (prefers_tls, text),
            Some(("https", rest)) => (true, rest),
            Some(("http", rest)) => (false, rest),
            Some((scheme, _)) => return Err(wrong(&format!("the scheme {scheme} is not supported"))),
        };
        let address = address.strip_suffix('/').unwrap_or(address);
        if address.contains(['/', '?', '#', ' ']) {
            return Err(wrong("there is more in it than a host and a port"));
        }
        let (host, port) = match address.strip_prefix('[') {
            Some(rest) => {
                let (host, after) = rest.split_once(']').ok_or_else(|| wrong("a ] is missing"))?;
                (host, after.strip_prefix(':').or((!after.is_empty()).then_some(after)))
            }
            None if address.matches(':').count() > 1 => (address, None),
            None => address.split_once(':').map_or((address, None), |(host, port)| (host, Some(port))),
        };
        if host.is_empty() {
            return Err(wrong("it has no host"));
        }
        let port = match port {
            None => CLIENT_PORT,
            Some(port) => port.parse().map_err(|_| wrong("its port must be a number from 0 to 65535"))?,
        };
        Ok(Self { name: text.to_owned(), host: host.to_owned(), port, tls })
    }

    /// The address with its scheme, as etcd itself would advertise it.
    pub(super) fn url(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        let bracketed = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("{scheme}://{bracketed}:{}", self.port)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, prefers_tls: bool, expected: &str) {
        assert_eq!(Endpoint::parse(text, prefers_tls).unwrap().url(), expected);
    }

    #[test]
    fn endpoints_are_read_as_etcdctl_reads_them() {
        check("127.0.0.1:2379", false, "http://127.0.0.1:2379");
        check("127.0.0.1:2379", true, "https://127.0.0.1:2379");
        check("https://etcd-0.lab:4001/", false, "https://etcd-0.lab:4001");
        check("http://etcd-0", true, "http://etcd-0:2379");
        check("[::1]:2379", true, "https://[::1]:2379");
        check("::1", false, "http://[::1]:2379");
    }

    #[test]
    fn what_is_no_endpoint_is_refused() {
        for text in ["", "ftp://a:1", "https://", "a:b", "a:70000", "https://a:1/registry", "[::1", "[::1]x"] {
            assert!(Endpoint::parse(text, false).is_err(), "{text}");
        }
    }

    #[test]
    fn a_password_in_an_endpoint_is_refused_and_not_quoted() {
        for list in [
            "https://root:hunter2@a:1",
            "root:hunter2@a",
            "https://b:1,https://root:hun,ter2@a:1",
            "https://root:hun/ter2@a:1",
            "ftp://root:hunter2@a",
            "https://a:1@root:hunter2",
            "https://root:hunter2@",
        ] {
            let list: Vec<String> = list.split(',').map(str::to_owned).collect();
            let error = Endpoint::parse_all(&list, false).unwrap_err();
            let Error::Remote { endpoint, problem, hint } = error else { panic!("{error}") };
            let message = format!("{endpoint} {problem} {hint:?}");
            assert!(message.contains("--user NAME") && !message.contains("hun") && !message.contains("ter2"), "{message}");
        }
    }
}
