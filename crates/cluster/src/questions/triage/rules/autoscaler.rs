//! HorizontalPodAutoscalers that cannot scale.
//!
//! Kubernetes 1.36: pkg/controller/podautoscaler/horizontal.go, `reconcileAutoscaler`: `AbleToScale` and `ScalingActive` are False where the target's scale
//! cannot be read or written, and where no metric can be; `ScalingDisabled` is meant (the target has 0 replicas). autoscaling/v1 keeps conditions in an
//! annotation (pkg/apis/autoscaling/annotations.go).

use serde_json::Value;

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::{Trouble, TroubleKind};

use super::facts::{Facts, Kind};
use super::object::{text, time};
use super::rule_finding::RuleFinding;
use crate::error::Result;

const AUTOSCALERS_KIND: &Kind = &Kind { path: "horizontalpodautoscalers", namespaced: true, fields: None };
const CONDITIONS_ANNOTATION: &str = "autoscaling.alpha.kubernetes.io/conditions";

pub(super) async fn find(facts: &mut Facts<'_>) -> Result<Vec<RuleFinding>> {
    let now = facts.now;
    let of = move |autoscaler: Value| {
        let stuck = stuck(&autoscaler).filter(|stuck| stuck.is_due(now))?;
        Some(RuleFinding::new(Subject::of(&autoscaler), stuck))
    };
    facts.made_of(AUTOSCALERS_KIND, of).await
}

/// Why an autoscaler does not scale, if it does not.
fn stuck(autoscaler: &Value) -> Option<Trouble> {
    let annotated = autoscaler["metadata"]["annotations"].get(CONDITIONS_ANNOTATION).and_then(Value::as_str);
    let annotated: Option<Value> = annotated.and_then(|text| serde_json::from_str(text).ok());
    let conditions = annotated.as_ref().or_else(|| autoscaler["status"].get("conditions"))?.as_array()?;
    let fails = |kind: &str| conditions.iter().find(|condition| condition["type"] == kind && condition["status"] == "False");
    let condition = ["AbleToScale", "ScalingActive"].iter().find_map(|kind| fails(kind))?;
    let reason = text(condition, "/reason");
    // Once a pause between two changes of the scale made AbleToScale False (`BackoffBoth`, `BackoffDownscale`, `BackoffUpscale`).
    if reason == "ScalingDisabled" || reason.starts_with("Backoff") {
        return None;
    }
    let target = autoscaler["spec"]["scaleTargetRef"].as_object()?;
    let part = |field: &str| target.get(field).and_then(Value::as_str).unwrap_or_default();
    Some(Trouble {
        since: time(condition, "/lastTransitionTime"),
        reason: Some(reason.to_owned()),
        message: Some(text(condition, "/message").to_owned()),
        about: vec![format!("{}/{}", part("kind").to_lowercase(), part("name"))],
        ..Trouble::new(TroubleKind::AutoscalerStuck)
    })
}
