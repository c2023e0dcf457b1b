//! What `--sort-by` sorts by: numbers as numbers, quantities as quantities, other texts as texts; objects without the field come first.

use std::cmp::Ordering;

use serde_json::Value;

use crate::json_path::{JsonPath, JsonPathError};
use ketcd_kube::Quantity;

/// The value of an object's sort field. The order is total: absent, booleans, numbers, quantities, texts, structures.
#[derive(Clone, Debug, PartialEq)]
pub enum SortKey {
    /// The object has no such field.
    Absent,
    /// A boolean.
    Flag(bool),
    /// A number, and its exact value if it is whole.
    Number(f64, Option<i64>),
    /// A text that is a quantity.
    Quantity(Quantity),
    /// Any other text.
    Text(String),
    /// A list or map, which has no order.
    Structure,
}

impl SortKey {
    /// Returns the key by the first value that the path finds in the object.
    ///
    /// # Errors
    /// The path does not fit the object.
    pub fn of(path: &JsonPath, object: &Value) -> Result<Self, JsonPathError> {
        Ok(match path.find(object)?.first().map(AsRef::as_ref) {
            None | Some(Value::Null) => Self::Absent,
            Some(Value::Bool(flag)) => Self::Flag(*flag),
            Some(Value::Number(number)) => Self::Number(number.as_f64().unwrap_or(0.0), number.as_i64()),
            Some(Value::String(text)) => text.parse().map_or_else(|_| Self::Text(text.clone()), Self::Quantity),
            Some(Value::Array(_) | Value::Object(_)) => Self::Structure,
        })
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Absent => 0,
            Self::Flag(_) => 1,
            Self::Number(..) => 2,
            Self::Quantity(_) => 3,
            Self::Text(_) => 4,
            Self::Structure => 5,
        }
    }
}

impl Eq for SortKey {}

impl Ord for SortKey {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Flag(a), Self::Flag(b)) => a.cmp(b),
            (Self::Number(a, whole_a), Self::Number(b, whole_b)) => a.total_cmp(b).then_with(|| whole_a.cmp(whole_b)),
            (Self::Quantity(a), Self::Quantity(b)) => a.cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for SortKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(values: &[Value], wanted: &[Value]) {
        let path = JsonPath::parse_relaxed(".a").unwrap();
        let key = |value: &Value| SortKey::of(&path, &json!({ "a": value })).unwrap();
        let mut sorted = values.to_vec();
        sorted.sort_by_key(key);
        assert_eq!(sorted, wanted);
    }

    #[test]
    fn sort_key_orders_values_as_kubectl() {
        check(&[json!(10), json!(9), json!(null), json!(2.5)], &[json!(null), json!(2.5), json!(9), json!(10)]);
        check(&[json!("1Gi"), json!("100Mi"), json!("2")], &[json!("2"), json!("100Mi"), json!("1Gi")]);
        check(&[json!("x"), json!("5"), json!({}), json!(true)], &[json!(true), json!("5"), json!("x"), json!({})]);
        check(&[json!("web-10"), json!("web-2")], &[json!("web-10"), json!("web-2")]);
        check(
            &[json!("2026-01-02T00:00:00Z"), json!("2026-01-01T00:00:00Z")],
            &[json!("2026-01-01T00:00:00Z"), json!("2026-01-02T00:00:00Z")],
        );
    }
}
