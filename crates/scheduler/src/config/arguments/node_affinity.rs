//! Arguments of NodeAffinity. Upstream: `component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go`, `apimachinery/pkg/labels/selector.go`.

use crate::cluster::{Interner, NodeAffinity};
use crate::{Arguments, Release};
use ketcd_kube::api::core::v1 as core;

use super::texts;
use crate::config::decode::in_words_of;
use crate::config::document::Document;
use crate::config::{Context, label_name};

const OPERATORS: &[&str] = &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];

/// Reads and checks the affinity that is added to every pod's.
pub(super) fn read(args: &Document<'_>, context: &Context<'_>, arguments: &mut Arguments) -> Vec<String> {
    let added = args.field("addedAffinity");
    if added.is_absent() || context.release.0 <= 19 {
        return Vec::new();
    }
    if let Ok(affinity) = serde_json::from_value::<core::NodeAffinity>(added.value().clone()) {
        arguments.added_affinity = Some(NodeAffinity::compile(&affinity, &mut Interner::default()));
    }
    let required = added.field("requiredDuringSchedulingIgnoredDuringExecution").field("nodeSelectorTerms");
    let preferred = added.field("preferredDuringSchedulingIgnoredDuringExecution");
    let mut wrong: Vec<String> = required.elements().iter().flat_map(|term| check(term, term.path(), context.release)).collect();
    for term in preferred.elements().iter().filter(|term| term.field("weight").whole().unwrap_or(0) != 0) {
        // The path of a preference leaves out its field.
        wrong.extend(check(&term.field("preference"), term.path(), context.release));
    }
    // 1.20 shows the whole list and, of its terms' faults, what they were called before.
    if context.release.0 == 20 {
        wrong = wrong.iter().map(|reason| in_words_of(21, reason, context.release)).collect();
    }
    wrong
}

/// What is wrong with a term.
pub(super) fn check(term: &Document<'_>, path: &str, release: Release) -> Vec<String> {
    let mut wrong = Vec::new();
    for requirement in term.field("matchExpressions").elements() {
        wrong.extend(expression(&requirement, release));
    }
    for requirement in term.field("matchFields").elements() {
        let (operator, values) = (requirement.field("operator"), requirement.field("values"));
        match operator.text() {
            "In" | "NotIn" if values.elements().len() == 1 => {}
            "In" | "NotIn" => wrong.push(values.invalid(told(&values, release), "must have one element")),
            _ => wrong.push(operator.unsupported(&["In", "NotIn"])),
        }
    }
    wrong.iter().map(|reason| reason.replacen(term.path(), path, 1)).collect()
}

fn expression(requirement: &Document<'_>, release: Release) -> Vec<String> {
    let (key, operator, values) = (requirement.field("key"), requirement.field("operator"), requirement.field("values"));
    let found = values.elements();
    let mut wrong = Vec::new();
    if !OPERATORS.contains(&operator.text()) {
        // Up to 1.27 those that are supported are not told.
        return vec![operator.unsupported(if release.0 >= 28 { OPERATORS } else { &[] })];
    }
    let of_key = label_name::of_name(key.text(), release);
    if !of_key.is_empty() {
        wrong.push(key.invalid_text(of_key.join("; ")));
    }
    let mut count = |bad: bool, why: &str| wrong.extend(bad.then(|| values.invalid(told(&values, release), why)));
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

/// Values as Go prints them, since 1.34 as JSON.
fn told(values: &Document<'_>, release: Release) -> String {
    let texts: Vec<String> = texts(values).iter().map(|text| format!("{text:?}")).collect();
    match (release.0 >= 34, values.is_absent()) {
        (true, true) => "null".to_owned(),
        (true, false) => format!("[{}]", texts.join(",")),
        (false, true) => "[]string(nil)".to_owned(),
        (false, false) => format!("[]string{{{}}}", texts.join(", ")),
    }
}
