//! What upstream says of preferred node affinity that does not parse, which ends its scoring.
//! Upstream: `component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go` (1.20–), `apis/core/v1/helper/helpers.go` NodeSelectorRequirementsAsSelector
//! (1.9–1.19), `apimachinery/pkg/labels/selector.go` NewRequirement, `apimachinery/pkg/util/errors/errors.go` Aggregate.

use serde_json::Value;

use crate::Cycle;
use crate::cluster::NodeTerm;
use crate::release::{Rules, UnparsedTerms};
use crate::validation::{label_name, node_selector_faults};

/// The error that a pod's preferred terms end the scoring of `nodes` nodes with.
pub(super) fn error(cycle: &Cycle, terms: &[(i32, NodeTerm)], nodes: usize) -> Option<String> {
    let rules = &cycle.profile.rules;
    let weighted = terms.iter().enumerate().filter(|(_, (weight, _))| *weight != 0);
    let mut unparsed = weighted.filter_map(|(at, (_, term))| Some((at, term.unparsed.as_deref()?)));
    let pod = &cycle.pod.name;
    Some(match rules.unparsed_terms() {
        UnparsedTerms::AllByPreScore => {
            let faults = unparsed.flat_map(|(at, term)| node_selector_faults(term, &format!("[{at}]"), rules.release)).collect();
            format!("running PreScore plugin \"NodeAffinity\": {}", aggregate(faults)?)
        }
        UnparsedTerms::AllByScore => {
            let faults = unparsed.filter_map(|(_, term)| first_fault(term, rules)).collect();
            format!("running Score plugins: plugin \"NodeAffinity\" failed with: {}", aggregate(faults)?)
        }
        UnparsedTerms::FirstWrapped => {
            format!("error while running score plugin for pod \"{pod}\": {}", unparsed.find_map(|(_, term)| first_fault(term, rules))?)
        }
        UnparsedTerms::First => unparsed.find_map(|(_, term)| first_fault(term, rules))?,
        UnparsedTerms::FirstPerNode => format!("[{}]", vec![unparsed.find_map(|(_, term)| first_fault(term, rules))?; nodes].join(", ")),
    })
}

/// Several errors in brackets, equal ones once.
fn aggregate(faults: Vec<String>) -> Option<String> {
    let mut reported: Vec<String> = Vec::new();
    for fault in faults {
        if !reported.contains(&fault) {
            reported.push(fault);
        }
    }
    match reported.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("[{}]", many.join(", "))),
    }
}

/// What releases up to 1.20 say: the first fault, without its place.
fn first_fault(term: &Value, rules: &Rules) -> Option<String> {
    let listed = |name: &str| term[name].as_array().map(Vec::as_slice).unwrap_or_default().iter();
    let fields = listed("matchFields").filter(|_| rules.unparsed_fields_reported());
    listed("matchExpressions").find_map(|requirement| of_label(requirement, rules)).or_else(|| fields.into_iter().find_map(of_field))
}

fn parts(requirement: &Value) -> (&str, &str, Vec<&str>) {
    let text = |name: &str| requirement[name].as_str().unwrap_or_default();
    let values = requirement["values"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    (text("key"), text("operator"), values)
}

fn of_label(requirement: &Value, rules: &Rules) -> Option<String> {
    let (key, operator, values) = parts(requirement);
    if !matches!(operator, "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt") {
        return Some(format!("{operator:?} is not a valid node selector operator"));
    }
    let of_key = label_name::of_name(key, rules.release);
    let of_values = match operator {
        "In" | "NotIn" => values.is_empty().then_some("for 'in', 'notin' operators, values set can't be empty"),
        "Exists" | "DoesNotExist" => (!values.is_empty()).then_some("values set must be empty for exists and does not exist"),
        _ if values.len() != 1 => Some("for 'Gt', 'Lt' operators, exactly one value is required"),
        _ => values[0].parse::<i64>().is_err().then_some("for 'Gt', 'Lt' operators, the value must be an integer"),
    };
    let no_value = || {
        values.iter().find_map(|value| {
            let why = label_name::of_value(value, rules.release);
            let place = if rules.value_errors_name_the_key() { format!(" at key: {key:?}:") } else { String::new() };
            (!why.is_empty()).then(|| format!("invalid label value: {value:?}:{place} {}", why.join("; ")))
        })
    };
    match of_key.is_empty() {
        false => Some(format!("invalid label key {key:?}: {}", of_key.join("; "))),
        true => of_values.map(str::to_owned).or_else(no_value),
    }
}

fn of_field(requirement: &Value) -> Option<String> {
    let (_, operator, values) = parts(requirement);
    match operator {
        "In" | "NotIn" if values.len() == 1 => None,
        "In" | "NotIn" => Some(format!("unexpected number of value ({}) for node field selector operator {operator:?}", values.len())),
        _ => Some(format!("{operator:?} is not a valid node field selector operator")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{aggregate, first_fault};
    use crate::validation::node_selector_faults;
    use crate::{Gates, Release, Rules};

    #[test]
    fn faults_are_worded_as_by_each_release() {
        let term = json!({"matchExpressions": [{"key": "num", "operator": "Gt", "values": ["abc"]}, {"key": "disk", "operator": "Foo", "values": ["a"]}]});
        assert_eq!(
            first_fault(&term, &Rules::new(Release(20), &Gates::new(Release(20)))).unwrap(),
            "for 'Gt', 'Lt' operators, the value must be an integer"
        );
        let faults = node_selector_faults(&term, "[0]", Release(30));
        assert_eq!(
            aggregate(faults).unwrap(),
            "[[0].matchExpressions[0].values[0]: Invalid value: \"abc\": for 'Gt', 'Lt' operators, the value must be an integer, \
             [0].matchExpressions[1].operator: Unsupported value: \"Foo\": supported values: \"In\", \"NotIn\", \"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\"]"
        );
    }
}
