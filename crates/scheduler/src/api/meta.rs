//! Types that all groups share: metadata, selectors, quantities.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

use ketcd_kube::Text;

use super::or_default;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Condition {
    #[serde(deserialize_with = "or_default")]
    pub(crate) status: String,
    #[serde(rename = "type", deserialize_with = "or_default")]
    pub(crate) type_: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LabelSelector {
    pub(crate) match_expressions: Option<Vec<LabelSelectorRequirement>>,
    pub(crate) match_labels: Option<BTreeMap<String, String>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct LabelSelectorRequirement {
    #[serde(deserialize_with = "or_default")]
    pub(crate) key: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) operator: String,
    pub(crate) values: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ObjectMeta {
    pub(crate) annotations: Option<BTreeMap<String, String>>,
    pub(crate) creation_timestamp: Option<Time>,
    pub(crate) deletion_timestamp: Option<Time>,
    pub(crate) labels: Option<BTreeMap<String, String>>,
    pub(crate) name: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) owner_references: Option<Vec<OwnerReference>>,
    pub(crate) resource_version: Option<String>,
    pub(crate) uid: Option<String>,
}

/// An entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct OwnerReference {
    #[serde(deserialize_with = "or_default")]
    pub(crate) api_version: String,
    pub(crate) controller: Option<bool>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) kind: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) name: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) uid: String,
}

/// A quantity as text; JSON may also have a number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quantity(pub(crate) String);

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct QuantityVisitor;
        impl Visitor<'_> for QuantityVisitor {
            type Value = Quantity;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("Quantity")
            }

            fn visit_i64<E>(self, value: i64) -> Result<Quantity, E> {
                Ok(Quantity(value.to_string()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Quantity, E> {
                Ok(Quantity(value.to_string()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Quantity, E> {
                Ok(Quantity(value.to_string()))
            }

            fn visit_str<E>(self, value: &str) -> Result<Quantity, E> {
                Ok(Quantity(value.to_owned()))
            }

            fn visit_string<E>(self, value: String) -> Result<Quantity, E> {
                Ok(Quantity(value))
            }
        }
        deserializer.deserialize_any(QuantityVisitor)
    }
}

/// A point in time, in JSON as RFC 3339 has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Time(pub(crate) Timestamp);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Text::deserialize(deserializer)?;
        text.parse().map(Self).map_err(Error::custom)
    }
}
