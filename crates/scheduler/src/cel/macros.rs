//! CEL's macros: calls whose arguments are expressions, not values.

use super::cost::LIST_CREATE_COST;
use super::eval::Evaluator;
use super::parse::Expr;
use super::{CelError, Result, Value};

/// Evaluates the call if it is a macro.
pub(super) fn expand<'a>(
    scope: &mut Evaluator<'a>,
    target: Option<&'a Expr>,
    function: &str,
    arguments: &'a [Expr],
) -> Option<Result<Value>> {
    let Some(target) = target else {
        return match (function, arguments) {
            ("has", [Expr::Select { operand, field, optional: false }]) => Some(has(scope, operand, field)),
            ("has", _) => Some(Err(CelError::Unsupported("has() of something that is not a field".to_owned()))),
            _ => None,
        };
    };
    if *target == Expr::Ident("cel".to_owned()) && function == "bind" {
        return Some(match arguments {
            [Expr::Ident(name), value, body] => scope.evaluate(value).and_then(|value| scope.with(name, value, body)),
            _ => Err(CelError::Unsupported("cel.bind of this form".to_owned())),
        });
    }
    if let (Expr::Ident(namespace), "of" | "none" | "ofNonZeroValue") = (target, function)
        && namespace == "optional"
    {
        return Some(optional(scope, function, arguments));
    }
    match (function, arguments) {
        ("all" | "exists" | "exists_one" | "existsOne" | "filter" | "map" | "optMap" | "optFlatMap", [Expr::Ident(name), body]) => {
            Some(over(scope, target, function, Body { name, condition: None, body }))
        }
        ("map", [Expr::Ident(name), condition, body]) => {
            Some(over(scope, target, function, Body { name, condition: Some(condition), body }))
        }
        ("all" | "exists" | "existsOne" | "transformList" | "transformMap" | "transformMapEntry", [_, _, ..]) => {
            Some(Err(CelError::Unsupported(format!("{function}() over two variables"))))
        }
        _ => None,
    }
}

fn has<'a>(scope: &mut Evaluator<'a>, operand: &'a Expr, field: &str) -> Result<Value> {
    match scope.evaluate(operand)? {
        Value::Map(map) => Ok(Value::Bool(map.find(&Value::string(field)).is_some())),
        Value::Optional(Some(inner)) => match *inner {
            Value::Map(map) => Ok(Value::Bool(map.find(&Value::string(field)).is_some())),
            _ => Err(CelError::no_overload()),
        },
        Value::Optional(None) => Ok(Value::Bool(false)),
        _ => Err(CelError::no_overload()),
    }
}

fn optional<'a>(scope: &mut Evaluator<'a>, function: &str, arguments: &'a [Expr]) -> Result<Value> {
    match (function, arguments) {
        ("none", []) => Ok(Value::Optional(None)),
        ("of", [value]) => Ok(Value::Optional(Some(Box::new(scope.evaluate(value)?)))),
        ("ofNonZeroValue", [value]) => {
            let value = scope.evaluate(value)?;
            let zero = match &value {
                Value::Null => true,
                Value::Bool(value) => !value,
                Value::Int(value) => *value == 0,
                Value::Uint(value) => *value == 0,
                Value::Double(value) => *value == 0.0,
                Value::String(text) => text.is_empty(),
                Value::Bytes(bytes) => bytes.is_empty(),
                Value::List(list) => list.is_empty(),
                Value::Map(map) => map.entries.is_empty(),
                Value::Quantity(_) | Value::Semver(_) | Value::Optional(_) => false,
            };
            Ok(Value::Optional((!zero).then(|| Box::new(value))))
        }
        _ => Err(CelError::Unsupported(format!("optional.{function} of this form"))),
    }
}

/// The body of a comprehension: the variable, the condition, the expression.
struct Body<'a> {
    name: &'a str,
    condition: Option<&'a Expr>,
    body: &'a Expr,
}

/// The comprehensions, over a list's elements or a map's keys.
fn over<'a>(scope: &mut Evaluator<'a>, target: &'a Expr, function: &str, body: Body<'a>) -> Result<Value> {
    let target = scope.evaluate(target)?;
    comprehend(scope, target, function, body)
}

