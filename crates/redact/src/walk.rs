//! The walk through an object: each string becomes what its field says.

use serde_json::{Map, Value};

use crate::choice::Class;
use crate::fields::{self, MapTreatment, Treatment};
use crate::managed_fields::{self, FieldKey};
use crate::mask::Mask;
use crate::secrets::{self, LAST_APPLIED};
use crate::shapes;

/// Rewrites an object in place, or learns of it. `is_builtin` says whether a kind, by its `apiVersion` and name, is one of Kubernetes' own.
pub(crate) fn rewrite(mask: &mut Mask, is_builtin: &dyn Fn(&str, &str) -> bool, is_secret: bool, object: &mut Value) {
    mask.path.clear();
    mask.context.clear();
    let mut walk = Walk { mask, is_builtin, is_custom: false };
    match &mut *object {
        Value::Object(members) => walk.object(members, is_secret),
        other if is_secret => walk.all_secret(other),
        other => walk.value("", "", other),
    }
    if !walk.mask.own_words.is_empty() {
        walk.mask.path = "anywhere".to_owned();
        walk.own(object);
    }
}

struct Walk<'m> {
    mask: &'m mut Mask,
    is_builtin: &'m dyn Fn(&str, &str) -> bool,
    /// Whether the object is of a custom kind.
    is_custom: bool,
}

