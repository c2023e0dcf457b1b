//! What an API server of a release serves: its own resources, by default, and those that CustomResourceDefinitions define; in which versions it
//! serves and stores them, by which fields objects are selected, and how an object of one version becomes one of another.

pub mod convert;
mod custom;
mod fields;
mod storage_version;
mod versions;

use std::sync::Arc;

use crate::proto::kinds::KindRow;
use crate::proto::versions::VERSIONS;
use crate::{CustomSchemas, Kind, Kinds, Release};
use serde_json::Value;

pub use custom::{Custom, CustomColumn};
pub use fields::ServerFieldSelector;
pub use storage_version::storage_version;
pub use versions::Versions;

/// One resource in one version.
#[derive(Debug)]
#[non_exhaustive]
pub struct Resource {
    /// The API group, empty for core. Some resources are served in several groups.
    pub group: String,
    /// The version.
    pub version: String,
    /// Its names, and where its objects are stored.
    pub kind: Arc<Kind>,
    /// Subresources that can be read.
    pub subresources: Vec<String>,
    /// What its CustomResourceDefinition adds; `None` for Kubernetes' own.
    pub custom: Option<Custom>,
}

impl Resource {
    /// Returns `group/version`, or the version alone in the core group.
    pub fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// Returns the resource as error messages name it: `pods`, `deployments.apps`.
    pub fn qualified(&self) -> String {
        qualified(&self.kind.plural, &self.group)
    }

    /// The schemas of its CustomResourceDefinition.
    pub fn schemas(&self) -> Option<&Arc<CustomSchemas>> {
        self.custom.as_ref()?.schemas.as_ref()
    }

    /// Its own schema among them.
    pub fn schema(&self) -> Option<&Value> {
        self.schemas()?.schema(&self.version)
    }

    /// The kind of its lists.
    pub fn list_kind(&self) -> String {
        self.custom.as_ref().map_or_else(|| format!("{}List", self.kind.kind), |custom| custom.list_kind.clone())
    }

    /// The verbs it supports. Resources that are never stored can only be created; ketcd answers reviews among them.
    pub fn verbs(&self) -> &'static [&'static str] {
        match &*self.kind.plural {
            // None is stored, so a client that lists all there is need not ask.
            "componentstatuses" if self.group.is_empty() => &["get"],
            _ if self.kind.is_stored() => &["get", "list", "watch"],
            _ => &["create"],
        }
    }
}

/// Returns a resource as error messages name it: `pods`, `deployments.apps`.
pub fn qualified(plural: &str, group: &str) -> String {
    if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") }
}

/// Returns `group/version`, or the version alone in the core group.
pub fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// One version of a group.
#[derive(Debug)]
#[non_exhaustive]
pub struct Version {
    /// Its name.
    pub name: String,
    /// Its resources, by name.
    pub resources: Vec<Arc<Resource>>,
}

/// One API group.
#[derive(Debug)]
#[non_exhaustive]
pub struct Group {
    /// Its name, empty for core.
    pub name: String,
    /// Its versions, the preferred first.
    pub versions: Vec<Version>,
}

/// Everything that is served at one moment.
#[derive(Debug)]
#[non_exhaustive]
pub struct Catalog {
    /// The groups in the order of discovery, core first.
    pub groups: Vec<Group>,
    /// The release whose resources they are.
    pub release: Release,
}

impl Catalog {
    /// The resources of a release, and those of these CustomResourceDefinitions.
    pub fn new(release: Release, definitions: &[Value]) -> Self {
        let mut catalog = Self { groups: Vec::new(), release };
        let kinds = Kinds::builtin();
        for row in VERSIONS.iter().filter(|row| row.is_served_by(release.0)) {
            catalog.add_builtin(&kinds, row.group, row.version, row.plural);
        }
        for definition in definitions {
            custom::resources(definition, release).into_iter().for_each(|resource| catalog.add(resource));
        }
        catalog.sort();
        catalog
    }

    /// The same with the resources of OpenShift's own API servers.
    #[must_use]
    pub fn with_openshift(mut self) -> Self {
        let mut kinds = Kinds::builtin();
        kinds.add_openshift();
        for kind in kinds.iter().filter(|kind| kind.path.starts_with('/')) {
            let row = KindRow::in_group(&kind.group, |row| row.plural == kind.plural);
            let subresources = row.map_or(&[][..], |row| row.subresources).iter().map(|own| own.0.to_owned()).collect();
            let (group, version) = (kind.group.to_string(), kind.version.to_string());
            self.add(Resource { group, version, kind: Arc::clone(kind), subresources, custom: None });
        }
        self.sort();
        self
    }

