//! `continue` tokens: where a list goes on, and at which revision.
//!
//! Source: apiserver v0.36 `pkg/storage/continue.go`, `pkg/storage/etcd3/errors.go`.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ketcd_store::Revision;
use serde_json::Value;

use crate::wire::{Result, Status};

const META_VERSION: &str = "meta.k8s.io/v1";

/// What a continued list says whose revision was compacted.
const EXPIRED_CONTINUE: &str = "The provided continue parameter is too old to display a consistent list result. You can start a new list without \
                                the continue parameter, or use the continue token in this response to retrieve the remainder of the results. \
                                Continuing with the provided token results in an inconsistent list - objects that were created, modified, or \
                                deleted between the time the first chunk was returned and now may show up in the list.";

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Continuation {
    /// The first key that may follow, below the list's own prefix.
    pub start: String,
    /// The revision of the list; `None` for the newest.
    pub revision: Option<Revision>,
}

impl Continuation {
    /// Reads a token.
    pub(crate) fn decode(token: &str) -> Result<Self> {
        let invalid = |problem: String| Status::bad_request(format!("invalid continue token: continue key is not valid{problem}"));
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|error| invalid(format!(": {error}")))?;
        let token: Value = serde_json::from_slice(&bytes).map_err(|error| invalid(format!(": {error}")))?;
        let version = token["v"].as_str().unwrap_or_default();
        if version != META_VERSION {
            return Err(invalid(format!(": server does not recognize this encoded version {version}")));
        }
        let revision = match token["rv"].as_i64().unwrap_or(0) {
            0 => return Err(invalid(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)".to_owned())),
            1.. => token["rv"].as_i64().map(Revision),
            _ => None,
        };
        let start = token["start"].as_str().unwrap_or_default();
        if start.is_empty() {
            return Err(invalid(": encoded start key empty (version meta.k8s.io/v1)".to_owned()));
        }
        let parts = start.strip_prefix('/').unwrap_or(start).split('/');
        if parts.into_iter().any(|part| matches!(part, "" | "." | "..")) {
            return Err(invalid(format!(": {start}")));
        }
        Ok(Self { start: start.strip_prefix('/').unwrap_or(start).to_owned(), revision })
    }

    /// Returns the token of a list that continues after `last`, a key below the list's own prefix.
    pub(crate) fn after(last: &str, revision: Revision) -> String {
        encode(&format!("{last}\0"), revision.0)
    }

    /// Returns what a list says whose revision was compacted, with the token that continues it at the newest revision.
    pub(crate) fn expired(&self) -> Box<Status> {
        Status::expired_list(EXPIRED_CONTINUE, Some(encode(&self.start, -1)))
    }
}

fn encode(start: &str, revision: i64) -> String {
    let token = format!("{{\"v\":\"{META_VERSION}\",\"rv\":{revision},\"start\":{}}}", serde_json::json!(start));
    URL_SAFE_NO_PAD.encode(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back() {
        let token = Continuation::after("shop/web-0", Revision(7));
        let wanted = Continuation { start: "shop/web-0\0".to_owned(), revision: Some(Revision(7)) };
        assert_eq!(Continuation::decode(&token).unwrap(), wanted);
        let Value::Object(status) = wanted.expired().to_json() else { panic!("no object") };
        let again = Continuation::decode(status["metadata"]["continue"].as_str().unwrap()).unwrap();
        assert_eq!((again.start.as_str(), again.revision), ("shop/web-0\0", None));
    }

    #[test]
    fn what_is_no_token_is_refused() {
        for (text, wanted) in [
            (r#"{"v":"meta.k8s.io/v1","rv":0,"start":"a"}"#, "incorrect encoded start resourceVersion"),
            (r#"{"v":"meta.k8s.io/v1","rv":5}"#, "encoded start key empty"),
            (r#"{"v":"meta.k8s.io/v2","rv":5,"start":"a"}"#, "does not recognize this encoded version meta.k8s.io/v2"),
            (r#"{"v":"meta.k8s.io/v1","rv":5,"start":"../secrets"}"#, "continue key is not valid: ../secrets"),
            ("", "continue key is not valid"),
        ] {
            let status = Continuation::decode(&URL_SAFE_NO_PAD.encode(text)).unwrap_err().to_json();
            assert!(status["message"].as_str().unwrap().contains(wanted), "{text}: {status}");
        }
        assert!(Continuation::decode("!").is_err());
    }
}
