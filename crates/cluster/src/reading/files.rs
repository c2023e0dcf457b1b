//! Opening files: what is etcd's is read as it is, and API objects get the keys that an API server would store them under.

use std::cell::{Cell, RefCell};

use jiff::Timestamp;
use serde_json::Value;

use ketcd_history::clock::newest_stamp;
use ketcd_kube::Kinds;
use ketcd_store::Source;
use ketcd_store::load::{Limits, open_within};

use crate::cluster::DEFAULT_PREFIX;
use crate::error::{Error, Result};

/// A source made of files.
pub struct Files {
    /// The source.
    pub source: Box<dyn Source>,
    /// The newest time in the files, where they hold API objects: [`Options::newest_stamp`](crate::Options::newest_stamp).
    pub newest_stamp: Option<Timestamp>,
}

/// Opens files of one cluster as one source, as [`ketcd_store::load::open`] does.
///
/// # Errors
/// A file cannot be read, or is nothing that is known.
pub fn open(paths: &[String], limits: &Limits) -> Result<Files> {
    let mut known = Kinds::builtin();
    known.add_openshift();
    let kinds = RefCell::new(known);
    let newest = Cell::new(None);
    let source = open_within(paths, limits, &|object| {
        newest.set(newest.get().max(newest_stamp(object)));
        if object["kind"] == "CustomResourceDefinition" {
            kinds.borrow_mut().add_crd(object);
        }
        key_of(&kinds.borrow(), object)
    })?;
    Ok(Files { source, newest_stamp: newest.get() })
}

/// Reads the objects of a file of manifests: YAML or JSON, one or many.
///
/// # Errors
/// The file cannot be read, or holds something else.
pub fn manifests(path: &str) -> Result<Vec<Value>> {
    let (kinds, found) = (Kinds::builtin(), RefCell::new(Vec::new()));
    open_within(&[path.to_owned()], &Limits::default(), &|object| {
        found.borrow_mut().push(object.clone());
        key_of(&kinds, object)
    })?;
    let found = found.into_inner();
    if found.is_empty() {
        return Err(Error::invalid(format!("{path} holds no manifests")).hint("name a file of API objects, as kubectl apply takes it"));
    }
    Ok(found)
}

/// Where kubectl puts what names no namespace.
const DEFAULT_NAMESPACE: &str = "default";

/// The key under which the API server would store an object that was read from a file of objects.
fn key_of(kinds: &Kinds, object: &Value) -> Option<Vec<u8>> {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str);
    let (api_version, kind, name) = (text("/apiVersion")?, text("/kind")?, text("/metadata/name")?);
    let namespace = text("/metadata/namespace");
    let kind = kinds.of_object(api_version, kind)?;
    // kubectl puts a manifest that names no namespace into that of the context, which is `default` where it names none.
    let namespace = namespace.filter(|namespace| !namespace.is_empty()).or(Some(DEFAULT_NAMESPACE));
    Some(kind.key(DEFAULT_PREFIX, namespace, name).into_bytes())
}
