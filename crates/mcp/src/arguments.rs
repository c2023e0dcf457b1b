//! The arguments of each tool. Their schemas are made of these types, and their descriptions of the comments here.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::answers::Form;

/// A moment: a revision, a time or an age. Models write revisions as numbers too.
#[derive(Debug, JsonSchema)]
pub(crate) struct Moment(pub String);

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) if !text.trim().is_empty() => Ok(Self(text.trim().to_owned())),
            Value::Number(number) => Ok(Self(number.to_string())),
            _ => Err(D::Error::custom("expected a revision (1651), a time (2026-11-20T22:16:00Z) or an age (10m)")),
        }
    }
}

/// A number of lines or items.
#[derive(Clone, Copy, Debug, Default, JsonSchema)]
pub(crate) struct Count(pub usize);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = match Value::deserialize(deserializer)? {
            Value::Number(number) => number.to_string().parse().ok(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        number.map(Self).ok_or_else(|| D::Error::custom("expected a whole number, such as 120"))
    }
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    #[default]
    Text,
    Json,
}

impl From<Format> for Form {
    fn from(format: Format) -> Self {
        match format {
            Format::Text => Self::Text,
            Format::Json => Self::Json,
        }
    }
}

/// What `status` is asked about.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum About {
    #[default]
    Source,
    Usage,
    Verify,
}

/// What every tool takes.
#[derive(Debug, Default)]
pub(crate) struct Common {
    pub namespace: Option<String>,
    pub at: Option<Moment>,
    pub format: Form,
    pub skip: usize,
}

/// Makes the arguments of a tool, with those of every tool at their end.
macro_rules! arguments {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $field:ident: $kind:ty),* $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {
            $($(#[$doc])* pub $field: $kind,)*
            /// Only this namespace. Default: all of them.
            namespace: Option<String>,
            /// Look at this moment instead: a revision (1651), a time (2026-11-20T22:16:00Z, UTC) or an age (10m). Never later than the server's own.
            at: Option<Moment>,
            /// Text, the default, is 4 to 68 times smaller; json is for computing with.
            format: Option<Format>,
            /// Leave out so many lines (items, in JSON): the number that the end of a cut answer gives.
            skip: Option<Count>,
        }

        impl $name {
            /// What every tool takes.
            pub(crate) fn common(&mut self) -> Common {
                Common {
                    namespace: self.namespace.take(),
                    at: self.at.take(),
                    format: self.format.unwrap_or_default().into(),
                    skip: self.skip.unwrap_or_default().0,
                }
            }
        }
    };
}

arguments!(
    /// `status`.
    StatusArguments {
        /// source: what is read, which revisions and times it has, its versions and problems. usage: what fills etcd, and who writes so much. verify: whether it is a good backup, and what looks tampered with.
        about: Option<About>,
    }
);

arguments!(
    /// `triage`.
    TriageArguments {
        /// Only what these objects have, control or brought about: kind/namespace/name, several by spaces, or kinds, by commas (pods,nodes). Default: everything.
        address: Option<String>,
        /// Also show changes after this: a revision, a time or an age. Default: 15 minutes before.
        since: Option<Moment>,
    }
);

arguments!(
    /// `timeline`.
    TimelineArguments {
        /// The objects: kind/namespace/name (deploy/web/tomcat), several by spaces, or kinds, by commas. Default: all of the namespace, or of the cluster.
        address: Option<String>,
        /// Only what happened after this: a revision, a time or an age.
        since: Option<Moment>,
        /// Everything within five minutes of this time.
        around: Option<Moment>,
    }
);

arguments!(
    /// `history`.
    HistoryArguments {
        /// The objects: kind/namespace/name (deploy/web/tomcat), several by spaces, or kinds, by commas (pods,nodes).
        address: String,
        /// Show old and new values of each field, not only which fields changed.
        diff: Option<bool>,
        /// Only changes after this: a revision, a time or an age.
        since: Option<Moment>,
    }
);

arguments!(
    /// `explain`.
    ExplainArguments {
        /// The pod: pod/namespace/name. With what owns pods (deploy/web/tomcat), or a kind (pods), a table of the last decision about each.
        pod: String,
        /// Show only this node, in depth: why not there?
        node: Option<String>,
    }
);

arguments!(
    /// `diff`.
    DiffArguments {
        /// The earlier moment: a revision, a time or an age.
        from: Moment,
        /// The later moment. Default: the newest.
        to: Option<Moment>,
        /// Only these objects: kind/namespace/name, several by spaces, or kinds, by commas (pods,nodes). Default: everything.
        address: Option<String>,
    }
);

