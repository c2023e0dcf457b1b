//! CustomResourceDefinitions with objects stored in a version that is no longer served, or no longer there.
//!
//! Kubernetes 1.36: k8s.io/apiextensions-apiserver pkg/apis/apiextensions/types.go, `status.storedVersions`: every version that objects were ever stored in
//! since it was last taken out; validation.go refuses a definition that lacks one of them, and without it the objects cannot be read.

use serde_json::Value;

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::{Trouble, TroubleKind};

use super::facts::{Facts, Kind};
use super::object::{items, text};
use super::rule_finding::RuleFinding;
use crate::error::Result;

const CRD_KIND: &Kind = &Kind {
    path: "apiextensions.k8s.io/customresourcedefinitions",
    namespaced: false,
    fields: Some(&[
        "kind",
        "metadata.name",
        "metadata.uid",
        "metadata.deletionTimestamp",
        "spec.version",
        "spec.versions.name",
        "spec.versions.served",
        "spec.versions.storage",
        "status.storedVersions",
    ]),
};

pub(super) async fn find(facts: &mut Facts<'_>) -> Result<Vec<RuleFinding>> {
    facts.made_of(CRD_KIND, |definition| Some(RuleFinding::new(Subject::of(&definition), not_served(&definition)?))).await
}

fn not_served(definition: &Value) -> Option<Trouble> {
    // Before there was a list, one version was all.
    let is_list = items(definition, "/spec/versions").next().is_some();
    if !is_list || !definition["metadata"]["deletionTimestamp"].is_null() {
        return None;
    }
    let version = |name: &Value| items(definition, "/spec/versions").find(|version| version["name"] == *name);
    let stored = || items(definition, "/status/storedVersions");
    let gone = stored().find(|name| version(name).is_none());
    let unserved = || stored().find(|name| version(name).is_some_and(|version| version["served"] == false));
    let state = if gone.is_some() { "gone" } else { "unserved" };
    let name = gone.or_else(unserved)?.as_str()?;
    let storage =
        items(definition, "/spec/versions").find(|version| version["storage"] == true).map_or("", |version| text(version, "/name"));
    let about = [name, state, storage].map(str::to_owned).to_vec();
    Some(Trouble { about, ..Trouble::new(TroubleKind::VersionNotServed) })
}
