//! What several documents hold: Kubernetes objects, times, patches.

use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::Value;

use ketcd_history::clock::Dated;
use ketcd_history::diff::ManagedFields;
use ketcd_history::timeline;

/// A Kubernetes object, whose fields are Kubernetes' own.
#[derive(Clone, Copy, Debug)]
pub struct KubernetesObject<'a> {
    /// The object with all its fields.
    pub object: &'a Value,
    /// Hidden managedFields are not serialized.
    pub managed_fields: ManagedFields,
}

impl Serialize for KubernetesObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.managed_fields, self.object) {
            (ManagedFields::Hidden, Value::Object(fields)) => {
                serializer.collect_map(fields.iter().map(|(name, value)| (name, Field { value, is_metadata: name == "metadata" })))
            }
            (_, object) => object.serialize(serializer),
        }
    }
}

/// A field of an object whose managedFields are hidden.
struct Field<'a> {
    value: &'a Value,
    is_metadata: bool,
}

impl Serialize for Field<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Value::Object(metadata) if self.is_metadata => {
                serializer.collect_map(metadata.iter().filter(|(name, _)| *name != "managedFields"))
            }
            value => value.serialize(serializer),
        }
    }
}

impl JsonSchema for KubernetesObject<'_> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "KubernetesObject".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "A Kubernetes object in its stored version, as the API server would return it: without managedFields unless --show-managed-fields, values of Secrets masked unless --show-secrets. Its fields are Kubernetes' own.",
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string", "not": {"const": "List"}},
            },
            "required": ["apiVersion", "kind"],
            "additionalProperties": true,
        })
    }
}

/// A time in UTC, to the millisecond.
#[derive(Clone, Copy, Debug)]
pub struct Time(pub Timestamp);

impl Time {
    /// The time of a revision, where it has one.
    pub fn of(dated: Option<Dated>) -> Option<Self> {
        dated.map(|dated| Self(dated.time))
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.collect_str(&format_args!("{:.3}", self.0));
        }
        // Columns hold milliseconds since 1970.
        serializer.serialize_i64(self.0.as_millisecond())
    }
}

impl JsonSchema for Time {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "date-time", "description": "A time: RFC 3339 in UTC, to the millisecond."})
    }
}

/// One operation of a JSON Patch (RFC 6902).
#[derive(Debug, JsonSchema)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum PatchOperation {
    /// Adds a value.
    Add {
        /// Where, as a JSON Pointer.
        path: String,
        /// What is added.
        value: Value,
    },
    /// Removes a value.
    Remove {
        /// Where, as a JSON Pointer.
        path: String,
    },
    /// Puts a value in place of another.
    Replace {
        /// Where, as a JSON Pointer; empty for the whole object.
        path: String,
        /// The new value; null in place of the whole object says that it was deleted.
        value: Value,
    },
    /// Moves a value, as when a list's items change their order.
    Move {
        /// Where it was, as a JSON Pointer.
        from: String,
        /// Where it is now, as a JSON Pointer.
        path: String,
    },
}

/// Which object a document or a part of it is about.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Subject<'a> {
    /// The kind, such as `Pod`.
    pub kind: &'a str,
    /// The name.
    pub name: &'a str,
    /// The namespace; empty where the kind has none.
    pub namespace: &'a str,
    /// The uid; empty where no version of the object can be read.
    pub uid: &'a str,
}

/// The object that a request or finding is about.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ObjectName<'a> {
    /// The kind, such as `Pod`.
    pub kind: &'a str,
    /// The name.
    pub name: &'a str,
    /// The namespace; empty where the kind has none.
    pub namespace: &'a str,
}

impl<'a> ObjectName<'a> {
    /// A pod.
    pub fn pod(namespace: &'a str, name: &'a str) -> Self {
        Self { kind: "Pod", name, namespace }
    }
}

impl<'a> From<&'a timeline::Subject> for Subject<'a> {
    fn from(subject: &'a timeline::Subject) -> Self {
        Self { kind: &subject.kind, name: &subject.name, namespace: &subject.namespace, uid: &subject.uid }
    }
}

/// How the actor of a change is known.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ActorFrom {
    /// The API server recorded it: a managedFields entry, or the object names its writer.
    Recorded,
    /// It is concluded from what changed.
    Inferred,
    /// An audit log has the request; the name is its user.
    Audited,
}

impl ActorFrom {
    /// How `actor` is known, where there is one.
    pub fn of(actor: Option<&ketcd_history::Actor>) -> Option<Self> {
        actor.map(|actor| match actor.from {
            ketcd_history::ActorFrom::Recorded => Self::Recorded,
            ketcd_history::ActorFrom::Inferred => Self::Inferred,
            ketcd_history::ActorFrom::Audited => Self::Audited,
        })
    }
}
