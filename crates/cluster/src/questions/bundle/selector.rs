//! Which pods a Service or a disruption budget selects.

use serde_json::{Map, Value};

/// What selects pods by their labels.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PodSelector(Value);

impl PodSelector {
    /// The selector of an object that selects pods of its namespace; `None` where it selects none.
    pub(super) fn of(object: &Value) -> Option<Self> {
        let selector = &object["spec"]["selector"];
        match object["kind"].as_str()? {
            "Service" => selector
                .as_object()
                .filter(|labels| !labels.is_empty())
                .map(|labels| Self(Value::from_iter([("matchLabels", labels.clone())]))),
            "PodDisruptionBudget" => selector.is_object().then(|| Self(selector.clone())),
            _ => None,
        }
    }

    /// Whether it selects a pod with these labels (apimachinery `pkg/apis/meta/v1/helpers.go`, `LabelSelectorAsSelector`).
    pub(super) fn matches(&self, labels: &Map<String, Value>) -> bool {
        let Self(selector) = self;
        let equal = selector["matchLabels"].as_object().into_iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
        let requirements = selector["matchExpressions"].as_array().into_iter().flatten();
        equal && requirements.into_iter().all(|requirement| is_met(requirement, labels))
    }
}

fn is_met(requirement: &Value, labels: &Map<String, Value>) -> bool {
    let value = requirement["key"].as_str().and_then(|key| labels.get(key));
    let is_among = || value.is_some_and(|value| requirement["values"].as_array().is_some_and(|values| values.contains(value)));
    match requirement["operator"].as_str().unwrap_or_default() {
        "In" => is_among(),
        "NotIn" => !is_among(),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn services_and_budgets_select_pods() {
        let labels = json!({"app": "web", "tier": "front"});
        let labels = labels.as_object().unwrap();
        let check = |object: Value, selects: bool| {
            assert_eq!(PodSelector::of(&object).is_some_and(|selector| selector.matches(labels)), selects, "{object}");
        };
        check(json!({"kind": "Service", "spec": {"selector": {"app": "web"}}}), true);
        check(json!({"kind": "Service", "spec": {"selector": {"app": "db"}}}), false);
        check(json!({"kind": "Service", "spec": {}}), false);
        check(json!({"kind": "PodDisruptionBudget", "spec": {"selector": {}}}), true);
        let by = |operator: &str, values: &[&str]| {
            json!({"kind": "PodDisruptionBudget", "spec": {"selector": {"matchExpressions": [
                {"key": "tier", "operator": operator, "values": values}]}}})
        };
        check(by("In", &["front", "back"]), true);
        check(by("NotIn", &["front"]), false);
        check(by("Exists", &[]), true);
        check(by("DoesNotExist", &[]), false);
        check(json!({"kind": "Deployment", "spec": {"selector": {"matchLabels": {"app": "web"}}}}), false);
    }
}
