//! The file as written: its fields in order, duplicates included, for the errors of decoding.
//! Upstream decodes JSON as it is and YAML as JSON converted from it, whose fields are sorted (`sigs.k8s.io/yaml`).

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::{DuplicateKeyPolicy, Spanned};

/// A value with its fields in order.
#[derive(Clone, Debug)]
pub(crate) enum SourceValue {
    /// Neither a list nor a mapping.
    Scalar(Value),
    List(Vec<SourceValue>),
    /// A mapping: the line each field begins in, its name, its value.
    Fields(Vec<(u64, String, SourceValue)>),
}

pub(crate) struct File {
    /// The tree that is decoded.
    pub root: SourceValue,
    /// Its value: of duplicate fields the last.
    pub value: Value,
    /// Why upstream's YAML decoder refuses it: fields that are given twice.
    pub repeated: Vec<String>,
    /// Whether it is JSON.
    pub is_json: bool,
    /// Whether other YAML documents follow, which are not read.
    pub has_more: bool,
}

impl File {
    /// Parses JSON or YAML. The error says where they end. Upstream reads the first of several YAML documents, and does not look at the others
    /// (sigs.k8s.io/yaml 1.4.0 `yaml.go`, `yamlToJSONTarget`, by `Unmarshal` of goyaml.v2).
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let is_json = text.trim_start().starts_with('{');
        let (text, has_more) = if is_json { (text, false) } else { first_document(text) };
        let options = serde_saphyr::options! { duplicate_keys: DuplicateKeyPolicy::LastWins };
        let root: SourceValue = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
            // The parser's words quote the text, which may be any file.
            let place = error.location().map(|at| format!(" at line {}, column {}", at.line(), at.column()));
            format!("it cannot be read as YAML{}", place.unwrap_or_default())
        })?;
        let value = root.value();
        let mut repeated = Vec::new();
        root.repeated(&mut repeated);
        let root = if is_json { root } else { SourceValue::of(&value) };
        Ok(Self { root, value, repeated, is_json, has_more })
    }

    /// A file whose text is not known, only its value.
    pub(crate) fn of(value: &Value) -> Self {
        Self { root: SourceValue::of(value), value: value.clone(), repeated: Vec::new(), is_json: false, has_more: false }
    }
}

/// The first document of a YAML stream, and whether others follow. A line that begins with `---` or `...` ends one wherever it stands (YAML 1.2, 9.1.2).
fn first_document(text: &str) -> (&str, bool) {
    let (mut end, mut has_begun) = (0, false);
    let is_content = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    for line in text.split_inclusive('\n') {
        let marker = line.get(..3).filter(|_| line[3..].chars().next().is_none_or(char::is_whitespace));
        match marker {
            Some("---" | "...") if has_begun => {
                let has_more = text[end..].lines().any(|line| is_content(line) && !line.starts_with("---") && !line.starts_with("..."));
                return (&text[..end], has_more);
            }
            Some("---") => has_begun = true,
            _ => has_begun |= is_content(line) && !line.starts_with('%'),
        }
        end += line.len();
    }
    (text, false)
}

impl SourceValue {
    /// Makes the tree of a value, with its fields sorted.
    pub(crate) fn of(value: &Value) -> Self {
        match value {
            Value::Array(list) => Self::List(list.iter().map(Self::of).collect()),
            Value::Object(fields) => {
                let sorted: BTreeMap<_, _> = fields.iter().collect();
                Self::Fields(sorted.into_iter().map(|(name, value)| (0, name.clone(), Self::of(value))).collect())
            }
            scalar => Self::Scalar(scalar.clone()),
        }
    }

    pub(crate) fn value(&self) -> Value {
        match self {
            Self::Scalar(value) => value.clone(),
            Self::List(list) => list.iter().map(Self::value).collect(),
            Self::Fields(fields) => fields.iter().map(|(_, name, value)| (name.clone(), value.value())).collect(),
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Scalar(Value::Null))
    }

    /// A field; of duplicates the last.
    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        let Self::Fields(fields) = self else { return None };
        fields.iter().rev().find(|(_, known, _)| known == name).map(|(.., value)| value)
    }

    pub(crate) fn elements(&self, field: &str) -> &[Self] {
        match self.field(field) {
            Some(Self::List(list)) => list,
            _ => &[],
        }
    }

    pub(crate) fn text(&self, field: &str) -> Option<&str> {
        match self.field(field) {
            Some(Self::Scalar(Value::String(text))) => Some(text),
            _ => None,
        }
    }

    fn repeated(&self, found: &mut Vec<String>) {
        match self {
            Self::Scalar(_) => {}
            Self::List(list) => list.iter().for_each(|value| value.repeated(found)),
            Self::Fields(fields) => {
                for (at, (line, name, value)) in fields.iter().enumerate() {
                    value.repeated(found);
                    if fields[..at].iter().any(|(_, known, _)| known == name) {
                        found.push(format!("line {line}: the field {name:?} is given twice"));
                    }
                }
            }
        }
    }
}

impl<'de> Deserialize<'de> for SourceValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = SourceValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<SourceValue, E> {
        Ok(SourceValue::Scalar(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<SourceValue, E> {
        Ok(SourceValue::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<SourceValue, E> {
        Ok(SourceValue::Scalar(value.into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<SourceValue, E> {
        Ok(SourceValue::Scalar(serde_json::Number::from_i128(value).map_or(Value::Null, Value::Number)))
    }

    fn visit_u128<E>(self, value: u128) -> Result<SourceValue, E> {
        Ok(SourceValue::Scalar(serde_json::Number::from_u128(value).map_or(Value::Null, Value::Number)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<SourceValue, E> {
        Ok(SourceValue::Scalar(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<SourceValue, E> {
        Ok(SourceValue::Scalar(value.into()))
    }

    fn visit_unit<E>(self) -> Result<SourceValue, E> {
        Ok(SourceValue::Scalar(Value::Null))
    }

    fn visit_none<E>(self) -> Result<SourceValue, E> {
        Ok(SourceValue::Scalar(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<SourceValue, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<SourceValue, A::Error> {
        let mut found = Vec::new();
        while let Some(value) = list.next_element()? {
            found.push(value);
        }
        Ok(SourceValue::List(found))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<SourceValue, A::Error> {
        let mut found = Vec::new();
        while let Some((name, value)) = fields.next_entry::<Spanned<String>, SourceValue>()? {
            found.push((name.defined.line(), name.value, value));
        }
        Ok(SourceValue::Fields(found))
    }
}
