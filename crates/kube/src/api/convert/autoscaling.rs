//! HorizontalPodAutoscalers from autoscaling/v2 to v1, which has a field for the CPU target alone and keeps the rest in annotations.
//!
//! Source: Kubernetes 1.36 `pkg/apis/autoscaling/v1/conversion.go`; the order of members in the annotations is that of the Go types.

use serde_json::{Value, json};

pub(super) const METRICS_ANNOTATION: &str = "autoscaling.alpha.kubernetes.io/metrics";
pub(super) const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
pub(super) const CONDITIONS_ANNOTATION: &str = "autoscaling.alpha.kubernetes.io/conditions";
pub(super) const BEHAVIOR_ANNOTATION: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// The first release whose scaling rules have a tolerance.
const WITH_TOLERANCE: u16 = 33;

/// Makes an autoscaler of v2 (or of v2beta2, which has the same fields) one of v1.
pub(super) fn to_v1(object: &mut Value, release: u16) {
    let mut annotations = object["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
    for own in [METRICS_ANNOTATION, CURRENT_METRICS, CONDITIONS_ANNOTATION, BEHAVIOR_ANNOTATION] {
        annotations.remove(own);
    }
    let mut set = |name: &str, text: Option<String>| drop(text.map(|text| annotations.insert(name.to_owned(), text.into())));
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let (metrics, current) = (list(&object["spec"]["metrics"]), list(&object["status"]["currentMetrics"]));
    let others: Vec<String> = metrics.iter().filter(|metric| cpu(metric, "target").is_none()).map(|own| metric(own, "target")).collect();
    let states: Vec<String> = current.iter().map(|own| metric(own, "current")).collect();
    let conditions: Vec<String> = list(&object["status"]["conditions"]).iter().map(condition).collect();
    for (name, texts) in [(METRICS_ANNOTATION, others), (CURRENT_METRICS, states), (CONDITIONS_ANNOTATION, conditions)] {
        set(name, (!texts.is_empty()).then(|| format!("[{}]", texts.join(","))));
    }
    set(BEHAVIOR_ANNOTATION, object["spec"].get("behavior").map(|own| behavior(own, release)));
    let target = metrics.iter().find_map(|metric| cpu(metric, "target"));
    let utilization = current.iter().find_map(|metric| cpu(metric, "current"));
    if !annotations.is_empty() {
        object["metadata"]["annotations"] = annotations.into();
    }
    for (part, gone, field, value) in [
        ("spec", &["metrics", "behavior"][..], "targetCPUUtilizationPercentage", target),
        ("status", &["currentMetrics", "conditions"], "currentCPUUtilizationPercentage", utilization),
    ] {
        if let Some(members) = object.get_mut(part).and_then(Value::as_object_mut) {
            gone.iter().for_each(|name| drop(members.remove(*name)));
            members.extend(value.map(|value| (field.to_owned(), value)));
        }
    }
    if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
        status.entry("currentReplicas").or_insert_with(|| 0.into());
        status.entry("desiredReplicas").or_insert_with(|| 0.into());
    }
}

/// Makes an autoscaler of v2 one of v2beta1, which names the fields of metrics as v1's annotations do and keeps the scaling rules in one.
pub(super) fn to_v2beta1(object: &mut Value, release: u16) {
    for (part, list, side) in [("spec", "metrics", "target"), ("status", "currentMetrics", "current")] {
        let listed = object.get_mut(part).and_then(|own| own.get_mut(list)).and_then(Value::as_array_mut);
        for own in listed.into_iter().flatten() {
            *own = serde_json::from_str(&metric(own, side)).expect("what was written as JSON is JSON");
        }
    }
    let rules = object.get_mut("spec").and_then(Value::as_object_mut).and_then(|spec| spec.remove("behavior"));
    if let (Some(rules), Some(metadata)) = (rules, object.get_mut("metadata").and_then(Value::as_object_mut)) {
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(BEHAVIOR_ANNOTATION.to_owned(), behavior(&rules, release).into());
        }
    }
}

/// The utilization of the CPU that a metric is about. `side` is `target` or `current`.
fn cpu(metric: &Value, side: &str) -> Option<Value> {
    let is_cpu = metric["type"] == "Resource" && metric["resource"]["name"] == "cpu";
    metric["resource"][side].get("averageUtilization").filter(|_| is_cpu).cloned()
}

/// Members in this order; those without a value are left out.
fn members(parts: &[(&str, Option<String>)]) -> String {
    let shown = parts.iter().filter_map(|(name, text)| Some(format!("{}:{}", json!(name), text.as_ref()?)));
    format!("{{{}}}", shown.collect::<Vec<_>>().join(","))
}

