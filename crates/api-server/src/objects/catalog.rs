//! The resources that are read, each with the keys under which etcd holds its objects.

use std::collections::BTreeSet;

use ketcd_kube::Kinds;
use ketcd_store::{Error, KeyRange, Result};
use serde_json::Value;

use super::discovery::{Served, discover};
use crate::problem::settings;
use crate::transport::{Client, METADATA_ACCEPT};

/// The `--etcd-prefix` of API servers, and OpenShift's.
const ETCD_PREFIX: &str = "/registry";
const OPENSHIFT_PREFIX: &str = "/kubernetes.io";
/// A group that every OpenShift cluster has, and no other.
const OF_OPENSHIFT: &str = "config.openshift.io";

/// Which resources are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WantedResources {
    /// Names as kubectl takes them, such as `pods` or `deployments.apps`; all resources if there is none.
    pub resources: Vec<String>,
    /// Whether Secrets are requested too.
    pub secrets: bool,
}

/// A resource whose objects lie in etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    /// As kubectl names it: `deployments.apps`.
    pub name: String,
    /// Where its version is served: `/apis/apps/v1`.
    base: String,
    pub api_version: String,
    pub kind: String,
    plural: String,
    namespaced: bool,
    /// What its keys begin with: `/registry/deployments/`.
    pub prefix: String,
}

/// The resources that are read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalog {
    /// In the order of their keys.
    pub resources: Vec<Resource>,
    /// What is not read though the server has it, one message per item.
    pub left_out: Vec<String>,
    /// The resources among these.
    pub lacking: Vec<String>,
}

/// What a state or a recording that was made through an API server lacks, in phrases.
pub(crate) fn left_out_phrases(wanted: &WantedResources) -> Vec<String> {
    if wanted.secrets { Vec::new() } else { vec!["Secrets".to_owned()] }
}

impl Resource {
    pub(crate) fn keys(&self) -> KeyRange {
        KeyRange::prefix(self.prefix.as_str())
    }

    pub(crate) fn key(&self, namespace: Option<&str>, name: &str) -> String {
        match namespace.filter(|_| self.namespaced) {
            Some(namespace) => format!("{}{namespace}/{name}", self.prefix),
            None => format!("{}{name}", self.prefix),
        }
    }

    /// The path of a list that has all objects whose keys are in `keys`, and what selects them: one namespace, or one name.
    pub(crate) fn path(&self, keys: &KeyRange) -> (String, Option<String>) {
        let start = keys.start.strip_prefix(self.prefix.as_bytes()).and_then(|rest| std::str::from_utf8(rest).ok());
        let all = format!("{}/{}", self.base, self.plural);
        let (namespace, name) = match start.unwrap_or_default().split_once('/') {
            Some((namespace, name)) if self.namespaced => (Some(namespace), name),
            None if !self.namespaced => (None, start.unwrap_or_default()),
            _ => return (all, None),
        };
        let within = namespace.is_none_or(|namespace| KeyRange::prefix(format!("{}{namespace}/", self.prefix)).covers(keys));
        let path = match namespace {
            Some(namespace) if within && is_name(namespace) => format!("{}/namespaces/{namespace}/{}", self.base, self.plural),
            Some(_) => return (all, None),
            None => all,
        };
        let is_one = !name.is_empty() && *keys == KeyRange::key(self.key(namespace, name)) && is_name(name);
        (path, is_one.then(|| name.to_owned()))
    }
}

/// Whether it can stand in a path and a selector as it is.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte))
}

impl Catalog {
    /// Asks the server for its resources, and takes those that are wanted.
    ///
    /// # Errors
    ///
    /// The server does not answer, or lacks a resource that was named.
    pub(crate) async fn of(client: &Client, wanted: &WantedResources) -> Result<Self> {
        let served = discover(client).await?;
        let mut kinds = Kinds::builtin();
        let is_openshift = served.iter().any(|resource| resource.group == OF_OPENSHIFT);
        if is_openshift {
            kinds.add_openshift();
        }
        let mut catalog = Self::default();
        let custom = catalog.custom(client, &served, &kinds).await?;
        let prefix = if is_openshift { OPENSHIFT_PREFIX } else { ETCD_PREFIX };
        catalog.take(&served, &kinds, &custom, prefix);
        catalog.choose(wanted, &served)?;
        Ok(catalog)
    }