fn comprehend<'a>(scope: &mut Evaluator<'a>, target: Value, function: &str, Body { name, condition, body }: Body<'a>) -> Result<Value> {
    let elements: Vec<Value> = match target {
        Value::List(list) => list.to_vec(),
        Value::Map(map) => map.entries.iter().map(|(key, _)| key.clone()).collect(),
        Value::Optional(inner) if function.starts_with("opt") => {
            return optional_map(scope, inner.map(|inner| *inner), function, name, body);
        }
        _ => return Err(CelError::no_overload()),
    };
    scope.meter.reserve(size_of::<Value>().saturating_mul(elements.len()))?;
    // The comprehension's result is its accumulator, an attribute.
    scope.meter.spend(1)?;
    match function {
        "all" => quantifier(scope, elements, name, body, false),
        "exists" => quantifier(scope, elements, name, body, true),
        "exists_one" | "existsOne" => {
            let mut count = 0;
            for element in elements {
                let holds = boolean(scope.with(name, element, body)?)?;
                scope.meter.spend(if holds { 2 } else { 0 })?;
                count += usize::from(holds);
            }
            scope.meter.spend(1)?;
            Ok(Value::Bool(count == 1))
        }
        "filter" => {
            let mut kept = Vec::new();
            for element in elements {
                if boolean(scope.with(name, element.clone(), body)?)? {
                    scope.meter.spend(APPEND_COST + 1)?;
                    kept.push(element);
                }
            }
            Ok(Value::list(kept))
        }
        "map" => {
            let mut mapped = Vec::new();
            for element in elements {
                if match condition {
                    Some(condition) => boolean(scope.with(name, element.clone(), condition)?)?,
                    None => true,
                } {
                    mapped.push(scope.with(name, element, body)?);
                    scope.meter.spend(APPEND_COST)?;
                }
            }
            Ok(Value::list(mapped))
        }
        _ => Err(CelError::no_overload()),
    }
}

/// The cost of appending an element to the result: the accumulator's name, a list of one element, and the addition.
const APPEND_COST: u64 = 1 + LIST_CREATE_COST + 1;

/// `all` and `exists`: one element may decide, whatever the others are.
fn quantifier<'a>(scope: &mut Evaluator<'a>, elements: Vec<Value>, name: &'a str, body: &'a Expr, deciding: bool) -> Result<Value> {
    let mut fault: Option<CelError> = None;
    // The loop condition costs the accumulator's name and one call, for `exists` two; the loop step the accumulator's name again.
    let goes_on = if deciding { 3 } else { 2 };
    let last = elements.len();
    for (at, element) in elements.into_iter().enumerate() {
        scope.meter.spend(goes_on + 1)?;
        match scope.with(name, element, body).and_then(boolean) {
            Ok(value) if value == deciding => {
                scope.meter.spend(if at + 1 < last { goes_on } else { 0 })?;
                return Ok(Value::Bool(deciding));
            }
            Ok(_) => {}
            Err(limit @ CelError::Limit(_)) => return Err(limit),
            Err(new) => {
                fault = Some(match fault {
                    Some(old @ CelError::Unsupported(_)) => old,
                    _ => new,
                })
            }
        }
    }
    fault.map_or(Ok(Value::Bool(!deciding)), Err)
}

fn optional_map<'a>(scope: &mut Evaluator<'a>, inner: Option<Value>, function: &str, name: &'a str, body: &'a Expr) -> Result<Value> {
    // Checking for a value, the value, and the result are calls.
    scope.meter.spend(3)?;
    let Some(inner) = inner else { return Ok(Value::Optional(None)) };
    let value = scope.with(name, inner, body)?;
    Ok(if function == "optMap" { Value::Optional(Some(Box::new(value))) } else { value })
}

fn boolean(value: Value) -> Result<bool> {
    match value {
        Value::Bool(value) => Ok(value),
        _ => Err(CelError::no_overload()),
    }
}
