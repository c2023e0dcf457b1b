//! Access reviews: whoever shows the token may read everything and change nothing, whoever is asked about.

use std::error::Error;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::LengthLimitError;
use ketcd_kube::{Body as Decoded, Decoder};
use serde_json::{Value, json};

use super::access::Access;
use super::resources::Resource;
use super::status::{Result, Status};

/// More than any review needs.
const LONGEST: usize = 1 << 18;

/// So long a body may take to come.
const PATIENCE: Duration = Duration::from_secs(10);

/// The user that the token stands for.
const USER: &str = "ketcd";

/// Whether ketcd answers what is created of a resource.
pub(super) fn answers(resource: &Resource) -> bool {
    matches!(resource.group.as_str(), "authentication.k8s.io" | "authorization.k8s.io")
}

/// Reads the body of a request.
async fn read(body: Body) -> Result<Bytes> {
    match tokio::time::timeout(PATIENCE, to_bytes(body, LONGEST)).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(error)) if error.source().is_some_and(|source| source.is::<LengthLimitError>()) => Err(Status::too_large(LONGEST)),
        Ok(Err(error)) => Err(Status::bad_request(format!("the body cannot be read: {error}"))),
        Err(_) => Err(Status::bad_request("the body did not come in time")),
    }
}

/// Answers a review.
pub(super) async fn review(access: &Access, resource: &Resource, headers: &HeaderMap, body: Body) -> Result<Response> {
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("application/json");
    let body = read(body).await?;
    let mut review: Value = match media_type.split(';').next().map(str::trim) {
        Some("application/json") => {
            serde_json::from_slice(&body).map_err(|error| Status::bad_request(format!("the body is not JSON: {error}")))?
        }
        // As client-go's typed clients send it, and as etcd holds objects.
        Some("application/vnd.kubernetes.protobuf") => match Decoder::new().decode(b"", &body, 0).body {
            Decoded::Object(review) => review.into_value(),
            Decoded::Opaque(opaque) => return Err(Status::bad_request(format!("the body cannot be decoded: {}", opaque.reason))),
        },
        _ => {
            return Err(Status::unsupported_media_type(format!(
                "the body of the request was in an unknown format - accepted media types include: application/json, \
                 application/vnd.kubernetes.protobuf (got {media_type})"
            )));
        }
    };
    if !review.is_object() {
        return Err(Status::bad_request("the body is not an object"));
    }
    let status = match &*resource.kind.kind {
        "SelfSubjectRulesReview" => json!({
            "resourceRules": [{"verbs": ["get", "list", "watch"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["*"]}],
            "incomplete": false,
        }),
        "SelfSubjectReview" => json!({"userInfo": user()}),
        "TokenReview" => token_status(access, &review["spec"]),
        _ => access_status(&review["spec"]),
    };
    review["apiVersion"] = resource.api_version().into();
    review["kind"] = resource.kind.kind.as_ref().into();
    if !review["metadata"].is_object() {
        review["metadata"] = json!({"creationTimestamp": null});
    }
    review["status"] = status;
    Ok((StatusCode::CREATED, [(header::CONTENT_TYPE, "application/json")], review.to_string()).into_response())
}

fn user() -> Value {
    json!({"username": USER, "groups": ["system:authenticated"]})
}

fn access_status(spec: &Value) -> Value {
    let verb = |attributes: &str| spec[attributes]["verb"].as_str();
    let is_allowed = match (verb("resourceAttributes"), verb("nonResourceAttributes")) {
        (Some(verb), _) => matches!(verb, "get" | "list" | "watch"),
        (None, Some(verb)) => matches!(verb, "get" | "head"),
        (None, None) => false,
    };
    let reason = if is_allowed { "ketcd shows everything that it serves" } else { "a recording can be read and not be changed" };
    json!({"allowed": is_allowed, "reason": reason})
}

fn token_status(access: &Access, spec: &Value) -> Value {
    if spec["token"].as_str().is_some_and(|token| access.is_token(token)) {
        json!({"authenticated": true, "user": user()})
    } else {
        json!({"authenticated": false, "error": "not the token of this run of ketcd, which knows no other"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_is_allowed_and_nothing_else() {
        let allowed = |attributes: &str, verb: &str| access_status(&json!({attributes: {"verb": verb}}))["allowed"] == true;
        assert!(["get", "list", "watch"].into_iter().all(|verb| allowed("resourceAttributes", verb)));
        assert!(!["create", "delete", "patch", "update", "*", "impersonate"].into_iter().any(|verb| allowed("resourceAttributes", verb)));
        assert!(allowed("nonResourceAttributes", "get") && !allowed("nonResourceAttributes", "post"));
        assert_eq!(access_status(&json!({}))["allowed"], false);
    }
}