    fn add_builtin(&mut self, kinds: &Kinds, group: &str, version: &str, plural: &str) {
        let Some(kind) = kinds.iter().find(|kind| kind.plural == plural && kind.has_group(group)) else { return };
        let Some(row) = KindRow::in_group(group, |row| row.plural == plural) else { return };
        let own = row.subresources.iter().filter(|own| own.1 <= self.release.0);
        self.add(Resource {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: Arc::clone(kind),
            subresources: own.map(|own| own.0.to_owned()).collect(),
            custom: None,
        });
    }

    fn add(&mut self, resource: Resource) {
        let place = self.groups.iter().position(|group| group.name == resource.group).unwrap_or_else(|| {
            self.groups.push(Group { name: resource.group.clone(), versions: Vec::new() });
            self.groups.len() - 1
        });
        let versions = &mut self.groups[place].versions;
        let place = versions.iter().position(|version| version.name == resource.version).unwrap_or_else(|| {
            versions.push(Version { name: resource.version.clone(), resources: Vec::new() });
            versions.len() - 1
        });
        let resources = &mut versions[place].resources;
        if !resources.iter().any(|other| other.kind.plural == resource.kind.plural) {
            resources.push(Arc::new(resource));
        }
    }

    /// Kubernetes' own groups keep the order of their table, in which the preferred version of a group comes first; groups of custom resources come
    /// after them by name, their versions as the definitions order them.
    fn sort(&mut self) {
        let rank = |name: &str| VERSIONS.iter().position(|row| row.group == name).unwrap_or(usize::MAX);
        self.groups.sort_by(|a, b| (rank(&a.name), &a.name).cmp(&(rank(&b.name), &b.name)));
        for group in &mut self.groups {
            if rank(&group.name) == usize::MAX {
                group.versions.sort_by(|a, b| crate::compare_versions(&a.name, &b.name));
            }
            group.versions.iter_mut().for_each(|version| version.resources.sort_by(|a, b| a.kind.plural.cmp(&b.kind.plural)));
        }
    }

    /// Returns a version of a group.
    pub fn version(&self, group: &str, version: &str) -> Option<&Version> {
        self.groups.iter().find(|own| own.name == group)?.versions.iter().find(|own| own.name == version)
    }

    /// Returns a resource.
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.version(group, version)?.resources.iter().find(|resource| resource.kind.plural == plural)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::proto::versions::VersionRow;

    #[test]
    fn every_row_names_a_known_kind() {
        let kinds = Kinds::builtin();
        for VersionRow { group, version, plural, .. } in VERSIONS {
            assert!(kinds.iter().any(|kind| kind.plural == *plural && kind.has_group(group)), "{group}/{version} {plural}");
        }
    }

    fn api_versions(release: u16) -> Vec<String> {
        let catalog = Catalog::new(Release(release), &[]);
        let all = catalog.groups.iter().flat_map(|group| group.versions.iter().map(|version| api_version(&group.name, &version.name)));
        all.collect()
    }

    #[test]
    fn releases_serve_their_own_versions() {
        let of_36 = api_versions(36);
        assert!(of_36.contains(&"resource.k8s.io/v1".to_owned()) && !of_36.iter().any(|version| version.contains("beta")), "{of_36:?}");
        let of_20 = api_versions(20);
        for wanted in ["extensions/v1beta1", "policy/v1beta1", "discovery.k8s.io/v1beta1", "autoscaling/v2beta2", "node.k8s.io/v1"] {
            assert!(of_20.contains(&wanted.to_owned()), "{wanted}: {of_20:?}");
        }
        assert!(!of_20.contains(&"policy/v1".to_owned()));
        assert_eq!(of_20[..3], ["v1", "apiregistration.k8s.io/v1", "apiregistration.k8s.io/v1beta1"]);
    }

    #[test]
    fn openshift_adds_its_own_groups() {
        let catalog = Catalog::new(Release(30), &[]).with_openshift();
        let routes = catalog.find("route.openshift.io", "v1", "routes").unwrap();
        assert_eq!(routes.kind.key("/kubernetes.io", Some("shop"), "web"), "/openshift.io/routes/shop/web");
        assert!(
            catalog.find("apps.openshift.io", "v1", "deploymentconfigs").is_some() && catalog.find("apps", "v1", "deployments").is_some()
        );
    }

    #[test]
    fn definitions_add_each_served_version() {
        let definition = json!({"spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1beta1", "served": true, "storage": false}, {"name": "v1", "served": true, "storage": true},
                {"name": "v1alpha1", "served": false, "storage": false}]},
            "status": {"conditions": [{"type": "Established", "status": "True"}]}});
        let catalog = Catalog::new(Release(36), &[definition]);
        let group = catalog.groups.last().unwrap();
        assert_eq!(group.versions.iter().map(|version| version.name.as_str()).collect::<Vec<_>>(), ["v1", "v1beta1"]);
        assert!(catalog.find("example.com", "v1beta1", "widgets").is_some());
    }
}