/// A metric of v1: `side` says whether its target or its state.
fn metric(metric: &Value, side: &str) -> String {
    let prefix = |field: &str| format!("{side}{field}");
    let value = |part: &Value, field: &str| part[side].get(field).map(Value::to_string);
    let or_zero = |text: Option<String>| Some(text.unwrap_or_else(|| "\"0\"".to_owned()));
    let name = |part: &Value| Some(part["metric"]["name"].to_string());
    let selector = |part: &Value| part["metric"].get("selector").map(label_selector);
    let object = metric.get("object").map(|part| {
        let target = &part["describedObject"];
        let fields = ["kind", "name", "apiVersion"].map(|field| (field, target.get(field).map(Value::to_string)));
        members(&[
            ("target", Some(members(&fields))),
            ("metricName", name(part)),
            (&prefix("Value"), or_zero(value(part, "value"))),
            ("selector", selector(part)),
            ("averageValue", value(part, "averageValue")),
        ])
    });
    let pods = metric.get("pods").map(|part| {
        let average = or_zero(value(part, "averageValue"));
        members(&[("metricName", name(part)), (&prefix("AverageValue"), average), ("selector", selector(part))])
    });
    let resource = |part: &Value| {
        let average = value(part, "averageValue");
        // Only the state of a resource always has a value.
        let average = if side == "current" { or_zero(average) } else { average };
        members(&[
            ("name", part.get("name").map(Value::to_string)),
            (&prefix("AverageUtilization"), value(part, "averageUtilization")),
            (&prefix("AverageValue"), average),
            ("container", part.get("container").map(Value::to_string)),
        ])
    };
    let external = metric.get("external").map(|part| {
        let whole = value(part, "value");
        let whole = if side == "current" { or_zero(whole) } else { whole };
        members(&[
            ("metricName", name(part)),
            ("metricSelector", selector(part)),
            (&prefix("Value"), whole),
            (&prefix("AverageValue"), value(part, "averageValue")),
        ])
    });
    members(&[
        ("type", Some(metric.get("type").map_or_else(|| "\"\"".to_owned(), Value::to_string))),
        ("object", object),
        ("pods", pods),
        ("resource", metric.get("resource").map(resource)),
        ("containerResource", metric.get("containerResource").map(resource)),
        ("external", external),
    ])
}

fn label_selector(selector: &Value) -> String {
    let expressions = selector.get("matchExpressions").and_then(Value::as_array).map(|list| {
        let all = list.iter().map(|own| members(&["key", "operator", "values"].map(|field| (field, own.get(field).map(Value::to_string)))));
        format!("[{}]", all.collect::<Vec<_>>().join(","))
    });
    members(&[("matchLabels", selector.get("matchLabels").map(Value::to_string)), ("matchExpressions", expressions)])
}

fn condition(condition: &Value) -> String {
    members(&["type", "status", "lastTransitionTime", "reason", "message"].map(|field| (field, condition.get(field).map(Value::to_string))))
}

/// The internal type is what is written, whose members are named as in Go.
fn behavior(behavior: &Value, release: u16) -> String {
    let text = |value: Option<&Value>| Some(value.map_or_else(|| "null".to_owned(), Value::to_string));
    let policy = |own: &Value| {
        let fields = [("Type", "type"), ("Value", "value"), ("PeriodSeconds", "periodSeconds")];
        members(&fields.map(|(go, field)| (go, text(own.get(field)))))
    };
    let rules = |rules: Option<&Value>| {
        let Some(rules) = rules else { return Some("null".to_owned()) };
        let policies = rules.get("policies").and_then(Value::as_array);
        let policies = policies.map(|list| format!("[{}]", list.iter().map(policy).collect::<Vec<_>>().join(",")));
        Some(members(&[
            ("StabilizationWindowSeconds", text(rules.get("stabilizationWindowSeconds"))),
            ("SelectPolicy", text(rules.get("selectPolicy"))),
            ("Policies", Some(policies.unwrap_or_else(|| "null".to_owned()))),
            ("Tolerance", (release >= WITH_TOLERANCE).then(|| text(rules.get("tolerance"))).flatten()),
        ]))
    };
    members(&[("ScaleUp", rules(behavior.get("scaleUp"))), ("ScaleDown", rules(behavior.get("scaleDown")))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_target_is_a_field_and_the_rest_annotations() {
        let mut object = json!({"metadata": {"name": "a"}, "spec": {"maxReplicas": 3, "metrics": [
            {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}},
            {"type": "Object", "object": {"describedObject": {"kind": "Ingress", "name": "i", "apiVersion": "networking.k8s.io/v1"},
                "metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": "5"}}},
        ]}, "status": {"desiredReplicas": 2, "currentMetrics": [
            {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 40, "averageValue": "10m"}}}]}});
        to_v1(&mut object, 36);
        assert_eq!(object["spec"], json!({"maxReplicas": 3, "targetCPUUtilizationPercentage": 70}));
        assert_eq!(object["status"], json!({"currentReplicas": 0, "desiredReplicas": 2, "currentCPUUtilizationPercentage": 40}));
        let annotation = |name: &str| object["metadata"]["annotations"][name].as_str().unwrap().to_owned();
        assert_eq!(
            annotation(METRICS_ANNOTATION),
            r#"[{"type":"Object","object":{"target":{"kind":"Ingress","name":"i","apiVersion":"networking.k8s.io/v1"},"metricName":"rps","targetValue":"0","averageValue":"5"}}]"#
        );
        assert_eq!(
            annotation(CURRENT_METRICS),
            r#"[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":40,"currentAverageValue":"10m"}}]"#
        );
    }
}
