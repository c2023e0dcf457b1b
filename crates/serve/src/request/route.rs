//! Which resource a path leads to, and all that a request for one says.

use std::sync::{Arc, LazyLock};

use axum::http::{HeaderMap, HeaderValue, Uri, header};
use ketcd_kube::Release;
use ketcd_kube::api::{Catalog, Resource};

use super::accept::{Endpoint, negotiate};
use super::continuation::Continuation;
use super::filter::Filter;
use super::params::Params;
use super::path::{ApiPath, ResourcePath};
use crate::wire::{Result, Status};

/// The group, the version and what follows, of a path to resources.
pub(crate) fn api(parts: &[String]) -> Option<(&str, &str, &[String])> {
    match parts {
        [api, version, rest @ ..] if api == "api" && version == "v1" => Some(("", version, rest)),
        [apis, group, version, rest @ ..] if apis == "apis" => Some((group, version, rest)),
        _ => None,
    }
}

/// The resource that a path leads to, and what of it is asked for.
pub(crate) fn resource<'c, 'p>(
    catalog: &'c Catalog,
    (group, version): (&str, &str),
    rest: &'p [String],
) -> Result<(&'c Arc<Resource>, ResourcePath<'p>)> {
    let asked = ResourcePath::parse(rest).ok_or_else(Status::no_such_path)?;
    let resource = catalog.find(group, version, asked.plural).ok_or_else(Status::no_such_path)?;
    Ok((resource, asked))
}

/// Reads a request with no server and no data, for fuzzers: returns what this URL and `Accept` ask of the newest release's own resources, in words; `None`
/// where no client can send such a URL or header.
///
/// # Errors
/// The `Status` that the client gets, as JSON.
pub fn read_request(url: &str, accept: &str) -> Option<std::result::Result<String, String>> {
    static NEWEST_CATALOG: LazyLock<Catalog> = LazyLock::new(|| Catalog::new(Release::NEWEST, &[]));
    let catalog = &*NEWEST_CATALOG;
    let uri: Uri = url.parse().ok()?;
    let headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_str(accept).ok()?)]);
    let read = || -> Result<String> {
        let path = ApiPath::parse(uri.path())?;
        let (group, version, rest) = api(&path.parts).ok_or_else(Status::no_such_path)?;
        let (resource, asked) = resource(catalog, (group, version), rest)?;
        let params = Params::parse(uri.query().unwrap_or_default())?;
        let filter = Filter::parse(&params, resource, asked.name, catalog.release)?;
        let token = Some(params.continue_token.as_str()).filter(|token| !token.is_empty());
        let continuation = token.map(Continuation::decode).transpose()?;
        let accepted = negotiate(&headers, Endpoint::of(resource, catalog.release))?;
        let is_watch = params.watch || Params::ask_watch(&uri);
        Ok(format!("{:?} {asked:?} {filter:?} {continuation:?} {accepted:?} {is_watch}", path.moment))
    };
    Some(read().map_err(|status| status.to_json().to_string()))
}
