//! Entry points for fuzz targets into private parts of the crate. They take and return text, so that no type becomes public.

use super::cel::{Expression, Semver, Value};
use crate::cluster::Amount;

/// Evaluates a CEL expression on a device as a device selector does; returns the debug form of the value, or why there is none.
///
/// # Errors
///
/// The expression does not parse or has no value.
pub fn evaluate_cel(expression: &str) -> Result<String, String> {
    let attributes = Value::map([("model", Value::string("A1")), ("index", Value::Int(3)), ("ecc", Value::Bool(true))]);
    let version = Semver::parse("1.2.3").map(|version| Value::map([("version", Value::Semver(version))]));
    let capacity = Amount::parse("40Gi").map(|memory| Value::map([("memory", Value::Quantity(memory))]));
    let device = Value::map([
        ("driver", Value::string("gpu.example.com")),
        ("attributes", Value::map([("gpu.example.com", attributes), ("other.example.com", version.unwrap_or(Value::Null))]).with_default()),
        ("capacity", Value::map([("gpu.example.com", capacity.unwrap_or(Value::Null))]).with_default()),
    ]);
    let value = Expression::parse(expression).and_then(|expression| expression.evaluate(&[("device", device)]));
    value.map(|value| format!("{value:?}")).map_err(|fault| format!("{fault:?}"))
}
