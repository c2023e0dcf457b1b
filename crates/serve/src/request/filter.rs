//! Which objects of a collection a request wants: by labels, by fields, by name.

use ketcd_kube::api::{Resource, ServerFieldSelector};
use ketcd_kube::{LabelSelector, Release};
use serde_json::Value;

use super::params::Params;
use crate::wire::{Result, Status};

/// Which objects of a collection are wanted.
#[derive(Debug)]
pub(crate) struct Filter {
    labels: LabelSelector,
    fields: ServerFieldSelector,
}

impl Filter {
    /// Reads which objects of a resource a query wants, of those only the one called `name` where there is one.
    pub(crate) fn parse(params: &Params, resource: &Resource, name: Option<&str>, release: Release) -> Result<Self> {
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

    /// The name of the only object that passes, where its key can be made of it.
    pub(crate) fn only_name(&self) -> Option<&str> {
        self.fields.exact_name().filter(|name| !name.is_empty() && !name.contains('/'))
    }

    /// Whether it lets every object pass.
    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether it looks at names, namespaces and labels alone.
    pub(crate) fn is_of_metadata(&self) -> bool {
        self.fields.are_of_metadata()
    }

    /// Whether an object passes, as it is stored.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.labels.matches(&object["metadata"]["labels"].as_object()) && self.fields.matches(object)
    }
}
