//! Why a request was not answered.

use std::time::Duration;

use ketcd_store::{Error, KeyRange};
use serde::Deserialize;

use crate::kubeconfig::Access;
use crate::problem::remote;

/// Why a request was not answered.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The server answered with another status than 200.
    Refused {
        code: u16,
        message: String,
        /// How long the server asks to wait (`Retry-After`).
        retry_after: Option<Duration>,
    },
    /// There is no connection, or it broke.
    Unreachable(String),
    /// The server sends nothing, or hardly anything.
    Silent(String),
    /// It answered with what cannot be, or with more than is taken.
    Untrue(String),
    /// The kubeconfig, or what it names, cannot be used.
    Settings(Error),
}

/// What an API server says of a request that it refused (`meta.k8s.io/v1` `Status`).
#[derive(Deserialize, Default)]
#[serde(default)]
struct Status {
    message: Option<String>,
}

const LONGEST_WAIT: u64 = 300;

impl Failure {
    /// There is no connection to the server of `access`.
    pub(super) fn unreachable(access: &Access, problem: String) -> Self {
        Self::Unreachable(format!("cannot reach the API server {}: {problem}", access.server()))
    }

    /// A server does not send what was asked for.
    pub(super) fn silent(server: &str, quiet: Duration) -> Self {
        let seconds = quiet.as_secs();
        Self::Silent(format!("the API server {server} accepted the request, but sent almost nothing of the answer for {seconds} s"))
    }

    /// What a server's answer says that is not 200.
    pub(super) fn refused(code: u16, retry_after: Option<&str>, body: &[u8]) -> Self {
        let status: Status = serde_json::from_slice(body).unwrap_or_default();
        let text = || String::from_utf8_lossy(&body[..body.len().min(200)]).trim().to_owned();
        let seconds = retry_after.and_then(|text| text.trim().parse::<u64>().ok());
        Self::Refused {
            code,
            message: status.message.unwrap_or_else(text),
            retry_after: seconds.map(|seconds| Duration::from_secs(seconds.min(LONGEST_WAIT))),
        }
    }

    /// Whether another try may succeed.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Refused { code, .. } => matches!(code, 429 | 500 | 502 | 503 | 504),
            Self::Unreachable(_) | Self::Silent(_) => true,
            Self::Untrue(_) | Self::Settings(_) => false,
        }
    }

    /// Whether the revision asked for is too old.
    pub(crate) fn is_expired(&self) -> bool {
        matches!(self, Self::Refused { code: 410, .. })
    }

    /// Whether the revision asked for does not exist yet.
    pub(crate) fn is_future(&self) -> bool {
        matches!(self, Self::Refused { code: 504, message, .. } if message.contains("Too large resource version"))
    }

    /// Whether what was asked for is not there.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { code: 404, .. })
    }

    /// How long the server asks to wait.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// The error of who asked for `what`, which stands for these keys.
    pub(crate) fn into_error(self, access: &Access, what: &str, keys: &KeyRange) -> Error {
        let server = access.server();
        match self {
            Self::Settings(error) => error,
            Self::Unreachable(problem) => {
                remote(&server, problem, Some("check that it runs, and the server, CA and proxy-url of the context in the kubeconfig"))
            }
            Self::Silent(problem) => {
                remote(&server, problem, Some("check that it is not overloaded, and what stands between it and ketcd"))
            }
            Self::Untrue(problem) => Error::Untrue { endpoint: server, problem },
            Self::Refused { code: 401, message, .. } => remote(
                &server,
                format!("the API server {server} rejects the credentials (context {}): {message}", access.name()),
                Some("log in again: the token or certificate of the context's user may have expired"),
            ),
            Self::Refused { code: 403, message, .. } => Error::Denied {
                keys: keys.clone(),
                problem: format!("the API server {server} does not let this user read {what}: {message}"),
                hint: format!("grant list and watch of {what}; deploy/ketcd-record-api-server.yaml has a ClusterRole"),
            },
            Self::Refused { code, message, .. } => {
                remote(&server, format!("the API server {server} answered {code} to a request for {what}: {message}"), None)
            }
        }
    }
}
