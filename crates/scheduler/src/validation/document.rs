//! A value of a configuration file with its field path, so that every validation error names its field.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

/// A value and its field path.
#[derive(Clone)]
pub(crate) struct Document<'a> {
    value: &'a Value,
    path: String,
}

static NULL_VALUE: Value = Value::Null;

impl<'a> Document<'a> {
    /// The whole file, or a value reported as if it were one.
    pub(crate) fn new(value: &'a Value) -> Self {
        Self { value, path: String::new() }
    }

    /// A value at field path `path`.
    pub(crate) fn at(value: &'a Value, path: &str) -> Self {
        Self { value, path: path.to_owned() }
    }

    /// A field; null where it is absent.
    pub(crate) fn field(&self, name: &str) -> Self {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        Self { value: self.value.get(name).unwrap_or(&NULL_VALUE), path }
    }

    pub(crate) fn elements(&self) -> Vec<Self> {
        let list = self.value.as_array().map(Vec::as_slice).unwrap_or_default();
        list.iter().enumerate().map(|(at, value)| Self { value, path: format!("{}[{at}]", self.path) }).collect()
    }

    pub(crate) fn texts(&self) -> Vec<Arc<str>> {
        self.elements().iter().map(|entry| entry.text().into()).collect()
    }

    /// An element that upstream adds to a list.
    pub(crate) fn absent_element(&self, at: usize) -> Self {
        Self { value: &NULL_VALUE, path: format!("{}[{at}]", self.path) }
    }

    /// Whether it is absent or null.
    pub(crate) fn is_absent(&self) -> bool {
        self.value.is_null()
    }

    pub(crate) fn value(&self) -> &'a Value {
        self.value
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Its text; empty if it is not a string.
    pub(crate) fn text(&self) -> &'a str {
        self.value.as_str().unwrap_or_default()
    }

    /// Its value as an integer.
    pub(crate) fn whole(&self) -> Option<i64> {
        self.value.as_i64()
    }

    /// Its value as a boolean.
    pub(crate) fn truth(&self) -> Option<bool> {
        self.value.as_bool()
    }

    /// Why the field is refused, in our words.
    pub(crate) fn wrong(&self, why: impl fmt::Display) -> String {
        format!("{}: {why}", self.path)
    }

    /// Upstream's `Invalid`.
    pub(crate) fn invalid(&self, value: impl fmt::Display, why: impl fmt::Display) -> String {
        format!("{}: Invalid value: {value}: {why}", self.path)
    }

    /// Upstream's `Invalid` of a text.
    pub(crate) fn invalid_text(&self, why: impl fmt::Display) -> String {
        self.invalid(format!("{:?}", self.text()), why)
    }

    /// Upstream's `NotSupported`.
    pub(crate) fn unsupported(&self, supported: &[&str]) -> String {
        let listed: Vec<String> = supported.iter().map(|value| format!("{value:?}")).collect();
        let listed = if listed.is_empty() { String::new() } else { format!(": supported values: {}", listed.join(", ")) };
        format!("{}: Unsupported value: {:?}{listed}", self.path, self.text())
    }
}
