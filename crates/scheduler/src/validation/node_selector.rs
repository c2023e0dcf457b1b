//! Validation of node selector terms, with upstream's messages: `component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go`,
//! `apimachinery/pkg/labels/selector.go`.

use crate::Release;
use crate::release::ValidationWords;

use super::document::Document;
use super::label_name;

const SELECTOR_OPERATORS: &[&str] = &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];

/// Returns the errors of a node selector term at field path `path`, since 1.21.
pub(crate) fn node_selector_term(term: &Document<'_>, path: &str, release: Release) -> Vec<String> {
    let mut wrong = Vec::new();
    for requirement in term.field("matchExpressions").elements() {
        wrong.extend(expression(&requirement, release));
    }
    for requirement in term.field("matchFields").elements() {
        let (operator, values) = (requirement.field("operator"), requirement.field("values"));
        match operator.text() {
            "In" | "NotIn" if values.elements().len() == 1 => {}
            "In" | "NotIn" => wrong.push(values.invalid(shown(&values, release), "must have one element")),
            _ => wrong.push(operator.unsupported(&["In", "NotIn"])),
        }
    }
    wrong.iter().map(|reason| reason.replacen(term.path(), path, 1)).collect()
}

fn expression(requirement: &Document<'_>, release: Release) -> Vec<String> {
    let (key, operator, values) = (requirement.field("key"), requirement.field("operator"), requirement.field("values"));
    let found = values.elements();
    let mut wrong = Vec::new();
    if !SELECTOR_OPERATORS.contains(&operator.text()) {
        let listed = ValidationWords::of(release).lists_selector_operators();
        return vec![operator.unsupported(if listed { SELECTOR_OPERATORS } else { &[] })];
    }
    let of_key = label_name::of_name(key.text(), release);
    if !of_key.is_empty() {
        wrong.push(key.invalid_text(of_key.join("; ")));
    }
    let mut count = |bad: bool, why: &str| wrong.extend(bad.then(|| values.invalid(shown(&values, release), why)));
    match operator.text() {
        "In" | "NotIn" => count(found.is_empty(), "for 'in', 'notin' operators, values set can't be empty"),
        "Exists" | "DoesNotExist" => count(!found.is_empty(), "values set must be empty for exists and does not exist"),
        _ => {
            count(found.len() != 1, "for 'Gt', 'Lt' operators, exactly one value is required");
            let no_number = found.iter().filter(|value| value.text().parse::<i64>().is_err());
            wrong.extend(no_number.map(|value| value.invalid_text("for 'Gt', 'Lt' operators, the value must be an integer")));
        }
    }
    for value in &found {
        let of_value = label_name::of_value(value.text(), release);
        if !of_value.is_empty() {
            wrong.push(format!("{}[{}]: Invalid value: {:?}: {}", value.path(), key.text(), value.text(), of_value.join("; ")));
        }
    }
    wrong
}

/// Formats values as an error message shows them.
fn shown(values: &Document<'_>, release: Release) -> String {
    let texts: Vec<String> = values.elements().iter().map(|value| format!("{:?}", value.text())).collect();
    match (ValidationWords::of(release).shows_values_as_json(), values.is_absent()) {
        (true, true) => "null".to_owned(),
        (true, false) => format!("[{}]", texts.join(",")),
        (false, true) => "[]string(nil)".to_owned(),
        (false, false) => format!("[]string{{{}}}", texts.join(", ")),
    }
}
