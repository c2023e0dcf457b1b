//! Selectors, compiled: label selectors of pods and namespaces, and node selectors.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::api::core;
use crate::api::meta::LabelSelector;
use ketcd_kube::{LabelSet, Operator, is_label_key, is_label_value};

use super::{Interner, Labels};

/// One condition on one label.
pub type Requirement = ketcd_kube::Requirement<Arc<str>>;

pub(crate) type Selector = ketcd_kube::LabelSelector<Arc<str>>;

impl LabelSet for Labels {
    fn value(&self, key: &str) -> Option<&str> {
        self.get(key)
    }
}

/// Compiles equalities: a Service's, a replication controller's or a pod's node selector.
pub(crate) fn equalities<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>, interner: &mut Interner) -> Selector {
    let requirement =
        |(key, value)| Requirement { key: interner.string(key), operator: Operator::In, values: vec![interner.string(value)] };
    Selector::new(pairs.map(requirement).collect())
}

/// Compiles the API's label selector; `None` where an operator is unknown (upstream then matches nothing).
pub(crate) fn label_selector(selector: &LabelSelector, interner: &mut Interner) -> Option<Selector> {
    let pairs = selector.match_labels.iter().flatten().map(|(key, value)| (key.as_str(), value.as_str()));
    let mut compiled = equalities(pairs, interner);
    for expression in selector.match_expressions.iter().flatten() {
        compiled.requirements.push(Requirement {
            key: interner.string(&expression.key),
            operator: Operator::parse(&expression.operator)?,
            values: expression.values.iter().flatten().map(|value| interner.string(value)).collect(),
        });
    }
    Some(compiled)
}

/// One term of a node selector: its expressions match labels, its fields match the node's name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct NodeTerm {
    /// Conditions on labels.
    pub(crate) expressions: Vec<Requirement>,
    /// Conditions on `metadata.name`.
    pub(crate) fields: Vec<Requirement>,
    /// Why upstream cannot parse the term, if it cannot.
    pub(crate) error: Option<Arc<str>>,
    /// Whether the expressions parse, whatever the fields do.
    pub(crate) labels_parse: bool,
    /// The term as stored, where it does not parse.
    pub(crate) unparsed: Option<Arc<Value>>,
}

impl NodeTerm {
    pub(crate) fn compile(term: &core::NodeSelectorTerm, interner: &mut Interner) -> Self {
        let mut compiled = Self { labels_parse: true, ..Self::default() };
        for (expressions, fields) in [(&term.match_expressions, false), (&term.match_fields, true)] {
            for expression in expressions.iter().flatten() {
                match requirement(expression, fields, interner) {
                    Ok(requirement) if fields => compiled.fields.push(requirement),
                    Ok(requirement) => compiled.expressions.push(requirement),
                    Err(error) => {
                        compiled.error = Some(error.into());
                        compiled.labels_parse &= fields;
                    }
                }
            }
        }
        compiled.unparsed = compiled.error.as_ref().map(|_| Arc::new(written(term)));
        compiled
    }

    /// Whether it is empty, which matches no node.
    pub(crate) fn is_empty(&self) -> bool {
        self.expressions.is_empty() && self.fields.is_empty() && self.error.is_none()
    }

    /// Whether a node satisfies it. A term that is empty or does not parse matches nothing.
    pub(crate) fn matches(&self, name: &str, labels: &Labels) -> bool {
        self.error.is_none()
            && !self.is_empty()
            && self.expressions.iter().all(|expression| expression.matches(labels.get(&expression.key)))
            && self.fields.iter().all(|field| field.matches(Some(name)))
    }
}

fn written(term: &core::NodeSelectorTerm) -> Value {
    let list = |list: &Option<Vec<core::NodeSelectorRequirement>>| -> Vec<Value> {
        let listed = list.iter().flatten();
        listed.map(|requirement| json!({"key": requirement.key, "operator": requirement.operator, "values": requirement.values})).collect()
    };
    json!({"matchExpressions": list(&term.match_expressions), "matchFields": list(&term.match_fields)})
}

fn requirement(expression: &core::NodeSelectorRequirement, field: bool, interner: &mut Interner) -> Result<Requirement, String> {
    let values: Vec<_> = expression.values.iter().flatten().map(|value| interner.string(value)).collect();
    let Some(operator) = Operator::parse(&expression.operator) else {
        return Err(format!("\"{}\" is not a valid node selector operator", expression.operator));
    };
    if field {
        if !matches!(operator, Operator::In | Operator::NotIn) || values.len() != 1 {
            return Err(format!(
                "unexpected number of value ({}) for node field selector operator \"{}\"",
                values.len(),
                expression.operator
            ));
        }
        if expression.key != "metadata.name" {
            return Err(format!("field selector key \"{}\" is not supported", expression.key));
        }
    }
    match operator {
        Operator::In | Operator::NotIn if values.is_empty() => {
            return Err("for 'in', 'notin' operators, values set can't be empty".to_owned());
        }
        Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
            return Err("values set must be empty for exists and does not exist".to_owned());
        }
        Operator::Gt | Operator::Lt if values.len() != 1 || values[0].parse::<i64>().is_err() => {
            return Err("for 'Gt', 'Lt' operators, exactly one value is required and it must be an integer".to_owned());
        }
        _ => {}
    }
    if let Some(value) = values.iter().find(|value| !field && !is_label_value(value)) {
        return Err(format!("\"{value}\" is not a valid label value"));
    }
    if !field && !is_label_key(&expression.key) {
        return Err(format!("\"{}\" is not a valid label key", expression.key));
    }
    Ok(Requirement { key: interner.string(&expression.key), operator, values })
}
