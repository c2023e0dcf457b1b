//! Strict decoding: every value of its field's type, every field known and given once, plugin arguments of their own kind. What a scheduler of the
//! release would refuse is named with its place, in our words.
//! Upstream: `sigs.k8s.io/json`, `apimachinery/pkg/runtime/serializer`, `config/{version}/types.go` DecodeNestedObjects.

use serde_json::Value;

use crate::release::ConfigRules;
use crate::{Gates, Release};

use super::context::Context;
use super::schema::{self, FieldType};
use super::source_tree::{File, SourceValue};
use super::versions::ConfigVersion;

/// Why a file is refused.
#[derive(Debug, Default)]
pub(super) struct Faults {
    /// Values that their fields cannot hold.
    pub mistyped: Vec<String>,
    /// Fields that are unknown or given twice: v1alpha1 passes over them.
    pub unknown: Vec<String>,
}

/// Checks the whole file.
pub(super) fn check(file: &File, context: &Context<'_>) -> Faults {
    let mut faults = strictly(&file.root, "KubeSchedulerConfiguration", "", context);
    if !file.is_json || !context.rules().finds_repeated_fields_of_json() {
        faults.unknown.extend(file.repeated.iter().cloned());
    }
    for (at, profile) in file.root.elements("profiles").iter().enumerate() {
        for (number, config) in profile.elements("pluginConfig").iter().enumerate() {
            nested(config, &format!("profiles[{at}].pluginConfig[{number}].args"), context, &mut faults);
        }
    }
    faults
}

/// Returns why a plugin refuses its arguments, where it decodes them itself, as in 1.18: then unknown fields are passed over.
pub(super) fn fault(args: &Value, plugin: &str, context: &Context<'_>) -> Option<String> {
    let args = SourceValue::of(args);
    if !matches!(args, SourceValue::Fields(_) | SourceValue::Scalar(Value::Null)) {
        return Some(format!("fields are expected, not {}", shape(&args)));
    }
    strictly(&args, &format!("{plugin}Args"), "", context).mistyped.into_iter().next()
}

/// Checks the arguments of a plugin. Those of an out-of-tree plugin, or of one that takes none, may be anything.
fn nested(config: &SourceValue, place: &str, context: &Context<'_>, faults: &mut Faults) {
    let name = config.text("name").unwrap_or_default();
    let own = format!("{name}Args");
    let Some(args) = config.field("args").filter(|args| !args.is_null()) else { return };
    if context.version < ConfigVersion::V1Beta1 || !schema::is_args(&own, context) {
        return;
    }
    let (kind, version) = match type_meta(args) {
        Ok(meta) => meta,
        Err(reason) => return faults.mistyped.push(format!("{place}: {reason}")),
    };
    let kind = if kind.is_empty() { own.clone() } else { kind };
    let of = if version.is_empty() { Some(context.version) } else { ConfigVersion::named(&version, context.release) };
    let theirs = Context { version: of.unwrap_or(context.version), ..*context };
    if of.is_none() {
        faults.mistyped.push(format!("{place}.apiVersion: kube-scheduler {} reads no {version}", context.release));
    } else if kind != own {
        faults.mistyped.push(format!("{place}.kind: plugin {name} takes {own}, not {kind}"));
    } else if theirs.version != context.version {
        let (of, file) = (theirs.version.name(), context.version.name());
        faults.mistyped.push(format!("{place}.apiVersion: it is {of}, and the file is {file}: both must be the same"));
    } else {
        let of_args = strictly(args, &kind, place, &theirs);
        faults.mistyped.extend(of_args.mistyped);
        faults.unknown.extend(of_args.unknown);
    }
}

/// Returns the version of a file, if a scheduler of this release reads it.
pub(super) fn version_of(file: &File, release: Release, gates: &Gates) -> Result<ConfigVersion, String> {
    let (kind, version) = type_meta(&file.root)?;
    if kind.is_empty() || version.is_empty() {
        let missing = if kind.is_empty() { "kind" } else { "apiVersion" };
        return Err(format!("it has no {missing}: a KubeSchedulerConfiguration or a Policy is expected"));
    }
    match ConfigVersion::named(&version, release) {
        Some(known) if kind == "KubeSchedulerConfiguration" => Ok(known),
        Some(known) if schema::is_args(&kind, &Context { version: known, release, gates }) => Err(format!(
            "it is the arguments of a plugin ({kind}): put them into a KubeSchedulerConfiguration, under profiles[].pluginConfig[].args"
        )),
        _ => {
            let group = ConfigRules::of(release).api_group();
            let readable: Vec<String> = ConfigVersion::readable(release).map(|(_, name, ..)| format!("{group}/{name}")).collect();
            Err(format!(
                "it is a {kind} of {version}: kube-scheduler {release} reads KubeSchedulerConfiguration of {}",
                readable.join(", ")
            ))
        }
    }
}

