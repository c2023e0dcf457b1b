//! Services whose selector matches no pod and no template of pods.
//!
//! Kubernetes 1.36: pkg/controller/endpointslice/endpointslice_controller.go, `syncService`: the endpoints of a Service are the pods of its namespace that
//! have all labels of `spec.selector`; a Service without a selector, or of type ExternalName, gets none from it. Every other one gets an
//! EndpointSlice, an empty one where it selects nothing (staging/src/k8s.io/endpointslice/reconciler.go).
//!
//! Printed objects may be a part: there an empty EndpointSlice has to say that nothing is selected, or a label that is nearly right. A Service that a
//! controller made means the pods of that controller, which may be to come.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::{Trouble, TroubleKind};

use super::facts::{Facts, Kind};
use super::object::{items, place, text, time};
use super::rule_finding::RuleFinding;
use crate::error::Result;

const SERVICES_KIND: &Kind = &Kind {
    path: "services/specs",
    namespaced: true,
    fields: Some(&[
        "kind",
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "metadata.creationTimestamp",
        "metadata.deletionTimestamp",
        "metadata.ownerReferences",
        "spec.selector",
        "spec.type",
    ]),
};
const ENDPOINT_SLICES_KIND: &Kind = &Kind {
    path: "endpointslices",
    namespaced: true,
    fields: Some(&["kind", "metadata.name", "metadata.namespace", "metadata.labels", "endpoints.addresses"]),
};
const ENDPOINTS_KIND: &Kind =
    &Kind { path: "services/endpoints", namespaced: true, fields: Some(&["kind", "metadata.name", "metadata.namespace", "subsets"]) };

/// What has a template of pods, and where.
const POD_TEMPLATES: [(&Kind, &str); 7] = [
    (&template("deployments"), "/spec/template/metadata/labels"),
    (&template("statefulsets"), "/spec/template/metadata/labels"),
    (&template("daemonsets"), "/spec/template/metadata/labels"),
    (&template("replicasets"), "/spec/template/metadata/labels"),
    (&template("controllers"), "/spec/template/metadata/labels"),
    (&template("jobs"), "/spec/template/metadata/labels"),
    (&template("cronjobs"), "/spec/jobTemplate/spec/template/metadata/labels"),
];

const fn template(path: &'static str) -> Kind {
    Kind {
        path,
        namespaced: true,
        fields: Some(&[
            "kind",
            "metadata.name",
            "metadata.namespace",
            "spec.template.metadata.labels",
            "spec.jobTemplate.spec.template.metadata.labels",
        ]),
    }
}

pub(super) async fn find(facts: &mut Facts<'_>) -> Result<Vec<RuleFinding>> {
    let services = facts.made_of(SERVICES_KIND, |service| selector(&service).is_some().then_some(service)).await?;
    if services.is_empty() {
        return Ok(Vec::new());
    }
    // Whether each has an endpoint, and the service that it is of.
    let of_slice = |slice: Value| {
        let name = slice["metadata"]["labels"]["kubernetes.io/service-name"].as_str().unwrap_or_default();
        Some((items(&slice, "/endpoints").next().is_some(), format!("{}/{name}", text(&slice, "/metadata/namespace"))))
    };
    let of_endpoints = |endpoints: Value| Some((items(&endpoints, "/subsets").next().is_some(), place(&endpoints)));
    let slices = facts.made_of(ENDPOINT_SLICES_KIND, of_slice).await?;
    let (mut served, mut empty) = (BTreeSet::new(), BTreeSet::new());
    for (is_served, service) in slices.into_iter().chain(facts.made_of(ENDPOINTS_KIND, of_endpoints).await?) {
        let into = if is_served { &mut served } else { &mut empty };
        into.insert(service);
    }
    let mut found = Vec::new();
    for service in services.iter().filter(|service| !served.contains(&place(service))) {
        let Some(selector) = selector(service) else { continue };
        let Some(trouble) = selects_nothing(facts, service, selector).await?.filter(|trouble| trouble.is_due(facts.now)) else { continue };
        let is_near = trouble.numbers.is_some_and(|(near, _)| near > 0);
        if is_near || !facts.may_be_part() || empty.contains(&place(service)) {
            found.push(RuleFinding::new(Subject::of(service), trouble));
        }
    }
    Ok(found)
}

/// The selector by which a Service gets endpoints.
fn selector(service: &Value) -> Option<&Map<String, Value>> {
    let is_served = text(service, "/spec/type") != "ExternalName" && service["metadata"]["deletionTimestamp"].is_null();
    let is_controlled = items(service, "/metadata/ownerReferences").any(|owner| owner["controller"] == true);
    service["spec"]["selector"].as_object().filter(|selector| is_served && !is_controlled && !selector.is_empty())
}

