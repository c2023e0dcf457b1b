//! The version in which API servers of a release store objects of a kind.

use super::api_version;
use crate::proto::versions::{VERSIONS, VersionRow};
use crate::{Kind, Release};

/// Returns the `apiVersion` in which API servers of a release write objects of a kind to etcd. What an older server wrote stays in the version of
/// its time until it is written again.
///
/// `None` where the tables do not say: of kinds that are never stored, that the release has in alpha versions alone or no longer has, and of custom
/// kinds, whose CustomResourceDefinition says it (`storage: true`).
///
/// ```
/// use ketcd_kube::{Kinds, Release, api::storage_version};
///
/// let kinds = Kinds::builtin();
/// let cron_job = kinds.find("cronjob").unwrap();
/// assert_eq!(storage_version(cron_job, Release(21)).as_deref(), Some("batch/v1beta1"));
/// assert_eq!(storage_version(cron_job, Release(22)).as_deref(), Some("batch/v1"));
/// ```
pub fn storage_version(kind: &Kind, release: Release) -> Option<String> {
    let rows = || VERSIONS.iter().filter(|row| !kind.is_custom() && row.plural == kind.plural && kind.has_group(row.group));
    // Where no release serves a version by default, a server may be told to.
    let is_left = |row: &VersionRow| row.served.is_none() || row.is_served_by(release.0);
    let stored = rows().filter_map(|row| Some((row.stored.filter(|first| *first <= release.0)?, row)));
    let (_, row) = stored.max_by_key(|(first, _)| *first).filter(|_| rows().any(is_left))?;
    Some(api_version(row.group, row.version))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kinds;

    fn check(word: &str, release: u16, wanted: Option<&str>) {
        let kinds = Kinds::builtin();
        let kind = kinds.iter().find(|kind| kind.plural == word).unwrap();
        assert_eq!(storage_version(kind, Release(release)).as_deref(), wanted, "{word} in 1.{release}");
    }

    #[test]
    fn a_version_is_stored_later_than_it_is_served() {
        check("horizontalpodautoscalers", 25, Some("autoscaling/v1"));
        check("cronjobs", 21, Some("batch/v1beta1"));
        check("cronjobs", 22, Some("batch/v1"));
        check("storageversionmigrations", 37, Some("storagemigration.k8s.io/v1beta1"));
        check("pods", 8, Some("v1"));
        check("pods", 37, Some("v1"));
    }

    #[test]
    fn a_kind_may_have_been_stored_in_another_group() {
        check("ingresses", 13, Some("extensions/v1beta1"));
        check("ingresses", 20, Some("networking.k8s.io/v1beta1"));
        check("ingresses", 22, Some("networking.k8s.io/v1"));
        // A definition is still written in a version that is no longer served.
        check("customresourcedefinitions", 37, Some("apiextensions.k8s.io/v1beta1"));
    }

    #[test]
    fn what_the_tables_do_not_say_is_unknown() {
        check("bindings", 37, None);
        // Alpha alone, and removed.
        check("resourceslices", 31, None);
        check("podsecuritypolicies", 25, None);
        let mut kinds = Kinds::builtin();
        let names = serde_json::json!({"plural": "pods", "kind": "Pod", "singular": "pod"});
        let versions = serde_json::json!([{"name": "v1", "served": true, "storage": true}]);
        assert!(
            kinds.add_crd(
                &serde_json::json!({"spec": {"group": "example.com", "names": names, "scope": "Namespaced", "versions": versions}})
            )
        );
        let custom = kinds.iter().find(|kind| kind.is_custom()).unwrap();
        assert_eq!(storage_version(custom, Release(37)), None);
    }

    #[test]
    fn every_stored_kind_that_is_served_has_one() {
        for kind in Kinds::builtin().iter().filter(|kind| kind.is_stored()) {
            for release in Release::OLDEST.0..=Release::NEWEST.0 {
                let is_of = |row: &&VersionRow| row.plural == kind.plural && kind.has_group(row.group);
                let is_served = VERSIONS.iter().filter(is_of).any(|row| row.is_served_by(release));
                assert!(!is_served || storage_version(kind, Release(release)).is_some(), "{} in 1.{release}", kind.kind);
            }
        }
    }
}
