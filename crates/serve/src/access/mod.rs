//! Who may ask what: clients that show the run's token, on an address that is the server's own; for impersonated users the roles of the moment decide.

mod address;
mod authorization;

use std::net::SocketAddr;

use axum::http::{HeaderMap, Uri, header};
use sha2::{Digest, Sha256};

pub(crate) use address::Address;
pub(crate) use authorization::authorize;

use crate::request::offered_token;
use crate::wire::{Result, Status};

/// What a request must show.
pub(crate) struct Access {
    /// The hash of the token: comparing hashes takes as long whatever the token.
    token: [u8; 32],
    /// Where the server is.
    address: Address,
    /// What the server's own pages begin with: `https://`, or `http://` where it is reached on this machine alone.
    scheme: &'static str,
}

impl Access {
    /// Returns the access to a server at this address, and its token, which is made for this run.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub(crate) fn new(address: Address) -> Result<(Self, String), String> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| format!("no random bytes for a token: {error}"))?;
        let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok((Self { token: Sha256::digest(&token).into(), address, scheme: "https://" }, token))
    }

    /// The same of a server without TLS, which is reached on this machine alone.
    pub(crate) fn plain(self) -> Self {
        Self { scheme: "http://", ..self }
    }

    /// Checks that the request was meant for this server, and that it shows the token.
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<()> {
        self.check_meant(uri, headers)?;
        let shown = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).and_then(|value| value.split_once(' '));
        let shown = shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim());
        let is_shown = match shown {
            Some(token) => self.is_token(token),
            None => offered_token(headers).is_some_and(|token| self.is_token(&token)),
        };
        if is_shown { Ok(()) } else { Err(Status::unauthorized()) }
    }

    /// Checks that the request was meant for this server, which a page of the web that had its name point here did not.
    pub(crate) fn check_meant(&self, uri: &Uri, headers: &HeaderMap) -> Result<()> {
        let given = headers.get_all(header::HOST).iter().map(|host| host.to_str().unwrap_or_default());
        let named: Vec<&str> = uri.authority().map(|authority| authority.as_str()).into_iter().chain(given).collect();
        if named.is_empty() || !named.iter().all(|host| self.address.is_host(host)) {
            let named = named.join(", ");
            return Err(Status::forbidden(format!("the host {named:?} is not this server: it answers to {}", self.address.told)));
        }
        for origin in headers.get_all(header::ORIGIN) {
            let origin = origin.to_str().unwrap_or_default();
            if !origin.strip_prefix(self.scheme).is_some_and(|host| self.address.is_origin(host)) {
                return Err(Status::forbidden(format!("requests of pages of {origin:?} are refused")));
            }
        }
        Ok(())
    }

    /// What the server's own pages begin with.
    pub(crate) fn scheme(&self) -> &'static str {
        self.scheme
    }

    /// The server's own address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address.told
    }

    /// Whether this is the run's token.
    pub(crate) fn is_token(&self, token: &str) -> bool {
        <[u8; 32]>::from(Sha256::digest(token)) == self.token
    }
}

/// Whether a text has the form of a token of some run.
pub(crate) fn is_token(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &[(header::HeaderName, &str)], wanted: bool) {
        let (access, token) = Access::new(Address::new("127.0.0.1:4321".parse().unwrap())).unwrap();
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, value.replace("TOKEN", &token).parse().unwrap());
        }
        assert_eq!(access.check(&Uri::from_static("/api"), &map).is_ok(), wanted, "{headers:?}");
    }

    #[test]
    fn requests_need_token_host_and_no_foreign_origin() {
        let (host, token) = ((header::HOST, "127.0.0.1:4321"), (header::AUTHORIZATION, "Bearer TOKEN"));
        check(&[host.clone(), token.clone()], true);
        check(&[(header::HOST, "LOCALHOST:4321"), token.clone()], true);
        check(&[(header::HOST, "127.0.0.1"), token.clone()], true);
        check(&[(header::HOST, "evil.example"), token.clone()], false);
        check(&[host.clone(), (header::HOST, "evil.example"), token.clone()], false);
        check(&[host.clone(), token.clone(), (header::ORIGIN, "https://127.0.0.1")], false);
        check(&[host.clone(), token.clone(), (header::ORIGIN, "https://127.0.0.1:4321")], true);
        check(&[host.clone(), token.clone(), (header::ORIGIN, "https://evil.example")], false);
        check(&[(header::HOST, "evil.example:4321"), token.clone()], false);
        check(&[(header::HOST, "127.0.0.1:80"), token.clone()], false);
        check(&[token], false);
        check(std::slice::from_ref(&host), false);
        check(&[host.clone(), (header::AUTHORIZATION, "Bearer wrong")], false);
        check(&[host, (header::AUTHORIZATION, "Basic TOKEN")], false);
    }
}