    /// The resources that CustomResourceDefinitions define, as `PLURAL.GROUP`. Others that no table has are served by other servers than the
    /// API server, which keep them elsewhere.
    async fn custom(&mut self, client: &Client, served: &[Served], kinds: &Kinds) -> Result<BTreeSet<String>> {
        let definitions = served.iter().find(|resource| resource.plural == "customresourcedefinitions");
        let is_unknown = |resource: &&Served| resource.group.contains('.') && built_in(kinds, resource).is_none();
        let (Some(definitions), true) = (definitions, served.iter().any(|resource| is_unknown(&resource))) else {
            return Ok(BTreeSet::new());
        };
        let path = format!("/apis/{}/{}/customresourcedefinitions", definitions.group, definitions.version);
        let keys = KeyRange::prefix(format!("{ETCD_PREFIX}/apiextensions.k8s.io/customresourcedefinitions/"));
        let text = match client
            .document(&path, METADATA_ACCEPT)
            .await
            .map_err(|failure| client.error(failure, "customresourcedefinitions", &keys))
        {
            Ok(text) => text,
            Err(Error::Denied { problem, .. }) => {
                self.left_out.push(format!("custom resources are left out, as it is not known which of them lie in etcd: {problem}"));
                return Ok(BTreeSet::new());
            }
            Err(error) => return Err(error),
        };
        let list: Value = serde_json::from_slice(&text).unwrap_or_default();
        let names = list["items"].as_array().into_iter().flatten().filter_map(|item| item["metadata"]["name"].as_str());
        Ok(names.map(str::to_owned).collect())
    }

    /// Takes each resource once, in the version that the server prefers.
    fn take(&mut self, served: &[Served], kinds: &Kinds, custom: &BTreeSet<String>, prefix: &str) {
        let mut taken: BTreeSet<String> = BTreeSet::new();
        // Where two groups serve the same objects, the one that owns them comes first.
        for owns in [true, false] {
            for resource in served.iter().filter(|resource| resource.is_listed) {
                let Served { group, version, plural, kind, namespaced, .. } = resource;
                let name = if group.is_empty() { plural.clone() } else { format!("{plural}.{group}") };
                let keys = match built_in(kinds, resource) {
                    Some((keys, is_owner)) if is_owner == owns => keys(prefix),
                    None if owns && custom.contains(&name) => format!("{prefix}/{group}/{plural}/"),
                    _ => continue,
                };
                if taken.insert(keys.clone()) {
                    let api_version = if group.is_empty() { version.clone() } else { format!("{group}/{version}") };
                    let base = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{api_version}") };
                    let (kind, plural, namespaced) = (kind.clone(), plural.clone(), *namespaced);
                    self.resources.push(Resource { name, base, api_version, kind, plural, namespaced, prefix: keys });
                }
            }
        }
        self.resources.sort_by(|one, other| one.prefix.cmp(&other.prefix));
    }

    fn choose(&mut self, wanted: &WantedResources, served: &[Served]) -> Result<()> {
        if !wanted.secrets {
            self.resources.retain(|resource| resource.name != "secrets");
        }
        if wanted.resources.is_empty() {
            return Ok(());
        }
        let mut chosen = BTreeSet::new();
        for word in &wanted.resources {
            let lower = word.to_ascii_lowercase();
            let (name, group) = lower.split_once('.').map_or((lower.as_str(), None), |(name, group)| (name, Some(group)));
            let is_named = |one: &&Served| one.names.iter().any(|own| own == name) && group.is_none_or(|group| one.group == group);
            let full = |one: &Served| if one.group.is_empty() { one.plural.clone() } else { format!("{}.{}", one.plural, one.group) };
            let found = served.iter().filter(is_named).map(full).find(|name| self.resources.iter().any(|known| known.name == *name));
            let unknown = || match lower == "secrets" || lower == "secret" {
                true => settings("Secrets are left out", "give --show-secrets to request them"),
                false => settings(
                    format!("the API server has no resource {word:?} whose objects can be listed and lie in etcd"),
                    "kubectl api-resources shows what it has",
                ),
            };
            chosen.insert(found.ok_or_else(unknown)?);
        }
        self.resources.retain(|resource| chosen.contains(&resource.name));
        Ok(())
    }
}

