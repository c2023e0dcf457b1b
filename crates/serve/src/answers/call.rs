//! A read of a resource: what was asked, and what its parts have in common.

use std::sync::Arc;

use axum::response::Response;
use ketcd_kube::api::Resource;
use ketcd_store::KeyRange;
use serde_json::Value;

use super::objects::Objects;
use crate::data::{App, Moment};
use crate::request::{Accepted, Filter, Params};
use crate::wire::{Result, respond};

/// One read of a resource.
pub(crate) struct Call {
    /// The server.
    pub app: Arc<App>,
    /// The moment looked at.
    pub moment: Moment,
    /// What is read.
    pub resource: Arc<Resource>,
    /// Its objects.
    pub objects: Objects,
    /// `None` for all namespaces, and for what lives in none.
    pub namespace: Option<String>,
    /// `None` for a collection.
    pub name: Option<String>,
    /// The query.
    pub params: Params,
    /// How the answer is written.
    pub accepted: Accepted,
}

impl Call {
    /// Returns which objects the query wants.
    pub(crate) fn filter(&self) -> Result<Filter> {
        Filter::parse(&self.params, &self.resource, self.name.as_deref(), self.app.data.release())
    }

    /// Returns what the keys of the collection begin with.
    pub(crate) fn key_prefix(&self) -> String {
        self.objects.key_prefix(self.namespace.as_deref())
    }

    /// Returns the keys of the collection, of the one object where only that is wanted and its key is known.
    pub(crate) fn keys(&self, filter: &Filter) -> KeyRange {
        let has_key = self.namespace.is_some() || !self.resource.kind.namespaced;
        match filter.only_name().filter(|_| has_key) {
            Some(name) => KeyRange::key(self.key_prefix() + name),
            None => KeyRange::prefix(self.key_prefix()),
        }
    }

    /// Returns the response of one object.
    pub(crate) fn respond(&self, value: &Value) -> Result<Response> {
        respond(self.accepted.encoding, value, self.app.data.release())
    }
}
