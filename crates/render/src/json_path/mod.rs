//! kubectl's JSONPath templates: `{range .items[*]}{.metadata.name}{"\n"}{end}`, as k8s.io/client-go util/jsonpath runs them.

mod evaluate;
mod item_by_item;
mod parse;

use std::borrow::Cow;
use std::io::{self, Write};

use serde_json::Value;

use crate::json;

pub use item_by_item::ItemByItem;

/// A template: text and expressions in braces.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    parts: Vec<PathPart>,
}

#[derive(Clone, Debug, PartialEq)]
enum PathPart {
    /// Text outside of braces.
    Text(String),
    /// An expression: each node turns the values before it into others.
    Path(Vec<PathNode>),
    /// `{range …}` to `{end}`: the parts, once for each value of the expression.
    Range(Vec<PathNode>, Vec<PathPart>),
}

#[derive(Clone, Debug, PartialEq)]
enum PathNode {
    Literal(Value),
    Field(String),
    Wildcard,
    Recursive,
    Slice(Slice),
    Union(Vec<Vec<PathNode>>),
    Filter { left: Vec<PathNode>, comparison: Option<(Comparison, Vec<PathNode>)> },
}

/// `[start:end:step]`; an index is the slice that holds one value.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Slice {
    start: Option<i64>,
    end: Option<i64>,
    step: Option<i64>,
    is_index: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Why a template cannot be read or run: a lowercase fragment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JsonPathError(String);

