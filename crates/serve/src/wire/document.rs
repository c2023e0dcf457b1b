//! Documents and failures as responses, in the encoding that the client accepts.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ketcd_kube::Release;
use serde_json::Value;

use super::encoding::Encoding;
use super::protobuf;
use super::status::{Result, Status};

/// Returns the response of one document. In protobuf it has the fields of a release.
///
/// # Errors
/// It has no protobuf.
pub(crate) fn respond(encoding: Encoding, document: &Value, release: Release) -> Result<Response> {
    let body = Body::from(text(encoding, document, release)?);
    Ok(([(header::CONTENT_TYPE, encoding.media_type())], body).into_response())
}

/// Returns the response of a failure.
pub(crate) fn respond_failure(encoding: Encoding, status: &Status) -> Response {
    // A status has the same fields in every release.
    let written = text(encoding, &status.to_json(), Release::NEWEST).map(|text| (encoding, text));
    let (encoding, text) = written.unwrap_or_else(|other| (Encoding::Json, other.to_json().to_string().into_bytes()));
    let mut response = (status.code(), [(header::CONTENT_TYPE, encoding.media_type())], Body::from(text)).into_response();
    if status.code() == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    status.retry_after().into_iter().for_each(|seconds| drop(response.headers_mut().insert(header::RETRY_AFTER, seconds.into())));
    response
}

fn text(encoding: Encoding, document: &Value, release: Release) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    match encoding {
        Encoding::Json => append_json(&mut text, document),
        Encoding::Yaml => ketcd_render::yaml::write(document, &mut text).map_err(Status::internal)?,
        Encoding::Protobuf => return protobuf::document(document, release),
    }
    Ok(text)
}

/// Appends a value's JSON.
pub(crate) fn append_json(out: &mut Vec<u8>, value: &Value) {
    serde_json::to_writer(out, value).expect("a value has only text for keys, and memory takes every byte");
}
