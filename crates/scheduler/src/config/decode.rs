//! Strict decoding: every value of its field's type, every field known, plugin arguments of their own kind, with the errors of a release. Up to 1.22
//! the release's JSON library quotes the bytes around an error: there the wording of later releases is used, and the error says so.
//! Upstream: `sigs.k8s.io/json`, `apimachinery/pkg/runtime/serializer`, `config/{version}/types.go` DecodeNestedObjects.

use serde_json::Value;

use crate::release::ConfigRules;
use crate::{Gates, Release};

use super::context::Context;
use super::schema::{self, FieldType};
use super::source_tree::{File, SourceValue};
use super::versions::ConfigVersion;

const GROUP: &str = "kubescheduler.config.k8s.io";

/// Checks the whole file; returns the first type error, or else all fields that are unknown or duplicate.
pub(super) fn check(file: &File, context: &Context<'_>) -> Result<(), String> {
    let rules = context.rules();
    let older = |reason: String| if rules.quotes_first_fault() { in_words_of(23, &reason, context.release) } else { reason };
    let mut unknown = strictly(&file.root, "KubeSchedulerConfiguration", context).map_err(older)?;
    if let Some(repeated) = file.repeated.as_ref().filter(|_| !file.is_json || rules.reads_json_as_yaml()) {
        unknown.insert(0, repeated.clone());
    }
    if rules.quotes_first_fault() && !unknown.is_empty() {
        unknown.truncate(1);
        return Err(older(strict(&unknown)));
    }
    let mut foreign = None;
    for (at, profile) in file.root.elements("profiles").iter().enumerate() {
        for (number, config) in profile.elements("pluginConfig").iter().enumerate() {
            let place = format!("decoding .profiles[{at}].pluginConfig[{number}]");
            match nested(config, context) {
                Ok(Nested::Known) => {}
                Ok(Nested::OfVersion(kind)) => foreign = foreign.or(Some((at, number, kind))),
                Ok(Nested::Unknown(reason)) if rules.collects_unknown_fields_of_arguments() => {
                    unknown.push(format!("{place}: strict decoding error: {reason}"));
                }
                Ok(Nested::Unknown(reason)) => return Err(older(format!("{place}: {reason}"))),
                Err(reason) => return Err(format!("{place}: {reason}")),
            }
        }
    }
    match foreign {
        Some((at, number, kind)) => {
            let place = format!("converting .Profiles[{at}].PluginConfig[{number}].Args into internal type");
            Err(format!("{place}: no kind is registered for the type {kind} in scheme \"{}\"", rules.scheme_location()))
        }
        None if unknown.is_empty() => Ok(()),
        None => Err(strict(&unknown)),
    }
}

/// Checks a file that has only the arguments of a plugin.
pub(super) fn arguments_alone(file: &File, kind: &str, context: &Context<'_>) -> String {
    let repeated = file.repeated.iter().filter(|_| !file.is_json).cloned();
    match strictly(&file.root, kind, context).map(|unknown| repeated.chain(unknown).collect::<Vec<_>>()) {
        Err(reason) => reason,
        Ok(unknown) if !unknown.is_empty() => strict(&unknown),
        Ok(_) => format!("couldn't decode as KubeSchedulerConfiguration, got {GROUP}/{}, Kind={kind}: ", context.version.name()),
    }
}

/// Returns the type error in a plugin's arguments, where the plugin itself decodes them, as in 1.18, into its own struct.
pub(super) fn fault(args: &Value, plugin: &str, context: &Context<'_>) -> Option<String> {
    let kind = format!("{plugin}Args");
    let (package, own) = match plugin {
        "NodeResourcesFit" => ("noderesources", "FitArgs"),
        "RequestedToCapacityRatio" => ("config", "RequestedToCapacityRatioArguments"),
        "InterPodAffinity" => ("interpodaffinity", "Args"),
        "NodeLabel" => ("nodelabel", "Args"),
        "PodTopologySpread" => ("podtopologyspread", "Args"),
        _ => ("serviceaffinity", "Args"),
    };
    let args = SourceValue::of(args);
    if !matches!(args, SourceValue::Fields(_) | SourceValue::Scalar(Value::Null)) {
        return Some(format!("json: cannot unmarshal {} into Go value of type {package}.{own}", shape(&args)));
    }
    let fault = strictly(&args, &kind, context).err()?;
    Some(fault.replace(&kind, own).replace(&format!("type {}.", context.version.name()), "type config."))
}

/// An error in the wording of a later minor: the release's own quotes the surrounding bytes.
pub(super) fn in_words_of(minor: u16, reason: &str, release: Release) -> String {
    format!("{reason} (1.{minor}'s words; those of {release} quote what stands around the fault)")
}

fn strict(unknown: &[String]) -> String {
    format!("strict decoding error: {}", unknown.join(", "))
}

