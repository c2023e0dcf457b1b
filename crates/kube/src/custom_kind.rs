//! Custom kinds: what a CustomResourceDefinition says about names, scope, versions and columns.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use crate::custom_schemas::CustomSchemas;
use crate::kinds::{Kind, Kinds};
use crate::printer_column::PrinterColumn;

impl Kinds {
    /// Adds the kind that a CustomResourceDefinition (v1 or v1beta1) defines, and returns whether it defines one.
    pub fn add_crd(&mut self, crd: &Value) -> bool {
        match parse(crd) {
            Some(kind) => {
                self.push(kind);
                true
            }
            None => false,
        }
    }
}

impl Kind {
    /// Returns the kind of custom resources whose definition is not in the data.
    pub fn unlisted(group: &str, plural: &str, namespaced: bool) -> Self {
        let plural = Cow::<'static, str>::from(plural.to_owned());
        Self {
            path: if group.is_empty() { plural.clone() } else { format!("{group}/{plural}").into() },
            group: group.to_owned().into(),
            other_groups: Vec::new(),
            version: Cow::Borrowed(""),
            versions: Vec::new(),
            kind: plural.clone(),
            plural: plural.clone(),
            singular: plural,
            short_names: Vec::new(),
            categories: Vec::new(),
            namespaced,
            columns: Some(default_columns()),
            schemas: None,
        }
    }
}

fn parse(crd: &Value) -> Option<Kind> {
    let spec = crd.get("spec")?;
    let names = spec.get("names")?;
    let text = |value: &Value, field: &str| value.get(field).and_then(Value::as_str).map(str::to_owned);
    let texts = |field: &str| -> Vec<Cow<'static, str>> {
        let list = names.get(field).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        list.iter().filter_map(Value::as_str).map(|name| name.to_ascii_lowercase().into()).collect()
    };
    let (group, kind, plural) = (text(spec, "group")?, text(names, "kind")?, text(names, "plural")?);
    let singular = text(names, "singular").filter(|name| !name.is_empty()).unwrap_or_else(|| kind.to_ascii_lowercase());
    let versions = served_versions(spec);
    let version = versions.first()?;
    let columns = version.1.and_then(columns).or_else(|| columns(spec)).unwrap_or_else(default_columns);
    Some(Kind {
        path: format!("{group}/{plural}").into(),
        group: group.into(),
        other_groups: Vec::new(),
        version: version.0.clone().into(),
        versions: versions.iter().map(|(name, _)| name.clone().into()).collect(),
        kind: kind.into(),
        plural: plural.into(),
        singular: singular.into(),
        short_names: texts("shortNames"),
        categories: texts("categories"),
        namespaced: text(spec, "scope").is_none_or(|scope| scope == "Namespaced"),
        columns: Some(columns),
        schemas: CustomSchemas::of(crd).map(Arc::new),
    })
}

/// The served versions (all, if none is served), the most preferred first, as the API server's discovery orders them.
fn served_versions(spec: &Value) -> Vec<(String, Option<&Value>)> {
    let listed = spec.get("versions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let name = |version: &Value| version.get("name").and_then(Value::as_str).map(str::to_owned);
    let served = |version: &&Value| version.get("served").and_then(Value::as_bool).unwrap_or(true);
    let mut versions: Vec<(String, Option<&Value>)> =
        listed.iter().filter(served).filter_map(|version| Some((name(version)?, Some(version)))).collect();
    if versions.is_empty() {
        versions = listed.iter().filter_map(|version| Some((name(version)?, Some(version)))).collect();
    }
    if versions.is_empty() {
        versions.extend(spec.get("version").and_then(Value::as_str).map(|version| (version.to_owned(), None)));
    }
    versions.sort_by(|(a, _), (b, _)| compare_versions(a, b));
    versions
}

/// Orders versions as apimachinery's `version.CompareKubeAwareVersionStrings` does, the preferred first: released before beta before
/// alpha, the higher number first; any other name comes last, by name.
pub fn compare_versions(a: &str, b: &str) -> std::cmp::Ordering {
    match (rank(a), rank(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => std::cmp::Ordering::Less,
        (None, Some(_)) => std::cmp::Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

fn rank(version: &str) -> Option<(u8, u32, u32)> {
    let rest = version.strip_prefix('v')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (major, tail) = (rest[..digits].parse().ok()?, &rest[digits..]);
    match (tail.strip_prefix("alpha"), tail.strip_prefix("beta")) {
        (Some(minor), _) => Some((0, major, minor.parse().ok()?)),
        (_, Some(minor)) => Some((1, major, minor.parse().ok()?)),
        _ if tail.is_empty() => Some((2, major, 0)),
        _ => None,
    }
}

fn columns(holder: &Value) -> Option<Vec<PrinterColumn>> {
    let listed = holder.get("additionalPrinterColumns")?.as_array().filter(|listed| !listed.is_empty())?;
    let text = |column: &Value, field: &str| column.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let column = |column: &Value| PrinterColumn {
        name: text(column, "name"),
        column_type: text(column, "type"),
        json_path: text(column, if column.get("jsonPath").is_some() { "jsonPath" } else { "JSONPath" }),
        priority: column.get("priority").and_then(Value::as_i64).unwrap_or(0),
    };
    Some(listed.iter().map(column).collect())
}

/// What the API server shows where a CustomResourceDefinition names no columns.
fn default_columns() -> Vec<PrinterColumn> {
    let (name, column_type, json_path) = ("Age".to_owned(), "date".to_owned(), ".metadata.creationTimestamp".to_owned());
    vec![PrinterColumn { name, column_type, json_path, priority: 0 }]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(spec: Value, wanted: &str) {
        let kind = parse(&json!({ "spec": spec })).map(|kind| {
            let columns: Vec<String> =
                kind.columns.iter().flatten().map(|column| format!("{}={}", column.name, column.json_path)).collect();
            format!("{} {} {} {} {}", kind.resource(), kind.singular, kind.versions.join(","), kind.namespaced, columns.join(","))
        });
        assert_eq!(kind.unwrap_or_default(), wanted);
    }

    #[test]
    fn reads_both_forms() {
        check(
            json!({"group": "g.io", "scope": "Cluster", "names": {"plural": "things", "kind": "Thing"}, "versions": [
                {"name": "v1beta1", "served": true}, {"name": "v2alpha1", "served": true}, {"name": "v1", "served": true,
                 "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]},
                {"name": "v2", "served": false}, {"name": "foo", "served": true}]}),
            "things.g.io thing v1,v1beta1,v2alpha1,foo false Size=.spec.size",
        );
        check(
            json!({"group": "g.io", "names": {"plural": "things", "kind": "Thing", "singular": "one"}, "version": "v1",
                "additionalPrinterColumns": [{"name": "Size", "type": "integer", "JSONPath": ".spec.size"}]}),
            "things.g.io one v1 true Size=.spec.size",
        );
    }

    #[test]
    fn needs_names_and_a_version() {
        check(json!({"group": "g.io"}), "");
        check(json!({"group": "g.io", "names": {"plural": "things", "kind": "Thing"}}), "");
        check(
            json!({"group": "g.io", "names": {"plural": "things", "kind": "Thing"}, "versions": [{"name": "v1"}]}),
            "things.g.io thing v1 true Age=.metadata.creationTimestamp",
        );
    }
}
