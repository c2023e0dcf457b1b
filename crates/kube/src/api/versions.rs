//! The versions in which API servers of a release serve each kind, and conversion between them, for callers that do not serve requests.

use crate::Release;
use serde_json::Value;

use super::convert;
use super::{Catalog, Resource};

/// What is served at one moment.
pub struct Versions {
    catalog: Catalog,
}

impl Versions {
    /// What an API server of this release serves by default, with what these CustomResourceDefinitions define.
    pub fn new(release: Release, definitions: &[Value]) -> Self {
        Self { catalog: Catalog::new(release, definitions) }
    }

    fn resources(&self) -> impl Iterator<Item = &Resource> {
        let versions = self.catalog.groups.iter().flat_map(|group| &group.versions);
        versions.flat_map(|version| version.resources.iter().map(AsRef::as_ref))
    }

    /// Whether objects of this `apiVersion` and kind are served.
    pub fn serves(&self, api_version: &str, kind: &str) -> bool {
        self.resources().any(|resource| resource.kind.kind == kind && resource.api_version() == api_version)
    }

    /// The `apiVersion` that discovery prefers for a kind of a group; for a kind that moved to another group, the one there.
    pub fn preferred(&self, group: &str, kind: &str) -> Option<String> {
        let is_it = |resource: &&Resource| {
            let own = &resource.kind;
            own.kind == kind && resource.group == own.group && (own.group == group || own.other_groups.iter().any(|other| other == group))
        };
        self.resources().find(is_it).map(Resource::api_version)
    }

    /// Converts an object to another version.
    ///
    /// # Errors
    /// The version is not served, or only a webhook converts to it.
    pub fn convert(&self, object: &mut Value, api_version: &str) -> Result<(), String> {
        let kind = object["kind"].as_str().unwrap_or_default().to_owned();
        let found = self.resources().find(|resource| resource.kind.kind == kind && resource.api_version() == api_version);
        let resource = found.ok_or_else(|| format!("{api_version} is not served"))?;
        convert::to(object, resource, self.catalog.release)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn releases_prefer_their_own_versions() {
        let (old, new) = (Versions::new(Release(20), &[]), Versions::new(Release(36), &[]));
        assert!(old.serves("policy/v1beta1", "PodDisruptionBudget") && !new.serves("policy/v1beta1", "PodDisruptionBudget"));
        assert_eq!(old.preferred("batch", "CronJob").as_deref(), Some("batch/v1beta1"));
        assert_eq!(new.preferred("batch", "CronJob").as_deref(), Some("batch/v1"));
        assert_eq!(new.preferred("extensions", "Ingress").as_deref(), Some("networking.k8s.io/v1"));
        let mut job = json!({"apiVersion": "batch/v1beta1", "kind": "CronJob", "metadata": {"name": "a"}, "spec": {}});
        new.convert(&mut job, "batch/v1").unwrap();
        assert_eq!(job["apiVersion"], "batch/v1");
        assert!(new.convert(&mut job, "batch/v1beta1").is_err());
    }
}
