//! Custom resources: one for each version that an established CustomResourceDefinition serves.

use std::sync::Arc;

use crate::{CustomSchemas, Kinds, Release};
use serde_json::{Value, json};

use super::Resource;

/// What a CustomResourceDefinition says about one version, apart from names and scope.
#[derive(Debug)]
#[non_exhaustive]
pub struct Custom {
    /// The kind of lists.
    pub list_kind: String,
    /// The columns after the name.
    pub columns: Vec<CustomColumn>,
    /// Fields that selectors may name in addition to name and namespace, such as `.spec.color`.
    pub selectable_fields: Vec<String>,
    /// `spec.versions[].subresources.scale`.
    pub scale: Option<Value>,
    /// The schemas of all versions.
    pub schemas: Option<Arc<CustomSchemas>>,
    /// Whether only a webhook converts between its versions.
    pub needs_webhook: bool,
}

/// A column as the definition heads it.
#[derive(Debug)]
#[non_exhaustive]
pub struct CustomColumn {
    /// The heading.
    pub name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub column_type: String,
    /// The OpenAPI format.
    pub format: String,
    /// What it means.
    pub description: String,
    /// Above 0 only `-o wide` shows it.
    pub priority: i64,
}

/// The resources of a definition, none before it is established.
pub(super) fn resources(definition: &Value, release: Release) -> Vec<Resource> {
    if crate::condition(definition, "Established").is_none_or(|condition| condition["status"] != "True") {
        return Vec::new();
    }
    let (spec, schemas) = (&definition["spec"], CustomSchemas::of(definition).map(Arc::new));
    let listed = spec["versions"].as_array().map_or(&[][..], Vec::as_slice);
    let served = listed.iter().filter(|version| version["served"] == true);
    served.filter_map(|version| resource(spec, version, schemas.clone(), release)).collect()
}

fn resource(spec: &Value, version: &Value, schemas: Option<Arc<CustomSchemas>>, release: Release) -> Option<Resource> {
    // Until apiextensions v1, columns and subresources could be those of all versions.
    let field = |name: &str| version.get(name).or_else(|| spec.get(name)).filter(|value| !value.is_null());
    let mut narrowed = spec.clone();
    narrowed["versions"] = json!([version]);
    let mut kinds = Kinds::builtin();
    kinds.add_crd(&json!({"spec": narrowed}));
    let (group, plural) = (spec["group"].as_str()?, spec["names"]["plural"].as_str()?);
    let kind = kinds.at_path(&format!("{group}/{plural}")).filter(|kind| kind.is_custom())?.clone();
    let subresources = field("subresources");
    let has = |name: &&str| subresources.is_some_and(|own| own.get(name).is_some());
    let list_kind = spec["names"]["listKind"].as_str().map_or_else(|| format!("{}List", kind.kind), str::to_owned);
    let selectable = version["selectableFields"].as_array().filter(|_| release.0 >= 31);
    Some(Resource {
        group: group.to_owned(),
        version: version["name"].as_str()?.to_owned(),
        subresources: ["scale", "status"].into_iter().filter(has).map(str::to_owned).collect(),
        custom: Some(Custom {
            list_kind,
            columns: columns(field("additionalPrinterColumns")),
            selectable_fields: texts(selectable, "jsonPath"),
            schemas,
            needs_webhook: spec["conversion"]["strategy"] == "Webhook",
            scale: subresources.and_then(|own| own.get("scale")).cloned(),
        }),
        kind,
    })
}

fn texts(list: Option<&Vec<Value>>, field: &str) -> Vec<String> {
    list.into_iter().flatten().filter_map(|item| item[field].as_str()).map(str::to_owned).collect()
}

/// The definition's columns; without any, the age (apiextensions-apiserver pkg/registry/customresource/tableconvertor).
fn columns(listed: Option<&Value>) -> Vec<CustomColumn> {
    let listed = listed.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let text = |column: &Value, field: &str| column[field].as_str().unwrap_or_default().to_owned();
    let column = |column: &Value| CustomColumn {
        name: text(column, "name"),
        column_type: text(column, "type"),
        format: text(column, "format"),
        description: text(column, "description"),
        priority: column["priority"].as_i64().unwrap_or(0),
    };
    if listed.is_empty() {
        let age =
            CustomColumn { name: "Age".into(), column_type: "date".into(), format: String::new(), description: String::new(), priority: 0 };
        return vec![age];
    }
    listed.iter().map(column).collect()
}
