//! Keys to references: `/registry/pods/shop/web-0` is the Pod web-0 in shop. The way back is [`Kind::key`].

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::kinds::{Kind, Kinds};

/// What a key means.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum RegistryKey<'a> {
    /// An object of a resource.
    Object(ObjectPath<'a>),
    /// Bookkeeping of the API server's: an object without a resource.
    Special(&'a str),
    /// Outside the prefix, or not shaped like an object's key.
    Foreign,
}

/// The key of one object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObjectPath<'a> {
    /// Its resource.
    pub resource: KeyResource<'a>,
    /// Its namespace; `None` where cluster-scoped.
    pub namespace: Option<&'a str>,
    /// Its name.
    pub name: &'a str,
}

/// The resource a key belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyResource<'a> {
    /// A kind we know.
    Known(&'a Arc<Kind>),
    /// A custom resource whose definition is not in the data, or a path no table has (its group is empty then).
    Unlisted {
        /// The API group.
        group: &'a str,
        /// The resource name.
        plural: &'a str,
    },
}

/// Below the prefix, what the API server keeps for itself (k8s.io/kubernetes pkg/controlplane, pkg/registry/core/service).
const SPECIAL_RESOURCES: [&str; 3] = ["ranges", "masterleases", "peerserverleases"];

impl<'a> RegistryKey<'a> {
    /// Reads `key`, given the API server's prefix (such as `/registry`) and the kinds of the cluster.
    ///
    /// The name of a known cluster-scoped or namespaced kind must have as many segments as its scope requires; of an unlisted
    /// resource two segments after the path are namespace and name, as names are single segments.
    pub fn parse(prefix: &str, key: &'a [u8], kinds: &'a Kinds) -> Self {
        let Ok(key) = std::str::from_utf8(key) else { return Self::Foreign };
        if key == "compact_rev_key" {
            return Self::Special(key);
        }
        if let Some(rest) = below(key, prefix) {
            return Self::parse_rest(rest, kinds).unwrap_or(Self::Foreign);
        }
        match below(key, OPENSHIFT_SEGMENT) {
            Some(rest) => {
                let path_end = rest.find('/').map(|first| if rest.starts_with("oauth/") { second_slash(rest) } else { first });
                let kind = path_end.and_then(|end| kinds.at_path(&key[..OPENSHIFT_SEGMENT.len() + 1 + end]).zip(rest.get(end + 1..)));
                kind.and_then(|(kind, name)| Self::known(kind, name)).unwrap_or(Self::Foreign)
            }
            None => Self::Foreign,
        }
    }

    fn parse_rest(rest: &'a str, kinds: &'a Kinds) -> Option<Self> {
        let (first, tail) = rest.split_once('/')?;
        if SPECIAL_RESOURCES.contains(&first) {
            return Some(Self::Special(rest));
        }
        if let Some(kind) = kinds.at_path(first) {
            return Self::known(kind, tail);
        }
        let two = second_slash(rest);
        if let (Some(kind), Some(name)) = (kinds.at_path(&rest[..two]), rest.get(two + 1..)) {
            return Self::known(kind, name);
        }
        let (resource, name) = if first.contains('.') {
            let (plural, name) = tail.split_once('/')?;
            (KeyResource::Unlisted { group: first, plural }, name)
        } else {
            (KeyResource::Unlisted { group: "", plural: first }, tail)
        };
        let (namespace, name) = name.split_once('/').map_or((None, name), |(namespace, name)| (Some(namespace), name));
        object(resource, namespace, name)
    }

    fn known(kind: &'a Arc<Kind>, name: &'a str) -> Option<Self> {
        let (namespace, name) =
            if kind.namespaced { name.split_once('/').map(|(namespace, name)| (Some(namespace), name))? } else { (None, name) };
        object(KeyResource::Known(kind), namespace, name)
    }

