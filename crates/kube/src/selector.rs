//! Label selectors: `app=web,tier in (front,back),!canary`, as k8s.io/apimachinery pkg/labels reads, matches and writes them.

use std::fmt;

use serde_json::{Map, Value};

/// A conjunction of requirements; the empty one selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equals,
    NotEquals,
    In,
    NotIn,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

/// Why a text is no selector: a lowercase fragment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} in selector \"{selector}\"")]
pub struct SelectorError {
    pub(super) selector: String,
    pub(super) problem: String,
}

impl LabelSelector {
    /// Reads kubectl's `-l`.
    ///
    /// # Errors
    /// The text is no selector.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut parser = Parser { rest: text.trim() };
        parser.selector().map_err(|problem| SelectorError { selector: text.to_owned(), problem })
    }

    /// Reads an object's `{matchLabels, matchExpressions}`; `None` where an operator is unknown.
    pub fn from_object(selector: &Value) -> Option<Self> {
        let mut requirements = Vec::new();
        for (key, value) in selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten() {
            let values = vec![value.as_str()?.to_owned()];
            requirements.push(Requirement { key: key.clone(), operator: Operator::Equals, values });
        }
        for expression in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
            let operator = match expression.get("operator")?.as_str()? {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                _ => return None,
            };
            let values = expression.get("values").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let mut values: Vec<String> = values.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            values.sort();
            requirements.push(Requirement { key: expression.get("key")?.as_str()?.to_owned(), operator, values });
        }
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Some(Self { requirements })
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether the labels (an object's `metadata.labels`, `None` where it has none) are selected.
    pub fn matches(&self, labels: Option<&Map<String, Value>>) -> bool {
        self.requirements
            .iter()
            .all(|requirement| requirement.matches(labels.and_then(|labels| labels.get(&requirement.key)).and_then(Value::as_str)))
    }
}

impl Requirement {
    fn matches(&self, value: Option<&str>) -> bool {
        let is_listed = value.is_some_and(|value| self.values.iter().any(|own| own == value));
        let number = |text: &str| text.parse::<i64>().ok();
        let ordered = || Some((number(value?)?, number(self.values.first()?)?));
        match self.operator {
            Operator::Equals | Operator::In => is_listed,
            Operator::NotEquals | Operator::NotIn => !is_listed,
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => ordered().is_some_and(|(value, limit)| value > limit),
            Operator::LessThan => ordered().is_some_and(|(value, limit)| value < limit),
        }
    }
}

