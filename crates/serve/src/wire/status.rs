//! Errors as the API server returns them: a `Status` with its code and reason.
//!
//! Sources of reasons and messages: apimachinery v0.36 `pkg/api/errors/errors.go`, apiserver v0.36 `pkg/storage/etcd3/errors.go`.

use axum::http::StatusCode;
use ketcd_cluster::Error;
use ketcd_kube::api::{Resource, qualified};
use ketcd_kube::rbac::Action;
use ketcd_store::Error as StoreError;
use serde_json::{Map, Value, json};

/// The result of answering a request.
pub(crate) type Result<T, E = Box<Status>> = std::result::Result<T, E>;

/// What a list says whose revision was compacted.
pub(crate) const EXPIRED_LIST: &str = "The resourceVersion for the provided list is too old.";

/// What a watch says whose revision was compacted.
pub(crate) const EXPIRED_WATCH: &str = "The resourceVersion for the provided watch is too old.";

/// A failure.
#[derive(Clone, Debug)]
pub(crate) struct Status {
    code: StatusCode,
    reason: &'static str,
    message: String,
    details: Option<Value>,
    /// The token of an expired list, with which the rest can be read all the same.
    continue_token: Option<String>,
}

impl Status {
    fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Box<Self> {
        Box::new(Self { code, reason, message: message.into(), details: None, continue_token: None })
    }

    fn with_details(mut self: Box<Self>, details: Value) -> Box<Self> {
        self.details = Some(details);
        self
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Box<Self> {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    pub(crate) fn unauthorized() -> Box<Self> {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Box<Self> {
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message)
    }

    /// What an impersonated user may not do, and why where there is a reason.
    ///
    /// Source: apiserver v0.37 `pkg/endpoints/handlers/responsewriters/errors.go`.
    pub(crate) fn forbidden_action(user: &str, action: &Action, reason: &str) -> Box<Self> {
        let (object, cannot, details) = match action {
            Action::Path { verb, path } => (String::new(), format!("User {user:?} cannot {verb} path {path:?}"), json!({})),
            Action::Resource(action) => {
                let (verb, group) = (&action.verb, &action.group);
                let place = match action.namespace.as_str() {
                    "" => "at the cluster scope".to_owned(),
                    namespace => format!("in the namespace {namespace:?}"),
                };
                let cannot = format!("User {user:?} cannot {verb} resource {:?} in API group {group:?} {place}", action.combined());
                let qualified = qualified(&action.resource, group);
                let object = if action.name.is_empty() { format!("{qualified} is ") } else { format!("{qualified} {:?} is ", action.name) };
                (object, cannot, details(&action.resource, group, &action.name))
            }
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        };
        // As upstream writes it, no text that looks like HTML.
        let cannot = cannot.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        Self::forbidden(format!("{object}forbidden: {cannot}{reason}")).with_details(details)
    }

    /// Nothing of what was asked for is there, in a sentence that says so.
    pub(crate) fn nothing(message: impl Into<String>) -> Box<Self> {
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).with_details(json!({}))
    }

    /// No object of that name.
    pub(crate) fn not_found(resource: &Resource, name: &str) -> Box<Self> {
        let message = format!("{} {name:?} not found", resource.qualified());
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).with_details(details(&resource.kind.plural, &resource.group, name))
    }

    /// No such path.
    pub(crate) fn no_such_path() -> Box<Self> {
        Self::new(StatusCode::NOT_FOUND, "NotFound", "the server could not find the requested resource").with_details(json!({}))
    }

