//! From a read of a resource to what answers it: `get`, `list` or `watch`.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::response::Response;
use ketcd_kube::api::Resource;

use super::call::Call;
use super::get::get;
use super::list::list;
use super::objects::Objects;
use super::refusals::read_only;
use super::watch::watch;
use crate::data::{App, Moment};
use crate::request::{Endpoint, Params, ResourcePath, negotiate};
use crate::wire::{Result, Status};

/// Answers a get, list or watch.
pub(crate) async fn read(
    app: &Arc<App>,
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
        objects: Objects::of(&app.data, resource).await?,
        namespace: asked.namespace.map(str::to_owned),
        name: asked.name.map(str::to_owned),
        params,
        accepted: negotiate(headers, Endpoint::of(resource, app.data.release()))?,
        app: Arc::clone(app),
    };
    match asked.name {
        _ if call.params.watch => watch(call).await,
        Some(name) => get(&call, name, asked.subresource).await,
        None => list(call).await,
    }
}

/// Whether a subresource connects to something that runs, which nothing does here.
fn is_connection(subresource: &str) -> bool {
    matches!(subresource, "attach" | "binding" | "eviction" | "exec" | "finalize" | "portforward" | "proxy" | "token")
}
