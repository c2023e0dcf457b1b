//! Field selectors: `status.phase=Running,spec.nodeName!=n1`, as k8s.io/apimachinery pkg/fields reads them.

use std::borrow::Cow;

use serde_json::Value;

use crate::field_term::FieldTerm;
use crate::selector::SelectorError;

/// A conjunction of terms; the empty one selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    terms: Vec<FieldSelectorTerm>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct FieldSelectorTerm {
    path: Vec<String>,
    wanted: String,
    is_equal: bool,
}

impl FieldSelector {
    /// Reads kubectl's `--field-selector`: paths of fields with `=`, `==` or `!=`, joined by commas; `\` escapes the three signs.
    ///
    /// # Errors
    /// The text is not a selector.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let terms = FieldTerm::read(text)?.into_iter().map(|term| FieldSelectorTerm::of(text, term)).collect::<Result<_, _>>()?;
        Ok(Self { terms })
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The fields that it tests, as dotted paths.
    pub fn paths(&self) -> impl Iterator<Item = String> {
        self.terms.iter().map(|term| term.path.join("."))
    }

    /// Whether namespace and name alone, which are part of the key, already rule the object out.
    pub fn rules_out(&self, namespace: Option<&str>, name: &str) -> bool {
        self.terms.iter().any(|term| match &term.path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["metadata", "name"] => !term.accepts(name),
            ["metadata", "namespace"] => !term.accepts(namespace.unwrap_or_default()),
            _ => false,
        })
    }

    /// Whether it tests only namespace and name.
    pub fn is_decided_by_key(&self) -> bool {
        self.terms
            .iter()
            .all(|term| matches!(&term.path[..], [meta, field] if meta == "metadata" && (field == "name" || field == "namespace")))
    }

    /// Whether the object is selected. An absent field counts as empty, as it does upstream.
    pub fn matches(&self, object: &Value) -> bool {
        self.terms.iter().all(|term| {
            let found = term.path.iter().try_fold(object, |value, field| value.get(field));
            let text = match found {
                None | Some(Value::Null) => Cow::Borrowed(""),
                Some(Value::String(text)) => Cow::Borrowed(text.as_str()),
                Some(other) => Cow::Owned(other.to_string()),
            };
            term.accepts(&text)
        })
    }
}

impl FieldSelectorTerm {
    fn of(text: &str, term: FieldTerm) -> Result<Self, SelectorError> {
        let path: Vec<String> = term.label.trim().trim_start_matches('.').split('.').map(str::to_owned).collect();
        if path.iter().any(String::is_empty) {
            return Err(SelectorError { selector: text.to_owned(), problem: format!("{:?} names no field", term.label) });
        }
        Ok(Self { path, wanted: term.value, is_equal: term.is_equal })
    }

    fn accepts(&self, text: &str) -> bool {
        (text == self.wanted) == self.is_equal
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(selector: &str, wanted: bool) {
        let pod = json!({"metadata": {"name": "web-0", "namespace": "shop", "annotations": {}}, "spec": {"nodeName": "n1", "hostNetwork": true},
            "status": {"phase": "Running"}});
        let selector = FieldSelector::parse(selector).unwrap();
        assert_eq!(selector.matches(&pod), wanted, "{selector:?}");
        if selector.is_decided_by_key() {
            assert_eq!(!selector.rules_out(Some("shop"), "web-0"), wanted, "{selector:?}");
        }
    }

    #[test]
    fn field_selector_matches_values_of_fields() {
        check("metadata.name=web-0", true);
        check("metadata.name==web-1", false);
        check("metadata.namespace!=shop", false);
        check("spec.nodeName=n1,status.phase=Running", true);
        check("spec.nodeName=n1,status.phase!=Running", false);
        check("status.nominatedNodeName=", true);
        check("spec.hostNetwork=true", true);
        check("", true);
    }

    #[test]
    fn refuses_what_is_none() {
        assert_eq!(FieldSelector::parse("=b").unwrap_err().problem, "\"\" names no field");
        assert!(FieldSelector::parse("a.b=x\\,y\\=z").unwrap().matches(&json!({"a": {"b": "x,y=z"}})));
    }
}
