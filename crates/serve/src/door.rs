//! A door for fuzzers: reads a request as the router does, with no server and no data.

use std::sync::OnceLock;

use axum::http::{HeaderMap, HeaderValue, Uri, header};
use ketcd_kube::{LabelSelector, Release};

use super::accept::negotiate;
use super::continuation::Continuation;
use super::fields::Fields;
use super::params::Params;
use super::path::{ApiPath, ResourcePath};
use super::resources::Catalog;
use super::status::{Result, Status};

/// Returns what a request with this URL and `Accept` asks for, in words; none where no client can send such a URL or header.
///
/// # Errors
/// The `Status` that the client gets, as JSON.
pub fn read_request(url: &str, accept: &str) -> Option<std::result::Result<String, String>> {
    let uri: Uri = url.parse().ok()?;
    let accept = HeaderValue::from_str(accept).ok()?;
    let headers = HeaderMap::from_iter([(header::ACCEPT, accept)]);
    Some(read(&uri, &headers).map_err(|status| status.to_json().to_string()))
}

fn read(uri: &Uri, headers: &HeaderMap) -> Result<String> {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    let catalog = CATALOG.get_or_init(|| Catalog::new(Release::NEWEST, &[]));
    let path = ApiPath::parse(uri.path())?;
    let parts: Vec<&str> = path.parts.iter().map(String::as_str).collect();
    let (group, version, rest) = match &parts[..] {
        ["api", "v1", ..] => ("", "v1", &path.parts[2..]),
        ["apis", group, version, ..] => (*group, *version, &path.parts[3..]),
        _ => return Err(Status::no_such_path()),
    };
    let asked = ResourcePath::parse(rest).ok_or_else(Status::no_such_path)?;
    let resource = catalog.find(group, version, asked.plural).ok_or_else(Status::no_such_path)?;
    let params = Params::parse(uri.query().unwrap_or_default())?;
    let fields = Fields::parse(&params.field_selector, resource, catalog.release).map_err(Status::bad_request)?;
    let labels = LabelSelector::parse_for(&params.label_selector, Release::NEWEST).map_err(|error| Status::bad_request(error.problem))?;
    let token = Some(params.continue_token.as_str()).filter(|token| !token.is_empty());
    let continuation = token.map(Continuation::decode).transpose()?;
    let accepted = negotiate(headers, resource.endpoint(catalog.release))?;
    let is_watch = params.watch || Params::ask_watch(uri);
    Ok(format!("{:?} {asked:?} {fields:?} {labels} {continuation:?} {accepted:?} {is_watch}", path.moment))
}