impl Walk<'_> {
    /// Runs `work` one step down the path.
    fn at<T>(&mut self, step: &str, work: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.mask.path.len();
        if step != "[]" && length > 0 {
            self.mask.path.push('.');
        }
        self.mask.path.push_str(step);
        let result = work(self);
        self.mask.path.truncate(length);
        result
    }

    fn object(&mut self, members: &mut Map<String, Value>, is_secret: bool) {
        let text = |member: Option<&Value>| member.and_then(Value::as_str).unwrap_or_default().to_owned();
        let kind = text(members.get("kind"));
        let version = text(members.get("apiVersion"));
        let was_custom = std::mem::replace(&mut self.is_custom, !(self.is_builtin)(&version, &kind));
        self.learn_context(members);
        let is_outermost = self.mask.path.is_empty();
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

    /// Notes the names that text of an object is about.
    fn learn_context(&mut self, members: &Map<String, Value>) {
        for (around, name) in [
            ("metadata", "name"),
            ("metadata", "namespace"),
            ("involvedObject", "name"),
            ("involvedObject", "namespace"),
            ("regarding", "name"),
            ("regarding", "namespace"),
            ("spec", "nodeName"),
        ] {
            if let Some(name) = members.get(around).and_then(|around| around.get(name)).and_then(Value::as_str) {
                self.mask.context.insert(name.to_owned());
            }
        }
    }

    fn fields_of(&mut self, kind: &str, members: &mut Map<String, Value>) {
        let is_definition = kind == "CustomResourceDefinition";
        let is_release = kind == "ConfigMap" && secrets::is_helm_release(members);
        if is_definition {
            self.definition(members);
        }
        if !secrets::credentials(kind).is_empty() {
            self.credentials(kind, members);
        }
        let is_list = secrets::is_list(members);
        for (name, member) in members.iter_mut() {
            self.at(name, |walk| match (name.as_str(), &mut *member) {
                ("metadata", Value::Object(metadata)) => walk.metadata(kind, metadata, false),
                ("data" | "binaryData", Value::Object(data)) if kind == "ConfigMap" && is_release => {
                    walk.each_secret(data, name == "binaryData")
                }
                ("data" | "binaryData", Value::Object(data)) if kind == "ConfigMap" => walk.data(data, name == "binaryData"),
                ("items", Value::Array(items)) if is_list => walk.items_secret(items),
                ("spec", Value::Object(spec)) if is_definition => walk.definition_spec(spec),
                _ => walk.value("", name, member),
            });
        }
    }

    /// What a definition calls its kind is part of the API, in text too.
    fn definition(&mut self, members: &Map<String, Value>) {
        let Some(spec) = members.get("spec") else { return };
        let names = ["plural", "singular", "kind", "listKind"].into_iter().filter_map(|name| spec["names"][name].as_str());
        let short = spec["names"]["shortNames"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for literal in names.chain(short).chain(spec["group"].as_str()) {
            self.mask.literal(literal);
        }
    }

    /// The one part of a definition that is somebody's: the server that converts its objects.
    fn definition_spec(&mut self, spec: &mut Map<String, Value>) {
        if let Some(conversion) = spec.get_mut("conversion") {
            self.at("conversion", |walk| walk.value("spec", "conversion", conversion));
        }
    }

    fn credentials(&mut self, kind: &str, members: &mut Map<String, Value>) {
        let mut object = Value::Object(std::mem::take(members));
        for place in secrets::credentials(kind) {
            self.at(&place.join("."), |walk| {
                for text in secrets::at_place(&mut object, place) {
                    *text = walk.mask.gone(Class::Secrets, text);
                }
            });
        }
        if let Value::Object(object) = object {
            *members = object;
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

    /// A Secret: all but what says that it is one, and its metadata.
    fn secret(&mut self, members: &mut Map<String, Value>) {
        for (name, member) in members.iter_mut() {
            self.at(name, |walk| match (name.as_str(), &mut *member) {
                ("metadata", Value::Object(metadata)) => walk.metadata("Secret", metadata, true),
                ("data", Value::Object(data)) => walk.each_secret(data, true),
                ("stringData", Value::Object(data)) => walk.each_secret(data, false),
                ("apiVersion" | "kind" | "type" | "immutable", Value::String(_) | Value::Bool(_)) => {}
                _ => walk.all_secret(member),
            });
        }
    }

    fn each_secret(&mut self, data: &mut Map<String, Value>, is_base64: bool) {
        self.renamed(data, |walk, key, member| {
            walk.at("*", |walk| match member {
                Value::String(text) if is_base64 => *text = walk.mask.gone_bytes(Class::Secrets, text),
                _ => walk.all_secret(member),
            });
            walk.mask.text(key)
        });
    }

    /// Whatever lies where a Secret should.
    fn all_secret(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.mask.gone(Class::Secrets, text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.at("[]", |walk| walk.all_secret(item))),
            Value::Object(members) => members.iter_mut().for_each(|(_, member)| self.at("*", |walk| walk.all_secret(member))),
            Value::Number(_) => *value = Value::from(0),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn items_secret(&mut self, items: &mut [Value]) {
        for item in items {
            self.at("[]", |walk| match item {
                Value::Object(members) => walk.secret(members),
                other => walk.all_secret(other),
            });
        }
    }

    fn annotations_of_secret(&mut self, annotations: &mut Map<String, Value>) {
        self.renamed(annotations, |walk, key, member| {
            if let Value::String(text) = member {
                walk.at("*", |walk| match (fields::of_annotation(key), serde_json::from_str(text)) {
                    (_, Ok(Value::Object(mut applied))) if key == LAST_APPLIED => {
                        walk.secret(&mut applied);
                        *text = Value::Object(applied).to_string();
                    }
                    (Treatment::Name | Treatment::Namespace, _) if text.len() < 64 => *text = walk.mask.name(Class::Names, text),
                    _ => *text = walk.mask.gone(Class::Secrets, text),
                });
            }
            walk.mask.label_key(key)
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
            Value::Array(items) => items.iter_mut().for_each(|item| self.at("[]", |walk| walk.value(parent, member, item))),
            Value::Object(members) => self.map(parent, member, members),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn map(&mut self, parent: &str, member: &str, members: &mut Map<String, Value>) {
        let is_object = members.get("kind").is_some_and(Value::is_string) && members.get("metadata").is_some_and(Value::is_object);
        if is_object || secrets::is_secret(members) || secrets::is_list(members) {
            return self.object(members, false);
        }
        let is_of_strings = members.values().all(Value::is_string);
        match fields::of_map(parent, member, is_of_strings) {
            MapTreatment::Labels => self.labels(members),
            MapTreatment::Annotations => self.annotations(members),
            MapTreatment::Values => self.data(members, false),
            MapTreatment::ManagedFields => self.managed_fields(members),
            MapTreatment::Requirement if members.get("key").is_some_and(Value::is_string) => self.requirement(members),
            MapTreatment::Requirement | MapTreatment::Fields => self.fields(member, members),
        }
    }

    /// Rewrites each member by `work`, which returns its new key.
    fn renamed(&mut self, members: &mut Map<String, Value>, mut work: impl FnMut(&mut Self, &str, &mut Value) -> String) {
        let all = std::mem::take(members);
        for (key, mut member) in all {
            let renamed = work(self, &key, &mut member);
            members.insert(renamed, member);
        }
    }

    fn fields(&mut self, around: &str, members: &mut Map<String, Value>) {
        let kind = members.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        let has_public_name = fields::has_public_names(&kind);
        let is_identity = around == "subjects" && matches!(&*kind, "User" | "Group");
        let is_credential = around == "env"
            && self.mask.choice.has(Class::Tokens)
            && members.get("name").and_then(Value::as_str).is_some_and(shapes::names_credential);
        self.renamed(members, |walk, key, member| {
            let renamed = walk.key(key);
            let step = if renamed == key && !key.contains(|c: char| !c.is_ascii_alphanumeric()) { key } else { "*" };
            walk.at(step, |walk| match (key, &mut *member) {
                ("name", Value::String(text)) if has_public_name => walk.mask.literal(text),
                ("name", Value::String(text)) if is_identity => *text = walk.mask.identity(text),
                ("value", Value::String(text)) if is_credential => *text = walk.mask.gone(Class::Tokens, text),
                _ => walk.value(around, key, member),
            });
            renamed
        });
    }

    /// A key that its author may have chosen.
    fn key(&mut self, key: &str) -> String {
        if self.mask.is_learning {
            return key.to_owned();
        }
        if self.mask.words.is_common(key) { key.to_owned() } else { self.mask.text(key) }
    }

    fn labels(&mut self, labels: &mut Map<String, Value>) {
        self.renamed(labels, |walk, key, member| {
            walk.at("*", |walk| {
                if let Value::String(text) = member {
                    *text = walk.label(key, text);
                }
                walk.mask.label_key(key)
            })
        });
    }

    /// The value of a label.
    fn label(&mut self, key: &str, value: &str) -> String {
        /// Numbers with no more digits are compared as numbers by `Gt` and `Lt`.
        const MAX_NUMBER_DIGITS: usize = 10;
        let is_number = value.len() <= MAX_NUMBER_DIGITS && value.bytes().all(|byte| byte.is_ascii_digit());
        if is_number || fields::has_public_values(key) {
            self.mask.literal(value);
            return value.to_owned();
        }
        let class = if key == "kubernetes.io/metadata.name" { Class::Namespaces } else { Class::Names };
        self.mask.name(class, value)
    }

    /// `{key, operator, values}`, `{key, value, effect}`.
    fn requirement(&mut self, members: &mut Map<String, Value>) {
        let key = members.get("key").and_then(Value::as_str).unwrap_or_default().to_owned();
        for (name, member) in members.iter_mut() {
            self.at(name, |walk| match (name.as_str(), &mut *member) {
                ("key", Value::String(text)) => *text = walk.mask.label_key(text),
                ("value", Value::String(text)) => *text = walk.label(&key, text),
                ("values", Value::Array(values)) => {
                    for value in values {
                        if let Value::String(text) = value {
                            *text = walk.label(&key, text);
                        }
                    }
                }
                _ => {}
            });
        }
    }

    fn annotations(&mut self, annotations: &mut Map<String, Value>) {
        self.renamed(annotations, |walk, key, member| {
            walk.at("*", |walk| {
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
        self.renamed(data, |walk, key, member| {
            walk.at("*", |walk| match member {
                Value::String(text) if goes && is_base64 => *text = walk.mask.gone_bytes(Class::Values, text),
                Value::String(text) if goes => *text = walk.mask.value(text),
                Value::String(text) => *text = walk.text("data", key, text),
                _ => walk.value("data", key, member),
            });
            walk.key(key)
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
                        _ => walk.key(field),
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

    fn string(&mut self, parent: &str, member: &str, text: &str) -> String {
        match fields::of_string(parent, member) {
            // The kubelet writes the node's name where others write a uid.
            Treatment::Api if member == "uid" && !is_uid(text) => self.mask.name(Class::Names, text),
            Treatment::Api => {
                if let Some((group, _)) = text.split_once('/').filter(|_| member == "apiVersion") {
                    self.mask.literal(group);
                }
                if !matches!(member, "uid" | "resourceVersion" | "containerID")
                    && !member.ends_with("Time")
                    && !member.ends_with("Timestamp")
                {
                    self.mask.literal(text);
                }
                text.to_owned()
            }
            Treatment::Text => self.text(parent, member, text),
            // A port has a number or a name.
            Treatment::Name if member.ends_with("ort") && text.bytes().all(|byte| byte.is_ascii_digit()) => text.to_owned(),
            Treatment::Name => self.mask.name(Class::Names, text),
            Treatment::Namespace => self.mask.name(Class::Namespaces, text),
            Treatment::Host => self.mask.host(text),
            Treatment::Value if matches!(member, "args" | "command") => self.argument(text),
            Treatment::Value if self.mask.choice.has(Class::Values) => self.mask.value(text),
            Treatment::Value => self.text(parent, member, text),
            Treatment::Image => self.mask.image(text),
            Treatment::Identity => self.mask.identity(text),
            Treatment::Identifier => self.mask.identifier(text),
            Treatment::Volume => self.volume(text),
            Treatment::LabelKey => self.mask.label_key(text),
            Treatment::Certificate => match self.mask.of_certificates() {
                Some(class) => self.mask.gone_bytes(class, text),
                None => text.to_owned(),
            },
        }
    }

    /// Text, or JSON in it.
    fn text(&mut self, parent: &str, member: &str, text: &str) -> String {
        if self.is_custom && self.mask.choice.has(Class::Values) && self.mask.path.split('.').nth(1) == Some("spec") && is_free(text) {
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
            return if inner == original { text.to_owned() } else { inner.to_string() };
        }
        self.mask.text(text)
    }

    /// An object as JSON; `None` where it is not one.
    fn json(&mut self, text: &str) -> Option<String> {
        let Ok(Value::Object(mut members)) = json(text) else { return None };
        let original = members.clone();
        self.object(&mut members, false);
        if members == original {
            return Some(text.to_owned());
        }
        let end = if text.ends_with('\n') { "\n" } else { "" };
        Some(Value::Object(members).to_string() + end)
    }

    /// A word of a command line: flags stay, and so do settings of Kubernetes' own programs.
    fn argument(&mut self, text: &str) -> String {
        const PROGRAMS: [&str; 5] = ["etcd", "kubelet", "hyperkube", "coredns", "pause"];
        if !self.mask.choice.has(Class::Values) {
            return self.mask.text(text);
        }
        let program = text.rsplit('/').next().unwrap_or(text);
        if PROGRAMS.contains(&program) || program.starts_with("kube-") {
            self.mask.literal(text);
            return text.to_owned();
        }
        match text.split_once('=') {
            Some((flag, value)) if flag.starts_with('-') => {
                let value =
                    if fields::is_public_flag(flag.trim_start_matches('-')) { self.mask.text(value) } else { self.mask.value(value) };
                format!("{}={value}", self.mask.text(flag))
            }
            _ if text.starts_with('-') && !text.contains(char::is_whitespace) => self.mask.text(text),
            _ => self.mask.value(text),
        }
    }

    /// A volume as its driver and the kubelet call it: what is before `^` is the driver.
    fn volume(&mut self, text: &str) -> String {
        match text.split_once('^') {
            Some((driver, handle)) => format!("{driver}^{}", self.mask.name(Class::Names, handle)),
            None => self.mask.name(Class::Names, text),
        }
    }

    /// The caller's own words, in whatever is left.
    fn own(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => self.mask.own(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.own(item)),
            Value::Object(members) => {
                let all = std::mem::take(members);
                for (mut key, mut member) in all {
                    self.own(&mut member);
                    self.mask.own(&mut key);
                    members.insert(key, member);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

fn is_uid(text: &str) -> bool {
    text.len() >= 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Reads JSON that is an object or a list.
fn json(text: &str) -> serde_json::Result<Value> {
    if text.trim_start().starts_with(['{', '[']) { serde_json::from_str(text) } else { Ok(Value::Null) }
}

/// Whether a string of a custom resource is more than a name, a number or a word of an enumeration.
fn is_free(text: &str) -> bool {
    /// Longer strings are texts.
    const MAX_WORD_CHARS: usize = 40;
    text.len() > MAX_WORD_CHARS
        || text.contains(|c: char| c.is_whitespace() || matches!(c, '=' | '@' | '\\' | '"' | '{'))
        || text.contains("://")
}
