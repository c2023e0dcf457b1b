//! Whether a change of a node took it away from a pod that finds no node: labels that the pod selects, taints, a cordon, its removal.

use std::collections::BTreeSet;

use ketcd_history::{AttributedChange, ChangeKind};
use ketcd_kube::{Operator, Requirement};
use serde_json::{Map, Value, json};

/// What of a node a pod depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Aspect {
    Labels,
    Taints,
    Cordon,
}

/// Remembers, from the newest change backwards, which aspects of which nodes are settled: what happened before does not matter any more.
#[derive(Default)]
pub(super) struct Settled(BTreeSet<(String, Aspect)>);

impl Settled {
    /// Whether a change took a node away from a pod of this spec for good. Changes come newest first.
    pub(super) fn is_harm(&mut self, change: &AttributedChange, spec: &Value) -> bool {
        let change = &change.change;
        let Some(name) = change.object().and_then(|node| node["metadata"]["name"].as_str()) else { return false };
        if change.kind == ChangeKind::Deleted {
            return [Aspect::Labels, Aspect::Taints, Aspect::Cordon].into_iter().all(|aspect| self.0.insert((name.to_owned(), aspect)));
        }
        let (Some(before), Some(after)) = (change.before.object(), change.after.object()) else { return false };
        let mut is_harm = false;
        for aspect in [Aspect::Labels, Aspect::Taints, Aspect::Cordon] {
            let (was, is) = (suits(aspect, before, spec), suits(aspect, after, spec));
            if was == is {
                continue;
            }
            is_harm |= self.0.insert((name.to_owned(), aspect)) && was;
        }
        is_harm
    }
}

fn suits(aspect: Aspect, node: &Value, spec: &Value) -> bool {
    match aspect {
        Aspect::Labels => selects(spec, node),
        Aspect::Taints => {
            items(&node["spec"]["taints"]).filter(|taint| taint["effect"] != "PreferNoSchedule").all(|taint| tolerates(spec, taint))
        }
        // TaintToleration's node.kubernetes.io/unschedulable (pkg/scheduler/framework/plugins/nodeunschedulable).
        Aspect::Cordon => {
            node["spec"]["unschedulable"] != true
                || tolerates(spec, &json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}))
        }
    }
}

/// Whether a pod's node selector and one of its required terms match a node (k8s.io/component-helpers scheduling/corev1/nodeaffinity).
fn selects(spec: &Value, node: &Value) -> bool {
    let none = Map::new();
    let labels = node["metadata"]["labels"].as_object().unwrap_or(&none);
    let wanted = spec["nodeSelector"].as_object().into_iter().flatten();
    let has_labels = wanted.into_iter().all(|(key, value)| labels.get(key) == Some(value));
    let required = &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
    let term = |term: &Value| {
        let expressions = items(&term["matchExpressions"]).all(|expression| holds(expression, |key| labels.get(key)?.as_str()));
        let fields = items(&term["matchFields"]).all(|field| holds(field, |_| node["metadata"]["name"].as_str()));
        let is_empty = items(&term["matchExpressions"]).chain(items(&term["matchFields"])).next().is_none();
        !is_empty && expressions && fields
    };
    has_labels && (required.is_null() || items(required).any(term))
}

/// Whether a requirement of a node selector holds; one that cannot be read does not.
fn holds<'n>(requirement: &Value, value: impl Fn(&str) -> Option<&'n str>) -> bool {
    let Some((key, operator)) = requirement["key"].as_str().zip(requirement["operator"].as_str().and_then(Operator::parse)) else {
        return false;
    };
    let values = items(&requirement["values"]).filter_map(Value::as_str).collect();
    Requirement { key, operator, values }.matches(value(key))
}

/// Whether a pod tolerates a taint (k8s.io/api core/v1 toleration.go, ToleratesTaint).
fn tolerates(spec: &Value, taint: &Value) -> bool {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    items(&spec["tolerations"]).any(|toleration| {
        let (key, effect) = (text(&toleration["key"]), text(&toleration["effect"]));
        let is_of_effect = effect.is_empty() || effect == text(&taint["effect"]);
        let is_of_key = key.is_empty() || key == text(&taint["key"]);
        is_of_effect && is_of_key && (toleration["operator"] == "Exists" || text(&toleration["value"]) == text(&taint["value"]))
    })
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_suits_a_pod_by_labels_taints_and_cordon() {
        let node = |labels: Value, taints: Value| json!({"metadata": {"name": "n1", "labels": labels}, "spec": {"taints": taints}});
        let wants = json!({"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "spread", "operator": "Exists"}]});
        assert!(suits(Aspect::Labels, &node(json!({"disk": "ssd"}), json!(null)), &wants));
        assert!(!suits(Aspect::Labels, &node(json!({"disk": "hdd"}), json!(null)), &wants));
        assert!(!suits(Aspect::Labels, &node(json!(null), json!(null)), &wants));
        let taint = |key: &str, effect: &str| json!([{"key": key, "effect": effect}]);
        assert!(suits(Aspect::Taints, &node(json!({}), taint("spread", "NoSchedule")), &wants));
        assert!(!suits(Aspect::Taints, &node(json!({}), taint("maintenance", "NoSchedule")), &wants));
        assert!(suits(Aspect::Taints, &node(json!({}), taint("maintenance", "PreferNoSchedule")), &wants));
        assert!(!suits(Aspect::Cordon, &json!({"spec": {"unschedulable": true}}), &wants));
        let terms = json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]}, {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}}}});
        assert!(suits(Aspect::Labels, &node(json!({"zone": "a"}), json!(null)), &terms));
        let mut other = node(json!({"zone": "a"}), json!(null));
        other["metadata"]["name"] = json!("n2");
        assert!(!suits(Aspect::Labels, &other, &terms));
    }
}
