//! Prefixes of keys that hold another API server's objects, such as an aggregated one's: their values say what they are.

use std::collections::BTreeMap;

use ketcd_kube::Body;
use ketcd_store::KeyValue;

use crate::cluster::Cluster;
use crate::notice::Notice;

const MAX_VALUES_DECODED: usize = 256;

/// The prefixes that keys of no resource give away, while keys are walked.
#[derive(Default)]
pub(crate) struct OtherPrefixes {
    found: BTreeMap<String, usize>,
    decoded: usize,
}

impl OtherPrefixes {
    /// Looks at an entry whose key is not one of the cluster's API server.
    pub(crate) fn see(&mut self, cluster: &Cluster, entry: &KeyValue) {
        let known = self.found.keys().find(|prefix| entry.key.starts_with(format!("{prefix}/").as_bytes())).cloned();
        if let Some(prefix) = known {
            *self.found.entry(prefix).or_default() += 1;
        } else if self.decoded < MAX_VALUES_DECODED {
            self.decoded += 1;
            let decoded = cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0);
            let Body::Object(object) = decoded.body else { return };
            let text = |pointer: &str| object.pointer(pointer).and_then(serde_json::Value::as_str);
            let key = std::str::from_utf8(&entry.key).ok();
            let identity = PrefixIdentity {
                api_version: text("/apiVersion").unwrap_or_default(),
                namespace: text("/metadata/namespace"),
                name: text("/metadata/name"),
            };
            if let Some(prefix) = key.and_then(|key| identity.prefix_of(key)) {
                self.found.insert(prefix.to_owned(), 1);
            }
        }
    }

    /// Notes each prefix.
    pub(crate) fn note(self, cluster: &Cluster) {
        for (prefix, objects) in self.found {
            cluster.note(Notice::OtherPrefix { prefix, objects });
        }
    }
}

/// What an object says of itself.
struct PrefixIdentity<'o> {
    api_version: &'o str,
    namespace: Option<&'o str>,
    name: Option<&'o str>,
}

impl PrefixIdentity<'_> {
    /// What is before the resource in the key of such an object: the group stands before its name, or not.
    fn prefix_of<'k>(&self, key: &'k str) -> Option<&'k str> {
        let behind = |rest: &'k str, part: &str| rest.strip_suffix(part)?.strip_suffix('/');
        let mut rest = behind(key, self.name?)?;
        if let Some(namespace) = self.namespace.filter(|namespace| !namespace.is_empty()) {
            rest = behind(rest, namespace)?;
        }
        let (before, resource) = rest.rsplit_once('/')?;
        let group = self.api_version.rsplit_once('/').map_or("", |(group, _)| group);
        let prefix = if group.is_empty() { before } else { behind(before, group).unwrap_or(before) };
        (prefix.starts_with('/') && !resource.is_empty()).then_some(prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::PrefixIdentity;

    #[test]
    fn a_prefix_is_what_is_before_the_resource() {
        let castle = PrefixIdentity { api_version: "kingdom.example.com/v1", namespace: Some("default"), name: Some("a") };
        assert_eq!(
            castle.prefix_of("/registry/wardle/registry/wardle/kingdom.example.com/castles/default/a"),
            Some("/registry/wardle/registry/wardle")
        );
        assert_eq!(castle.prefix_of("/registry/wardle/castles/default/a"), Some("/registry/wardle"));
        assert_eq!(castle.prefix_of("/registry/wardle/castles/other/a"), None);
        let shape = PrefixIdentity { api_version: "v1", namespace: None, name: Some("a") };
        assert_eq!(shape.prefix_of("/other/shapes/a"), Some("/other"));
        assert_eq!(shape.prefix_of("shapes/a"), None);
    }
}
