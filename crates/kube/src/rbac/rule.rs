//! One rule of a role, and which actions it allows.

use serde::{Deserialize, Deserializer};

use super::{Action, ResourceAction};

/// A `PolicyRule`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicyRule {
    /// Verbs; `*` is every verb.
    #[serde(deserialize_with = "list")]
    pub verbs: Vec<String>,
    /// API groups; `*` is every group.
    #[serde(deserialize_with = "list")]
    pub api_groups: Vec<String>,
    /// `pods`, `pods/log`, `*/scale`; `*` is every resource and subresource.
    #[serde(deserialize_with = "list")]
    pub resources: Vec<String>,
    /// The objects allowed; empty means all.
    #[serde(deserialize_with = "list")]
    pub resource_names: Vec<String>,
    /// Paths that are not resources; one that ends in `*` means every path with that prefix.
    #[serde(rename = "nonResourceURLs", deserialize_with = "list")]
    pub non_resource_urls: Vec<String>,
}

/// A list, for which `null` may stand where it is empty.
pub(super) fn list<'d, T: Deserialize<'d>, D: Deserializer<'d>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

impl PolicyRule {
    /// Whether it allows an action.
    pub fn allows(&self, action: &Action) -> bool {
        match action {
            Action::Resource(action) => {
                is_in(&self.verbs, &action.verb)
                    && is_in(&self.api_groups, &action.group)
                    && self.has_resource(action)
                    && (self.resource_names.is_empty() || self.resource_names.contains(&action.name))
            }
            Action::Path { verb, path } => is_in(&self.verbs, verb) && self.has_path(path),
        }
    }

    fn has_resource(&self, action: &ResourceAction) -> bool {
        let combined = action.combined();
        let is_of_any = |own: &str| !action.subresource.is_empty() && own.strip_prefix("*/") == Some(&action.subresource);
        self.resources.iter().any(|own| own == "*" || *own == combined || is_of_any(own))
    }

    fn has_path(&self, path: &str) -> bool {
        let begins = |own: &str| own.ends_with('*') && path.starts_with(own.trim_end_matches('*'));
        self.non_resource_urls.iter().any(|own| own == path || begins(own))
    }
}

fn is_in(own: &[String], asked: &str) -> bool {
    own.iter().any(|own| own == "*" || own == asked)
}
