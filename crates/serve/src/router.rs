//! From a request to what answers it.

use std::sync::{Arc, OnceLock};

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Uri, header};
use axum::response::{IntoResponse, Response};
use ketcd_kube::Release;
use ketcd_kube::api::{Catalog, Resource};
use serde_json::{Value, json};

use super::accept::{Accepted, Encoding, Endpoint, Shape, negotiate};
use super::app::{App, Moment};
use super::asker::Asker;
use super::backpressure::pumped;
use super::call::{Call, Filter, respond};
use super::continuation::Continuation;
use super::newcomers::Client;
use super::params::Params;
use super::path::{ApiPath, ResourcePath};
use super::reviews::Review;
use super::status::{Result, Status};
use super::websocket::Handshake;
use super::{action, authorization, discovery, get, list, openapi, protobuf, reviews, version, watch};

/// Answers a request.
pub(super) async fn handle(State(app): State<Arc<App>>, Extension(client): Extension<Arc<Client>>, request: Request<Body>) -> Response {
    let encoding = negotiate(request.headers(), Endpoint::Failure).map_or(Encoding::Json, |accepted| accepted.encoding);
    let answered = answer(app, &client, request).await;
    answered.unwrap_or_else(|status| status.written(encoding))
}

/// Answers a request in its turn, if it may be asked.
async fn answer(app: Arc<App>, client: &Arc<Client>, request: Request<Body>) -> Result<Response> {
    let (mut head, body) = request.into_parts();
    app.access.check(&head.uri, &head.headers)?;
    client.welcome(&app.limits).await?;
    let place = app.limits.place(Params::ask_watch(&head.uri)).await?;
    let handshake = Handshake::of(&mut head);
    let response = pumped(route(app, head, body).await?, place);
    match handshake {
        Some(handshake) => handshake.answered(response, client),
        None => Ok(response),
    }
}

async fn route(app: Arc<App>, head: Parts, body: Body) -> Result<Response> {
    let path = ApiPath::parse(head.uri.path())?;
    let parts: Vec<&str> = path.parts.iter().map(String::as_str).collect();
    let (method, headers) = (&head.method, &head.headers);
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    let query = head.uri.query().unwrap_or_default();
    let asker = Asker::of(headers)?;
    if let Some(asker) = &asker {
        let moment = app.moment(&path.moment).await?;
        authorization::check(&app, moment, asker, &action::of(method, &path.parts, query)).await?;
    }
    if let (["healthz" | "livez" | "readyz", ..], true) = (&parts[..], is_read) {
        return Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], "ok").into_response());
    }
    let moment = app.moment(&path.moment).await?;
    let (group, version, rest) = match (api(&path.parts), &parts[..]) {
        (Some(api), _) => api,
        (None, ["openapi", ..]) if is_read => {
            let catalog = app.catalog(moment).await?;
            let root = head.uri.path().trim_end_matches('/').strip_suffix("/openapi/v3").unwrap_or_default();
            return openapi::answer(&catalog, &path.parts[1..], root, headers);
        }
        _ if is_read => return document(&app, moment, &path.parts, headers).await,
        _ => return Err(read_only(moment)),
    };
    let catalog = app.catalog(moment).await?;
    if rest.is_empty() {
        let found = discovery::resources(&catalog, group, version).filter(|_| is_read).ok_or_else(Status::no_such_path)?;
        return written(&app, negotiate(headers, Endpoint::Discovery)?, found);
    }
    let (resource, asked) = resource(&catalog, (group, version), rest)?;
    if asked.namespace.is_some() && !resource.kind.namespaced {
        return Err(Status::no_such_path());
    }
    if !is_read {
        let is_review = *method == Method::POST && reviews::answers(resource) && asked.name.is_none();
        let review = Review { app: &app, moment, resource, namespace: asked.namespace, asker: asker.as_ref() };
        return if is_review { review.answer(headers, body).await } else { Err(refusal(moment, query)) };
    }
    read(app, moment, resource, &asked, query, headers).await
}

/// The group, the version and what follows, of a path to resources.
fn api(parts: &[String]) -> Option<(&str, &str, &[String])> {
    match parts {
        [api, version, rest @ ..] if api == "api" && version == "v1" => Some(("", version, rest)),
        [apis, group, version, rest @ ..] if apis == "apis" => Some((group, version, rest)),
        _ => None,
    }
}