/// As upstream's `Selector.String`: sorted by key.
impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Requirement { key, operator, values }) in self.requirements.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let values = values.join(",");
            match operator {
                Operator::Equals => write!(f, "{comma}{key}={values}")?,
                Operator::NotEquals => write!(f, "{comma}{key}!={values}")?,
                Operator::In => write!(f, "{comma}{key} in ({values})")?,
                Operator::NotIn => write!(f, "{comma}{key} notin ({values})")?,
                Operator::Exists => write!(f, "{comma}{key}")?,
                Operator::DoesNotExist => write!(f, "{comma}!{key}")?,
                Operator::GreaterThan => write!(f, "{comma}{key}>{values}")?,
                Operator::LessThan => write!(f, "{comma}{key}<{values}")?,
            }
        }
        Ok(())
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn selector(&mut self) -> Result<LabelSelector, String> {
        let mut requirements = Vec::new();
        while !self.rest.is_empty() {
            requirements.push(self.requirement()?);
            if !self.take(",") && !self.rest.is_empty() {
                return Err(format!("expected a comma before \"{}\"", self.rest));
            }
        }
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(LabelSelector { requirements })
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let is_absent = self.take("!");
        let key = self.word().to_owned();
        check_key(&key)?;
        if is_absent {
            return Ok(Requirement { key, operator: Operator::DoesNotExist, values: Vec::new() });
        }
        if self.rest.is_empty() || self.rest.starts_with(',') {
            return Ok(Requirement { key, operator: Operator::Exists, values: Vec::new() });
        }
        for (sign, operator) in [("==", Operator::Equals), ("=", Operator::Equals), ("!=", Operator::NotEquals)] {
            if self.take(sign) {
                let value = self.word().to_owned();
                check_value(&value)?;
                return Ok(Requirement { key, operator, values: vec![value] });
            }
        }
        for (sign, operator) in [(">", Operator::GreaterThan), ("<", Operator::LessThan)] {
            if self.take(sign) {
                let value = self.word().to_owned();
                value.parse::<i64>().map_err(|_| format!("\"{value}\" after {sign} is no whole number"))?;
                return Ok(Requirement { key, operator, values: vec![value] });
            }
        }
        let operator = match self.word() {
            "in" => Operator::In,
            "notin" => Operator::NotIn,
            other => return Err(format!("unknown operator \"{}\" after \"{key}\"", if other.is_empty() { self.rest } else { other })),
        };
        Ok(Requirement { key, operator, values: self.set()? })
    }

    fn set(&mut self) -> Result<Vec<String>, String> {
        if !self.take("(") {
            return Err("expected ( after in or notin".to_owned());
        }
        let mut values = Vec::new();
        loop {
            let value = self.word().to_owned();
            check_value(&value)?;
            values.push(value);
            if self.take(")") {
                values.sort();
                values.dedup();
                return Ok(values);
            }
            if !self.take(",") {
                return Err("expected , or ) in a list of values".to_owned());
            }
        }
    }

    fn take(&mut self, sign: &str) -> bool {
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn word(&mut self) -> &'a str {
        let end = self.rest.find(|c: char| c.is_whitespace() || "=!,()<>".contains(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        word
    }
}

fn check_key(key: &str) -> Result<(), String> {
    let name = key.rsplit_once('/').map_or(key, |(_, name)| name);
    if is_label_name(name) && !name.is_empty() && key.matches('/').count() <= 1 {
        Ok(())
    } else {
        Err(format!("\"{key}\" is no label key"))
    }
}

fn check_value(value: &str) -> Result<(), String> {
    if is_label_name(value) { Ok(()) } else { Err(format!("\"{value}\" is no label value")) }
}

/// At most 63 letters, digits, `-`, `_` and `.`, beginning and ending with a letter or digit; or nothing.
fn is_label_name(text: &str) -> bool {
    let inner = |c: u8| c.is_ascii_alphanumeric() || b"-_.".contains(&c);
    let ends = |c: Option<&u8>| c.is_none_or(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= 63 && bytes.iter().all(|&c| inner(c)) && ends(bytes.first()) && ends(bytes.last())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(selector: &str, shown: &str, selected: &[Value], others: &[Value]) {
        let parsed = LabelSelector::parse(selector).unwrap();
        assert_eq!(parsed.to_string(), shown);
        for (labels, wanted) in selected.iter().map(|labels| (labels, true)).chain(others.iter().map(|labels| (labels, false))) {
            assert_eq!(parsed.matches(labels.as_object()), wanted, "{selector} on {labels}");
        }
    }

    #[test]
    fn operators() {
        check("a=b", "a=b", &[json!({"a": "b"})], &[json!({"a": "c"}), json!({})]);
        check("a == b , x!=y", "a=b,x!=y", &[json!({"a": "b"})], &[json!({"a": "b", "x": "y"})]);
        check("a in (z, b),c notin(d)", "a in (b,z),c notin (d)", &[json!({"a": "z"}), json!({"a": "b", "c": "e"})], &[json!({"c": "e"})]);
        check("z,!a", "!a,z", &[json!({"z": ""})], &[json!({"z": "", "a": ""}), json!({})]);
        check("a>5,a<9", "a>5,a<9", &[json!({"a": "6"})], &[json!({"a": "5"}), json!({"a": "9"}), json!({"a": "x"}), json!({})]);
        check("app.kubernetes.io/name=", "app.kubernetes.io/name=", &[json!({"app.kubernetes.io/name": ""})], &[json!({})]);
        check("", "", &[json!({})], &[]);
    }

    #[test]
    fn absent_labels() {
        let parsed = LabelSelector::parse("!a,b!=c").unwrap();
        assert!(parsed.matches(None));
    }

    #[test]
    fn refuses_what_is_none() {
        for (text, problem) in [
            ("=b", "\"\" is no label key"),
            ("a in b", "expected ( after in or notin"),
            ("a in (b", "expected , or )"),
            ("a is b", "unknown operator \"is\""),
            ("a=b c=d", "expected a comma before \"c=d\""),
            ("a>x", "is no whole number"),
            ("a=b!", "expected a comma"),
            ("a/b/c=d", "is no label key"),
            ("a=-b", "\"-b\" is no label value"),
        ] {
            let error = LabelSelector::parse(text).unwrap_err().to_string();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }

    #[test]
    fn of_objects() {
        let selector = json!({"matchLabels": {"b": "1", "a": "2"}, "matchExpressions": [{"key": "aa", "operator": "In", "values": ["y", "x"]},
            {"key": "c", "operator": "Exists"}]});
        assert_eq!(LabelSelector::from_object(&selector).unwrap().to_string(), "a=2,aa in (x,y),b=1,c");
        assert!(LabelSelector::from_object(&json!({"matchExpressions": [{"key": "a", "operator": "Near"}]})).is_none());
    }
}
