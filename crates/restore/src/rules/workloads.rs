//! Rules for what runs pods, and for accounts and their secrets.

use serde_json::Value;

use super::edit::{members, remove, remove_items, remove_marks};
use crate::identity::is;
use crate::identity::is_token_secret;

/// Labels by which a Job finds its pods (`pkg/apis/batch/types.go`; those without a prefix up to 1.26 alone).
const JOB_LABELS: &[&str] = &["controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"];

pub(super) fn job_selector(object: &mut Value) -> bool {
    if !is(object, "batch", "Job") || object["spec"]["manualSelector"] == true {
        return false;
    }
    let is_label = |name: &str| JOB_LABELS.contains(&name);
    let mut is_changed = remove(object, "/spec", &["selector"]);
    is_changed |= remove_marks(object, "/metadata", "labels", is_label);
    is_changed |= remove_marks(object, "/spec/template/metadata", "labels", is_label);
    is_changed
}

pub(super) fn token_references(object: &mut Value) -> bool {
    if !is(object, "", "ServiceAccount") {
        return false;
    }
    let account = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let is_generated = |reference: &Value| reference["name"].as_str().is_some_and(|name| is_token_secret(name, &account));
    let Some(account) = members(object, "") else { return false };
    let secrets = remove_items(account, "secrets", is_generated);
    remove_items(account, "imagePullSecrets", is_generated) || secrets
}

pub(super) fn token_data(object: &mut Value) -> bool {
    if !is(object, "", "Secret") || object["type"] != "kubernetes.io/service-account-token" {
        return false;
    }
    let data = remove(object, "", &["data"]);
    remove_marks(object, "/metadata", "annotations", |name| name == "kubernetes.io/service-account.uid") || data
}

pub(super) fn aggregated_rules(object: &mut Value) -> bool {
    is(object, "rbac.authorization.k8s.io", "ClusterRole") && object["aggregationRule"].is_object() && remove(object, "", &["rules"])
}

pub(super) fn requester(object: &mut Value) -> bool {
    is(object, "certificates.k8s.io", "CertificateSigningRequest") && remove(object, "/spec", &["username", "uid", "groups", "extra"])
}
