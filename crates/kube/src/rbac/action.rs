//! What a request does, as authorizers see it.

/// What is to be allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Action {
    /// A verb on a resource.
    Resource(ResourceAction),
    /// A verb on a path that is not a resource.
    Path {
        /// The HTTP method in lower case.
        verb: String,
        /// The path, with its first slash.
        path: String,
    },
}

/// A verb on a resource. What is not named is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceAction {
    /// `get`, `list`, `create`, …
    pub verb: String,
    /// The API group, empty for core.
    pub group: String,
    /// The plural.
    pub resource: String,
    /// The part of the object, such as `log`.
    pub subresource: String,
    /// The namespace, empty for all of them and for what lives in none.
    pub namespace: String,
    /// The object, empty for all of them.
    pub name: String,
}

impl ResourceAction {
    /// The resource as rules name it: `pods`, `pods/log`.
    pub fn combined(&self) -> String {
        if self.subresource.is_empty() { self.resource.clone() } else { format!("{}/{}", self.resource, self.subresource) }
    }
}
