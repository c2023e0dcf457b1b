//! CEL's operators on values.

use std::cmp::Ordering;

use super::{CelError, Result, Value};

/// Whether `function` is a binary operator.
pub(super) fn is_operator(function: &str) -> bool {
    matches!(function, "<" | "<=" | ">" | ">=" | "==" | "!=" | "in" | "+" | "-" | "*" | "/" | "%")
}

/// `!a` and `-a`.
pub(super) fn unary(operator: &str, operand: &Value) -> Result<Value> {
    match (operator, operand) {
        ("!", Value::Bool(value)) => Ok(Value::Bool(!value)),
        ("neg", Value::Int(value)) => value.checked_neg().map(Value::Int).ok_or_else(|| error("integer overflow")),
        ("neg", Value::Double(value)) => Ok(Value::Double(-value)),
        _ => Err(CelError::no_overload()),
    }
}

/// `a operator b`.
pub(super) fn binary(operator: &str, left: &Value, right: &Value) -> Result<Value> {
    // These know only their own kind.
    let alone = |value: &Value| matches!(value, Value::Quantity(_) | Value::Semver(_));
    if matches!(operator, "==" | "!=") && alone(left) && std::mem::discriminant(left) != std::mem::discriminant(right) {
        return Err(CelError::no_overload());
    }
    match operator {
        "==" => return Ok(Value::Bool(left == right)),
        "!=" => return Ok(Value::Bool(left != right)),
        "in" => return contains(right, left).map(Value::Bool),
        _ => {}
    }
    if operator.starts_with(['<', '>']) {
        if let (Value::Double(a), Value::Double(b)) = (left, right)
            && (a.is_nan() || b.is_nan())
        {
            return Ok(Value::Bool(false));
        }
        let ordered =
            matches!(left, Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::String(_) | Value::Bytes(_));
        let untaken = || if ordered { CelError::no_overload() } else { CelError::no_overload_of(&format!("_{operator}_")) };
        let ordering = left.compare(right).ok_or_else(untaken)?;
        return Ok(Value::Bool(match operator {
            "<" => ordering == Ordering::Less,
            "<=" => ordering != Ordering::Greater,
            ">" => ordering == Ordering::Greater,
            _ => ordering != Ordering::Less,
        }));
    }
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => int(operator, *a, *b),
        (Value::Uint(a), Value::Uint(b)) => uint(operator, *a, *b),
        (Value::Double(a), Value::Double(b)) => double(operator, *a, *b),
        (Value::String(a), Value::String(b)) if operator == "+" => Ok(Value::string(&format!("{a}{b}"))),
        (Value::Bytes(a), Value::Bytes(b)) if operator == "+" => Ok(Value::Bytes([&**a, &**b].concat().into())),
        (Value::List(a), Value::List(b)) if operator == "+" => Ok(Value::list([&**a, &**b].concat())),
        _ => Err(CelError::no_overload()),
    }
}

fn contains(container: &Value, element: &Value) -> Result<bool> {
    match container {
        Value::List(list) => Ok(list.contains(element)),
        Value::Map(map) => Ok(map.find(element).is_some()),
        _ => Err(CelError::no_overload()),
    }
}

/// One operation on two integers of one type: `None` where the result does not fit.
macro_rules! checked {
    ($operator:expr, $a:expr, $b:expr) => {
        match $operator {
            "+" => $a.checked_add($b),
            "-" => $a.checked_sub($b),
            "*" => $a.checked_mul($b),
            "/" if $b == 0 => return Err(error("division by zero")),
            "/" => $a.checked_div($b),
            "%" if $b == 0 => return Err(error("modulus by zero")),
            _ => $a.checked_rem($b),
        }
    };
}

fn int(operator: &str, a: i64, b: i64) -> Result<Value> {
    checked!(operator, a, b).map(Value::Int).ok_or_else(|| error("integer overflow"))
}

fn uint(operator: &str, a: u64, b: u64) -> Result<Value> {
    checked!(operator, a, b).map(Value::Uint).ok_or_else(|| error("unsigned integer overflow"))
}

fn double(operator: &str, a: f64, b: f64) -> Result<Value> {
    Ok(Value::Double(match operator {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" => a / b,
        _ => return Err(CelError::no_overload()),
    }))
}

fn error(text: &str) -> CelError {
    CelError::Error(text.to_owned())
}
