//! Addresses: what a person types to name objects. `pod/shop/web-0`, `pods`, `po,svc`, `crontabs.stable.example.com/ns/x`, or a raw key.

use std::sync::Arc;

use crate::kinds::{Kind, Kinds, UnknownKind};

/// What an address names.
#[derive(Clone, Debug, PartialEq)]
pub enum Address {
    /// Objects of one kind.
    Objects {
        /// Which kind.
        kind: Arc<Kind>,
        /// In which namespace; `None` means all of them, or that the kind is cluster-scoped.
        namespace: Option<String>,
        /// Only the object of this name.
        name: Option<String>,
    },
    /// The key itself, or, where it ends with a slash, all keys below it.
    Key(String),
}

/// Where objects are looked for if their address names no namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In this namespace.
    Namespace(String),
    /// In all namespaces.
    All,
}

/// Why a text is not a valid address. `Display` is a lowercase fragment; [`AddressError::hint`] says what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum AddressError {
    /// The kind is not known.
    #[error(transparent)]
    Kind(#[from] UnknownKind),
    /// It has too many or too few parts for its kind.
    #[error("invalid address \"{address}\": {problem}")]
    Shape {
        /// As it was typed.
        address: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl AddressError {
    /// Returns what to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Kind(error) => error.hint(),
            Self::Shape { .. } => "write kind/namespace/name, kind/name -n NAMESPACE, kind, or a key that begins with /".to_owned(),
        }
    }
}

impl Address {
    /// Reads one argument: a raw key (one without a slash at its beginning has one at its end), `kind/name`, `kind/namespace/name`, or kinds and categories joined by commas.
    ///
    /// # Errors
    /// A kind is unknown or ambiguous, or the parts do not fit the kind's scope.
    pub fn parse(text: &str, kinds: &Kinds, scope: &Scope) -> Result<Vec<Self>, AddressError> {
        if text.starts_with('/') || text == "compact_rev_key" {
            return Ok(vec![Self::Key(text.to_owned())]);
        }
        // Keys below a folder that no kind is called after: etcd holds them for others too.
        let folder = text.strip_suffix('/').map(|folder| folder.split('/').next().unwrap_or_default());
        if folder.is_some_and(|first| !first.is_empty() && kinds.find(first).is_err()) {
            return Ok(vec![Self::Key(text.to_owned())]);
        }
        let shape = |problem: &str| AddressError::Shape { address: text.to_owned(), problem: problem.to_owned() };
        let parts: Vec<&str> = text.split('/').collect();
        if parts.iter().any(|part| part.is_empty()) {
            return Err(shape("a part of it is empty"));
        }
        match parts[..] {
            [words] => {
                let mut found = Vec::new();
                for word in words.split(',').filter(|word| !word.is_empty()) {
                    found.extend(kinds.find_all(word)?.into_iter().map(|kind| Self::all(kind, scope)));
                }
                Ok(found)
            }
            [word, name] => Ok(vec![Self::named(kinds.find(word)?, name, scope).map_err(|problem| shape(&problem))?]),
            [word, namespace, name] => {
                let kind = kinds.find(word)?;
                if !kind.namespaced {
                    return Err(shape(&format!("{} have no namespace", kind.resource())));
                }
                Ok(vec![Self::Objects { kind: Arc::clone(kind), namespace: Some(namespace.to_owned()), name: Some(name.to_owned()) }])
            }
            _ => Err(shape("it has more than three parts")),
        }
    }

    /// Returns the address of every object of `kind` within `scope`.
    pub fn all(kind: &Arc<Kind>, scope: &Scope) -> Self {
        let namespace = match scope {
            Scope::Namespace(namespace) if kind.namespaced => Some(namespace.clone()),
            _ => None,
        };
        Self::Objects { kind: Arc::clone(kind), namespace, name: None }
    }

    /// Returns the address of the object `name` of `kind`.
    ///
    /// # Errors
    /// The scope is all namespaces, where a name is not enough.
    pub fn named(kind: &Arc<Kind>, name: &str, scope: &Scope) -> Result<Self, String> {
        let namespace = match scope {
            _ if !kind.namespaced => None,
            Scope::Namespace(namespace) => Some(namespace.clone()),
            Scope::All => return Err(format!("{name} could be in any namespace, and -A does not name one")),
        };
        Ok(Self::Objects { kind: Arc::clone(kind), namespace, name: Some(name.to_owned()) })
    }

    /// Returns what the keys of its objects begin with under the API server's `prefix`, and whether that is a whole key.
    pub fn key(&self, prefix: &str) -> (String, bool) {
        match self {
            Self::Objects { kind, namespace, name: Some(name) } => (kind.key(prefix, namespace.as_deref(), name), true),
            Self::Objects { kind, namespace, name: None } => (kind.key_prefix(prefix, namespace.as_deref()), false),
            Self::Key(key) => (key.clone(), !key.ends_with('/')),
        }
    }

    /// Returns the kind, unless the address is a raw key.
    pub fn kind(&self) -> Option<&Arc<Kind>> {
        match self {
            Self::Objects { kind, .. } => Some(kind),
            Self::Key(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, scope: Scope, wanted: &str) {
        let found = match Address::parse(text, &Kinds::builtin(), &scope) {
            Ok(found) => found.iter().map(|address| address.key("/registry").0).collect::<Vec<_>>().join(" "),
            Err(error) => format!("{error}; {}", error.hint()),
        };
        assert!(found.starts_with(wanted), "{text}: {found}");
    }

    #[test]
    fn parse_reads_addresses_of_every_form() {
        let scope = || Scope::Namespace("default".to_owned());
        check("pod/shop/web-0", scope(), "/registry/pods/shop/web-0");
        check("pod/web-0", scope(), "/registry/pods/default/web-0");
        check("pods", scope(), "/registry/pods/default/");
        check("po,svc", scope(), "/registry/pods/default/ /registry/services/specs/default/");
        check("po", Scope::All, "/registry/pods/");
        check("node/n1", Scope::All, "/registry/minions/n1");
        check("no,ns", scope(), "/registry/minions/ /registry/namespaces/");
        check("/registry/pods/shop/web-0", scope(), "/registry/pods/shop/web-0");
        check("by-dev/meta/", scope(), "by-dev/meta/");
    }

    #[test]
    fn parse_refuses_what_is_not_an_address() {
        let scope = || Scope::Namespace("default".to_owned());
        check("node/a/n1", scope(), "invalid address \"node/a/n1\": nodes have no namespace; write kind/");
        check("pod/web-0", Scope::All, "invalid address \"pod/web-0\": web-0 could be in any namespace, and -A does not name one; write");
        check("pod//web-0", scope(), "invalid address \"pod//web-0\": a part of it is empty; write");
        check("pods/", scope(), "invalid address \"pods/\": a part of it is empty; write");
        check("pod/a/b/c", scope(), "invalid address \"pod/a/b/c\": it has more than three parts; write");
        check("pood/a", scope(), "no kind is called \"pood\"; did you mean pods?");
    }
}