/// What the keys of a built-in resource begin with, given the API server's prefix, and whether the group that serves it owns it; `None` where no
/// table has it.
fn built_in<'k>(kinds: &'k Kinds, resource: &Served) -> Option<(impl Fn(&str) -> String + use<'k>, bool)> {
    let Served { group, plural, .. } = resource;
    let is_it = |kind: &&std::sync::Arc<ketcd_kube::Kind>| {
        kind.plural == plural.as_str()
            && kind.is_stored()
            && (kind.group == group.as_str() || kind.other_groups.iter().any(|other| other == group.as_str()))
    };
    let kind = kinds.iter().find(is_it)?;
    Some((move |prefix: &str| kind.key_prefix(prefix, None), kind.group == group.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(group: &str, plural: &str, kind: &str, namespaced: bool) -> Served {
        let (group, plural, kind) = (group.to_owned(), plural.to_owned(), kind.to_owned());
        Served { names: vec![plural.clone()], group, version: "v1".to_owned(), plural, kind, namespaced, is_listed: true }
    }

    fn catalog(wanted: &WantedResources) -> Result<Catalog> {
        let all = [
            served("events.k8s.io", "events", "Event", true),
            served("", "events", "Event", true),
            served("", "nodes", "Node", false),
            served("", "pods", "Pod", true),
            served("", "secrets", "Secret", true),
            served("apps", "deployments", "Deployment", true),
            served("stable.example.com", "crontabs", "CronTab", true),
            served("metrics.k8s.io", "pods", "PodMetrics", true),
        ];
        let mut catalog = Catalog::default();
        catalog.take(&all, &Kinds::builtin(), &BTreeSet::from(["crontabs.stable.example.com".to_owned()]), ETCD_PREFIX);
        catalog.choose(wanted, &all)?;
        Ok(catalog)
    }

    fn prefixes(wanted: &WantedResources) -> Vec<String> {
        catalog(wanted).unwrap().resources.into_iter().map(|resource| resource.prefix).collect()
    }

    #[test]
    fn each_resource_of_etcd_is_taken_once_and_no_other() {
        let all = [
            "/registry/deployments/",
            "/registry/events/",
            "/registry/minions/",
            "/registry/pods/",
            "/registry/stable.example.com/crontabs/",
        ];
        assert_eq!(prefixes(&WantedResources::default()), all);
        assert!(prefixes(&WantedResources { secrets: true, ..WantedResources::default() }).contains(&"/registry/secrets/".to_owned()));
        let events = catalog(&WantedResources::default()).unwrap().resources.into_iter().find(|resource| resource.kind == "Event").unwrap();
        assert_eq!(events.api_version, "v1");
    }

    #[test]
    fn resources_are_named_as_for_kubectl() {
        let wanted = |names: &[&str]| WantedResources { resources: names.iter().map(|&name| name.to_owned()).collect(), secrets: false };
        assert_eq!(prefixes(&wanted(&["pods", "deployments.apps"])), ["/registry/deployments/", "/registry/pods/"]);
        for (name, problem) in
            [("pots", "no resource \"pots\""), ("secrets", "Secrets are left out"), ("pods.metrics.k8s.io", "no resource")]
        {
            let error = catalog(&wanted(&[name])).err().unwrap().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn a_list_asks_for_no_more_than_the_keys_need() {
        let all = catalog(&WantedResources::default()).unwrap().resources;
        let path = |prefix: &str, keys: KeyRange| all.iter().find(|resource| resource.prefix == prefix).unwrap().path(&keys);
        let pods = "/registry/pods/";
        assert_eq!(path(pods, KeyRange::all()), ("/api/v1/pods".to_owned(), None));
        assert_eq!(path(pods, KeyRange::prefix(pods)), ("/api/v1/pods".to_owned(), None));
        assert_eq!(path(pods, KeyRange::prefix("/registry/pods/shop/")), ("/api/v1/namespaces/shop/pods".to_owned(), None));
        assert_eq!(path(pods, KeyRange::prefix("/registry/pods/sh")), ("/api/v1/pods".to_owned(), None));
        let one = (String::from("/api/v1/namespaces/shop/pods"), Some("web-0".to_owned()));
        assert_eq!(path(pods, KeyRange::key("/registry/pods/shop/web-0")), one);
        let node = (String::from("/api/v1/nodes"), Some("n1".to_owned()));
        assert_eq!(path("/registry/minions/", KeyRange::key("/registry/minions/n1")), node);
        // A range that begins with one object and goes on.
        let on = KeyRange { start: b"/registry/pods/shop/web-0".to_vec(), end: None };
        assert_eq!(path(pods, on), ("/api/v1/pods".to_owned(), None));
    }
}
