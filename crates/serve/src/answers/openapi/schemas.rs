//! The schemas of Kubernetes' own types: fields and types by the tables of their messages, descriptions where k8s-openapi has the type.

use std::collections::{BTreeMap, BTreeSet};

use ketcd_kube::Release;
use ketcd_kube::api::Resource;
use ketcd_kube::proto::kubernetes::{MESSAGES, ROOTS};
use ketcd_kube::proto::table::{Card, Message, Render, Row, Type};
use serde_json::{Map, Value, json};

use super::{descriptions, enums};

/// The schemas of a document.
pub(super) struct Schemas {
    minor: u8,
    written: BTreeMap<String, Value>,
    /// Messages that were referred to, by the names of their schemas.
    waiting: BTreeMap<String, &'static Message>,
}

impl Schemas {
    /// No schemas yet, of a release's types.
    pub(super) fn new(release: Release) -> Self {
        let minor = release.clamp(Release::OLDEST, Release::NEWEST).0 as u8;
        Self { minor, written: BTreeMap::new(), waiting: BTreeMap::new() }
    }

    /// Adds a kind of Kubernetes' own and returns its schema's name. `None` where there is no such kind.
    pub(super) fn add_kind(&mut self, api_version: &str, kind: &str) -> Option<String> {
        let message = root(api_version, kind)?;
        let name = schema_name(message);
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let mut schema = self.schema(message);
        schema["x-kubernetes-group-version-kind"] = json!([{"group": group, "version": version, "kind": kind}]);
        self.insert(name.clone(), schema);
        Some(name)
    }

    /// Adds a schema.
    pub(super) fn insert(&mut self, name: String, schema: Value) {
        self.written.insert(name, schema);
    }

    /// Refers to the metadata of objects or lists: `ObjectMeta`, `ListMeta`.
    pub(super) fn metadata(&mut self, name: &str) -> Value {
        let full = format!("k8s.io.apimachinery.pkg.apis.meta.v1.{name}");
        let at = MESSAGES.binary_search_by(|message| message.name.cmp(&full));
        at.map_or_else(|_| json!({"type": "object"}), |at| self.refer(&MESSAGES[at]))
    }

    /// Whether a schema was written.
    pub(super) fn has(&self, name: &str) -> bool {
        self.written.contains_key(name)
    }

    /// Returns all schemas, with those that were only referred to.
    pub(super) fn finish(mut self) -> BTreeMap<String, Value> {
        while let Some((name, message)) = self.waiting.pop_first() {
            if !self.written.contains_key(&name) {
                let schema = self.schema(message);
                self.written.insert(name, schema);
            }
        }
        self.written
    }

    fn refer(&mut self, message: &'static Message) -> Value {
        let name = schema_name(message);
        let reference = json!({"$ref": format!("#/components/schemas/{name}")});
        self.waiting.insert(name, message);
        reference
    }

    fn schema(&mut self, message: &'static Message) -> Value {
        let known = descriptions::of(&schema_name(message));
        let mut schema = match message.render {
            Render::Struct => self.fields(message, known),
            Render::Time | Render::MicroTime => json!({"type": "string", "format": "date-time"}),
            Render::Duration => json!({"type": "string"}),
            Render::Quantity => json!({"oneOf": [{"type": "string"}, {"type": "number"}]}),
            Render::IntOrString => json!({"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]}),
            Render::List => json!({"type": "array", "items": self.one(message.rows[0].ty)}),
            Render::RawJson if is_any(message) => json!({}),
            Render::RawJson | Render::Fields => json!({"type": "object"}),
            Render::SchemaOrBool | Render::SchemaOrArray | Render::SchemaOrStrings => json!({}),
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        };
        if let Some(description) = known.and_then(|known| known.get("description")) {
            schema["description"] = description.clone();
        }
        schema
    }

    fn fields(&mut self, message: &'static Message, known: Option<&Value>) -> Value {
        let mut properties = Map::new();
        let mut names = BTreeSet::new();
        let minor = self.minor.min(message.last);
        let own = schema_name(message);
        for row in message.rows.iter().filter(|row| row.holds_in(minor)) {
            if names.insert(row.name) {
                let description = known.and_then(|known| known["properties"][row.name].get("description")).cloned();
                let values = enums::of(&own, row.name, minor).filter(|_| matches!(row.ty, Type::String));
                let schema = self.property(row, description, values);
                properties.insert(row.name.to_owned(), schema);
            }
        }
        let mut schema = json!({"type": "object"});
        if !properties.is_empty() {
            schema["properties"] = properties.into();
        }
        let required = known.and_then(|known| known["required"].as_array()).into_iter().flatten();
        // k8s-openapi's types always have their metadata, which the API does not ask for.
        let is_object = names.contains("kind") && names.contains("apiVersion");
        let is_required = |name: &&Value| name.as_str().is_some_and(|name| names.contains(name) && !(is_object && name == "metadata"));
        let required: Vec<&Value> = required.filter(is_required).collect();
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema
    }

    /// The schema of a property; `values` are those that it may have, where they are known.
    fn property(&mut self, row: &'static Row, mut description: Option<Value>, values: Option<Vec<&'static str>>) -> Value {
        let mut one = self.one(row.ty);
        if let Some(values) = values {
            if let (Card::One, Some(Value::String(text))) = (row.card, &mut description) {
                text.push_str(&enums::described(&values));
            }
            one["enum"] = json!(values);
        }
        let mut schema = match row.card {
            Card::List => json!({"type": "array", "items": one}),
            Card::Map => json!({"type": "object", "additionalProperties": one}),
            // Readers ignore the members next to a reference, so the reference is wrapped.
            Card::One if one.get("$ref").is_some() => json!({"allOf": [one]}),
            Card::One => one,
        };
        if let Some(description) = description {
            schema["description"] = description;
        }
        schema
    }

    fn one(&mut self, ty: Type) -> Value {
        match ty {
            Type::Bool => json!({"type": "boolean"}),
            Type::Int32 => json!({"type": "integer", "format": "int32"}),
            Type::Int64 => json!({"type": "integer", "format": "int64"}),
            Type::Double => json!({"type": "number", "format": "double"}),
            Type::String | Type::ApiVersion | Type::Kind => json!({"type": "string"}),
            Type::Bytes => json!({"type": "string", "format": "byte"}),
            Type::Message(id) => self.refer(&MESSAGES[usize::from(id.0)]),
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        }
    }
}

/// The group, version and kind of a resource's objects, as schemas and operations name them.
pub(super) fn identity(resource: &Resource, kind: &str) -> Value {
    json!({"group": resource.group, "version": resource.version, "kind": kind})
}

/// Whether raw JSON may be any value, as defaults and examples in the schemas of custom resources are.
fn is_any(message: &Message) -> bool {
    message.name.ends_with(".JSON")
}

fn root(api_version: &str, kind: &str) -> Option<&'static Message> {
    let at = ROOTS.binary_search_by(|row| (row.api_version, row.kind).cmp(&(api_version, kind))).ok()?;
    Some(&MESSAGES[usize::from(ROOTS[at].message.0)])
}

/// `k8s.io.api.core.v1.Pod` to `io.k8s.api.core.v1.Pod`: packages begin with their host, backwards.
fn schema_name(message: &Message) -> String {
    if let Some(rest) = message.name.strip_prefix("openshift.") {
        return format!("com.github.openshift.{rest}");
    }
    let rest = message.name.strip_prefix("k8s.io.").unwrap_or(message.name);
    format!("io.k8s.{}", rest.replace("apiextensions_apiserver", "apiextensions-apiserver").replace("kube_aggregator", "kube-aggregator"))
}
