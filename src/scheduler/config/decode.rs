//! Strict decoding: every value of its field's type, every field known, plugin arguments of their own kind. What a release says of it,
//! but for the wording up to 1.22, whose JSON library quotes the bytes around the fault: there the words of later releases are used.
//! Upstream: `sigs.k8s.io/json`, `apimachinery/pkg/runtime/serializer`, `config/{version}/types.go` DecodeNestedObjects.

use serde_json::Value;

use crate::scheduler::Release;

use super::schema::{self, Kind};
use super::{ConfigVersion, Context, durations};

const GROUP: &str = "kubescheduler.config.k8s.io";

/// Checks the whole file; the first fault of type, or else all unknown fields.
pub fn check(file: &Value, context: &Context<'_>) -> Result<(), String> {
    let mut unknown = strictly(file, "KubeSchedulerConfiguration", context)?;
    let mut foreign = None;
    for (at, profile) in elements(file, "profiles").enumerate() {
        for (number, config) in elements(profile, "pluginConfig").enumerate() {
            let place = format!("decoding .profiles[{at}].pluginConfig[{number}]");
            match nested(config, context) {
                Ok(Nested::Known) => {}
                Ok(Nested::OfVersion(kind)) => foreign = foreign.or(Some((at, number, kind))),
                // Since 1.24 unknown fields do not end the reading.
                Ok(Nested::Unknown(reason)) if context.release.0 >= 24 => {
                    unknown.push(format!("{place}: strict decoding error: {reason}"));
                }
                Ok(Nested::Unknown(reason)) | Err(reason) => return Err(format!("{place}: {reason}")),
            }
        }
    }
    match foreign {
        _ if !unknown.is_empty() => Err(strict(&unknown)),
        Some((at, number, kind)) => {
            let place = format!("converting .Profiles[{at}].PluginConfig[{number}].Args into internal type");
            Err(format!("{place}: no kind is registered for the type {kind} in scheme \"{}\"", scheme(context.release)))
        }
        None => Ok(()),
    }
}

/// Checks a file that is the arguments of a plugin.
pub fn arguments_alone(file: &Value, kind: &str, context: &Context<'_>) -> String {
    match strictly(file, kind, context) {
        Err(reason) => reason,
        Ok(unknown) if !unknown.is_empty() => strict(&unknown),
        Ok(_) => format!("couldn't decode as KubeSchedulerConfiguration, got {GROUP}/{}, Kind={kind}: ", context.version.name()),
    }
}

/// The fault of type in a plugin's arguments, where the plugin itself reads them, as in 1.18.
pub fn fault(args: &Value, plugin: &str, context: &Context<'_>) -> Option<String> {
    strictly(args, &format!("{plugin}Args"), context).err()
}

fn elements<'v>(value: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> {
    value.get(field).and_then(Value::as_array).into_iter().flatten()
}

fn strict(unknown: &[String]) -> String {
    format!("strict decoding error: {}", unknown.join(", "))
}

/// What arguments are.
enum Nested {
    /// As they must be; or of a plugin outside the tree, or of one that takes none: then they may be anything.
    Known,
    /// Of another version than the file's, which is decoded and then not converted.
    OfVersion(String),
    /// With unknown fields.
    Unknown(String),
}

fn nested(config: &Value, context: &Context<'_>) -> Result<Nested, String> {
    let name = config.get("name").and_then(Value::as_str).unwrap_or_default();
    let own = format!("{name}Args");
    let args = config.get("args").unwrap_or(&Value::Null);
    if context.version < ConfigVersion::V1Beta1 || args.is_null() || !schema::is_args(&own, context) {
        return Ok(Nested::Known);
    }
    let decoding = |reason: String| format!("decoding args for plugin {name}: {reason}");
    let (kind, version) = type_meta(args).map_err(decoding)?;
    let kind = if kind.is_empty() { own.clone() } else { kind };
    let of = if version.is_empty() { Some(context.version) } else { ConfigVersion::named(&version, context.release) };
    let theirs = Context { version: of.unwrap_or(context.version), ..*context };
    if of.is_none() || !schema::is_args(&kind, &theirs) && kind != "KubeSchedulerConfiguration" {
        let version = if version.is_empty() { format!("{GROUP}/{}", context.version.name()) } else { version };
        return Err(decoding(not_registered(&kind, &version, context.release)));
    }
    let unknown = strictly(args, &kind, &theirs).map_err(decoding)?;
    match () {
        () if !unknown.is_empty() => Ok(Nested::Unknown(decoding(strict(&unknown)))),
        () if kind != own => Err(format!("args for plugin {name} were not of type {own}.{GROUP}, got {kind}.{GROUP}")),
        () if theirs.version != context.version => Ok(Nested::OfVersion(format!("{}.{kind}", theirs.version.name()))),
        () => Ok(Nested::Known),
    }
}

