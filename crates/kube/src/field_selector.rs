//! Field selectors: `status.phase=Running,spec.nodeName!=n1`, as k8s.io/apimachinery pkg/fields reads them.

use std::borrow::Cow;

use serde_json::Value;

use crate::selector::SelectorError;

/// A conjunction of terms; the empty one selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    path: Vec<String>,
    wanted: String,
    is_equal: bool,
}

impl FieldSelector {
    /// Reads kubectl's `--field-selector`: paths of fields with `=`, `==` or `!=`, joined by commas; `\` escapes the three signs.
    ///
    /// # Errors
    /// The text is no selector.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let error = |problem: String| SelectorError { selector: text.to_owned(), problem };
        let terms = split_unescaped(text, ',').into_iter().filter(|term| !term.is_empty());
        let terms = terms.map(|term| Term::parse(term).map_err(error)).collect::<Result<_, _>>()?;
        Ok(Self { terms })
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether namespace and name alone, which are part of the key, already rule the object out.
    pub fn rules_out(&self, namespace: Option<&str>, name: &str) -> bool {
        self.terms.iter().any(|term| match &term.path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["metadata", "name"] => !term.accepts(name),
            ["metadata", "namespace"] => !term.accepts(namespace.unwrap_or_default()),
            _ => false,
        })
    }

    /// Whether only namespace and name are asked for.
    pub fn is_decided_by_key(&self) -> bool {
        self.terms
            .iter()
            .all(|term| matches!(&term.path[..], [meta, field] if meta == "metadata" && (field == "name" || field == "namespace")))
    }

    /// Whether the object is selected. A field that is absent counts as empty, as upstream has it.
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

impl Term {
    fn parse(text: &str) -> Result<Self, String> {
        let at = unescaped(text, '=').ok_or_else(|| format!("\"{text}\" has neither = nor !="))?;
        let (path, rest) = (&text[..at], &text[at + 1..]);
        let (path, is_equal) = path.strip_suffix('!').map_or((path, true), |path| (path, false));
        let wanted = rest.strip_prefix('=').filter(|_| is_equal).unwrap_or(rest);
        let path: Vec<String> = path.trim().trim_start_matches('.').split('.').map(str::to_owned).collect();
        if path.iter().any(String::is_empty) {
            return Err(format!("\"{text}\" names no field"));
        }
        Ok(Self { path, wanted: unescape(wanted)?, is_equal })
    }

    fn accepts(&self, text: &str) -> bool {
        (text == self.wanted) == self.is_equal
    }
}

fn unescaped(text: &str, sign: char) -> Option<usize> {
    let mut is_escaped = false;
    text.char_indices().find_map(|(index, c)| {
        let found = c == sign && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        found.then_some(index)
    })
}

fn split_unescaped(mut text: &str, sign: char) -> Vec<&str> {
    let mut parts = Vec::new();
    while let Some(at) = unescaped(text, sign) {
        parts.push(&text[..at]);
        text = &text[at + 1..];
    }
    parts.push(text);
    parts
}

fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped @ ('\\' | ',' | '=')) => out.push(escaped),
                _ => return Err("\\ stands before neither \\ nor , nor =".to_owned()),
            },
            '=' => return Err("= in a value must be written \\=".to_owned()),
            _ => out.push(c),
        }
    }
    Ok(out)
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
    fn matches() {
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
        for (text, problem) in
            [("a", "neither = nor !="), ("=b", "names no field"), ("a=b=c", "must be written \\="), ("a=\\n", "stands before")]
        {
            let error = FieldSelector::parse(text).unwrap_err().to_string();
            assert!(error.contains(problem), "{text}: {error}");
        }
        assert!(FieldSelector::parse("a.b=x\\,y\\=z").unwrap().matches(&json!({"a": {"b": "x,y=z"}})));
    }
}
