//! Answers requests outside the resources: the paths there are, the version, and discovery.

use std::net::SocketAddr;

use axum::http::{HeaderMap, header};
use axum::response::Response;
use ketcd_kube::Release;
use ketcd_kube::api::Catalog;
use serde_json::{Value, json};

use super::openapi::no_old_documents;
use super::{discovery, version};
use crate::data::{App, Moment};
use crate::request::{Accepted, Endpoint, Shape, negotiate};
use crate::wire::{Encoding, Result, Status, respond};

/// Answers a read outside the resources. `address` is the server's own.
pub(crate) async fn document(app: &App, address: SocketAddr, moment: Moment, parts: &[String], headers: &HeaderMap) -> Result<Response> {
    let release = app.data.release();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    // These two are JSON for every client: they have no protobuf, which client-go asks for all the same.
    match &parts[..] {
        [] => return respond(Encoding::Json, &roots(&*app.catalog(moment).await?), release),
        ["version"] => return respond(Encoding::Json, &version::document(release), release),
        // Where client-go looks when there is no `/openapi/v2`.
        ["swagger-2.0.0.pb-v1"] => return Ok(no_old_documents()),
        _ => {}
    }
    let accepted = negotiate(headers, Endpoint::Discovery)?;
    let found = match &parts[..] {
        ["api" | "apis"] => {
            let catalog = app.catalog(moment).await?;
            let is_core = parts[0] == "api";
            match accepted.shape {
                Shape::Discovery(version) => return aggregated(&catalog, is_core, accepted, version),
                _ if is_core => discovery::core_versions(address),
                _ => discovery::groups(&catalog),
            }
        }
        ["apis", name] => discovery::group(&*app.catalog(moment).await?, name).ok_or_else(Status::no_such_path)?,
        _ => return Err(Status::no_such_path()),
    };
    written(accepted, found, release)
}

/// Answers `/api/v1` or `/apis/GROUP/VERSION`.
pub(crate) fn resources(catalog: &Catalog, group: &str, version: &str, headers: &HeaderMap) -> Result<Response> {
    let found = discovery::resources(catalog, group, version).ok_or_else(Status::no_such_path)?;
    written(negotiate(headers, Endpoint::Discovery)?, found, catalog.release)
}

/// Returns the response of a document of discovery.
fn written(accepted: Accepted, mut document: Value, release: Release) -> Result<Response> {
    if accepted.encoding == Encoding::Protobuf {
        // The envelope needs the version that the JSON of `/api` lacks.
        document["apiVersion"] = "v1".into();
    }
    respond(accepted.encoding, &document, release)
}

fn aggregated(catalog: &Catalog, is_core: bool, accepted: Accepted, version: &str) -> Result<Response> {
    let document = discovery::aggregated(catalog, is_core, version);
    let media_type = format!("{};g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList", accepted.encoding.media_type());
    let mut response = respond(accepted.encoding, &document, catalog.release)?;
    if let Ok(value) = media_type.parse() {
        response.headers_mut().insert(header::CONTENT_TYPE, value);
    }
    Ok(response)
}

/// The paths there are.
fn roots(catalog: &Catalog) -> Value {
    let mut paths = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
    for group in catalog.groups.iter().filter(|group| !group.name.is_empty()) {
        paths.push(format!("/apis/{}", group.name));
        paths.extend(group.versions.iter().map(|version| format!("/apis/{}/{}", group.name, version.name)));
    }
    paths.extend(["/healthz", "/livez", "/openapi/v3", "/readyz", "/version"].map(str::to_owned));
    paths.sort();
    json!({"paths": paths})
}