/// The kind of a plugin's arguments.
enum Nested {
    /// Valid; or of an out-of-tree plugin, or of one without arguments: then anything is accepted.
    Known,
    /// Another version than the file's: they are decoded and then not converted.
    OfVersion(String),
    /// With unknown fields.
    Unknown(String),
}

fn nested(config: &SourceValue, context: &Context<'_>) -> Result<Nested, String> {
    let name = config.text("name").unwrap_or_default();
    let own = format!("{name}Args");
    let Some(args) = config.field("args").filter(|args| !args.is_null()) else { return Ok(Nested::Known) };
    if context.version < ConfigVersion::V1Beta1 || !schema::is_args(&own, context) {
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
    let mistyped =
        |reason| if context.rules().quotes_first_fault() { in_words_of(23, &decoding(reason), context.release) } else { decoding(reason) };
    let unknown = strictly(args, &kind, &theirs).map_err(mistyped)?;
    match () {
        () if !unknown.is_empty() => Ok(Nested::Unknown(decoding(strict(&unknown)))),
        () if kind != own => Err(format!("args for plugin {name} were not of type {own}.{GROUP}, got {kind}.{GROUP}")),
        () if theirs.version != context.version => Ok(Nested::OfVersion(format!("{}.{kind}", theirs.version.name()))),
        () => Ok(Nested::Known),
    }
}

/// Returns the version of a file, if a scheduler of this release reads it.
pub(super) fn version_of(file: &File, release: Release, gates: &Gates) -> Result<ConfigVersion, String> {
    let (kind, version) = type_meta(&file.root)?;
    if kind.is_empty() || version.is_empty() {
        let missing = if kind.is_empty() { "Kind" } else { "apiVersion" };
        return Err(format!("Object '{missing}' is missing: a KubeSchedulerConfiguration or a Policy is wanted"));
    }
    if version.matches('/').count() > 1 {
        return Err(format!("unexpected GroupVersion string: {version}"));
    }
    match ConfigVersion::named(&version, release) {
        Some(known) if kind == "KubeSchedulerConfiguration" => Ok(known),
        Some(known) if schema::is_args(&kind, &Context { version: known, release, gates }) => {
            Err(arguments_alone(file, &kind, &Context { version: known, release, gates }))
        }
        _ => {
            let group = ConfigRules::of(release).api_group();
            let readable: Vec<String> = ConfigVersion::readable(release).map(|(_, name, ..)| format!("{group}/{name}")).collect();
            let refusal = not_registered(&kind, &version, release);
            Err(format!("{refusal}: kube-scheduler {release} reads KubeSchedulerConfiguration of {}", readable.join(", ")))
        }
    }
}

/// A value's `kind` and `apiVersion`; both must be strings.
pub(super) fn type_meta(value: &SourceValue) -> Result<(String, String), String> {
    let broken = |fault: String| format!("couldn't get version/kind; json parse error: json: cannot unmarshal {fault}");
    // Go decodes null into a struct without an error, and leaves the struct as it is (encoding/json, `Unmarshal`).
    if value.is_null() {
        return Ok((String::new(), String::new()));
    }
    let SourceValue::Fields(fields) = value else {
        let fields = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
        return Err(broken(format!("{} into Go value of type {fields}", shape(value))));
    };
    let named = fields.iter().filter(|(_, name, _)| matches!(name.as_str(), "kind" | "apiVersion"));
    for (_, name, value) in named {
        if !matches!(value, SourceValue::Scalar(Value::String(_) | Value::Null)) {
            return Err(broken(format!("{} into Go struct field .{name} of type string", shape(value))));
        }
    }
    let text = |name: &str| value.text(name).unwrap_or_default().to_owned();
    Ok((text("kind"), text("apiVersion")))
}

/// Upstream's error for a kind that is not registered.
pub(super) fn not_registered(kind: &str, version: &str, release: Release) -> String {
    format!("no kind {kind:?} is registered for version {version:?} in scheme \"{}\"", ConfigRules::of(release).scheme_location())
}

/// Returns the errors for fields that are unknown or duplicate; or the error of the first value that its field cannot hold.
fn strictly(value: &SourceValue, of: &str, context: &Context<'_>) -> Result<Vec<String>, String> {
    let mut walk = Walk { context, names: Vec::new(), wrong: None, ended: None, unknown: Vec::new() };
    walk.fields(value, of, "");
    walk.ended.or(walk.wrong).map_or(Ok(walk.unknown), Err)
}

struct Walk<'c, 'v> {
    context: &'c Context<'c>,
    /// The field path, from the root.
    names: Vec<&'v str>,
    /// The first type error.
    wrong: Option<String>,
    /// The error at which decoding stops.
    ended: Option<String>,
    unknown: Vec<String>,
}

impl<'v> Walk<'_, 'v> {
    fn fields(&mut self, value: &'v SourceValue, of: &str, path: &str) {
        let SourceValue::Fields(fields) = value else { return };
        for (at, (_, name, value)) in fields.iter().enumerate() {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let shown = if self.context.rules().names_path_of_unknown_field() { &path } else { name };
            let Some(field) = schema::field_of(of, name, self.context) else {
                if self.context.rules().decodes_extenders_apart() && schema::is_of_extender(of) {
                    continue;
                }
                self.strict(format!("unknown field {shown:?}"));
                continue;
            };
            if self.context.rules().reports_duplicate_fields() && fields[..at].iter().any(|(_, known, _)| known == name) {
                self.strict(format!("duplicate field {shown:?}"));
            }
            self.names.push(name);
            self.value(value, field.kind, of, &path);
            self.names.pop();
        }
    }

    fn value(&mut self, value: &'v SourceValue, kind: FieldType, of: &str, path: &str) {
        match (kind, value) {
            _ if self.ended.is_some() || self.wrong.is_some() && self.context.rules().quotes_first_fault() => {}
            (FieldType::Duration, SourceValue::Scalar(Value::Null)) if of != "DynamicResourcesArgs" => {
                self.ended = ketcd_kube::go_duration::parse_go_duration("").err()
            }
            (_, SourceValue::Scalar(Value::Null)) | (FieldType::Raw, _) => {}
            (kind, SourceValue::Scalar(scalar)) if holds(kind, scalar) => {}
            (FieldType::Duration, SourceValue::Scalar(Value::String(text))) => {
                self.ended = ketcd_kube::go_duration::parse_go_duration(text).err()
            }
            (FieldType::Bytes, SourceValue::Scalar(Value::String(text))) => {
                if let Some(at) = text.find(|letter: char| !(letter.is_ascii_alphanumeric() || "+/=\r\n".contains(letter))) {
                    self.wrong.get_or_insert(format!("illegal base64 data at input byte {at}"));
                }
            }
            (FieldType::Struct(name), SourceValue::Fields(_)) => self.fields(value, name, path),
            (FieldType::Texts, SourceValue::Fields(fields)) => {
                fields.iter().for_each(|(.., text)| self.value(text, FieldType::Text("string"), of, path));
            }
            (FieldType::TextList, SourceValue::List(list)) => {
                list.iter().for_each(|text| self.value(text, FieldType::Text("string"), of, path))
            }
            (FieldType::List(name), SourceValue::List(list)) => {
                for (at, element) in list.iter().enumerate() {
                    self.value(element, FieldType::Struct(name), of, &format!("{path}[{at}]"));
                }
            }
            _ => self.mismatch(value, kind, of),
        }
    }

    /// Go records the first value of the wrong type and continues, except where the type decodes itself, as durations do.
    fn mismatch(&mut self, value: &SourceValue, kind: FieldType, of: &str) {
        let (what, names) = (literal(value, kind), self.names.join("."));
        let wanted = schema::go_type(kind, self.context);
        let reason = format!("json: cannot unmarshal {what} into Go struct field {of}.{names} of type {wanted}");
        let kept = if matches!(kind, FieldType::Duration) { &mut self.ended } else { &mut self.wrong };
        kept.get_or_insert(reason);
    }

    /// Adds an error, unless it was added before.
    fn strict(&mut self, reason: String) {
        if !self.unknown.contains(&reason) && self.ended.is_none() {
            self.unknown.push(reason);
        }
    }
}

