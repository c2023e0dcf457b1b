//! Custom resources whose stored objects violate the schema of their CustomResourceDefinition.
//!
//! Objects are held against the schema of the version in which they are stored, as an API server holds them once it has read them: pruned, and with
//! defaults (`ketcd_kube::CustomSchemas`). It validates when something is written, by the schema of the request's version (k8s.io/apiextensions-apiserver
//! v0.37.1, `pkg/registry/customresource/strategy.go`). So an object may lawfully violate it: the schema changed later, another version has another
//! schema, or an update left what was wrong before (`CRDValidationRatcheting`, on since 1.30, `pkg/features/kube_features.go`).
//! Only what was written after the definition, and had no such way, weighs more.

mod validator;

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt};
use jiff::Timestamp;
use serde_json::Value;

use ketcd_history::clock::newest_stamp;
use ketcd_kube::{Body, CustomSchemas, Decoder, Kind, Release};
use ketcd_store::{At, KeyRange, KeyValue, Revision, Want};

use super::finding::{Finding, FindingKind, Weight};
use super::part::Part;
use crate::cluster::Cluster;
use crate::cores;
use crate::error::Result;
use validator::Validator;

/// The first release that takes updates which leave a violation as it was.
const WITH_RATCHETING: Release = Release(30);

/// More objects are counted and not named.
const MAX_OBJECTS_NAMED: usize = 50;

/// More violations of one object are not named.
const MAX_FACTS: usize = 3;

/// A CustomResourceDefinition, as far as its objects are held against it.
struct Definition {
    kind: Arc<Kind>,
    schemas: CustomSchemas,
    /// By version.
    validators: Vec<(String, Validator)>,
    /// Whether every version has the same schema.
    is_one_schema: bool,
    revision: Revision,
    /// When it was written last, as it says itself.
    written: Option<Timestamp>,
}

/// Returns the objects that violate their schema at a revision.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn check(cluster: &Cluster, revision: Revision) -> Result<Part> {
    let (mut part, mut found, mut unchecked) = (Part::default(), Vec::new(), BTreeSet::new());
    let mut objects = 0_usize;
    for definition in definitions(cluster, revision).await? {
        unchecked.extend(definition.validators.iter().flat_map(|(_, validator)| validator.unchecked.iter().copied()));
        objects += of_definition(cluster, revision, definition, &mut found).await?;
    }
    if objects == 0 {
        return Ok(part);
    }
    if found.is_empty() {
        part.checked.push("custom resources fit their schemas".to_owned());
    }
    let more = found.len().saturating_sub(MAX_OBJECTS_NAMED);
    // What weighs most is named first.
    found.sort_by_key(|finding: &Finding| std::cmp::Reverse(finding.weight));
    part.findings.extend(found.into_iter().take(MAX_OBJECTS_NAMED));
    if more > 0 {
        part.findings.push(Finding::new(FindingKind::Schema, Weight::Low, format!("{more} more custom resources violate their schemas")));
    }
    if !unchecked.is_empty() {
        let phrases: Vec<&str> = unchecked.into_iter().collect();
        part.not_checked.push(format!("of the schemas of custom resources: {}", phrases.join(", ")));
    }
    Ok(part)
}

async fn definitions(cluster: &Cluster, revision: Revision) -> Result<Vec<Definition>> {
    let (entries, kinds) = (cluster.definitions(At::Revision(revision)).await?, cluster.kinds().await?);
    let read = |entry: &KeyValue| {
        let Body::Object(object) = cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body else { return None };
        let (name, schemas) = (object["metadata"]["name"].as_str()?, CustomSchemas::of(&object)?);
        let kind = kinds.iter().find(|kind| kind.is_custom() && kind.resource() == name)?;
        Some(Definition::new(Arc::clone(kind), schemas, &object, entry.mod_revision))
    };
    Ok(entries.iter().filter_map(read).collect())
}

impl Definition {
    fn new(kind: Arc<Kind>, schemas: CustomSchemas, object: &Value, revision: Revision) -> Self {
        let listed = object["spec"]["versions"].as_array().into_iter().flatten().map(|version| &version["name"]);
        let names: Vec<&str> = listed.chain([&object["spec"]["version"]]).filter_map(Value::as_str).collect();
        let is_one_schema = names.windows(2).all(|pair| schemas.schema(pair[0]) == schemas.schema(pair[1]));
        let validators = names.iter().filter_map(|name| Some(((*name).to_owned(), Validator::new(schemas.schema(name)?)))).collect();
        Self { kind, schemas, validators, is_one_schema, revision, written: newest_stamp(object) }
    }

    /// What is to be said of a stored object; `None` where it fits.
    fn finding(&self, version: &KeyValue, mut object: Value, release: Release) -> Option<Finding> {
        self.schemas.read(&mut object, release);
        let api_version = object["apiVersion"].as_str()?.rsplit_once('/')?.1.to_owned();
        let (_, validator) = self.validators.iter().find(|(name, _)| *name == api_version)?;
        let violations = validator.violations(&object);
        let first = violations.first()?;
        let (weight, why) = self.weight(version, &object, release);
        let says = format!("it violates the schema {api_version} of {}: {first}", self.kind.resource());
        let finding = Finding::new(FindingKind::Schema, weight, says).of_key(&version.key).at(version.mod_revision);
        let finding = violations.iter().skip(1).take(MAX_FACTS).fold(finding, |finding, more| finding.because(more.as_str()));
        Some(finding.because(why))
    }

    /// How much a violation weighs, and why.
    fn weight(&self, version: &KeyValue, object: &Value, release: Release) -> (Weight, String) {
        let is_after = |at: Revision, time: Option<Timestamp>| at > self.revision && time > self.written && self.written.is_some();
        let created = object["metadata"]["creationTimestamp"].as_str().and_then(|time| time.parse().ok());
        let is_new = is_after(version.create_revision, created);
        let is_rewritten = is_after(version.mod_revision, newest_stamp(object));
        let definition = self.revision;
        if !self.is_one_schema {
            return (Weight::Low, "its versions have different schemas, and a request is held against that of its own version".to_owned());
        }
        if is_new || is_rewritten && release < WITH_RATCHETING {
            return (Weight::Medium, format!("the definition has not changed since revision {definition}, and refuses such a write"));
        }
        let why = match is_rewritten {
            true => "from 1.30 on, an update may leave what was wrong before",
            false => "an object may be older than its schema",
        };
        (Weight::Low, format!("the definition was written last at revision {definition}: {why}"))
    }
}

/// Reads the objects of a definition, and returns how many there are.
async fn of_definition(cluster: &Cluster, revision: Revision, definition: Definition, found: &mut Vec<Finding>) -> Result<usize> {
    let (prefix, release) = (cluster.prefix().await?, cluster.release());
    let decoder = Decoder::for_stored_values().with_storage(Some(prefix), cluster.options.keys.clone());
    let range = KeyRange::prefix(definition.kind.key_prefix(prefix, None));
    let read = move |entry: KeyValue| match decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body {
        Body::Object(object) => Some(definition.finding(&entry, object.into_value(), release)),
        Body::Opaque(_) => None,
    };
    let entries = cluster.source.range(range, At::Revision(revision), Want::Values).await?.entries;
    let mut read = cores::in_order_ahead(entries, |entry: &KeyValue| entry.value.len(), read).boxed();
    let mut objects = 0;
    while let Some(read) = read.try_next().await? {
        objects += usize::from(read.is_some());
        found.extend(read.flatten());
    }
    Ok(objects)
}
