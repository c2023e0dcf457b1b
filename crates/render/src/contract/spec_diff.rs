//! The JSON of `diff --spec`.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::change::ChangeType;
use super::common::Time;
use ketcd_cluster::diff::spec::{self, Naming, SpecChange, SpecDiff};

/// What differs between two states in what objects are meant to be.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpecDifferences<'a> {
    /// `SpecDifferences`.
    #[schemars(extend("const" = "SpecDifferences"))]
    pub kind: &'static str,
    /// The differences, by kind, namespace and name.
    pub items: Vec<SpecDifference<'a>>,
    /// What was left out.
    pub left_out: Vec<LeftOutObjects>,
    /// Fields that one state alone has, with the value that API servers write by default: they do not count as differences.
    pub newer_defaults: Vec<NewerDefaultField>,
    /// Values that cannot be decoded, and were not compared.
    pub not_decoded: Vec<NotDecoded<'a>>,
    /// The two states.
    pub states: [SpecState<'a>; 2],
}

/// One of two states that are compared by spec.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SpecState<'a> {
    /// What it is called: a file, a revision, a namespace.
    pub name: &'a str,
    /// The release of the API server, such as `1.36`; null where the data do not show it.
    pub release: Option<String>,
    /// Its revision.
    pub revision: i64,
    /// The moment that was meant, or when the revision was written; null if nothing shows it.
    pub time: Option<Time>,
}

/// An object, or several that cannot be told apart by their names, that differs by spec.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SpecDifference<'a> {
    /// What makes the second state of the first.
    #[serde(rename = "type")]
    pub change: ChangeType,
    /// The fields that differ; empty where one state has no such object.
    pub fields: Vec<SpecField<'a>>,
    /// The API group; empty for core.
    pub group: &'a str,
    /// The object's kind, such as `Pod`.
    pub kind: &'a str,
    /// The object's name, with `*` for a generated part; empty where `owner` says what the objects are.
    pub name: &'a str,
    /// The names of the objects in the first state, and in the second. Their number is a difference only where `number` is true.
    pub names: &'a [Vec<String>; 2],
    /// The namespace; empty where the kind has none, and for the two namespaces that are compared.
    pub namespace: &'a str,
    /// Whether it is part of the difference how many objects there are.
    pub number: bool,
    /// What made the objects, where only that says what they are: pods by their Deployment; null for others.
    pub owner: Option<SpecOwner<'a>>,
}

/// What made objects with generated names.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SpecOwner<'a> {
    /// The completion index of an indexed Job's pods; null for others.
    pub index: Option<&'a str>,
    /// The owner's kind, such as `Deployment`.
    pub kind: &'a str,
    /// The owner's name.
    pub name: &'a str,
}

/// A field that differs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SpecField<'a> {
    /// The value of the second state; null where it lacks the field, and for another order.
    pub after: Option<&'a Value>,
    /// The value of the first state; null where it lacks the field, and for another order.
    pub before: Option<&'a Value>,
    /// Where it is, list items by their keys: `spec.containers[main].image`.
    pub path: String,
    /// How it differs. There may be more in time.
    #[serde(rename = "type")]
    pub change: &'static str,
}

/// Objects that were left out for one reason.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LeftOutObjects {
    /// How many there are in the first state, and in the second.
    pub counts: [usize; 2],
    /// The name of the reason, such as `events`. There may be more in time.
    pub reason: &'static str,
    /// What they are, in words.
    pub what: &'static str,
    /// Why they were left out, in words.
    pub why: &'static str,
}

/// A default that API servers began to write in some release.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NewerDefaultField {
    /// How many objects have it in one state alone.
    pub count: usize,
    /// The field.
    pub field: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The release whose API servers write it first, such as `1.22`; null where that is not known.
    pub since: Option<String>,
}

/// A value that cannot be decoded.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NotDecoded<'a> {
    /// Why. For people: the words are not part of the contract.
    pub error: &'a str,
    /// etcd's key.
    pub key: &'a str,
    /// Which state has it: 0 for the first, 1 for the second.
    pub state: usize,
}

impl<'a> SpecDifferences<'a> {
    /// The document of a comparison.
    pub fn new(states: [(&'a str, ketcd_cluster::WindowEnd); 2], found: &'a SpecDiff) -> Self {
        let mut releases = found.releases.iter();
        let states = states.map(|(name, end)| {
            let release = releases.next().copied().flatten().map(|release| release.to_string());
            SpecState { name, release, revision: end.revision.0, time: end.time.map(Time) }
        });
        let not_decoded = found.not_decoded.iter().enumerate();
        Self {
            kind: "SpecDifferences",
            items: found.differences.iter().map(SpecDifference::from).collect(),
            left_out: found
                .left_out
                .iter()
                .map(|&(reason, counts)| LeftOutObjects { counts, reason: reason.name, what: reason.what, why: reason.why })
                .collect(),
            newer_defaults: found
                .newer_defaults
                .iter()
                .map(|&(default, count)| NewerDefaultField {
                    count,
                    field: default.field,
                    kind: default.kind,
                    since: default.since.map(|minor| format!("1.{minor}")),
                })
                .collect(),
            not_decoded: not_decoded
                .flat_map(|(state, values)| values.iter().map(move |(key, error)| NotDecoded { error, key, state }))
                .collect(),
            states,
        }
    }
}

impl<'a> From<&'a spec::SpecDifference> for SpecDifference<'a> {
    fn from(difference: &'a spec::SpecDifference) -> Self {
        let (name, owner) = match &difference.id.naming {
            Naming::Name(name) | Naming::Generated(name) => (name.as_str(), None),
            Naming::Of { kind, name, index } => ("", Some(SpecOwner { index: index.as_deref(), kind, name })),
        };
        Self {
            change: difference.kind.into(),
            fields: difference.fields.iter().map(field).collect(),
            group: &difference.id.group,
            kind: &difference.id.kind,
            name,
            names: &difference.names,
            namespace: &difference.id.namespace,
            number: difference.counts,
            owner,
        }
    }
}

fn field(of: &spec::SpecField) -> SpecField<'_> {
    let (change, before, after) = match &of.change {
        SpecChange::Added(value) => ("Added", None, Some(value)),
        SpecChange::Removed(value) => ("Removed", Some(value), None),
        SpecChange::Changed(before, after) => ("Changed", Some(before), Some(after)),
        SpecChange::Reordered => ("Reordered", None, None),
    };
    SpecField { after, before, path: of.path.to_string(), change }
}
