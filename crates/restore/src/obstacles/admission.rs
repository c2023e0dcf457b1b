//! Webhooks, policies and LimitRanges that are asked about an object before it is stored.

use std::collections::BTreeMap;

use ketcd_kube::LabelSelector;
use serde_json::{Map, Value};

use super::{ApplyObstacle, TargetCluster};
use crate::identity::ObjectId;
use crate::order::Stage;
use crate::{order, pod_template};

const ADMISSION_GROUP: &str = "admissionregistration.k8s.io";

/// Returns who in the cluster is asked about an object.
pub(super) fn of_object(
    id: &ObjectId,
    manifest: &Value,
    with: &BTreeMap<ObjectId, &Value>,
    cluster: &dyn TargetCluster,
) -> Vec<ApplyObstacle> {
    // Admission is not asked about what configures it.
    if order::stage(&id.group, &id.kind).0 == Stage::Admission {
        return Vec::new();
    }
    let Some(plural) = cluster.plural(id) else { return Vec::new() };
    let version = manifest["apiVersion"].as_str().and_then(|own| own.rsplit('/').next()).unwrap_or_default();
    let operation = if cluster.object(id).is_some() { "UPDATE" } else { "CREATE" };
    let asked = Asked { id, manifest, plural: &plural, version, operation, with, cluster };
    let mut problems = Vec::new();
    for (by, object) in cluster.objects() {
        match by.kind.as_str() {
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" if by.group == ADMISSION_GROUP => {
                problems.extend(asked.webhooks(by, object))
            }
            "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy" if by.group == ADMISSION_GROUP => {
                problems.extend(asked.policy(by, object))
            }
            "LimitRange" if by.group.is_empty() && by.namespace == id.namespace => problems.extend(asked.limits(by, object)),
            _ => {}
        }
    }
    problems
}

struct Asked<'a> {
    id: &'a ObjectId,
    manifest: &'a Value,
    plural: &'a str,
    version: &'a str,
    operation: &'a str,
    with: &'a BTreeMap<ObjectId, &'a Value>,
    cluster: &'a dyn TargetCluster,
}

impl Asked<'_> {
    fn webhooks(&self, by: &ObjectId, configuration: &Value) -> Vec<ApplyObstacle> {
        let webhooks = configuration["webhooks"].as_array().into_iter().flatten();
        let asked = webhooks.filter(|webhook| self.is_matched(&webhook["rules"]) && self.is_selected(webhook));
        asked.map(|webhook| self.webhook(by, webhook)).collect()
    }

    fn webhook(&self, by: &ObjectId, webhook: &Value) -> ApplyObstacle {
        let (configuration, name) = (by.clone(), webhook["name"].as_str().unwrap_or_default().to_owned());
        let must_answer = webhook["failurePolicy"] != "Ignore";
        let service = &webhook["clientConfig"]["service"];
        if let (true, Some(namespace), Some(service)) = (must_answer, service["namespace"].as_str(), service["name"].as_str()) {
            let service = ObjectId::new("", "Service", Some(namespace), service);
            if self.cluster.object(&service).is_none() {
                return ApplyObstacle::WebhookUnreachable { configuration, webhook: name, service };
            }
        }
        ApplyObstacle::Webhook { configuration, webhook: name, must_answer }
    }

    fn policy(&self, by: &ObjectId, policy: &Value) -> Option<ApplyObstacle> {
        let constraints = &policy["spec"]["matchConstraints"];
        let is_out = constraints["excludeResourceRules"].is_array() && self.is_matched(&constraints["excludeResourceRules"]);
        let is_asked = self.is_matched(&constraints["resourceRules"]) && !is_out && self.is_selected(constraints);
        let is_bound = || {
            let mut bindings =
                self.cluster.objects().filter(|(id, _)| id.group == ADMISSION_GROUP && id.kind == format!("{}Binding", by.kind));
            bindings.any(|(_, binding)| {
                binding["spec"]["policyName"] == by.name.as_str() && self.is_selected(&binding["spec"]["matchResources"])
            })
        };
        (is_asked && is_bound()).then(|| ApplyObstacle::Policy { policy: by.clone() })
    }

    /// A LimitRange is about Pods, and those of its limits about claims that say so.
    fn limits(&self, by: &ObjectId, limits: &Value) -> Option<ApplyObstacle> {
        let mut of = limits["spec"]["limits"].as_array().into_iter().flatten().map(|limit| limit["type"].as_str().unwrap_or_default());
        let is_held = match self.id.kind.as_str() {
            "Pod" => pod_template::pointer(self.manifest).is_some() && of.any(|of| ["Pod", "Container"].contains(&of)),
            "PersistentVolumeClaim" => of.any(|of| of == "PersistentVolumeClaim"),
            _ => false,
        };
        (is_held && self.operation == "CREATE").then(|| ApplyObstacle::LimitRange { limits: by.clone() })
    }

    /// Whether one of some rules is about the object, in any of the kind's versions (`matchPolicy` Equivalent, the default).
    fn is_matched(&self, rules: &Value) -> bool {
        let has = |list: &Value, wanted: &str| list.as_array().is_some_and(|list| list.iter().any(|own| own == wanted || own == "*"));
        rules.as_array().into_iter().flatten().any(|rule| {
            let scope = rule["scope"].as_str().unwrap_or("*");
            has(&rule["operations"], self.operation)
                && has(&rule["apiGroups"], &self.id.group)
                && (has(&rule["apiVersions"], self.version) || rule["apiVersions"].is_array())
                && (has(&rule["resources"], self.plural) || has(&rule["resources"], "*/*"))
                && (scope == "*" || (scope == "Namespaced") == self.id.namespace.is_some())
                && (rule["resourceNames"].as_array().is_none_or(|names| names.is_empty()) || has(&rule["resourceNames"], &self.id.name))
        })
    }

    /// Whether the object and its namespace match the selectors. A selector that cannot be read may match.
    fn is_selected(&self, selectors: &Value) -> bool {
        let is_met = |selector: &Value, labels: &Value| match selector {
            Value::Null => true,
            selector => LabelSelector::from_object(selector).is_none_or(|selector| selector.matches(&labels.as_object())),
        };
        is_met(&selectors["objectSelector"], &self.manifest["metadata"]["labels"])
            && is_met(&selectors["namespaceSelector"], &self.labels_of_namespace())
    }

    fn labels_of_namespace(&self) -> Value {
        let own = if self.id.is("", "Namespace") { Some(self.id.clone()) } else { None };
        let namespace = own.or_else(|| self.id.namespace.as_ref().map(|name| ObjectId::new("", "Namespace", None, name)));
        let Some(namespace) = namespace else { return Value::Null };
        let object = self.cluster.object(&namespace).or_else(|| self.with.get(&namespace).copied());
        let mut labels = object.map(|object| object["metadata"]["labels"].clone()).unwrap_or_default();
        if labels.is_null() {
            labels = Value::Object(Map::new());
        }
        labels["kubernetes.io/metadata.name"] = namespace.name.into();
        labels
    }
}
