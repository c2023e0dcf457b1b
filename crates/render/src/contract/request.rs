//! The JSON of the request that made a change.

use schemars::JsonSchema;
use serde::Serialize;

use ketcd_history::audit::{Authorship, Request};

/// How the request of a change is known.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum RequestMatch {
    /// Its answer names the revision.
    Exact,
    /// No other user's request fits key, verb and time.
    Attributed,
    /// Several fit.
    Candidates,
}

/// The request of an audit log that made a change.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeRequest<'a> {
    /// All that may have made the change, where not one alone does, the earliest first; absent otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<AuditedRequest<'a>>,
    /// How it is known.
    #[serde(rename = "match")]
    pub known_by: RequestMatch,
    /// The request; absent where several users' requests may have made the change. If several of one user may have, it is the earliest.
    #[serde(flatten)]
    pub request: Option<AuditedRequest<'a>>,
}

/// A request of an audit log.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditedRequest<'a> {
    /// The API server's identifier of the request; empty where the log has none.
    #[serde(rename = "auditID")]
    pub audit_id: &'a str,
    /// When it was answered, to the microsecond.
    pub completed: String,
    /// Who impersonated the user; absent where nobody did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impersonator: Option<&'a str>,
    /// When it was received, to the microsecond.
    pub received: String,
    /// The addresses it came from, the client's first.
    #[serde(rename = "sourceIPs")]
    pub source_ips: Vec<&'a str>,
    /// The subresource it asked for; absent where it asked for the object.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub subresource: &'a str,
    /// The user it acted as.
    pub user: &'a str,
    /// The client's program, in its own words.
    pub user_agent: &'a str,
    /// What it asked for: `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: &'a str,
}

impl<'a> ChangeRequest<'a> {
    /// What audit logs say about a change, and whether no request of theirs made it.
    pub fn of(authorship: Option<&'a Authorship>) -> (Option<Box<Self>>, bool) {
        let Some(found) = authorship else { return (None, false) };
        let known_by = match found {
            Authorship::Exact(_) => RequestMatch::Exact,
            Authorship::Attributed(_) => RequestMatch::Attributed,
            Authorship::Candidates(_) => RequestMatch::Candidates,
            Authorship::Unexplained(_) => return (None, true),
        };
        let request = found.request().map(|request| AuditedRequest::of(request));
        let is_one = request.is_some() && found.requests().len() == 1;
        let candidates = found.requests().iter().filter(|_| !is_one).map(|request| AuditedRequest::of(request)).collect();
        (Some(Box::new(Self { candidates, known_by, request })), false)
    }
}

impl<'a> AuditedRequest<'a> {
    /// One request as a document.
    pub fn of(request: &'a Request) -> Self {
        let time = |time: jiff::Timestamp| time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
        Self {
            audit_id: &request.audit_id,
            completed: time(request.completed),
            impersonator: request.impersonator.as_deref(),
            received: time(request.received),
            source_ips: request.source_ips.iter().map(AsRef::as_ref).collect(),
            subresource: &request.target.subresource,
            user: &request.user,
            user_agent: &request.user_agent,
            verb: request.verb.as_str(),
        }
    }
}