/// The resource that a path leads to, and what of it is asked for.
fn resource<'c, 'p>(
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
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    let catalog = CATALOG.get_or_init(|| Catalog::new(Release::NEWEST, &[]));
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

/// Answers a get, list or watch.
async fn read(
    app: Arc<App>,
    moment: Moment,
    resource: &Arc<Resource>,
    asked: &ResourcePath<'_>,
    query: &str,
    headers: &HeaderMap,
) -> Result<Response> {
    let mut params = Params::parse(query)?;
    params.watch |= asked.is_watch;
    let is_served = |subresource: &str| resource.subresources.iter().any(|own| own == subresource) && asked.rest.is_empty();
    if let Some(subresource) = asked.subresource.filter(|subresource| !is_served(subresource)) {
        return Err(if is_connection(subresource) { read_only(moment) } else { Status::no_such_path() });
    }
    let verb = if params.watch {
        "watch"
    } else if asked.name.is_some() {
        "get"
    } else {
        "list"
    };
    // What the API server finds out by asking others is not in etcd.
    if !resource.kind.is_stored() && resource.verbs().contains(&"get") {
        return Err(Status::not_allowed(format!("{} are not stored: etcd holds none", resource.qualified())));
    }
    if !resource.verbs().contains(&verb) {
        return Err(Status::method_not_supported(resource, verb));
    }
    if asked.name.is_some() && asked.namespace.is_none() && resource.kind.namespaced {
        return Err(Status::no_such_path());
    }
    let call = Call {
        moment,
        resource: Arc::clone(resource),
        namespace: asked.namespace.map(str::to_owned),
        name: asked.name.map(str::to_owned),
        params,
        accepted: negotiate(headers, Endpoint::of(resource, app.data.release()))?,
        app,
    };
    match asked.name {
        _ if call.params.watch => watch::watch(call).await,
        Some(name) => get::get(&call, name, asked.subresource).await,
        None => list::list(call).await,
    }
}

/// Whether a subresource connects to something that runs, which nothing does here.
fn is_connection(subresource: &str) -> bool {
    matches!(subresource, "attach" | "binding" | "eviction" | "exec" | "finalize" | "portforward" | "proxy" | "token")
}

fn read_only(moment: Moment) -> Box<Status> {
    Status::not_allowed(format!(
        "ketcd serves a recording, the cluster as it was at revision {}: it can be read, and nothing in it can be changed or connected to",
        moment.revision
    ))
}

/// Refuses a write, and says what dry runs can be done instead.
fn refusal(moment: Moment, query: &str) -> Box<Status> {
    if form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "dryRun") {
        return Status::not_allowed(format!(
            "ketcd serves a recording, the cluster as it was at revision {}: no API server is there to run admission and defaulting, so a dry run \
             on the server cannot be answered; use --dry-run=client",
            moment.revision
        ));
    }
    read_only(moment)
}

/// Answers a read of what is no resource.
async fn document(app: &App, moment: Moment, parts: &[String], headers: &HeaderMap) -> Result<Response> {
    let parts_text: Vec<&str> = parts.iter().map(String::as_str).collect();
    // These two have no protobuf and are JSON to whoever asks: client-go asks for the version in what it asks for everything in.
    match &parts_text[..] {
        [] => return respond(Encoding::Json, &roots(&*app.catalog(moment).await?)),
        ["version"] => return respond(Encoding::Json, &version::document(app.data.release())),
        // Where client-go looks when there is no `/openapi/v2`.
        ["swagger-2.0.0.pb-v1"] => return Ok(openapi::no_old_documents()),
        _ => {}
    }
    let accepted = negotiate(headers, Endpoint::Discovery)?;
    let found = match &parts_text[..] {
        ["api" | "apis"] => {
            let catalog = app.catalog(moment).await?;
            let is_core = parts_text[0] == "api";
            match accepted.shape {
                Shape::Discovery(version) => return aggregated(&catalog, is_core, accepted, version),
                _ if is_core => discovery::core_versions(app.access.address()),
                _ => discovery::groups(&catalog),
            }
        }
        ["apis", name] => discovery::group(&*app.catalog(moment).await?, name).ok_or_else(Status::no_such_path)?,
        _ => return Err(Status::no_such_path()),
    };
    written(app, accepted, found)
}

/// Returns the response of a document of discovery.
fn written(app: &App, accepted: Accepted, mut document: Value) -> Result<Response> {
    if accepted.encoding != Encoding::Protobuf {
        return respond(accepted.encoding, &document);
    }
    // The envelope needs the version that the JSON of `/api` lacks.
    document["apiVersion"] = "v1".into();
    protobuf::respond(&document, app.data.release())
}

fn aggregated(catalog: &Catalog, is_core: bool, accepted: Accepted, version: &str) -> Result<Response> {
    let document = discovery::aggregated(catalog, is_core, version);
    let media_type = format!("{};g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList", accepted.encoding.media_type());
    let mut response = respond(accepted.encoding, &document)?;
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
