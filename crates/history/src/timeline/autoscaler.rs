//! A HorizontalPodAutoscaler's steps, in every version of the API: autoscaling/v1 keeps in annotations what v2 has in its status.

use serde_json::Value;

use super::{ByField, CreatedAs, Step, StepDetail, StepKind, Utilization, generic, why};

/// Where autoscaling/v1 keeps the conditions (k8s.io/kubernetes pkg/apis/autoscaling/annotations.go).
const CONDITIONS_ANNOTATION: &str = "autoscaling.alpha.kubernetes.io/conditions";

/// Returns the steps between two neighbouring versions.
pub(super) fn steps(before: Option<&Value>, after: &Value) -> Vec<Step> {
    let Some(before) = before else {
        let spec = &after["spec"];
        let target = &spec["scaleTargetRef"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let least = spec["minReplicas"].as_i64().unwrap_or(1);
        let target = (text(&target["kind"]), text(&target["name"]));
        let with = CreatedAs::Autoscaler { target, least, most: spec["maxReplicas"].clone() };
        return vec![Step::new(StepKind::Created, StepDetail::Created { owner: None, with })];
    };
    let mut steps = Vec::new();
    steps.extend(generic::spec_changed(before, after, &["metadata.annotations[autoscaling.alpha.kubernetes.io/"]));
    let desired = |object: &Value| object["status"]["desiredReplicas"].as_i64().unwrap_or(0);
    if desired(before) != desired(after) {
        let phase = if desired(after) > desired(before) { StepKind::ScaledUp } else { StepKind::ScaledDown };
        steps.push(Step::new(phase, StepDetail::Scaled { before: desired(before), after: desired(after), usage: usage(after) }));
    }
    let (old, new) = (conditions(before), conditions(after));
    let known = ByField::new(&old, "type");
    for now in &new {
        let then = known.find(&now["type"]);
        let same = then.is_some_and(|then| then["status"] == now["status"] && then["reason"] == now["reason"]);
        let text = |field: &str| now[field].as_str().unwrap_or_default();
        let Some(phase) = phase(text("type"), text("status")) else { continue };
        let still_readable = phase == StepKind::MetricsReadable && then.is_some_and(|then| then["status"] == "True");
        if !same && !still_readable {
            steps.push(Step::new(phase, why(now)));
        }
    }
    generic::ending(before, after, &mut steps);
    steps
}

pub(super) fn phase(kind: &str, status: &str) -> Option<StepKind> {
    match (kind, status) {
        ("AbleToScale", "False") => Some(StepKind::CannotScale),
        ("ScalingActive", "False") => Some(StepKind::NoMetrics),
        ("ScalingActive", "True") => Some(StepKind::MetricsReadable),
        ("ScalingLimited", "True") => Some(StepKind::ScalingLimited),
        _ => None,
    }
}

fn conditions(object: &Value) -> Vec<Value> {
    if let Some(conditions) = object["status"]["conditions"].as_array() {
        return conditions.clone();
    }
    let annotation = object["metadata"]["annotations"][CONDITIONS_ANNOTATION].as_str();
    annotation.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// The utilization that the controller saw; none where it measures something else or says nothing.
fn usage(object: &Value) -> Vec<Utilization> {
    if let Some(current) = object["status"]["currentCPUUtilizationPercentage"].as_i64() {
        let target = object["spec"]["targetCPUUtilizationPercentage"].as_i64();
        return vec![Utilization { resource: "cpu".to_owned(), current, target }];
    }
    let percent =
        |resource: &Value, v2: &str, v2beta1: &str| resource[v2]["averageUtilization"].as_i64().or_else(|| resource[v2beta1].as_i64());
    let metrics = object["status"]["currentMetrics"].as_array();
    metrics
        .into_iter()
        .flatten()
        .filter_map(|metric| {
            let resource = &metric["resource"];
            let name = resource["name"].as_str()?;
            let current = percent(resource, "current", "currentAverageUtilization")?;
            let asked = object["spec"]["metrics"].as_array()?.iter().find(|asked| asked["resource"]["name"] == name);
            let target = asked.and_then(|asked| percent(&asked["resource"], "target", "targetAverageUtilization"));
            Some(Utilization { resource: name.to_owned(), current, target })
        })
        .collect()
}
