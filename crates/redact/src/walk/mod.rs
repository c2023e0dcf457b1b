//! The walk through an object: each string becomes what its field says. What is in an object again, as JSON in a text or as a copy in an annotation, is
//! walked through alike; what ends in a string has a file by its kind.

mod context;
mod labels;
mod members;
mod own_words;
mod secret_values;
mod strings;

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use crate::choice::Class;
use crate::fields::{self, MapTreatment, Treatment};
use crate::managed_fields::{self, FieldKey};
use crate::mask::Mask;
use crate::memo::RewrittenPart;
use crate::secrets::{self, LAST_APPLIED};
use crate::shapes;
use members::{enter, renamed};

/// How deep the parts lie that objects share, in steps below the object: `spec.containers`, and each of them.
const DEPTHS: RangeInclusive<usize> = 2..=3;

/// Rewrites an object in place, or learns of it. `is_builtin` says whether a kind, by its `apiVersion` and name, is one of Kubernetes' own.
pub(crate) fn rewrite(mask: &mut Mask, is_builtin: &dyn Fn(&str, &str) -> bool, is_secret: bool, object: &mut Value) {
    mask.path.clear();
    mask.context.clear();
    let member = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut walk = Walk { mask, is_builtin, is_custom: false, version: member("apiVersion"), kind: member("kind") };
    match &mut *object {
        Value::Object(members) => walk.object(members, is_secret),
        other if is_secret => secret_values::all(walk.mask, other),
        other => walk.value("", "", other),
    }
    if !mask.own_words.is_empty() {
        mask.path = "anywhere".to_owned();
        own_words::rewrite(mask, object);
    }
}

struct Walk<'m> {
    mask: &'m mut Mask,
    is_builtin: &'m dyn Fn(&str, &str) -> bool,
    /// Whether the object is of a custom kind.
    is_custom: bool,
    /// What the outermost object is.
    version: String,
    kind: String,
}

