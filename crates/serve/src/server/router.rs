//! From a request to what answers it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{Method, Request, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Router};
use futures_util::FutureExt;

use super::backpressure::pumped;
use super::newcomers::Client;
use super::places::Places;
use super::websocket;
use crate::access::{Access, authorize};
use crate::answers::{self, Review, document, read_only, refusal};
use crate::data::App;
use crate::request::{ApiPath, Asker, Endpoint, Handshake, Params, action, api, negotiate, resource};
use crate::wire::{Encoding, Result, Status, respond_failure};

/// What requests are answered with.
pub(super) struct Front {
    /// Who may ask.
    pub access: Access,
    /// How many requests are answered at once.
    pub places: Places,
    /// What is answered.
    pub app: Arc<App>,
    /// Whether the page is all that is served.
    pub has_page_alone: bool,
}

/// The routes of a server: one handler for all paths.
pub(super) fn routes(front: Front) -> Router {
    Router::new().fallback(handle).with_state(Arc::new(front))
}

/// Answers a request. What panics is told by the program's hook, and costs no other request.
async fn handle(State(front): State<Arc<Front>>, Extension(client): Extension<Arc<Client>>, request: Request<Body>) -> Response {
    let encoding = negotiate(request.headers(), Endpoint::Failure).map_or(Encoding::Json, |accepted| accepted.encoding);
    let answered = AssertUnwindSafe(answer(&front, &client, request)).catch_unwind().await;
    let answered = answered.unwrap_or_else(|_| Err(Status::internal("ketcd panicked")));
    answered.unwrap_or_else(|status| respond_failure(encoding, &status))
}

/// Answers a request in its turn, if it may be asked.
async fn answer(front: &Front, client: &Arc<Client>, request: Request<Body>) -> Result<Response> {
    let (mut head, body) = request.into_parts();
    if let Some(file) = page_file(front, &head)? {
        return Ok(file);
    }
    front.access.check(&head.uri, &head.headers)?;
    client.welcome(&front.places).await?;
    let place = front.places.request(Params::ask_watch(&head.uri)).await?;
    let handshake = Handshake::of(&mut head);
    let unread = front.app.limits.unread;
    let response = pumped(route(front, head, body).await?, place, unread);
    match handshake {
        Some(handshake) => websocket::answer(handshake, response, client, unread),
        None => Ok(response),
    }
}

/// Answers a request for a file of the page, which holds no data and needs no token; `None` for any other.
fn page_file(front: &Front, head: &Parts) -> Result<Option<Response>> {
    let is_read = matches!(head.method, Method::GET | Method::HEAD);
    let Some(name) = page_path(front, head).filter(|name| is_read && !name.starts_with("api/")) else { return Ok(None) };
    front.access.check_meant(&head.uri, &head.headers)?;
    // Where the browser asks without the last slash, its links would lead elsewhere.
    if head.uri.path() == "/ui" || head.uri.path() == "/" {
        return Ok(Some(Redirect::permanent("/ui/").into_response()));
    }
    answers::page::file(name).map(Some).ok_or_else(Status::no_such_path)
}

/// What of the page a path leads to; `None` where it leads elsewhere or no page is served.
fn page_path<'h>(front: &Front, head: &'h Parts) -> Option<&'h str> {
    let path = head.uri.path();
    front.app.page.as_ref()?;
    match path {
        "/ui" => Some(""),
        "/" if front.has_page_alone => Some(""),
        path => path.strip_prefix("/ui/"),
    }
}

async fn route(front: &Front, head: Parts, body: Body) -> Result<Response> {
    let app = &front.app;
    if let (Some(page), Some(name)) = (&app.page, page_path(front, &head)) {
        let Some(question) = name.strip_prefix("api/").filter(|_| head.method == Method::GET) else { return Err(Status::no_such_path()) };
        if Asker::of(&head.headers)?.is_some() {
            return Err(Status::forbidden("the page is not served to impersonated users"));
        }
        return answers::page::answer(page, question, head.uri.query().unwrap_or_default(), &head.headers).await;
    }
    if front.has_page_alone {
        return Err(Status::no_such_path());
    }
    let path = ApiPath::parse(head.uri.path())?;
    let parts: Vec<&str> = path.parts.iter().map(String::as_str).collect();
    let (method, headers) = (&head.method, &head.headers);
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    let query = head.uri.query().unwrap_or_default();
    let asker = Asker::of(headers)?;
    if let Some(asker) = &asker {
        let moment = app.moment(&path.moment).await?;
        authorize(app, moment, asker, &action(method, &path.parts, query)).await?;
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
            return answers::openapi(&catalog, &path.parts[1..], root, headers);
        }
        _ if is_read => return document(app, front.access.address(), moment, &path.parts, headers).await,
        _ => return Err(read_only(moment)),
    };
    let catalog = app.catalog(moment).await?;
    if rest.is_empty() {
        return if is_read { answers::resources(&catalog, group, version, headers) } else { Err(Status::no_such_path()) };
    }
    let (resource, asked) = resource(&catalog, (group, version), rest)?;
    if asked.namespace.is_some() && !resource.kind.namespaced {
        return Err(Status::no_such_path());
    }
    if !is_read {
        let is_review = *method == Method::POST && Review::is_of(resource) && asked.name.is_none();
        let review = Review { app, access: &front.access, moment, resource, namespace: asked.namespace, asker: asker.as_ref() };
        return if is_review { review.answer(headers, body).await } else { Err(refusal(moment, query)) };
    }
    answers::read(app, moment, resource, &asked, query, headers).await
}
