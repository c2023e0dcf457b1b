//! OpenAPI: the fields of every type, by which `kubectl explain` explains. The documents are not written yet; kubectl works without them.

use axum::response::Response;

use super::status::{Result, Status};

/// Answers a path below `/openapi`.
pub(super) fn answer(_parts: &[String]) -> Result<Response> {
    Err(Status::no_such_path())
}
