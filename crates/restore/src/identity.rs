//! What an object is called.

use std::fmt;

use serde_json::Value;

/// An object's kind, namespace and name. Displays as ketcd's addresses: `deployment.apps/web/tomcat`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// The API group, empty for core.
    pub group: String,
    /// The kind, as objects spell it.
    pub kind: String,
    /// The namespace; `None` for a cluster-scoped object.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl ObjectId {
    /// The identity of an object of one of Kubernetes' kinds.
    pub fn new(group: &str, kind: &str, namespace: Option<&str>, name: &str) -> Self {
        Self { group: group.to_owned(), kind: kind.to_owned(), namespace: namespace.map(str::to_owned), name: name.to_owned() }
    }

    /// The identity that an object states itself; members that it lacks are empty.
    pub fn of(object: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        Self {
            group: group(object).to_owned(),
            kind: text(&object["kind"]),
            namespace: metadata["namespace"].as_str().filter(|namespace| !namespace.is_empty()).map(str::to_owned),
            name: text(&metadata["name"]),
        }
    }

    /// Whether it is of this kind.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }

    /// The kind and group in lower case, as in `deployment.apps`.
    pub fn resource(&self) -> String {
        let kind = self.kind.to_lowercase();
        if self.group.is_empty() { kind } else { format!("{kind}.{}", self.group) }
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.resource())?;
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// The API group of an object, empty for core.
pub(crate) fn group(object: &Value) -> &str {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    api_version.rsplit_once('/').map_or("", |(group, _)| group)
}

/// The kind of an object of Kubernetes' own groups or, with `group`, of that group.
pub(crate) fn is(object: &Value, wanted_group: &str, kind: &str) -> bool {
    object["kind"] == kind && group(object) == wanted_group
}

/// Whether a name ends like a generated one: five of the consonants and digits that cannot spell a word (apimachinery `pkg/util/rand`).
pub(crate) fn is_generated_suffix(end: &str) -> bool {
    end.len() == 5 && end.bytes().all(|byte| b"bcdfghjklmnpqrstvwxz2456789".contains(&byte))
}

/// Whether the token controller (up to 1.23) or OpenShift generated this name of a Secret for a ServiceAccount.
pub(crate) fn is_token_secret(name: &str, account: &str) -> bool {
    let rest = name.strip_prefix(account);
    rest.is_some_and(|rest| ["-token-", "-dockercfg-"].iter().any(|middle| rest.strip_prefix(middle).is_some_and(is_generated_suffix)))
}
