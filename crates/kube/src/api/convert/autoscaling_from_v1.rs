//! HorizontalPodAutoscalers from autoscaling/v1, which keeps in annotations what it has no fields for, to v2 and the betas before it.
//!
//! Source: Kubernetes 1.36 `pkg/apis/autoscaling/v1/conversion.go`.

use serde_json::{Map, Value, json};

use super::autoscaling::{BEHAVIOR_ANNOTATION, CONDITIONS_ANNOTATION, CURRENT_METRICS, METRICS_ANNOTATION};

/// The CPU utilization of an autoscaler that names no metric.
const DEFAULT_CPU: i64 = 80;

/// Makes an autoscaler of v1 one of v2, whose fields v2beta2 has as well.
pub(super) fn to_v2(object: &mut Value) {
    let mut annotations = object["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
    let mut take = |name: &str| {
        let text = annotations.remove(name)?;
        serde_json::from_str::<Value>(text.as_str()?).ok()
    };
    let (metrics, current, conditions, behavior) =
        (take(METRICS_ANNOTATION), take(CURRENT_METRICS), take(CONDITIONS_ANNOTATION), take(BEHAVIOR_ANNOTATION));
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        if annotations.is_empty() {
            metadata.remove("annotations");
        } else {
            metadata.insert("annotations".to_owned(), annotations.into());
        }
    }
    let each = |listed: Option<Value>, side: &str| -> Option<Vec<Value>> {
        listed.and_then(|listed| Some(listed.as_array()?.iter().map(|own| metric(own, side)).collect()))
    };
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        let mut all = each(metrics, "target").unwrap_or_default();
        let cpu = spec.remove("targetCPUUtilizationPercentage").or_else(|| all.is_empty().then(|| DEFAULT_CPU.into()));
        let target = |utilization: Value| json!({"type": "Utilization", "averageUtilization": utilization});
        all.extend(cpu.map(|utilization| json!({"type": "Resource", "resource": {"name": "cpu", "target": target(utilization)}})));
        spec.insert("metrics".to_owned(), all.into());
        let behavior = behavior.map(|behavior| lowered(&behavior)).filter(|behavior| *behavior != json!({}));
        spec.extend(behavior.map(|behavior| ("behavior".to_owned(), behavior)));
    }
    if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
        let cpu = status.remove("currentCPUUtilizationPercentage");
        let cpu = cpu.map(|own| vec![json!({"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": own}}})]);
        let states = each(current, "current").or(cpu).map(Value::from);
        status.extend(states.map(|states| ("currentMetrics".to_owned(), states)));
        status.extend(conditions.map(|conditions| ("conditions".to_owned(), conditions)));
    }
}

/// A metric of v1 as v2 has it. `side` is `target` or `current`.
fn metric(metric: &Value, side: &str) -> Value {
    let mut out = Map::new();
    out.insert("type".to_owned(), metric["type"].clone());
    for source in ["object", "pods", "resource", "containerResource", "external"] {
        if let Some(own) = metric.get(source).filter(|own| own.is_object()) {
            out.insert(source.to_owned(), part(source, own, side));
        }
    }
    out.into()
}

