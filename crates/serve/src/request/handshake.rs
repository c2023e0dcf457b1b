//! WebSocket handshakes, and the token in them, which browsers cannot put in a header.
//!
//! Sources: RFC 6455; apiserver v0.36 `pkg/authentication/request/websocket/protocol.go`.

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Version, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hyper::upgrade::OnUpgrade;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::wire::{Result, Status};

/// How the subprotocol begins that shows the token.
const TOKEN_PROTOCOL_PREFIX: &str = "base64url.bearer.authorization.k8s.io.";

/// Whether a request asks for a WebSocket.
fn is_asked(headers: &HeaderMap) -> bool {
    let has = |name: header::HeaderName, wanted: &str| {
        let mut words = headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(','));
        words.any(|word| word.trim().eq_ignore_ascii_case(wanted))
    };
    has(header::CONNECTION, "upgrade") && has(header::UPGRADE, "websocket")
}

/// The subprotocols that a client offers.
fn offered(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|text| text.split(',')).map(str::trim).filter(|name| !name.is_empty())
}

/// The token among the subprotocols of a request for a WebSocket. There must be one token, and another subprotocol, which the answer can name.
pub(crate) fn offered_token(headers: &HeaderMap) -> Option<String> {
    let (tokens, others): (Vec<&str>, Vec<&str>) = offered(headers).partition(|name| name.starts_with(TOKEN_PROTOCOL_PREFIX));
    let [token] = tokens[..] else { return None };
    let bytes = URL_SAFE_NO_PAD.decode(token.strip_prefix(TOKEN_PROTOCOL_PREFIX)?).ok()?;
    String::from_utf8(bytes).ok().filter(|_| is_asked(headers) && !others.is_empty())
}

/// A handshake.
pub(crate) struct Handshake {
    /// What becomes of the connection when the answer is out; `None` where HTTP's version has no such upgrade.
    upgrade: Option<OnUpgrade>,
    key: Option<String>,
    protocol: Option<HeaderValue>,
}

impl Handshake {
    /// Takes the handshake of a request, if it is one.
    pub(crate) fn of(head: &mut Parts) -> Option<Self> {
        if !is_asked(&head.headers) {
            return None;
        }
        let text = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
        let is_known = text("sec-websocket-version") == Some("13") && head.method == Method::GET && head.version == Version::HTTP_11;
        let key = text("sec-websocket-key").filter(|key| is_known && STANDARD.decode(key).is_ok_and(|key| key.len() == 16));
        let key = key.map(str::to_owned);
        let protocol =
            offered(&head.headers).find(|name| !name.starts_with(TOKEN_PROTOCOL_PREFIX)).and_then(|name| HeaderValue::from_str(name).ok());
        Some(Self { upgrade: head.extensions.remove::<OnUpgrade>(), key, protocol })
    }

    /// Returns what becomes of the connection, and the response that agrees to it.
    ///
    /// # Errors
    /// The handshake is not one of RFC 6455.
    pub(crate) fn accepted(self) -> Result<(OnUpgrade, Response)> {
        let (Some(upgrade), Some(key)) = (self.upgrade, self.key) else {
            return Err(Status::bad_request("the WebSocket handshake is not one of version 13 over HTTP/1.1"));
        };
        let mut switching = StatusCode::SWITCHING_PROTOCOLS.into_response();
        let headers = switching.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, HeaderValue::from_str(&derive_accept_key(key.as_bytes())).map_err(Status::internal)?);
        self.protocol.into_iter().for_each(|protocol| drop(headers.insert(header::SEC_WEBSOCKET_PROTOCOL, protocol)));
        Ok((upgrade, switching))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        lines.iter().map(|(name, value)| (name.parse::<header::HeaderName>().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn the_token_is_a_subprotocol_beside_another() {
        let encoded = format!("{TOKEN_PROTOCOL_PREFIX}{}", URL_SAFE_NO_PAD.encode("secret"));
        let check = |protocols: &str, wanted: Option<&str>| {
            let asked = [("connection", "keep-alive, Upgrade"), ("upgrade", "WebSocket"), ("sec-websocket-protocol", protocols)];
            assert_eq!(offered_token(&headers(&asked)).as_deref(), wanted, "{protocols}");
            assert_eq!(offered_token(&headers(&asked[1..])), None, "{protocols} without a handshake");
        };
        check(&format!("base64.binary.k8s.io, {encoded}"), Some("secret"));
        check(&format!("{encoded},v4.channel.k8s.io"), Some("secret"));
        check(&encoded, None);
        check(&format!("{encoded}, {encoded}, a"), None);
        check(&format!("{TOKEN_PROTOCOL_PREFIX}!, a"), None);
        check("a", None);
        check("", None);
    }
}