/// Whether a field of this kind simply holds the value.
fn holds(kind: FieldType, value: &Value) -> bool {
    match (kind, value) {
        (FieldType::Text(_), Value::String(_)) | (FieldType::Float, Value::Number(_)) | (FieldType::Truth, Value::Bool(_)) => true,
        (FieldType::Int(bits), Value::Number(number)) => number.as_i64().is_some_and(|value| bits == 64 || i32::try_from(value).is_ok()),
        _ => false,
    }
}

/// Describes a value of the wrong type; a number that its field is too small for is shown itself.
fn literal(value: &SourceValue, kind: FieldType) -> String {
    match (value, kind) {
        (SourceValue::Scalar(Value::Number(number)), FieldType::Int(_)) => format!("number {number}"),
        _ => shape(value).to_owned(),
    }
}

fn shape(value: &SourceValue) -> &'static str {
    match value {
        SourceValue::List(_) | SourceValue::Scalar(Value::Array(_)) => "array",
        SourceValue::Fields(_) | SourceValue::Scalar(Value::Object(_)) => "object",
        SourceValue::Scalar(Value::Null) => "null",
        SourceValue::Scalar(Value::Bool(_)) => "bool",
        SourceValue::Scalar(Value::Number(_)) => "number",
        SourceValue::Scalar(Value::String(_)) => "string",
    }
}
