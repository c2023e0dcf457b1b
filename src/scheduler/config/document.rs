//! A value of the file with the place it stands at, so that every complaint names its field; unknown fields are noticed.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::rc::Rc;

use serde_json::Value;

/// A value and where it stands.
#[derive(Clone)]
pub struct Document<'a> {
    value: &'a Value,
    path: String,
    asked: Rc<RefCell<BTreeSet<String>>>,
}

static NULL: Value = Value::Null;

impl<'a> Document<'a> {
    /// The whole file.
    pub fn new(value: &'a Value) -> Self {
        Self { value, path: String::new(), asked: Rc::default() }
    }

    /// A field; null where it is absent.
    pub fn field(&self, name: &str) -> Self {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        self.asked.borrow_mut().insert(path.clone());
        Self { value: self.value.get(name).unwrap_or(&NULL), path, asked: self.asked.clone() }
    }

    /// Fields that mean nothing here but are known.
    pub fn know(&self, names: &[&str]) {
        for name in names {
            self.field(name).know_all();
        }
    }

    /// Everything below is known.
    pub fn know_all(&self) {
        self.asked.borrow_mut().insert(format!("{}.*", self.path));
    }

    /// The elements of a list.
    pub fn elements(&self) -> Vec<Self> {
        let list = self.value.as_array().map(Vec::as_slice).unwrap_or_default();
        let element = |(at, value)| Self { value, path: format!("{}[{at}]", self.path), asked: self.asked.clone() };
        list.iter().enumerate().map(element).collect()
    }

    /// Whether it is absent or null.
    pub fn is_absent(&self) -> bool {
        self.value.is_null()
    }

    /// The value as it stands.
    pub fn value(&self) -> &'a Value {
        self.value
    }

    /// Where it stands.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Its text; empty where it is none.
    pub fn text(&self) -> &'a str {
        self.value.as_str().unwrap_or_default()
    }

    /// Its whole number.
    pub fn whole(&self) -> Option<i64> {
        self.value.as_i64()
    }

    /// Its truth value.
    pub fn truth(&self) -> Option<bool> {
        self.value.as_bool()
    }

    /// Upstream's `Invalid`.
    pub fn invalid(&self, value: impl fmt::Display, why: impl fmt::Display) -> String {
        format!("{}: Invalid value: {value}: {why}", self.path)
    }

    /// Upstream's `Required`.
    pub fn required(&self, why: &str) -> String {
        if why.is_empty() { format!("{}: Required value", self.path) } else { format!("{}: Required value: {why}", self.path) }
    }

    /// Upstream's `Duplicate`.
    pub fn duplicate(&self, value: &str) -> String {
        format!("{}: Duplicate value: {value:?}", self.path)
    }

    /// Upstream's `Forbidden`.
    pub fn forbidden(&self, why: &str) -> String {
        format!("{}: Forbidden: {why}", self.path)
    }

    /// Upstream's `NotSupported`.
    pub fn unsupported(&self, supported: &[&str]) -> String {
        let listed: Vec<String> = supported.iter().map(|value| format!("{value:?}")).collect();
        format!("{}: Unsupported value: {:?}: supported values: {}", self.path, self.text(), listed.join(", "))
    }

    /// Fields that nobody asked for, as upstream's strict decoding names them.
    pub fn unknown_fields(&self) -> Vec<String> {
        let mut found = Vec::new();
        walk(self.value, &self.path, &self.asked.borrow(), &mut found);
        found
    }
}

fn walk(value: &Value, path: &str, asked: &BTreeSet<String>, found: &mut Vec<String>) {
    if asked.contains(&format!("{path}.*")) {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                if asked.contains(&path) {
                    walk(value, &path, asked, found);
                } else {
                    found.push(format!("strict decoding error: unknown field {path:?}"));
                }
            }
        }
        Value::Array(elements) => {
            for (at, element) in elements.iter().enumerate() {
                walk(element, &format!("{path}[{at}]"), asked, found);
            }
        }
        _ => {}
    }
}
