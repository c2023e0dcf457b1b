//! PodDisruptionBudgets between v1beta1, whose empty selector selects no pod, and v1, whose empty selector selects all.
//!
//! Source: Kubernetes 1.21 `pkg/apis/policy/v1beta1/conversion.go`, `pkg/apis/policy/v1/conversion.go` and `pkg/apis/policy/helper.go`; 1.26 has the same.

use serde_json::{Value, json};

const EMPTY_SELECTOR_LABEL: &str = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";

/// Makes a budget of v1beta1 one of v1, or back.
pub(super) fn convert(budget: &mut Value, is_to_v1: bool) {
    let Some(selector) = budget.get_mut("spec").and_then(|spec| spec.get_mut("selector")).filter(|selector| selector.is_object()) else {
        return;
    };
    let with = |operator: &str| json!({"matchExpressions": [{"key": EMPTY_SELECTOR_LABEL, "operator": operator}]});
    let (none_of_v1, all_of_beta) = (with("Exists"), with("DoesNotExist"));
    *selector = match (is_to_v1, &*selector) {
        (true, own) if *own == json!({}) => none_of_v1,
        (true, own) if *own == all_of_beta => json!({}),
        (false, own) if *own == none_of_v1 => json!({}),
        (false, own) if *own == json!({}) => all_of_beta,
        _ => return strip(selector),
    };
}

/// Takes the label out of a selector that says more.
fn strip(selector: &mut Value) {
    let Some(members) = selector.as_object_mut() else { return };
    if let Some(expressions) = members.get_mut("matchExpressions").and_then(Value::as_array_mut) {
        expressions.retain(|expression| expression["key"] != EMPTY_SELECTOR_LABEL);
        if expressions.is_empty() {
            members.remove("matchExpressions");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_selectors_mean_what_they_meant() {
        let budget = |selector: Value| json!({"spec": {"selector": selector}});
        let with = |operator: &str| json!({"matchExpressions": [{"key": EMPTY_SELECTOR_LABEL, "operator": operator}]});
        let labels = json!({"matchLabels": {"app": "web"}});
        for (beta, v1) in [(json!({}), with("Exists")), (with("DoesNotExist"), json!({})), (labels.clone(), labels)] {
            let mut converted = budget(beta.clone());
            convert(&mut converted, true);
            assert_eq!(converted, budget(v1.clone()));
            convert(&mut converted, false);
            assert_eq!(converted, budget(beta));
        }
        let mut mixed =
            budget(json!({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": EMPTY_SELECTOR_LABEL, "operator": "Exists"}]}));
        convert(&mut mixed, true);
        assert_eq!(mixed, budget(json!({"matchLabels": {"a": "b"}})));
    }
}
