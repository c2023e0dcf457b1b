//! A read of a resource: what was asked, and what its parts have in common.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use ketcd_kube::api::{Resource, ServerFieldSelector};
use ketcd_kube::{LabelSelector, Release};
use ketcd_store::KeyRange;
use serde_json::Value;

use super::accept::{Accepted, Encoding};
use super::app::{App, Moment};
use super::objects::append_json;
use super::params::Params;
use super::protobuf;
use super::status::{Result, Status};

/// One read of a resource.
pub(super) struct Call {
    /// The server.
    pub app: Arc<App>,
    /// The moment looked at.
    pub moment: Moment,
    /// What is read.
    pub resource: Arc<Resource>,
    /// `None` for all namespaces, and for what lives in none.
    pub namespace: Option<String>,
    /// `None` for a collection.
    pub name: Option<String>,
    /// The query.
    pub params: Params,
    /// How the answer is written.
    pub accepted: Accepted,
}

/// Which objects of a collection are wanted.
#[derive(Debug)]
pub(super) struct Filter {
    labels: LabelSelector,
    fields: ServerFieldSelector,
}

impl Filter {
    /// Reads which objects of a resource a query wants, of those only the one called `name` where there is one.
    pub(super) fn parse(params: &Params, resource: &Resource, name: Option<&str>, release: Release) -> Result<Self> {
        let labels = LabelSelector::parse_for(&params.label_selector, release);
        let labels = labels.map_err(|error| Status::bad_request(error.problem))?;
        let mut fields = ServerFieldSelector::parse(&params.field_selector, resource, release).map_err(Status::bad_request)?;
        if let Some(name) = name {
            if !fields.is_empty() && fields.exact_name() != Some(name) {
                return Err(Status::bad_request("fieldSelector metadata.name doesn't match requested name"));
            }
            fields = fields.and_name(name);
        }
        Ok(Self { labels, fields })
    }

    /// Whether it lets every object pass.
    pub(super) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether it looks at names, namespaces and labels alone.
    pub(super) fn is_of_metadata(&self) -> bool {
        self.fields.are_of_metadata()
    }

    /// Whether an object passes, as it is stored.
    pub(super) fn matches(&self, object: &Value) -> bool {
        self.labels.matches(&object["metadata"]["labels"].as_object()) && self.fields.matches(object)
    }
}

impl Call {
    /// Returns which objects the query wants.
    pub(super) fn filter(&self) -> Result<Filter> {
        Filter::parse(&self.params, &self.resource, self.name.as_deref(), self.app.data.release())
    }

    /// Returns what the keys of the collection begin with.
    pub(super) fn key_prefix(&self) -> String {
        self.resource.kind.key_prefix(self.app.data.prefix(), self.namespace.as_deref())
    }

    /// Returns the keys of the collection, of the one object where only that is wanted and its key is known.
    pub(super) fn keys(&self, filter: &Filter) -> KeyRange {
        let has_key = self.namespace.is_some() || !self.resource.kind.namespaced;
        match filter.fields.exact_name().filter(|name| has_key && !name.is_empty() && !name.contains('/')) {
            Some(name) => KeyRange::key(self.key_prefix() + name),
            None => KeyRange::prefix(self.key_prefix()),
        }
    }

    /// Returns the response of one object.
    pub(super) fn respond(&self, value: &Value) -> Result<Response> {
        match self.accepted.encoding {
            Encoding::Protobuf => protobuf::respond(value, self.app.data.release()),
            encoding => respond(encoding, value),
        }
    }
}

/// Returns the response of one document, in JSON or YAML.
pub(super) fn respond(encoding: Encoding, value: &Value) -> Result<Response> {
    let mut text = Vec::new();
    match encoding {
        Encoding::Json => append_json(&mut text, value),
        Encoding::Yaml => ketcd_render::yaml::write(value, &mut text).map_err(Status::internal)?,
        Encoding::Protobuf => return Err(Status::not_acceptable("this document has no protobuf")),
    }
    Ok(([(header::CONTENT_TYPE, encoding.media_type())], Body::from(text)).into_response())
}