/// Why a template's result could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The template does not fit the data.
    #[error(transparent)]
    Template(#[from] JsonPathError),
    /// The stream failed.
    #[error(transparent)]
    Stream(#[from] io::Error),
}

impl JsonPath {
    /// Reads a template.
    ///
    /// # Errors
    /// The template is malformed; the error says where.
    pub fn parse(template: &str) -> Result<Self, JsonPathError> {
        parse::template(template).map(|parts| Self { parts })
    }

    /// Reads one path as custom columns and sort keys are written: with or without braces and leading dot.
    ///
    /// # Errors
    /// The path is malformed.
    pub fn parse_relaxed(path: &str) -> Result<Self, JsonPathError> {
        let inner = path.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(path);
        let inner = inner.strip_prefix('.').unwrap_or(inner);
        if inner.is_empty() || inner.contains(['{', '}']) {
            return Err(JsonPathError(format!("invalid path \"{path}\": expected a path such as .metadata.name")));
        }
        Self::parse(&format!("{{.{inner}}}"))
    }

    /// Runs the template on `value` and writes its text: strings as they are, objects and lists as JSON, several values of one
    /// expression with a blank between. Fields that do not exist give nothing.
    ///
    /// # Errors
    /// An index beyond a list, a comparison of unlike things, or the stream's.
    pub fn write(&self, value: &Value, out: &mut dyn Write) -> Result<(), WriteError> {
        write_parts(&self.parts, value, out)
    }

    /// Runs the template on `value` and writes, for each text and each expression, a JSON list of what it is: kubectl's `jsonpath-as-json`.
    ///
    /// # Errors
    /// As [`JsonPath::write`].
    pub fn write_as_json(&self, value: &Value, out: &mut dyn Write) -> Result<(), WriteError> {
        write_parts_as_json(&self.parts, value, out)
    }

    /// Returns the values the template's expressions find.
    ///
    /// # Errors
    /// As [`JsonPath::write`], but for the stream's.
    pub fn find<'a>(&'a self, value: &'a Value) -> Result<Vec<Cow<'a, Value>>, JsonPathError> {
        let mut found = Vec::new();
        for part in &self.parts {
            if let PathPart::Path(nodes) = part {
                found.extend(evaluate::path(nodes, value)?);
            }
        }
        Ok(found)
    }
}

fn write_parts(parts: &[PathPart], value: &Value, out: &mut dyn Write) -> Result<(), WriteError> {
    for part in parts {
        match part {
            PathPart::Text(text) => out.write_all(text.as_bytes())?,
            PathPart::Path(nodes) => {
                for (index, found) in evaluate::path(nodes, value)?.iter().enumerate() {
                    let blank = if index == 0 { "" } else { " " };
                    write!(out, "{blank}{}", text_of(found))?;
                }
            }
            PathPart::Range(nodes, inner) => {
                for found in evaluate::path(nodes, value)? {
                    write_parts(inner, &found, out)?;
                }
            }
        }
    }
    Ok(())
}

fn write_parts_as_json(parts: &[PathPart], value: &Value, out: &mut dyn Write) -> Result<(), WriteError> {
    for part in parts {
        match part {
            PathPart::Text(text) => json::write_document(&[text], out)?,
            PathPart::Path(nodes) => json::write_document(&evaluate::path(nodes, value)?, out)?,
            PathPart::Range(nodes, inner) => {
                for found in evaluate::path(nodes, value)? {
                    write_parts_as_json(inner, &found, out)?;
                }
            }
        }
    }
    Ok(())
}

/// Returns a value as a template prints it.
pub fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Object(_) | Value::Array(_) => Cow::Owned(json::compact(value)),
        scalar => Cow::Owned(scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn data() -> Value {
        json!({"kind": "List", "items": [
            {"metadata": {"name": "a", "labels": {"app.kubernetes.io/name": "x", "tier": "web"}}, "spec": {"n": 3, "ok": true},
             "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Hostname", "address": "h<1>"}]}},
            {"metadata": {"name": "b"}, "spec": {"n": 12, "ok": false}, "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.2"}]}}]})
    }

    fn check(template: &str, wanted: &str) {
        let mut out = Vec::new();
        let result = JsonPath::parse(template).map_err(WriteError::from).and_then(|path| path.write(&data(), &mut out));
        let found = match result {
            Ok(()) => String::from_utf8(out).unwrap(),
            Err(error) => format!("error: {error}"),
        };
        assert_eq!(found, wanted, "{template}");
    }

    #[test]
    fn json_path_follows_paths() {
        check("{.kind}", "List");
        check("kind is {.kind}!", "kind is List!");
        check("{.items[*].metadata.name}", "a b");
        check("{.items[0].metadata.name}", "a");
        check("{.items[-1].metadata.name}", "b");
        check("{.items[0:1].metadata.name}", "a");
        check("{.items[::2].metadata.name}", "a");
        check("{.items[0,1].spec.n}", "3 12");
        check("{.items[0]['metadata','spec']['name','n']}", "a 3");
        check("{$.items[0].spec}", "{\"n\":3,\"ok\":true}");
        check("{@.items[1].spec.ok}", "false");
        check("{.items[0].missing.deeper}", "");
        check("{..address}", "10.0.0.1 h<1> 10.0.0.2");
        check("{.items[0].spec.*}", "3 true");
        check("{.items[0].status.addresses[1]}", "{\"address\":\"h\\u003c1\\u003e\",\"type\":\"Hostname\"}");
    }

    /// As client-go's `JSONPath` with `EnableJSONOutput` prints it (util/jsonpath/jsonpath.go).
    #[test]
    fn expressions_as_json() {
        let as_json = |template: &str| {
            let mut out = Vec::new();
            JsonPath::parse(template).unwrap().write_as_json(&data(), &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(as_json("{.items[*].metadata.name}"), "[\n    \"a\",\n    \"b\"\n]\n");
        assert_eq!(as_json("{.items[0].spec}"), "[\n    {\n        \"n\": 3,\n        \"ok\": true\n    }\n]\n");
        assert_eq!(as_json("{.none}"), "[]\n");
        assert_eq!(as_json("n={.items[1].spec.n}"), "[\n    \"n=\"\n]\n[\n    12\n]\n");
        let each = "[\n    \"a\"\n]\n[\n    \";\"\n]\n[\n    \"b\"\n]\n[\n    \";\"\n]\n";
        assert_eq!(as_json("{range .items[*]}{.metadata.name};{end}"), each);
        assert_eq!(as_json("{..address}").matches("\\u003c1\\u003e").count(), 1);
    }

    #[test]
    fn odd_field_names() {
        check("{.items[0].metadata.labels.app\\.kubernetes\\.io/name}", "x");
        check("{.items[0].metadata.labels['app\\.kubernetes\\.io/name']}", "x");
        check("{.items[0].metadata.labels['app.kubernetes.io/name']}", "x");
        check("{.items[0].metadata.labels[\"tier\"]}", "web");
    }

    #[test]
    fn json_path_evaluates_filters() {
        check("{.items[0].status.addresses[?(@.type==\"InternalIP\")].address}", "10.0.0.1");
        check("{.items[?(@.spec.n>5)].metadata.name}", "b");
        check("{.items[?(@.spec.n<=3)].metadata.name}", "a");
        check("{.items[?(@.spec.ok==true)].metadata.name}", "a");
        check("{.items[?(@.metadata.labels)].metadata.name}", "a");
        check("{.items[?(@.metadata.labels.tier!='db')].metadata.name}", "a");
        check("{.items[?(@.metadata.name==5)]}", "error: cannot compare a string with a number");
    }

    #[test]
    fn json_path_evaluates_ranges() {
        check("{range .items[*]}{.metadata.name}={.spec.n}{\"\\n\"}{end}done", "a=3\nb=12\ndone");
        check(
            "{range .items[*]}{.metadata.name}:{range .status.addresses[*]}[{.address}]{end}{'\\t'}{end}",
            "a:[10.0.0.1][h<1>]\tb:[10.0.0.2]\t",
        );
        check("{range .none[*]}{.x}{end}-", "-");
        check("{range .items[*]}{.spec.n} ", "3 12 ");
    }

    #[test]
    fn literals_and_text() {
        check("", "");
        check("plain", "plain");
        check("{\"a\\u00e9\\\"b\"}{'it'}{5}{true}", "aé\"bit5true");
    }

    #[test]
    fn json_path_refuses_mistakes() {
        check("{.items[5]}", "error: index 5 is beyond a list of 2");
        check("{.items[a]}", "error: invalid index \"a\": expected an index, a slice or a quoted name");
        check("{.items[0", "error: [ without ]");
        check("{.items", "error: { without }");
        check("{end}", "error: end without range");
        check("{foo}", "error: unknown word \"foo\"; a path begins with a dot");
        check("{.kind[0]}", "error: a string has no elements to index");
        check("{\"abc}", "error: a quote without its end");
        check("{.items[?(@.x)}", "error: [?( without )]");
        check("{.a~}", "");
        check("{~}", "error: unexpected \"~\"");
        check("{.items[9223372036854775807]}", "error: index 9223372036854775807 is beyond a list of 2");
    }

    /// `..` may follow anything but another one, as client-go's parser has it.
    #[test]
    fn json_path_descends_recursively() {
        let refused = "error: invalid multiple recursive descent";
        for template in ["{....}", "{.. ..}", "{..@..name}", "{.items....name}", &format!("{{{}}}", "..".repeat(30_000))] {
            check(template, refused);
        }
        assert_eq!(JsonPath::parse_relaxed(".....").unwrap_err().to_string(), "invalid multiple recursive descent");
        check("{..metadata..name}", "a b");
        check("{..addresses[*]..address}", "10.0.0.1 h<1> 10.0.0.2");
    }

    /// Paths that find the same values again and again end with an error, in bounded time and memory.
    #[test]
    fn repeated_values_are_bounded() {
        let mut deep = json!(1);
        for _ in 0..100 {
            deep = json!([deep]);
        }
        for template in [format!("{{{}}}", "[0,0]".repeat(100)), format!("{{{}}}", "..[*]".repeat(30_000))] {
            let error = JsonPath::parse(&template).unwrap().find(&deep).unwrap_err().to_string();
            assert_eq!(error, "finds more than 1048576 values");
        }
        let ranges = "{range .items[*]}".repeat(30_000);
        assert_eq!(JsonPath::parse(&ranges).unwrap_err().to_string(), "more than 250 ranges within each other");
    }

    #[test]
    fn json_path_relaxed_takes_paths_without_braces() {
        for path in ["metadata.name", ".metadata.name", "{metadata.name}", "{.metadata.name}"] {
            let parsed = JsonPath::parse_relaxed(path).unwrap();
            assert_eq!(parsed.find(&json!({"metadata": {"name": "x"}})).unwrap()[0].as_ref(), "x");
        }
        assert!(JsonPath::parse_relaxed("{.a}{.b}").is_err());
    }
}
