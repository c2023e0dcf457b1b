//! Errors as the API server returns them: a `Status` with its code and reason.
//!
//! Source of reasons and messages: apimachinery v0.36 `pkg/api/errors/errors.go`.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ketcd_cluster::Error;
use ketcd_kube::Release;
use ketcd_kube::api::{Resource, qualified};
use ketcd_kube::rbac::Action;
use ketcd_store::Error as StoreError;
use serde_json::{Map, Value, json};

use super::accept::Encoding;
use super::protobuf;

/// The result of answering a request.
pub(super) type Result<T, E = Box<Status>> = std::result::Result<T, E>;

/// A failure.
#[derive(Clone, Debug)]
pub(super) struct Status {
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

    pub(super) fn bad_request(message: impl Into<String>) -> Box<Self> {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    pub(super) fn unauthorized() -> Box<Self> {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    pub(super) fn forbidden(message: impl Into<String>) -> Box<Self> {
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message)
    }

    /// What an impersonated user may not do, and why where there is a reason.
    ///
    /// Source: apiserver v0.37 `pkg/endpoints/handlers/responsewriters/errors.go`.
    pub(super) fn forbidden_action(user: &str, action: &Action, reason: &str) -> Box<Self> {
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
        };
        // As upstream writes it, no text that looks like HTML.
        let cannot = cannot.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        Self::forbidden(format!("{object}forbidden: {cannot}{reason}")).with_details(details)
    }

    /// No object of that name.
    pub(super) fn not_found(resource: &Resource, name: &str) -> Box<Self> {
        let message = format!("{} {name:?} not found", resource.qualified());
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).with_details(details(&resource.kind.plural, &resource.group, name))
    }

    /// No such path.
    pub(super) fn no_such_path() -> Box<Self> {
        Self::new(StatusCode::NOT_FOUND, "NotFound", "the server could not find the requested resource").with_details(json!({}))
    }

    /// The resource has no such verb.
    pub(super) fn method_not_supported(resource: &Resource, verb: &str) -> Box<Self> {
        let message = format!("{verb} is not supported on resources of kind {:?}", resource.qualified());
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message).with_details(details(
            &resource.kind.plural,
            &resource.group,
            "",
        ))
    }

    /// Something that a recording cannot do.
    pub(super) fn not_allowed(message: impl Into<String>) -> Box<Self> {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message).with_details(json!({}))
    }

    pub(super) fn not_acceptable(message: impl Into<String>) -> Box<Self> {
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    pub(super) fn unsupported_media_type(message: impl Into<String>) -> Box<Self> {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)
    }

    /// Fields or parameters that contradict each other, each with its reason and what is wrong with it.
    pub(super) fn invalid(group: &str, kind: &str, errors: &[(&str, &str, String)]) -> Box<Self> {
        let words: Vec<String> = errors.iter().map(|(field, _, body)| format!("{field}: {body}")).collect();
        let all = if words.len() == 1 { words[0].clone() } else { format!("[{}]", words.join(", ")) };
        let causes: Vec<Value> =
            errors.iter().map(|(field, reason, body)| json!({"reason": reason, "message": body, "field": field})).collect();
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", format!("{kind}.{group} \"\" is invalid: {all}"))
            .with_details(json!({"group": group, "kind": kind, "causes": causes}))
    }

    /// The revision was compacted.
    pub(super) fn expired(message: impl Into<String>) -> Box<Self> {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// The revision of a list was compacted; `token` continues it at the newest one.
    pub(super) fn expired_list(message: impl Into<String>, token: Option<String>) -> Box<Self> {
        let mut status = Self::expired(message);
        status.continue_token = token;
        status
    }

    /// A revision that is not there yet.
    pub(super) fn too_large_version(asked: i64, current: i64) -> Box<Self> {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message).with_details(
            json!({"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}], "retryAfterSeconds": 1}),
        )
    }

    /// The body of a request is longer than it may be.
    pub(super) fn too_large(limit: usize) -> Box<Self> {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", format!("limit is {limit}"))
    }

    /// Too many requests are being answered: this one must wait.
    pub(super) fn too_many_requests() -> Box<Self> {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", "Too many requests, please try again later.")
            .with_details(json!({"retryAfterSeconds": 1}))
    }

    pub(super) fn internal(problem: impl std::fmt::Display) -> Box<Self> {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", format!("Internal error occurred: {problem}"))
            .with_details(json!({"causes": [{"message": problem.to_string()}]}))
    }

    /// A source that cannot be read. `expired` says what an API server says where the revision was compacted.
    pub(super) fn of_store(error: &StoreError, expired: &str) -> Box<Self> {
        match error {
            StoreError::Compacted { .. } | StoreError::Between { .. } => Self::expired(expired),
            StoreError::Future { asked, newest } => Self::too_large_version(asked.0, newest.0),
            StoreError::OneMoment { .. } => Self::expired(error.to_string()),
            StoreError::Denied { .. } => Self::forbidden(error.to_string()),
            StoreError::Remote { .. } | StoreError::Untrue { .. } | StoreError::Interrupted => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", error.to_string())
            }
            _ => Self::internal(error),
        }
    }

    /// What a cluster failed with: a moment that was compacted, may not be read or cannot be reached, or one that is none.
    pub(super) fn of_cluster(error: &Error) -> Box<Self> {
        match error {
            Error::Source(StoreError::Compacted { .. } | StoreError::Between { .. }) | Error::BeforeHistory { is_compacted: true, .. } => {
                Self::expired(error.to_string())
            }
            Error::Source(error) => Self::of_store(error, ""),
            Error::BeforeHistory { .. } | Error::Undated | Error::Invalid { .. } => Self::bad_request(error.to_string()),
            other => Self::internal(other),
        }
    }

    /// The `Status` object.
    pub(super) fn to_json(&self) -> Value {
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

impl Status {
    /// Returns its response in an encoding.
    pub(super) fn written(&self, encoding: Encoding) -> Response {
        let text = match encoding {
            Encoding::Json => Ok(self.to_json().to_string().into_bytes()),
            Encoding::Yaml => {
                let mut text = Vec::new();
                ketcd_render::yaml::write(&self.to_json(), &mut text).map(|()| text).map_err(Self::internal)
            }
            // A status has the same fields in every release.
            Encoding::Protobuf => protobuf::document(&self.to_json(), Release::NEWEST),
        };
        text.map_or_else(|other| other.into_response(), |text| self.response(encoding.media_type(), text.into()))
    }

    fn response(&self, media_type: &'static str, body: Body) -> Response {
        let mut response = (self.code, [(header::CONTENT_TYPE, media_type)], body).into_response();
        if self.code == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        let seconds = self.details.as_ref().and_then(|details| details["retryAfterSeconds"].as_u64());
        seconds.into_iter().for_each(|seconds| drop(response.headers_mut().insert(header::RETRY_AFTER, seconds.into())));
        response
    }
}

impl IntoResponse for Box<Status> {
    fn into_response(self) -> Response {
        self.written(Encoding::Json)
    }
}
