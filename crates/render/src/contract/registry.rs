//! Which commands have machine output, and the version of its contract.

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use super::{
    blame, browser, bundle, change, decode, describe, diff, encryption, export, extract, grep, listing, plugins, rehearse, status,
    timeline, tree, triage, usage, verify, watch, what_if,
};
use crate::explanation;

/// A command's machine output and the version of its schema.
///
/// A version holds what it describes: a field that is there stays, with its type and its meaning. What comes without a new version is
/// new fields, new words of an enumeration and new kinds of documents; anything else is a new version.
#[derive(Clone, Copy, Debug)]
pub struct Contract {
    /// The command.
    pub command: &'static str,
    /// The schema's version.
    pub version: u32,
    root: fn(SchemaGenerator) -> Schema,
}

/// Every command with machine output, by name.
pub const JSON_CONTRACTS: &[Contract] = &[
    Contract::new::<blame::Blame<'_>>("blame", 1),
    Contract::new::<bundle::Bundle<'_>>("bundle", 1),
    Contract::new::<decode::Decode<'_>>("decode", 1),
    Contract::new::<describe::Descriptions<'_>>("describe", 1),
    Contract::new::<diff::Diff<'_>>("diff", 2),
    Contract::new::<encryption::Encryption<'_>>("encryption", 1),
    Contract::new::<listing::Events<'_>>("events", 1),
    Contract::new::<explanation::json::Explanations<'_>>("explain", 2),
    Contract::new::<export::Exports<'_>>("export", 2),
    Contract::new::<extract::Extract<'_>>("extract", 2),
    Contract::new::<listing::Get<'_>>("get", 1),
    Contract::new::<grep::Greps<'_>>("grep", 1),
    Contract::new::<change::Changes<'_>>("history", 2),
    Contract::new::<listing::Ls<'_>>("ls", 2),
    Contract::new::<plugins::Plugins<'_>>("plugins", 2),
    Contract::new::<rehearse::Rehearse<'_>>("rehearse", 1),
    Contract::new::<status::Status<'_>>("status", 1),
    Contract::new::<timeline::Timelines<'_>>("timeline", 2),
    Contract::new::<tree::Trees>("tree", 1),
    Contract::new::<triage::Triage<'_>>("triage", 2),
    Contract::new::<browser::PageAnswers<'_>>("ui", 1),
    Contract::new::<usage::Usages<'_>>("usage", 2),
    Contract::new::<verify::Verify<'_>>("verify", 1),
    Contract::new::<watch::Watched<'_>>("watch", 2),
    Contract::new::<what_if::WhatIfs<'_>>("what-if", 1),
];

/// The contract of a command.
pub fn find(command: &str) -> Option<&'static Contract> {
    JSON_CONTRACTS.iter().find(|contract| contract.command == command)
}

impl Contract {
    const fn new<T: JsonSchema>(command: &'static str, version: u32) -> Self {
        Self { command, version, root: SchemaGenerator::into_root_schema_for::<T> }
    }

    /// The contract's name: `ketcd/v1/status`.
    pub fn name(&self) -> String {
        format!("ketcd/v{}/{}", self.version, self.command)
    }

    /// The JSON Schema (2020-12) of everything that the command prints as JSON. Types of ours have no fields that it does not name.
    pub fn schema(&self) -> Value {
        let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(RecursiveTransform(close));
        let mut schema = (self.root)(settings.into_generator());
        schema.insert("$id".to_owned(), json!(format!("urn:ketcd:v{}:{}", self.version, self.command)));
        schema.insert("title".to_owned(), json!(self.name()));
        schema.into()
    }
}

/// Forbids fields that are not named, where a type has named fields and does not say otherwise; a field that may be absent is never null.
fn close(schema: &mut Schema) {
    if schema.get("properties").is_none() || schema.get("additionalProperties").is_some() {
        return;
    }
    schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    let required = schema.get("required").cloned().unwrap_or_default();
    let is_required = |name: &str| required.as_array().is_some_and(|required| required.iter().any(|other| other == name));
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    properties.into_iter().flatten().filter(|(name, _)| !is_required(name)).for_each(|(_, property)| deny_null(property));
}

/// Leaves null out of what a value may be.
fn deny_null(schema: &mut Value) {
    if let Some([of, Value::String(null)]) = schema.get("type").and_then(Value::as_array).map(Vec::as_slice)
        && null == "null"
    {
        schema["type"] = of.clone();
    }
    if let Some(of) = schema.get_mut("anyOf").and_then(Value::as_array_mut)
        && let [first, null] = &mut of[..]
        && null["type"] == "null"
    {
        let first = first.take();
        let members = schema.as_object_mut();
        members.into_iter().for_each(|members| {
            members.remove("anyOf");
            members.extend(first.as_object().cloned().unwrap_or_default());
        });
    }
}