    /// Returns the object's key, if it is one.
    pub fn object(self) -> Option<ObjectPath<'a>> {
        match self {
            Self::Object(object) => Some(object),
            Self::Special(_) | Self::Foreign => None,
        }
    }
}

fn object<'a>(resource: KeyResource<'a>, namespace: Option<&'a str>, name: &'a str) -> Option<RegistryKey<'a>> {
    let is_segment = |text: &str| !text.is_empty() && !text.contains('/');
    let fits = is_segment(name) && namespace.is_none_or(is_segment);
    fits.then_some(RegistryKey::Object(ObjectPath { resource, namespace, name }))
}

/// OpenShift's own API servers keep their objects here, next to `/kubernetes.io`.
const OPENSHIFT_SEGMENT: &str = "/openshift.io";

fn below<'a>(key: &'a str, prefix: &str) -> Option<&'a str> {
    key.strip_prefix(prefix)?.strip_prefix('/')
}

fn second_slash(text: &str) -> usize {
    let mut slashes = text.match_indices('/');
    slashes.nth(1).map_or(text.len(), |(index, _)| index)
}

impl ObjectPath<'_> {
    /// Returns the kind, where it is known.
    pub fn kind(&self) -> Option<&Arc<Kind>> {
        match self.resource {
            KeyResource::Known(kind) => Some(kind),
            KeyResource::Unlisted { .. } => None,
        }
    }
}

/// As an address: `pod/shop/web-0`, `node/n1`, `crontab.stable.example.com/shop/nightly`.
impl fmt::Display for ObjectPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.resource {
            KeyResource::Known(kind) => f.write_str(&kind.singular_resource())?,
            KeyResource::Unlisted { group: "", plural } => f.write_str(plural)?,
            KeyResource::Unlisted { group, plural } => write!(f, "{plural}.{group}")?,
        }
        match self.namespace {
            Some(namespace) => write!(f, "/{namespace}/{}", self.name),
            None => write!(f, "/{}", self.name),
        }
    }
}

/// Returns `prefix` with one leading slash and none at the end, as the API server takes `--etcd-prefix`.
pub fn normalize_prefix(prefix: &str) -> String {
    let inner = prefix.trim_matches('/');
    if inner.is_empty() { String::new() } else { format!("/{inner}") }
}

/// Returns the prefixes under which the keys of a cluster lie: those below which there is a node, the namespace `default`, or the
/// service range, which every cluster has. Several clusters may share one etcd.
pub fn find_prefixes<'a>(keys: impl IntoIterator<Item = &'a [u8]>) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = BTreeSet::new();
    for prefix in keys.into_iter().filter_map(prefix_of) {
        if !found.contains(prefix) {
            found.insert(prefix.to_owned());
        }
    }
    // An object "default" in a namespace "namespaces" looks like a prefix inside the real one.
    let inner = |prefix: &String| found.iter().any(|outer| below(prefix, outer).is_some());
    found.iter().filter(|prefix| !inner(prefix)).cloned().collect()
}

