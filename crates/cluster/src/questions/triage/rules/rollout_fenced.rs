//! Rollouts of Deployments that cannot move: no old pod may end before a new one is ready, and the new one finds no node.
//!
//! Kubernetes 1.36: pkg/controller/deployment/util/deployment_util.go, `ResolveFenceposts`: `maxUnavailable` in percent is rounded down, and a 0 becomes 1
//! only where `maxSurge` is 0, too. Defaults of both: 25% (pkg/apis/apps/v1/defaults.go).

use serde_json::{Value, json};

use ketcd_history::trouble::triage::Finding;
use ketcd_history::trouble::{Trouble, TroubleKind};

use super::facts::{Facts, Kind};
use super::object::text;
use super::rule_finding::RuleFinding;
use crate::error::Result;

const DEPLOYMENTS_KIND: &Kind = &Kind { path: "deployments", namespaced: true, fields: None };

pub(super) async fn find(facts: &mut Facts<'_>) -> Result<Vec<RuleFinding>> {
    let mut found = Vec::new();
    let waiting = facts.troubled(TroubleKind::Unschedulable);
    for rollout in waiting.iter().flat_map(|finding| &finding.effects).filter(|effect| is_rollout(effect)) {
        let [subject] = &rollout.subjects[..] else { continue };
        let Some(deployment) = facts.object(DEPLOYMENTS_KIND, &subject.namespace, &subject.name).await? else { continue };
        let Some(fence) = fence(&deployment) else { continue };
        let mut about = rollout.trouble.about.clone();
        about.resize(2, String::new());
        about.extend(fence);
        let trouble = Trouble { about, ..rollout.trouble.clone() };
        let found_one = RuleFinding::new(subject.clone(), trouble).instead_of(&[TroubleKind::RolloutUnfinished, TroubleKind::RolloutStuck]);
        found.push(RuleFinding { only_replaces: true, ..found_one });
    }
    Ok(found)
}

fn is_rollout(finding: &Finding) -> bool {
    let is_of = finding.subjects.iter().all(|subject| subject.kind == "Deployment");
    is_of && matches!(finding.trouble.kind, TroubleKind::RolloutUnfinished | TroubleKind::RolloutStuck)
}

/// `maxUnavailable` as it is written, and the replicas, where none may be unavailable.
fn fence(deployment: &Value) -> Option<[String; 2]> {
    if text(deployment, "/spec/strategy/type") == "Recreate" {
        return None;
    }
    let replicas = deployment["spec"]["replicas"].as_i64().unwrap_or(1);
    let quarter = json!("25%");
    let rolling = &deployment["spec"]["strategy"]["rollingUpdate"];
    let (surge, unavailable) = (rolling.get("maxSurge").unwrap_or(&quarter), rolling.get("maxUnavailable").unwrap_or(&quarter));
    let is_none = |value: &Value, whole: i64| match value {
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.strip_suffix('%').and_then(|text| text.parse::<i64>().ok()).is_some_and(|part| part * whole < 100),
        _ => false,
    };
    // A part of a pod is rounded up for `maxSurge`: only nothing at all is 0.
    let has_surge = !is_none(surge, 100);
    let written = unavailable.as_str().map_or_else(|| unavailable.to_string(), str::to_owned);
    (has_surge && is_none(unavailable, replicas)).then(|| [written, replicas.to_string()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_rounded_down() {
        let check = |replicas: i64, rolling: Value| {
            fence(&json!({"spec": {"replicas": replicas, "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}}))
                .map(|[text, _]| text)
        };
        assert_eq!(check(2, json!({})), Some("25%".to_owned()));
        assert_eq!(check(3, json!({"maxUnavailable": "33%", "maxSurge": 1})), Some("33%".to_owned()));
        assert_eq!(check(4, json!({"maxUnavailable": "25%"})), None);
        assert_eq!(check(2, json!({"maxUnavailable": 0, "maxSurge": 1})), Some("0".to_owned()));
        assert_eq!(check(2, json!({"maxUnavailable": 1})), None);
        // Both would be 0: one pod may be unavailable then.
        assert_eq!(check(2, json!({"maxUnavailable": "25%", "maxSurge": 0})), None);
        assert_eq!(check(2, json!({"maxUnavailable": "25%", "maxSurge": "0%"})), None);
        assert_eq!(fence(&json!({"spec": {"replicas": 1, "strategy": {"type": "Recreate"}}})), None);
    }
}