fn part(source: &str, own: &Value, side: &str) -> Value {
    let mut out = Map::new();
    if matches!(source, "resource" | "containerResource") {
        out.extend(["name", "container"].iter().filter_map(|field| Some(((*field).to_owned(), own.get(*field)?.clone()))));
    } else {
        let selector = own.get(if source == "external" { "metricSelector" } else { "selector" }).filter(|selector| !selector.is_null());
        let mut identity = json!({"name": own["metricName"]});
        if let Some(selector) = selector {
            identity["selector"] = selector.clone();
        }
        out.insert("metric".to_owned(), identity);
    }
    if source == "object" {
        out.insert("describedObject".to_owned(), own["target"].clone());
    }
    let field = |name: &str| own.get(format!("{side}{name}")).filter(|value| !value.is_null()).cloned();
    let or_zero = |value: Option<Value>, is_always: bool| value.or_else(|| is_always.then(|| "0".into()));
    let is_target = side == "target";
    let (value, average) = match source {
        "object" => {
            let average = own.get("averageValue").filter(|value| !value.is_null()).cloned();
            let value = or_zero(field("Value"), true).filter(|value| !(is_target && average.is_some() && value == "0"));
            (value, average)
        }
        "pods" => (None, or_zero(field("AverageValue"), true)),
        "external" => (or_zero(field("Value"), !is_target), field("AverageValue")),
        _ => (None, or_zero(field("AverageValue"), !is_target)),
    };
    let utilization = if matches!(source, "resource" | "containerResource") { field("AverageUtilization") } else { None };
    let mut amount = Map::new();
    if is_target {
        let kind = match source {
            "object" if average.is_none() => "Value",
            "external" if value.is_some() => "Value",
            _ if utilization.is_some() => "Utilization",
            _ => "AverageValue",
        };
        amount.insert("type".to_owned(), kind.into());
    }
    for (name, given) in [("value", value), ("averageValue", average), ("averageUtilization", utilization)] {
        amount.extend(given.map(|given| (name.to_owned(), given)));
    }
    out.insert(side.to_owned(), amount.into());
    out.into()
}

/// Scaling rules as v2 has them: the annotation has the members of the internal type, which are named as in Go, and its nulls.
fn lowered(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let shown = members.iter().filter(|(_, member)| !member.is_null());
            let lower = |name: &str| {
                let mut rest = name.chars();
                rest.next().map(|first| first.to_lowercase().chain(rest).collect::<String>()).unwrap_or_default()
            };
            let named = shown.map(|(name, member)| (lower(name), lowered(member)));
            named.collect::<Map<String, Value>>().into()
        }
        Value::Array(items) => items.iter().map(lowered).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::autoscaling;
    use super::*;

    /// What v2 becomes as v1, it was.
    #[test]
    fn v1_is_the_v2_it_was() {
        let object = json!({"metadata": {"name": "a"}, "spec": {"maxReplicas": 3, "metrics": [
            {"type": "Object", "object": {"describedObject": {"kind": "Ingress", "name": "i", "apiVersion": "networking.k8s.io/v1"},
                "metric": {"name": "rps", "selector": {"matchLabels": {"a": "b"}}}, "target": {"type": "AverageValue", "averageValue": "5"}}},
            {"type": "Pods", "pods": {"metric": {"name": "q"}, "target": {"type": "AverageValue", "averageValue": "7"}}},
            {"type": "External", "external": {"metric": {"name": "e"}, "target": {"type": "Value", "value": "9"}}},
            {"type": "ContainerResource", "containerResource": {"name": "memory", "container": "c", "target": {"type": "Utilization", "averageUtilization": 3}}},
            {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}},
        ], "behavior": {"scaleDown": {"stabilizationWindowSeconds": 5, "policies": [{"type": "Pods", "value": 1, "periodSeconds": 2}]}}},
        "status": {"currentReplicas": 1, "desiredReplicas": 2, "conditions": [{"type": "AbleToScale", "status": "True"}], "currentMetrics": [
            {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 40, "averageValue": "10m"}}}]}});
        let mut there_and_back = object.clone();
        autoscaling::to_v1(&mut there_and_back, 36);
        assert_eq!(there_and_back["spec"]["targetCPUUtilizationPercentage"], 70);
        to_v2(&mut there_and_back);
        assert_eq!(there_and_back, object);
    }

    #[test]
    fn an_autoscaler_without_metrics_has_the_default_one() {
        let mut object =
            json!({"metadata": {"name": "a"}, "spec": {"maxReplicas": 3}, "status": {"currentReplicas": 1, "desiredReplicas": 1}});
        to_v2(&mut object);
        let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}});
        assert_eq!(object["spec"]["metrics"], json!([cpu]));
    }
}
