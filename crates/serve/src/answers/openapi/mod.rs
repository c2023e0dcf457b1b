//! OpenAPI v3: the fields of every resource that is served, by which `kubectl explain` explains. One document a version of a group.
//!
//! Source of the shape: k8s.io/kube-openapi `pkg/handler3` and `pkg/builder3`, apiextensions-apiserver v0.36 `pkg/controller/openapi/builder`.

mod custom;
mod descriptions;
mod enums;
mod operations;
mod schemas;

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ketcd_kube::api::{Catalog, Version, api_version};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use self::schemas::Schemas;
use super::version;
use crate::request::{Endpoint, negotiate};
use crate::wire::{Result, Status, respond};

/// Answers a path below `/openapi`. The old documents of `/openapi/v2` are not written: `kubectl explain` reads them only where there are no new ones.
pub(crate) fn openapi(catalog: &Catalog, parts: &[String], root: &str, headers: &HeaderMap) -> Result<Response> {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let (group, name) = match parts[..] {
        ["v3"] => return respond(negotiate(headers, Endpoint::Document)?.encoding, &index(catalog, root), catalog.release),
        ["v3", "api", version] => ("", version),
        ["v3", "apis", group, version] => (group, version),
        ["v2", ..] => return Ok(no_old_documents()),
        _ => return Err(Status::no_such_path()),
    };
    let version = catalog.version(group, name).ok_or_else(Status::no_such_path)?;
    respond(negotiate(headers, Endpoint::Document)?.encoding, &document(catalog, version), catalog.release)
}

/// What the paths of the old documents say, in the form in which kubectl before 1.27 passes it on to its user: it shows the text of a 406, and of other
/// failures its own.
pub(crate) fn no_old_documents() -> Response {
    let text = "OpenAPI v2 is not written here; kubectl explains by OpenAPI v3 from 1.27 on";
    (StatusCode::NOT_ACCEPTABLE, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}

/// Every document with a hash, by which clients know whether theirs is still the same.
fn index(catalog: &Catalog, root: &str) -> Value {
    let mut paths = Map::new();
    for group in &catalog.groups {
        for version in &group.versions {
            let place = if group.name.is_empty() { "api" } else { "apis" };
            let path = format!("{place}/{}", api_version(&group.name, &version.name));
            let url = format!("{root}/openapi/v3/{path}?hash={}", hash(catalog, version));
            paths.insert(path, json!({"serverRelativeURL": url}));
        }
    }
    json!({"paths": paths})
}

/// A hash of what a document is made from.
fn hash(catalog: &Catalog, version: &Version) -> String {
    let mut hash = Sha256::new();
    hash.update(format!("{} {}", env!("CARGO_PKG_VERSION"), catalog.release));
    for resource in &version.resources {
        hash.update(format!(" {} {}", resource.qualified(), resource.api_version()));
        if let Some(schema) = resource.schema() {
            hash.update(schema.to_string());
        }
    }
    hash.finalize().iter().map(|byte| format!("{byte:02X}")).collect()
}

fn document(catalog: &Catalog, version: &Version) -> Value {
    let mut schemas = Schemas::new(catalog.release);
    let mut paths = Map::new();
    for resource in &version.resources {
        let schema = match &resource.custom {
            Some(custom) => custom::add(&mut schemas, resource, custom),
            None => {
                schemas.add_kind(&resource.api_version(), &resource.list_kind());
                schemas.add_kind(&resource.api_version(), &resource.kind.kind)
            }
        };
        if let Some(name) = schema {
            paths.extend(operations::of(resource, &name, &schemas));
        }
    }
    let release = version::document(catalog.release);
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": release["gitVersion"]},
        "paths": paths,
        "components": {"schemas": schemas.finish()},
    })
}