impl Walk<'_> {
    /// Runs `work` one step down the path.
    fn at<T>(&mut self, step: &str, work: impl FnOnce(&mut Self) -> T) -> T {
        let length = enter(self.mask, step);
        let result = work(self);
        self.mask.path.truncate(length);
        result
    }

    // Objects.

    fn object(&mut self, members: &mut Map<String, Value>, is_secret: bool) {
        let text = |member: Option<&Value>| member.and_then(Value::as_str).unwrap_or_default().to_owned();
        let kind = text(members.get("kind"));
        let version = members.get("apiVersion").map_or_else(|| self.version.clone(), |version| text(Some(version)));
        let was_custom = std::mem::replace(&mut self.is_custom, !(self.is_builtin)(&version, &kind));
        context::learn(self.mask, members);
        let is_outermost = self.mask.path.is_empty();
        // What follows it is rewritten by its names too.
        self.mask.asked_context |= !is_outermost;
        let mut step = if kind.is_empty() { "{}".to_owned() } else { kind.clone() };
        if let Some((replaced, _)) = self.mask.own_words.replaced(&step) {
            step = replaced;
        }
        self.at(if is_outermost { &step } else { "[]" }, |walk| {
            if is_secret || secrets::is_secret(members) {
                walk.secret(members);
            } else {
                walk.fields_of(&kind, members);
            }
        });
        self.is_custom = was_custom;
    }

    fn fields_of(&mut self, kind: &str, members: &mut Map<String, Value>) {
        let is_definition = kind == "CustomResourceDefinition";
        let is_release = kind == "ConfigMap" && secrets::is_helm_release(members);
        if is_definition {
            context::learn_definition(self.mask, members);
        }
        secret_values::credentials(self.mask, kind, members);
        let is_list = secrets::is_list(members);
        for (name, member) in members.iter_mut() {
            self.at(name, |walk| match (name.as_str(), &mut *member) {
                ("metadata", Value::Object(metadata)) => walk.metadata(kind, metadata, false),
                ("data" | "binaryData", Value::Object(data)) if kind == "ConfigMap" && is_release => {
                    secret_values::each(walk.mask, data, name == "binaryData");
                }
                ("data" | "binaryData", Value::Object(data)) if kind == "ConfigMap" => walk.data(data, name == "binaryData"),
                ("items", Value::Array(items)) if is_list => walk.items_secret(items),
                ("spec", Value::Object(spec)) if is_definition => walk.definition_spec(spec),
                _ => walk.value("", name, member),
            });
        }
    }

    /// The parts of a definition that are somebody's: the server that converts its objects, and what is told in sentences.
    fn definition_spec(&mut self, spec: &mut Map<String, Value>) {
        for (name, member) in spec.iter_mut() {
            self.at(name, |walk| match name.as_str() {
                "conversion" => walk.value("spec", name, member),
                _ => context::definition(walk.mask, name, member),
            });
        }
    }

    fn metadata(&mut self, kind: &str, metadata: &mut Map<String, Value>, is_secret: bool) {
        let has_public_name = fields::has_public_names(kind);
        for (name, member) in metadata.iter_mut() {
            self.at(name, |walk| match (name.as_str(), &mut *member) {
                ("name", Value::String(text)) if has_public_name => walk.mask.literal(text),
                ("name", Value::String(text)) if kind == "Namespace" => *text = walk.mask.name(Class::Namespaces, text),
                ("annotations", Value::Object(annotations)) if is_secret => walk.annotations_of_secret(annotations),
                ("managedFields", Value::Array(managers)) if is_secret => walk.managers_of_secret(managers),
                _ => walk.value("metadata", name, member),
            });
        }
    }

    // Secrets.

    fn secret(&mut self, members: &mut Map<String, Value>) {
        for (name, member) in members.iter_mut() {
            self.at(name, |walk| match (name.as_str(), &mut *member) {
                ("metadata", Value::Object(metadata)) => walk.metadata("Secret", metadata, true),
                _ => secret_values::member(walk.mask, name, member),
            });
        }
    }

    fn items_secret(&mut self, items: &mut [Value]) {
        for item in items {
            self.at("[]", |walk| match item {
                Value::Object(members) => walk.secret(members),
                other => secret_values::all(walk.mask, other),
            });
        }
    }

    fn annotations_of_secret(&mut self, annotations: &mut Map<String, Value>) {
        renamed(annotations, |key, member| {
            if let Value::String(text) = member {
                self.at("*", |walk| match (fields::of_annotation(key), serde_json::from_str(text)) {
                    (_, Ok(Value::Object(mut applied))) if key == LAST_APPLIED => {
                        walk.secret(&mut applied);
                        *text = Value::Object(applied).to_string();
                    }
                    (Treatment::Name | Treatment::Namespace, _) if text.len() < 64 => *text = walk.mask.name(Class::Names, text),
                    _ => *text = walk.mask.gone(Class::Secrets, text),
                });
            }
            self.mask.label_key(key)
        });
    }

    /// Who wrote a Secret and when stays; which keys it has does not say more than `data` itself.
    fn managers_of_secret(&mut self, managers: &mut [Value]) {
        for manager in managers {
            if let Some(fields) = manager.get_mut("fieldsV1") {
                *fields = Value::Object(Map::new());
            }
            self.at("[]", |walk| walk.value("metadata", "managedFields", manager));
        }
    }

    // Everything else.

    fn value(&mut self, parent: &str, member: &str, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.string(parent, member, text),
            Value::Array(_) | Value::Object(_) => self.shared(parent, member, value),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Rewrites a list or an object as it was rewritten before, if it was: objects share many parts, and each is learned once.
    fn shared(&mut self, parent: &str, member: &str, value: &mut Value) {
        if !DEPTHS.contains(&self.mask.path.matches('.').count()) {
            return self.compound(parent, member, value);
        }
        let place = (&self.mask.path, parent, member, self.is_custom, &self.version);
        let part = self.mask.memo.part(place, value);
        if self.mask.is_learning {
            if self.mask.memo.is_news(&part) {
                self.compound(parent, member, value);
            }
            return;
        }
        if let Some(known) = self.mask.memo.rewritten(&part) {
            value.clone_from(&known.value);
            self.mask.tally.count_again(&known.counts);
            return;
        }
        if !self.mask.memo.comes_again(&part) {
            return self.compound(parent, member, value);
        }
        let asked_before = std::mem::take(&mut self.mask.asked_context);
        let begun = self.mask.tally.begin_note();
        self.compound(parent, member, value);
        let counts = self.mask.tally.end_note(begun);
        if !self.mask.asked_context {
            self.mask.memo.keep(&part, RewrittenPart { value: value.clone(), counts });
        }
        self.mask.asked_context |= asked_before;
    }

    /// A list or an object, which was not rewritten before.
    fn compound(&mut self, parent: &str, member: &str, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.at("[]", |walk| walk.value(parent, member, item))),
            Value::Object(members) => self.map(parent, member, members),
            _ => {}
        }
    }

    fn map(&mut self, parent: &str, member: &str, members: &mut Map<String, Value>) {
        let is_object = members.get("kind").is_some_and(Value::is_string) && members.get("metadata").is_some_and(Value::is_object);
        if is_object || secrets::is_secret(members) || secrets::is_list(members) {
            return self.object(members, false);
        }
        let is_of_strings = members.values().all(Value::is_string);
        match fields::of_map(parent, member, is_of_strings) {
            MapTreatment::Labels => labels::labels(self.mask, members),
            MapTreatment::Annotations => self.annotations(members),
            MapTreatment::Values => self.data(members, false),
            MapTreatment::ManagedFields => self.managed_fields(members),
            MapTreatment::Requirement if members.get("key").is_some_and(Value::is_string) => labels::requirement(self.mask, members),
            MapTreatment::Requirement | MapTreatment::Fields => self.fields(member, members),
        }
    }

    fn fields(&mut self, around: &str, members: &mut Map<String, Value>) {
        let kind = members.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        let has_public_name = fields::has_public_names(&kind);
        let is_identity = around == "subjects" && matches!(&*kind, "User" | "Group");
        let is_credential = around == "env"
            && self.mask.choice.has(Class::Tokens)
            && members.get("name").and_then(Value::as_str).is_some_and(shapes::names_credential);
        renamed(members, |key, member| {
            let renamed = members::key(self.mask, key);
            let step = if renamed == key && !key.contains(|c: char| !c.is_ascii_alphanumeric()) { key } else { "*" };
            self.at(step, |walk| match (key, &mut *member) {
                ("name", Value::String(text)) if has_public_name => walk.mask.literal(text),
                ("name", Value::String(text)) if is_identity => *text = walk.mask.identity(text),
                ("value", Value::String(text)) if is_credential => *text = walk.mask.gone(Class::Tokens, text),
                _ => walk.value(around, key, member),
            });
            renamed
        });
    }

    fn annotations(&mut self, annotations: &mut Map<String, Value>) {
        renamed(annotations, |key, member| {
            self.at("*", |walk| {
                if let Value::String(text) = member {
                    *text = walk.annotation(key, text);
                }
                walk.mask.label_key(key)
            })
        });
    }

    fn annotation(&mut self, key: &str, text: &str) -> String {
        match fields::of_annotation(key) {
            _ if key == LAST_APPLIED && text.trim_start().starts_with('{') => self.json(text).unwrap_or_else(|| self.mask.value(text)),
            Treatment::Name => self.mask.name(Class::Names, text),
            Treatment::Namespace => self.mask.name(Class::Namespaces, text),
            Treatment::Value if self.mask.choice.has(Class::Values) && !matches!(text, "true" | "false") => self.mask.value(text),
            _ => self.text("annotations", key, text),
        }
    }

    fn data(&mut self, data: &mut Map<String, Value>, is_base64: bool) {
        let goes = self.mask.choice.has(Class::Values);
        renamed(data, |key, member| {
            self.at("*", |walk| match member {
                Value::String(text) if goes && is_base64 => *text = walk.mask.gone_bytes(Class::Values, text),
                Value::String(text) if goes => *text = walk.mask.value(text),
                Value::String(text) => *text = walk.text("data", key, text),
                _ => walk.value("data", key, member),
            });
            members::key(self.mask, key)
        });
    }

    fn managed_fields(&mut self, members: &mut Map<String, Value>) {
        managed_fields::rewrite(members, &mut |around, key| {
            let last = around.last().map_or("", String::as_str);
            let before = around.len().checked_sub(2).and_then(|at| around.get(at)).map_or("", String::as_str);
            self.at("*", |walk| match key {
                FieldKey::Field(field) => {
                    let field = match last {
                        "labels" | "matchLabels" | "nodeSelector" | "selector" | "annotations" => walk.mask.label_key(field),
                        _ => members::key(walk.mask, field),
                    };
                    Some(format!("f:{field}"))
                }
                FieldKey::Item(mut item) => {
                    walk.map(before, last, &mut item);
                    Some(format!("k:{}", Value::Object(item)))
                }
                FieldKey::Element(Value::String(element)) => Some(format!("v:{}", Value::String(walk.string(before, last, &element)))),
                FieldKey::Element(_) => None,
            })
        });
    }

    // Strings in which something may be again.

    fn string(&mut self, parent: &str, member: &str, text: &str) -> String {
        match fields::of_string(parent, member) {
            Treatment::Text => self.text(parent, member, text),
            Treatment::Value if !matches!(member, "args" | "command") && !self.mask.choice.has(Class::Values) => {
                self.text(parent, member, text)
            }
            treatment => strings::rewritten(self.mask, treatment, member, text),
        }
    }

    /// Text, or JSON in it.
    fn text(&mut self, parent: &str, member: &str, text: &str) -> String {
        let is_of_spec = || self.mask.path.split('.').nth(1) == Some("spec");
        if self.is_custom && self.mask.choice.has(Class::Values) && is_of_spec() && strings::is_free(text) {
            return self.mask.value(text);
        }
        if member == "fieldPath"
            && let Some((before, name)) = text.strip_suffix('}').and_then(|text| text.split_once('{'))
        {
            return format!("{before}{{{}}}", self.mask.name(Class::Names, name));
        }
        if let Ok(mut inner @ (Value::Object(_) | Value::Array(_))) = json(text) {
            let original = inner.clone();
            self.value(parent, member, &mut inner);
            self.own(&mut inner);
            return if inner == original { text.to_owned() } else { inner.to_string() };
        }
        self.mask.text(text)
    }

    /// An object as JSON, of the kind of the one around it if it does not say; `None` where it is not one.
    fn json(&mut self, text: &str) -> Option<String> {
        let Ok(Value::Object(mut members)) = json(text) else { return None };
        let original = members.clone();
        let is_bare = !members.contains_key("kind");
        if is_bare {
            members.insert("kind".to_owned(), self.kind.clone().into());
        }
        self.object(&mut members, false);
        if is_bare {
            members.remove("kind");
        }
        let mut object = Value::Object(members);
        self.own(&mut object);
        if object.as_object() == Some(&original) {
            return Some(text.to_owned());
        }
        let end = if text.ends_with('\n') { "\n" } else { "" };
        Some(object.to_string() + end)
    }

    /// The caller's own words in JSON in a text, where they may be escaped.
    fn own(&mut self, inner: &mut Value) {
        if !self.mask.own_words.is_empty() {
            own_words::rewrite(self.mask, inner);
        }
    }
}

/// Reads JSON that is an object or a list.
fn json(text: &str) -> serde_json::Result<Value> {
    if text.trim_start().starts_with(['{', '[']) { serde_json::from_str(text) } else { Ok(Value::Null) }
}