arguments!(
    /// `get`.
    GetArguments {
        /// The objects: kinds, by commas (pods,nodes), or kind/namespace/name, several by spaces. Without one: how many objects of each kind there are.
        address: Option<String>,
        /// Print whole manifests as YAML instead of a table: for one object, or a few.
        manifest: Option<bool>,
    }
);

arguments!(
    /// `grep`.
    GrepArguments {
        /// The text, to the letter: an image, an IP, a node, a uid, a name.
        pattern: String,
        /// The pattern is a regular expression.
        regexp: Option<bool>,
        /// Only these objects (kind/namespace/name), several by spaces, or kinds, by commas. Default: everything.
        address: Option<String>,
        /// Only what was there after this: a revision, a time or an age.
        since: Option<Moment>,
    }
);

arguments!(
    /// `what_if`.
    WhatIfArguments {
        /// What is done, in this order, each `VERB VALUE`: `drain NODE`, `fail NODE`, `cordon NODE`, `uncordon NODE`, `taint NODE=KEY=VALUE:EFFECT`, `label NODE:KEY=VALUE`, `add 2*NODE` (nodes like this one), `delete ADDRESS`, `scale ADDRESS=N`, `restart ADDRESS`.
        actions: Option<Vec<String>>,
        /// After that: how many more pods like this object's fit (kind/namespace/name), and what limits the next one.
        fit: Option<String>,
        /// After that: lose each node (node), each zone (zone), or the nodes of each value of a label, one after the other.
        each: Option<String>,
    }
);

/// The schema of a type of arguments, as plain as clients of all kinds take it: nothing referred to, and no `null`.
pub(crate) fn schema<T: JsonSchema>() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    plain(&mut schema);
    match schema {
        Value::Object(mut members) => {
            members.remove("title");
            members.remove("description");
            members
        }
        _ => Map::new(),
    }
}

/// Takes `null` out of a schema: an argument that is optional may be left out.
fn plain(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(of) = members.get_mut("type")
                && let Value::Array(types) = &*of
                && let [only] = &types.iter().filter(|of| *of != "null").cloned().collect::<Vec<_>>()[..]
            {
                *of = only.clone();
            }
            if let Some(Value::Array(values)) = members.get_mut("enum") {
                values.retain(|value| !value.is_null());
            }
            if let Some(Value::Array(mut choices)) = members.remove("anyOf") {
                choices.retain(|choice| choice["type"] != "null");
                match (choices.len(), choices.pop()) {
                    (1, Some(Value::Object(only))) => only.into_iter().for_each(|(name, value)| {
                        members.entry(name).or_insert(value);
                    }),
                    (_, last) => {
                        choices.extend(last);
                        members.insert("anyOf".to_owned(), choices.into());
                    }
                }
            }
            ["format", "minimum"].iter().for_each(|name| {
                if members.get(*name).is_some_and(|value| !value.is_object()) {
                    members.remove(*name);
                }
            });
            members.values_mut().for_each(plain);
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_plain() {
        let schema = Value::Object(schema::<StatusArguments>());
        assert_eq!(schema["properties"]["about"]["enum"], serde_json::json!(["source", "usage", "verify"]), "{schema}");
        assert_eq!(schema["properties"]["at"]["type"], "string", "{schema}");
        assert_eq!(schema["properties"]["skip"]["type"], "integer", "{schema}");
        assert_eq!(schema["additionalProperties"], false);
        let text = schema.to_string();
        assert!(!text.contains("null") && !text.contains("$ref") && !text.contains("$defs"), "{text}");
        let history = Value::Object(super::schema::<HistoryArguments>());
        assert_eq!(history["required"], serde_json::json!(["address"]));
    }

    #[test]
    fn moments_and_counts_are_read_as_models_write_them() {
        let read = |value: Value| serde_json::from_value::<Moment>(value).ok().map(|moment| moment.0);
        assert_eq!(read(1651.into()).as_deref(), Some("1651"));
        assert_eq!(read(" 10m ".into()).as_deref(), Some("10m"));
        assert!(read("".into()).is_none() && read(true.into()).is_none());
        let count = |value: Value| serde_json::from_value::<Count>(value).ok().map(|count| count.0);
        assert_eq!((count(3.into()), count("4".into()), count((-1).into())), (Some(3), Some(4), None));
    }
}
