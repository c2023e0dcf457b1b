//! From a request to what answers it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{Method, Request, header};
use axum::response::{IntoResponse, Response};
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
}

/// Answers a request. What panics is told by the program's hook, and costs no other request.
pub(super) async fn handle(State(front): State<Arc<Front>>, Extension(client): Extension<Arc<Client>>, request: Request<Body>) -> Response {
    let encoding = negotiate(request.headers(), Endpoint::Failure).map_or(Encoding::Json, |accepted| accepted.encoding);
    let answered = AssertUnwindSafe(answer(&front, &client, request)).catch_unwind().await;
    let answered = answered.unwrap_or_else(|_| Err(Status::internal("ketcd panicked")));
    answered.unwrap_or_else(|status| respond_failure(encoding, &status))
}

/// Answers a request in its turn, if it may be asked.
async fn answer(front: &Front, client: &Arc<Client>, request: Request<Body>) -> Result<Response> {
    let (mut head, body) = request.into_parts();
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

async fn route(front: &Front, head: Parts, body: Body) -> Result<Response> {
    let app = &front.app;
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
