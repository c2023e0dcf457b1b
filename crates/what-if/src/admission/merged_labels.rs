//! `matchLabelKeys` and `mismatchLabelKeys`, which the API server writes into the selectors of a pod that is created.
//! Source: `pkg/registry/core/pod/strategy.go` (applyMatchLabelKeysAndMismatchLabelKeys since 1.29, on since 1.31; of spread constraints since 1.34).

use ketcd_kube::Release;
use serde_json::{Value, json};

use crate::json::{labels, member};

/// Merges the keys of affinity terms and of spread constraints.
pub(super) fn merge(pod: &mut Value, release: Release) {
    let Some(own) = labels(pod).cloned() else { return };
    let value = |key: &Value| own.get(key.as_str()?).cloned();
    let add = |term: &mut Value, keys: &str, operator: &str| {
        for key in term[keys].as_array().cloned().unwrap_or_default() {
            if let Some(value) = value(&key)
                && term["labelSelector"].is_object()
            {
                let all = member(term, "labelSelector").entry("matchExpressions").or_insert_with(|| json!([]));
                let added = json!({"key": key, "operator": operator, "values": [value]});
                all.as_array_mut().into_iter().for_each(|all| all.push(added.clone()));
            }
        }
    };
    if release.0 >= 31 {
        for kind in ["podAffinity", "podAntiAffinity"] {
            for list in ["requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"] {
                let terms = pod.pointer_mut(&format!("/spec/affinity/{kind}/{list}")).and_then(Value::as_array_mut);
                for term in terms.into_iter().flatten() {
                    let term = if term["podAffinityTerm"].is_object() { &mut term["podAffinityTerm"] } else { term };
                    add(term, "matchLabelKeys", "In");
                    add(term, "mismatchLabelKeys", "NotIn");
                }
            }
        }
    }
    if release.0 >= 34 {
        let constraints = pod.pointer_mut("/spec/topologySpreadConstraints").and_then(Value::as_array_mut);
        constraints.into_iter().flatten().for_each(|constraint| add(constraint, "matchLabelKeys", "In"));
    }
}