/// A value's `kind` and `apiVersion`; both must be texts.
pub fn type_meta(value: &Value) -> Result<(String, String), String> {
    let broken = |fault: String| format!("couldn't get version/kind; json parse error: json: cannot unmarshal {fault}");
    if !value.is_object() {
        let fields = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
        return Err(broken(format!("{} into Go value of type {fields}", shape(value))));
    }
    let text = |name: &str| match value.get(name) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(broken(format!("{} into Go struct field .{name} of type string", shape(other)))),
    };
    Ok((text("kind")?, text("apiVersion")?))
}

/// What upstream says of a kind it does not know.
pub fn not_registered(kind: &str, version: &str, release: Release) -> String {
    format!("no kind {kind:?} is registered for version {version:?} in scheme \"{}\"", scheme(release))
}

/// The place in upstream's code where a release's scheme was made.
fn scheme(release: Release) -> &'static str {
    match release.0 {
        ..=19 => "pkg/runtime/scheme.go:101",
        20..=32 => "pkg/runtime/scheme.go:100",
        33..=34 => "pkg/runtime/scheme.go:110",
        _ => "pkg/runtime/scheme.go:111",
    }
}

/// The fields that a struct does not have; or the first value that its field cannot hold.
fn strictly(value: &Value, of: &str, context: &Context<'_>) -> Result<Vec<String>, String> {
    let mut walk = Walk { context, names: Vec::new(), wrong: None, unknown: Vec::new() };
    walk.fields(value, of, "");
    walk.wrong.map_or(Ok(walk.unknown), Err)
}

struct Walk<'c, 'v> {
    context: &'c Context<'c>,
    /// The fields above, from the top.
    names: Vec<&'v str>,
    wrong: Option<String>,
    unknown: Vec<String>,
}

impl<'v> Walk<'_, 'v> {
    fn fields(&mut self, value: &'v Value, of: &str, path: &str) {
        for (name, value) in value.as_object().into_iter().flatten() {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            match schema::field_of(of, name, self.context) {
                Some(field) => {
                    self.names.push(name);
                    self.value(value, field.kind, of, &path);
                    self.names.pop();
                }
                // 1.23 does not tell the path.
                None if self.context.release.0 == 23 => self.unknown.push(format!("unknown field {name:?}")),
                None => self.unknown.push(format!("unknown field {path:?}")),
            }
        }
    }

    fn value(&mut self, value: &'v Value, kind: Kind, of: &str, path: &str) {
        match (kind, value) {
            (_, Value::Null)
            | (Kind::Raw, _)
            | (Kind::Text(_), Value::String(_))
            | (Kind::Float, Value::Number(_))
            | (Kind::Truth, Value::Bool(_)) => {}
            (Kind::Int(bits), Value::Number(number)) if fits(number, bits) => {}
            (Kind::Duration, Value::String(text)) => {
                if let Err(reason) = durations::nanoseconds(text) {
                    self.fault(reason);
                }
            }
            (Kind::Bytes, Value::String(text)) => {
                if let Some(at) = text.find(|letter: char| !(letter.is_ascii_alphanumeric() || "+/=\r\n".contains(letter))) {
                    self.fault(format!("illegal base64 data at input byte {at}"));
                }
            }
            (Kind::Struct(name), Value::Object(_)) => self.fields(value, name, path),
            (Kind::Texts, Value::Object(fields)) => fields.values().for_each(|text| self.value(text, Kind::Text("string"), of, path)),
            (Kind::TextList, Value::Array(list)) => list.iter().for_each(|text| self.value(text, Kind::Text("string"), of, path)),
            (Kind::List(name), Value::Array(list)) => {
                for (at, element) in list.iter().enumerate() {
                    self.value(element, Kind::Struct(name), of, &format!("{path}[{at}]"));
                }
            }
            _ => {
                let (what, names) = (literal(value, kind), self.names.join("."));
                let wanted = schema::go_type(kind, self.context);
                self.fault(format!("json: cannot unmarshal {what} into Go struct field {of}.{names} of type {wanted}"));
            }
        }
    }

    /// Go keeps the first fault and reads on.
    fn fault(&mut self, reason: String) {
        self.wrong.get_or_insert(reason);
    }
}

fn fits(number: &serde_json::Number, bits: u32) -> bool {
    number.as_i64().is_some_and(|value| bits == 64 || i32::try_from(value).is_ok())
}

/// What stands there; a number that its field is too small for is told itself.
fn literal(value: &Value, kind: Kind) -> String {
    match (value, kind) {
        (Value::Number(number), Kind::Int(_)) => format!("number {number}"),
        _ => shape(value).to_owned(),
    }
}

fn shape(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
