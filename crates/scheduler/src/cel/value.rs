//! Values of CEL expressions and how they compare.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::cluster::Amount;

use super::Semver;

/// A value. Collections are shared, so copies are cheap.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// `null`.
    Null,
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
    List(Arc<[Value]>),
    /// A map, in the order of its making.
    Map(Arc<Map>),
    Quantity(Amount),
    /// A semantic version.
    Semver(Semver),
    Optional(Option<Box<Value>>),
}

#[derive(Clone, Debug)]
pub(crate) struct Map {
    /// Keys and values.
    pub entries: Vec<(Value, Value)>,
    /// Looking up a missing key gives an empty map (so DRA's `attributes` and `capacity` behave).
    pub default_empty: bool,
}

impl Value {
    pub(crate) fn string(text: &str) -> Self {
        Self::String(text.into())
    }

    pub(crate) fn list(elements: Vec<Self>) -> Self {
        Self::List(elements.into())
    }

    /// A map with string keys.
    pub(crate) fn map<K: AsRef<str>>(entries: impl IntoIterator<Item = (K, Self)>) -> Self {
        let entries = entries.into_iter().map(|(key, value)| (Self::string(key.as_ref()), value)).collect();
        Self::Map(Arc::new(Map { entries, default_empty: false }))
    }

    /// The same map, with an empty map for every missing key.
    pub(crate) fn with_default(self) -> Self {
        match self {
            Self::Map(map) => Self::Map(Arc::new(Map { entries: map.entries.clone(), default_empty: true })),
            other => other,
        }
    }

    /// CEL's `compare` for ordered types; `None` where no overload takes the two.
    pub(super) fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => Some(a.cmp(b)),
            (Self::String(a), Self::String(b)) => Some(a.cmp(b)),
            (Self::Bytes(a), Self::Bytes(b)) => Some(a.cmp(b)),
            _ => self.compare_numbers(other),
        }
    }

    /// Numbers compare across their types, exactly.
    fn compare_numbers(&self, other: &Self) -> Option<Ordering> {
        match (self.whole(), other.whole()) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            (Some(a), None) => other.double().and_then(|b| compare_mixed(a, b)),
            (None, Some(b)) => self.double().and_then(|a| compare_mixed(b, a)).map(Ordering::reverse),
            (None, None) => self.double()?.partial_cmp(&other.double()?),
        }
    }

    fn whole(&self) -> Option<i128> {
        match self {
            Self::Int(value) => Some(i128::from(*value)),
            Self::Uint(value) => Some(i128::from(*value)),
            _ => None,
        }
    }

    fn double(&self) -> Option<f64> {
        match self {
            Self::Double(value) => Some(*value),
            _ => None,
        }
    }
}

/// CEL's equality: across types unequal, but numbers by value.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::List(a), Self::List(b)) => a == b,
            (Self::Map(a), Self::Map(b)) => {
                a.entries.len() == b.entries.len() && a.entries.iter().all(|(key, value)| b.find(key).is_some_and(|found| found == value))
            }
            (Self::Quantity(a), Self::Quantity(b)) => a == b,
            (Self::Semver(a), Self::Semver(b)) => a.cmp(b) == Ordering::Equal,
            (Self::Optional(a), Self::Optional(b)) => a == b,
            _ => self.compare(other) == Some(Ordering::Equal),
        }
    }
}

impl Map {
    /// The value of `key`, if the map has it.
    pub(super) fn find(&self, key: &Value) -> Option<&Value> {
        self.entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }
}

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
fn compare_mixed(whole: i128, double: f64) -> Option<Ordering> {
    if double.is_nan() {
        return None;
    }
    if double >= 2f64.powi(64) {
        return Some(Ordering::Less);
    }
    if double < -(2f64.powi(63)) {
        return Some(Ordering::Greater);
    }
    let floor = double.floor();
    Some(whole.cmp(&(floor as i128)).then(if double > floor { Ordering::Less } else { Ordering::Equal }))
}