/// A value's `kind` and `apiVersion`; both must be strings.
fn type_meta(value: &SourceValue) -> Result<(String, String), String> {
    // Go decodes null into a struct without an error, and leaves the struct as it is (encoding/json, `Unmarshal`).
    if value.is_null() {
        return Ok((String::new(), String::new()));
    }
    let SourceValue::Fields(fields) = value else { return Err(format!("fields are expected, not {}", shape(value))) };
    let named = fields.iter().filter(|(_, name, _)| matches!(name.as_str(), "kind" | "apiVersion"));
    for (_, name, value) in named {
        if !matches!(value, SourceValue::Scalar(Value::String(_) | Value::Null)) {
            return Err(format!("{name}: text is expected, not {}", shape(value)));
        }
    }
    let text = |name: &str| value.text(name).unwrap_or_default().to_owned();
    Ok((text("kind"), text("apiVersion")))
}

/// Returns the faults of a value of type `of`, which lies at `path`.
fn strictly(value: &SourceValue, of: &str, path: &str, context: &Context<'_>) -> Faults {
    let mut walk = Walk { context, faults: Faults::default() };
    walk.fields(value, of, path);
    walk.faults
}

struct Walk<'c> {
    context: &'c Context<'c>,
    faults: Faults,
}

impl Walk<'_> {
    fn fields(&mut self, value: &SourceValue, of: &str, path: &str) {
        let SourceValue::Fields(fields) = value else { return };
        for (at, (_, name, value)) in fields.iter().enumerate() {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let Some(field) = schema::field_of(of, name, self.context) else {
                if !(self.context.rules().decodes_extenders_apart() && schema::is_of_extender(of)) {
                    let (release, version) = (self.context.release, self.context.version.name());
                    self.unknown(format!("{path}: kube-scheduler {release} has no such field in {version}"));
                }
                continue;
            };
            if self.context.rules().finds_repeated_fields_of_json() && fields[..at].iter().any(|(_, known, _)| known == name) {
                self.unknown(format!("{path}: the field is given twice"));
            }
            self.value(value, field.kind, of, &path);
        }
    }

    fn value(&mut self, value: &SourceValue, kind: FieldType, of: &str, path: &str) {
        match (kind, value) {
            (FieldType::Duration, SourceValue::Scalar(Value::Null)) if of != "DynamicResourcesArgs" => self.mismatch(value, kind, path),
            (_, SourceValue::Scalar(Value::Null)) | (FieldType::Raw, _) => {}
            (kind, SourceValue::Scalar(scalar)) if holds(kind, scalar) => {}
            (FieldType::Duration, SourceValue::Scalar(Value::String(text))) => {
                if ketcd_kube::go_duration::parse_go_duration(text).is_err() {
                    self.faults.mistyped.push(format!("{path}: {text:?} is not a duration such as 15s"));
                }
            }
            (FieldType::Bytes, SourceValue::Scalar(Value::String(text))) => {
                if text.contains(|letter: char| !(letter.is_ascii_alphanumeric() || "+/=\r\n".contains(letter))) {
                    self.faults.mistyped.push(format!("{path}: it is not base64"));
                }
            }
            (FieldType::Struct(name), SourceValue::Fields(_)) => self.fields(value, name, path),
            (FieldType::Texts, SourceValue::Fields(fields)) => {
                fields.iter().for_each(|(_, name, text)| self.value(text, FieldType::Text, of, &format!("{path}.{name}")));
            }
            (FieldType::TextList, SourceValue::List(list)) => self.elements(list, FieldType::Text, of, path),
            (FieldType::List(name), SourceValue::List(list)) => self.elements(list, FieldType::Struct(name), of, path),
            _ => self.mismatch(value, kind, path),
        }
    }

    fn elements(&mut self, list: &[SourceValue], kind: FieldType, of: &str, path: &str) {
        list.iter().enumerate().for_each(|(at, element)| self.value(element, kind, of, &format!("{path}[{at}]")));
    }

    fn mismatch(&mut self, value: &SourceValue, kind: FieldType, path: &str) {
        self.faults.mistyped.push(match (kind, value) {
            (FieldType::Int(bits), SourceValue::Scalar(Value::Number(number))) => {
                format!("{path}: {number} is not a whole number of {bits} bits")
            }
            _ => format!("{path}: {} is expected, not {}", kind.expected(), shape(value)),
        });
    }

    fn unknown(&mut self, reason: String) {
        if !self.faults.unknown.contains(&reason) {
            self.faults.unknown.push(reason);
        }
    }
}

/// Whether a field of this kind simply holds the value.
fn holds(kind: FieldType, value: &Value) -> bool {
    match (kind, value) {
        (FieldType::Text, Value::String(_)) | (FieldType::Float, Value::Number(_)) | (FieldType::Truth, Value::Bool(_)) => true,
        (FieldType::Int(bits), Value::Number(number)) => number.as_i64().is_some_and(|value| bits == 64 || i32::try_from(value).is_ok()),
        _ => false,
    }
}

fn shape(value: &SourceValue) -> &'static str {
    match value {
        SourceValue::List(_) | SourceValue::Scalar(Value::Array(_)) => "a list",
        SourceValue::Fields(_) | SourceValue::Scalar(Value::Object(_)) => "fields",
        SourceValue::Scalar(Value::Null) => "null",
        SourceValue::Scalar(Value::Bool(_)) => "true or false",
        SourceValue::Scalar(Value::Number(_)) => "a number",
        SourceValue::Scalar(Value::String(_)) => "text",
    }
}
