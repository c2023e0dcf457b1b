//! The JSON of the request that made a change.

use schemars::JsonSchema;
use serde::Serialize;

use ketcd_cluster::{OtherRequest, RequestScope};
use ketcd_history::audit::{Authorship, Request, RequestOutcome};

use super::common::Time;

/// How the request of a change is known.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
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
    /// When it was answered, to the microsecond; for a request that has not ended, when the answer began.
    pub completed: String,
    /// Who impersonated the user; absent where nobody did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impersonator: Option<&'a str>,
    /// Whether it had not ended when the log ended, as a watch may not have; absent if it has ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_open: bool,
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
    /// What it asked for: `create`, `update`, `patch`, `delete`, `deletecollection`; for a request that made no change also `get`, `list`, `watch` or
    /// `other`.
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
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
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
            is_open: request.is_open,
            received: time(request.received),
            source_ips: request.source_ips.iter().map(AsRef::as_ref).collect(),
            subresource: &request.target.subresource,
            user: &request.user,
            user_agent: &request.user_agent,
            verb: request.verb.as_str(),
        }
    }
}

/// What became of a request that made no change.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WithoutChange {
    /// It was refused, or failed: `code` and `reason` say why.
    Refused,
    /// It was granted as a dry run.
    DryRun,
    /// Objects were read.
    Read,
    /// It was granted, and such a request never changes an object: a connection, a token, a review.
    Answered,
    /// It was granted, and the object stayed as it was.
    NoChange,
    /// It was granted, and whether it changed anything is not known.
    Unknown,
}

/// What a request was about.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AskedOf {
    /// One object.
    Object,
    /// The objects of a resource in a namespace.
    Namespace,
    /// All objects of a resource.
    Cluster,
}

/// A request about the objects asked for that made none of their changes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestWithoutChange<'a> {
    /// `REQUEST`.
    #[serde(rename = "type")]
    #[schemars(extend("const" = "REQUEST"))]
    pub document: &'static str,
    /// When it was received.
    pub time: Time,
    /// What became of it.
    pub outcome: WithoutChange,
    /// The HTTP status; 0 where the log only says that it was granted.
    pub code: u16,
    /// Why it was refused, in Kubernetes' word such as `Forbidden`; absent where the log does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    /// What it was about.
    pub scope: AskedOf,
    /// Whether it asked for a part of many objects, by a selector.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub selects: bool,
    /// etcd's key of the object; of many, what their keys begin with.
    pub key: &'a str,
    /// The object's kind, such as `Pod`; its resource, where the kind is not known.
    pub kind: &'a str,
    /// The object's namespace; empty if there is none, or where it asked for all.
    pub namespace: &'a str,
    /// The object's name; empty where it asked for many.
    pub name: &'a str,
    /// Who made it, and how.
    pub request: AuditedRequest<'a>,
}

impl<'a> RequestWithoutChange<'a> {
    /// A request as a document.
    pub fn of(other: &'a OtherRequest) -> Self {
        let OtherRequest { request, outcome, scope, key, kind, .. } = other;
        Self {
            document: "REQUEST",
            time: Time(request.received),
            outcome: match outcome {
                RequestOutcome::Refused => WithoutChange::Refused,
                RequestOutcome::DryRun => WithoutChange::DryRun,
                RequestOutcome::Read => WithoutChange::Read,
                RequestOutcome::Answered => WithoutChange::Answered,
                RequestOutcome::NoChange => WithoutChange::NoChange,
                RequestOutcome::Unknown => WithoutChange::Unknown,
                #[cfg(not(ketcd_exhaustive))]
                _ => unreachable!("of another version"),
            },
            code: request.code,
            reason: request.reason.as_deref(),
            scope: match scope {
                RequestScope::Object => AskedOf::Object,
                RequestScope::Namespace => AskedOf::Namespace,
                RequestScope::Cluster => AskedOf::Cluster,
            },
            selects: request.selects,
            key,
            kind,
            namespace: &request.target.namespace,
            name: &request.target.name,
            request: AuditedRequest::of(request),
        }
    }
}