    /// The resource has no such verb.
    pub(crate) fn method_not_supported(resource: &Resource, verb: &str) -> Box<Self> {
        let message = format!("{verb} is not supported on resources of kind {:?}", resource.qualified());
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message).with_details(details(
            &resource.kind.plural,
            &resource.group,
            "",
        ))
    }

    /// Something that a recording cannot do.
    pub(crate) fn not_allowed(message: impl Into<String>) -> Box<Self> {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message).with_details(json!({}))
    }

    pub(crate) fn not_acceptable(message: impl Into<String>) -> Box<Self> {
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    pub(crate) fn unsupported_media_type(message: impl Into<String>) -> Box<Self> {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)
    }

    /// Fields or parameters that contradict each other, each with its reason and what is wrong with it.
    pub(crate) fn invalid(group: &str, kind: &str, errors: &[(&str, &str, String)]) -> Box<Self> {
        let words: Vec<String> = errors.iter().map(|(field, _, body)| format!("{field}: {body}")).collect();
        let all = if words.len() == 1 { words[0].clone() } else { format!("[{}]", words.join(", ")) };
        let causes: Vec<Value> =
            errors.iter().map(|(field, reason, body)| json!({"reason": reason, "message": body, "field": field})).collect();
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", format!("{kind}.{group} \"\" is invalid: {all}"))
            .with_details(json!({"group": group, "kind": kind, "causes": causes}))
    }

    /// The revision was compacted.
    pub(crate) fn expired(message: impl Into<String>) -> Box<Self> {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// The revision of a list was compacted; `token` continues it at the newest one.
    pub(crate) fn expired_list(message: impl Into<String>, token: Option<String>) -> Box<Self> {
        let mut status = Self::expired(message);
        status.continue_token = token;
        status
    }

    /// A revision that is not there yet.
    pub(crate) fn too_large_version(asked: i64, current: i64) -> Box<Self> {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message).with_details(
            json!({"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}], "retryAfterSeconds": 1}),
        )
    }

    /// The body of a request is longer than it may be.
    pub(crate) fn too_large(limit: usize) -> Box<Self> {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", format!("limit is {limit}"))
    }

    /// Too many requests are being answered: this one must wait.
    pub(crate) fn too_many_requests() -> Box<Self> {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", "Too many requests, please try again later.")
            .with_details(json!({"retryAfterSeconds": 1}))
    }

    pub(crate) fn internal(problem: impl std::fmt::Display) -> Box<Self> {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", format!("Internal error occurred: {problem}"))
            .with_details(json!({"causes": [{"message": problem.to_string()}]}))
    }

    /// What a cluster failed with, whatever was asked: a revision that was compacted, keys that may not be read, a source that cannot be reached, or a
    /// moment that does not exist. `expired` is what an API server says where the revision was compacted; without it the error's own words are.
    pub(crate) fn of_failure(error: impl Into<Error>, expired: Option<&str>) -> Box<Self> {
        let error = error.into();
        let message = error.to_string();
        match &error {
            Error::Source(StoreError::Compacted { .. } | StoreError::Between { .. }) | Error::BeforeHistory { is_compacted: true, .. } => {
                Self::expired(expired.unwrap_or(&message))
            }
            Error::Source(StoreError::OneMoment { .. }) => Self::expired(message),
            Error::Source(StoreError::Future { asked, newest }) => Self::too_large_version(asked.0, newest.0),
            Error::Source(StoreError::Denied { .. }) => Self::forbidden(message),
            Error::Source(StoreError::Remote { .. } | StoreError::Untrue { .. } | StoreError::Interrupted) => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message)
            }
            Error::BeforeHistory { .. } | Error::Undated | Error::Invalid { .. } => Self::bad_request(message),
            _ => Self::internal(message),
        }
    }

    /// The HTTP code.
    pub(crate) fn code(&self) -> StatusCode {
        self.code
    }

    /// After how many seconds the client may ask again.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        self.details.as_ref()?["retryAfterSeconds"].as_u64()
    }

    /// The `Status` object.
    pub(crate) fn to_json(&self) -> Value {
        let mut metadata = Map::new();
        if let Some(token) = &self.continue_token {
            metadata.insert("continue".to_owned(), token.as_str().into());
        }
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure", "message": self.message, "reason": self.reason,
            "code": self.code.as_u16(),
        });
        if let Some(details) = &self.details {
            status["details"] = details.clone();
        }
        status
    }
}

fn details(plural: &str, group: &str, name: &str) -> Value {
    let mut details = Map::new();
    for (field, text) in [("name", name), ("group", group), ("kind", plural)] {
        if !text.is_empty() {
            details.insert(field.to_owned(), text.into());
        }
    }
    details.into()
}

impl From<Error> for Box<Status> {
    fn from(error: Error) -> Self {
        Status::of_failure(error, None)
    }
}

impl From<StoreError> for Box<Status> {
    fn from(error: StoreError) -> Self {
        Status::of_failure(error, None)
    }
}

#[cfg(test)]
mod tests {
    use ketcd_store::{EarlierRevisions, KeyRange, Revision};

    use super::*;

    fn code(status: &Status) -> String {
        format!("{} {}", status.code().as_u16(), status.to_json()["message"].as_str().unwrap())
    }

    /// A source that fails in a way, whether it was asked itself or its cluster.
    fn check(error: impl Fn() -> StoreError, own: &str, in_a_list: &str) {
        assert_eq!(code(&Box::<Status>::from(error())), own);
        assert_eq!(code(&Box::<Status>::from(Error::from(error()))), own);
        assert_eq!(code(&Status::of_failure(error(), Some(EXPIRED_LIST))), in_a_list);
    }

    #[test]
    fn a_failure_has_one_meaning() {
        let (asked, oldest, problem) = (Revision(3), Revision(7), || "the words of etcd".to_owned());
        let expired = format!("410 {EXPIRED_LIST}");
        check(
            || StoreError::Compacted { asked, oldest, earlier: EarlierRevisions::Compacted },
            "410 revision 3 was compacted away; the oldest that can be read is 7",
            &expired,
        );
        let between = || StoreError::Between { asked, before: Revision(1), ends: "a".to_owned(), after: oldest, begins: "b".to_owned() };
        check(between, "410 revision 3 is in none of the sources, which are readable up to 1 (a) and from 7 (b)", &expired);
        let (denied, unreachable) = ("403 the words of etcd", "503 the words of etcd");
        check(|| StoreError::Denied { keys: KeyRange::all(), problem: problem(), hint: String::new() }, denied, denied);
        check(|| StoreError::Remote { endpoint: String::new(), problem: problem(), hint: None }, unreachable, unreachable);
        check(|| StoreError::Untrue { endpoint: String::new(), problem: problem() }, unreachable, unreachable);
        let (asked, to) = ("2026-11-20T00:20:00Z".parse().unwrap(), "2026-11-21T00:20:00Z".parse().unwrap());
        let before = |is_compacted| Error::BeforeHistory { asked, days: None, from: None, to, is_compacted };
        assert_eq!([true, false].map(|is_compacted| Box::<Status>::from(before(is_compacted)).code().as_u16()), [410, 400]);
    }
}
