//! Label selectors: `app=web,tier in (front,back),!canary`, as k8s.io/apimachinery pkg/labels reads, matches and writes them.

use std::fmt;

use serde_json::{Map, Value};

use crate::label_name::LabelWords;
use crate::label_term::LabelTerm;
use crate::release::Release;
use crate::requirement::{Operator, Requirement};
use crate::selector_text;

/// A conjunction of requirements; the empty one selects everything. `S` is how its texts are held.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LabelSelector<S = String> {
    /// The requirements. Read from a text, they are sorted by key.
    pub requirements: Vec<Requirement<S>>,
    /// The places of those that are written as equalities: `a=b`, not `a in (b)`.
    equalities: Vec<usize>,
}

/// Labels that a selector looks up.
pub trait LabelSet {
    /// The value of a label, if it is there.
    fn value(&self, key: &str) -> Option<&str>;
}

/// An object's `metadata.labels`.
impl LabelSet for Map<String, Value> {
    fn value(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }
}

impl<L: LabelSet> LabelSet for Option<&L> {
    fn value(&self, key: &str) -> Option<&str> {
        self.and_then(|labels| labels.value(key))
    }
}

impl<S> Default for LabelSelector<S> {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl<S> LabelSelector<S> {
    /// One of these requirements.
    pub fn new(requirements: Vec<Requirement<S>>) -> Self {
        Self { requirements, equalities: Vec::new() }
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }
}

impl<S: AsRef<str>> LabelSelector<S> {
    /// Whether the labels satisfy every requirement.
    pub fn matches(&self, labels: &impl LabelSet) -> bool {
        self.requirements.iter().all(|requirement| requirement.matches(labels.value(requirement.key.as_ref())))
    }
}

/// Why a text is not a valid selector: a lowercase fragment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} in selector \"{selector}\"")]
pub struct SelectorError {
    pub(super) selector: String,
    /// What is wrong, as the API server says it.
    pub problem: String,
}

impl LabelSelector {
    /// Reads kubectl's `-l`. The error has the API server's words.
    ///
    /// # Errors
    /// The text is not a selector.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        Self::parse_for(text, Release::NEWEST)
    }

    /// As [`LabelSelector::parse`], with the words of a release.
    ///
    /// # Errors
    /// The text is not a selector.
    pub fn parse_for(text: &str, release: Release) -> Result<Self, SelectorError> {
        let terms = selector_text::terms(text, LabelWords::of(release));
        terms.map(Self::of).map_err(|problem| SelectorError { selector: text.to_owned(), problem })
    }

    /// Reads an object's `{matchLabels, matchExpressions}`; `None` where an operator is unknown.
    pub fn from_object(selector: &Value) -> Option<Self> {
        let mut terms = Vec::new();
        for (key, value) in selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten() {
            terms.push(LabelTerm::equality(key.clone(), Operator::In, value.as_str()?.to_owned()));
        }
        for expression in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
            let operator = Operator::parse(expression.get("operator")?.as_str()?)?;
            if matches!(operator, Operator::Gt | Operator::Lt) {
                return None;
            }
            let values = expression.get("values").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let mut values: Vec<String> = values.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            values.sort();
            terms.push(LabelTerm::set(expression.get("key")?.as_str()?.to_owned(), operator, values));
        }
        Some(Self::of(terms))
    }

    fn of(mut terms: Vec<LabelTerm>) -> Self {
        terms.sort_by(|a, b| a.requirement.key.cmp(&b.requirement.key));
        let equalities = terms.iter().enumerate().filter(|(_, term)| term.is_equality).map(|(at, _)| at).collect();
        Self { requirements: terms.into_iter().map(|term| term.requirement).collect(), equalities }
    }
}

/// As upstream's `Selector.String`: sorted by key.
impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Requirement { key, operator, values }) in self.requirements.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let values = values.join(",");
            match (operator, self.equalities.contains(&index)) {
                (Operator::In, true) => write!(f, "{comma}{key}={values}")?,
                (Operator::NotIn, true) => write!(f, "{comma}{key}!={values}")?,
                (Operator::In, false) => write!(f, "{comma}{key} in ({values})")?,
                (Operator::NotIn, false) => write!(f, "{comma}{key} notin ({values})")?,
                (Operator::Exists, _) => write!(f, "{comma}{key}")?,
                (Operator::DoesNotExist, _) => write!(f, "{comma}!{key}")?,
                (Operator::Gt, _) => write!(f, "{comma}{key}>{values}")?,
                (Operator::Lt, _) => write!(f, "{comma}{key}<{values}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(selector: &str, shown: &str, selected: &[Value], others: &[Value]) {
        let parsed = LabelSelector::parse(selector).unwrap();
        assert_eq!(parsed.to_string(), shown);
        for (labels, wanted) in selected.iter().map(|labels| (labels, true)).chain(others.iter().map(|labels| (labels, false))) {
            assert_eq!(parsed.matches(&labels.as_object()), wanted, "{selector} on {labels}");
        }
    }

    #[test]
    fn selector_evaluates_every_operator() {
        check("a=b", "a=b", &[json!({"a": "b"})], &[json!({"a": "c"}), json!({})]);
        check("a == b , x!=y", "a=b,x!=y", &[json!({"a": "b"})], &[json!({"a": "b", "x": "y"})]);
        check("a in (z, b),c notin(d)", "a in (b,z),c notin (d)", &[json!({"a": "z"}), json!({"a": "b", "c": "e"})], &[json!({"c": "e"})]);
        check("z,!a", "!a,z", &[json!({"z": ""})], &[json!({"z": "", "a": ""}), json!({})]);
        check("a>5,a<9", "a>5,a<9", &[json!({"a": "6"})], &[json!({"a": "5"}), json!({"a": "9"}), json!({"a": "x"}), json!({})]);
        check("app.kubernetes.io/name=", "app.kubernetes.io/name=", &[json!({"app.kubernetes.io/name": ""})], &[json!({})]);
        check("", "", &[json!({})], &[]);
    }

    #[test]
    fn selector_treats_absent_labels_as_upstream() {
        let parsed = LabelSelector::parse("!a,b!=c").unwrap();
        assert!(parsed.matches(&None::<&Map<String, Value>>));
    }

    #[test]
    fn selector_reads_a_label_selector_object() {
        let selector = json!({"matchLabels": {"b": "1", "a": "2"}, "matchExpressions": [{"key": "aa", "operator": "In", "values": ["y", "x"]},
            {"key": "c", "operator": "Exists"}]});
        assert_eq!(LabelSelector::from_object(&selector).unwrap().to_string(), "a=2,aa in (x,y),b=1,c");
        assert!(LabelSelector::from_object(&json!({"matchExpressions": [{"key": "a", "operator": "Near"}]})).is_none());
    }
}