/// Returns the prefix that `key` gives away, if it is one of the keys every cluster has.
pub(crate) fn prefix_of(key: &[u8]) -> Option<&str> {
    let key = std::str::from_utf8(key).ok()?;
    let before = |mark: &str| key.find(mark).map(|at| &key[..at]);
    let whole = |mark: &str| key.strip_suffix(mark);
    let prefix = whole("/namespaces/default").or_else(|| whole("/ranges/serviceips"));
    // The name of a node is one segment, which keeps objects that are merely called "minions" out.
    let node = || before("/minions/").filter(|prefix| !key[prefix.len() + "/minions/".len()..].contains('/'));
    prefix.or_else(node).filter(|prefix| prefix.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kinds() -> Kinds {
        let mut kinds = Kinds::builtin();
        kinds.add_openshift();
        for (plural, kind, scope) in [("crontabs", "CronTab", "Namespaced"), ("shapes", "Shape", "Cluster")] {
            kinds.add_crd(&json!({"spec": {"group": "stable.example.com", "scope": scope, "names": {"plural": plural, "kind": kind},
                "versions": [{"name": "v1"}]}}));
        }
        kinds
    }

    fn check_with(prefix: &str, key: &str, wanted: &str) {
        let kinds = kinds();
        let found = match RegistryKey::parse(prefix, key.as_bytes(), &kinds) {
            RegistryKey::Object(object) => {
                if let Some(kind) = object.kind() {
                    assert_eq!(kind.key(prefix, object.namespace, object.name), key, "the way back");
                }
                object.to_string()
            }
            RegistryKey::Special(name) => format!("special {name}"),
            RegistryKey::Foreign => "foreign".to_owned(),
        };
        assert_eq!(found, wanted, "{key}");
    }

    fn check(key: &str, wanted: &str) {
        check_with("/registry", key, wanted);
    }

    #[test]
    fn registry_key_parses_keys_of_objects() {
        check("/registry/pods/shop/web-0", "pod/shop/web-0");
        check("/registry/minions/n1", "node/n1");
        check("/registry/services/specs/default/kubernetes", "service/default/kubernetes");
        check("/registry/services/endpoints/default/kubernetes", "endpoints/default/kubernetes");
        check("/registry/ingress/a/b", "ingress.networking.k8s.io/a/b");
        check("/registry/clusterroles/system:node", "clusterrole.rbac.authorization.k8s.io/system:node");
        check("/registry/apiextensions.k8s.io/customresourcedefinitions/a.b", "customresourcedefinition.apiextensions.k8s.io/a.b");
        check("/registry/stable.example.com/crontabs/a/b", "crontab.stable.example.com/a/b");
        check("/registry/stable.example.com/shapes/b", "shape.stable.example.com/b");
    }

    #[test]
    fn registry_key_parses_unlisted_resources() {
        check("/registry/gone.example.com/things/a/b", "things.gone.example.com/a/b");
        check("/registry/gone.example.com/things/b", "things.gone.example.com/b");
        check("/registry/newthings/a/b", "newthings/a/b");
    }

    #[test]
    fn registry_key_tells_special_and_foreign_keys_from_objects() {
        check("/registry/ranges/serviceips", "special ranges/serviceips");
        check("/registry/masterleases/10.0.0.1", "special masterleases/10.0.0.1");
        check("compact_rev_key", "special compact_rev_key");
        check("/registry/health", "foreign");
        check("/registry/pods/web-0", "foreign");
        check("/registry/pods/a/b/c", "foreign");
        check("/registry/stable.example.com/shapes/a/b", "foreign");
        check("/registry/pods//b", "foreign");
        check("/other/pods/a/b", "foreign");
        check("/registryx/pods/a/b", "foreign");
    }

    #[test]
    fn registry_key_parses_openshifts_keys() {
        check_with("/kubernetes.io", "/kubernetes.io/pods/a/b", "pod/a/b");
        check_with("/kubernetes.io", "/openshift.io/routes/a/b", "route.route.openshift.io/a/b");
        check_with("/kubernetes.io", "/openshift.io/oauth/clients/console", "oauthclient.oauth.openshift.io/console");
        check_with("/kubernetes.io", "/openshift.io/images/sha256:ab", "image.image.openshift.io/sha256:ab");
    }

    #[test]
    fn registry_key_parses_below_any_prefix() {
        let keys = [
            "/registry/pods/a/minions",
            "/registry/minions/n1",
            "/a/b/namespaces/default",
            "/x/ranges/serviceips",
            "compact_rev_key",
            "/registry/pods/minions/a/b",
            "/registry/pods/namespaces/default",
        ];
        let found = find_prefixes(keys.map(str::as_bytes));
        assert_eq!(Vec::from_iter(found), ["/a/b", "/registry", "/x"]);
        assert_eq!(normalize_prefix("registry/"), "/registry");
        assert_eq!(normalize_prefix("/"), "");
    }
}