async fn selects_nothing(facts: &mut Facts<'_>, service: &Value, selector: &Map<String, Value>) -> Result<Option<Trouble>> {
    let namespace = text(service, "/metadata/namespace");
    let pods = facts.labels(namespace).await?;
    // Where there is no pod, there is nothing that may be meant.
    if pods.is_empty() || pods.iter().any(|pods| matches(selector, &pods.labels)) {
        return Ok(None);
    }
    for (kind, pointer) in POD_TEMPLATES {
        let templates = facts.within(kind, namespace).await?;
        if templates.iter().filter_map(|of| of.pointer(pointer)?.as_object()).any(|labels| matches(selector, labels)) {
            return Ok(None);
        }
    }
    let (mut near, mut lacking): (BTreeMap<String, i64>, BTreeMap<String, i64>) = Default::default();
    for pods in pods.iter().filter(|pods| pods.running > 0) {
        match nearest(selector, &pods.labels) {
            Some(like) => *near.entry(like).or_default() += pods.running,
            None => lacks_one(selector, &pods.labels).into_iter().for_each(|label| *lacking.entry(label).or_default() += pods.running),
        }
    }
    let written = selector.iter().map(|(key, value)| label(key, value)).collect::<Vec<_>>().join(",");
    let trouble = Trouble::new(TroubleKind::ServiceSelectsNothing);
    let since = time(service, "/metadata/creationTimestamp");
    let most = |labels: BTreeMap<String, i64>| labels.into_iter().max_by_key(|(_, pods)| *pods);
    let (like, count) = most(near).unwrap_or_default();
    let mut about = vec![written, like];
    if let Some((label, pods)) = most(lacking).filter(|_| count == 0) {
        about.extend([label, pods.to_string()]);
    }
    Ok(Some(Trouble { since, about, numbers: Some((count, 0)), ..trouble }))
}

/// The label of a selector that a pod lacks, where it has all others of several.
fn lacks_one(selector: &Map<String, Value>, labels: &Map<String, Value>) -> Option<String> {
    let mut missing = selector.iter().filter(|(key, value)| labels.get(*key) != Some(*value));
    let (key, value) = missing.next().filter(|_| missing.next().is_none() && selector.len() > 1)?;
    Some(label(key, value))
}

fn label(key: &str, value: &Value) -> String {
    format!("{key}={}", value.as_str().unwrap_or_default())
}

fn matches(selector: &Map<String, Value>, labels: &Map<String, Value>) -> bool {
    selector.iter().all(|(key, value)| labels.get(key) == Some(value))
}

/// The label of a pod that keeps it from being selected, where it is the only one and nearly right: another value that looks like the one selected, or the
/// same value under a key that looks like the one selected.
fn nearest(selector: &Map<String, Value>, labels: &Map<String, Value>) -> Option<String> {
    let mut missing = selector.iter().filter(|(key, value)| labels.get(*key) != Some(*value));
    let (key, wanted) = missing.next().filter(|_| missing.next().is_none())?;
    if let Some(has) = labels.get(key) {
        let is_like = selector.len() > 1 || looks_like(has.as_str()?, wanted.as_str()?);
        return is_like.then(|| label(key, has));
    }
    let (key, value) = labels.iter().find(|(other, value)| *value == wanted && looks_like(other, key))?;
    Some(label(key, value))
}

/// Whether two words differ by little: by letters left out, added, changed or swapped, up to one in three and at most three, or in case, or one begins
/// or ends with the other.
fn looks_like(one: &str, other: &str) -> bool {
    let (one, other) = (one.to_lowercase(), other.to_lowercase());
    if one.is_empty() || other.is_empty() {
        return false;
    }
    let is_part = |long: &str, short: &str| short.len() > 1 && (long.starts_with(short) || long.ends_with(short));
    let most = (one.chars().count().min(other.chars().count()) / 3).clamp(1, 3);
    is_part(&one, &other) || is_part(&other, &one) || distance(&one, &other) <= most
}

/// How many letters have to be left out, added or changed (Levenshtein). Labels are short.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (place, letter) in one.chars().enumerate() {
        let mut before = row[0];
        row[0] = place + 1;
        for (at, other) in other.iter().enumerate() {
            let changed = before + usize::from(letter != *other);
            before = row[at + 1];
            row[at + 1] = changed.min(before + 1).min(row[at] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(selector: &Value, labels: &Value, wanted: Option<&str>) {
        let (selector, labels) = (selector.as_object().unwrap(), labels.as_object().unwrap());
        assert_eq!(nearest(selector, labels).as_deref(), wanted, "{selector:?} {labels:?}");
    }

    #[test]
    fn a_label_is_near_where_it_is_nearly_right() {
        check(&json!({"app": "frnt"}), &json!({"app": "front", "pod-template-hash": "f1"}), Some("app=front"));
        check(&json!({"app": "Front"}), &json!({"app": "front"}), Some("app=front"));
        check(&json!({"ap": "front"}), &json!({"app": "front"}), Some("app=front"));
        check(&json!({"app": "web", "tier": "front"}), &json!({"app": "web", "tier": "cache"}), Some("tier=cache"));
        check(&json!({"app": "front"}), &json!({"app": "billing"}), None);
        check(&json!({"app": "web", "tier": "front"}), &json!({"app": "db", "tier": "cache"}), None);
        check(&json!({"app": "front"}), &json!({"run": "front"}), None);
    }

    #[test]
    fn a_pod_may_lack_one_label_of_several() {
        let of = |selector: &Value, labels: &Value| lacks_one(selector.as_object().unwrap(), labels.as_object().unwrap());
        let two = json!({"app": "web", "tier": "front"});
        assert_eq!(of(&two, &json!({"app": "web", "x": "y"})).as_deref(), Some("tier=front"));
        assert_eq!(of(&two, &json!({"x": "y"})), None);
        assert_eq!(of(&json!({"app": "web"}), &json!({})), None);
    }

    #[test]
    fn distances_count_letters() {
        assert_eq!([distance("frnt", "front"), distance("", "ab"), distance("kitten", "sitting"), distance("a", "a")], [1, 2, 3, 0]);
    }
}
