//! Running a JSONPath expression on a value.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

use super::{Comparison, JsonPathError, PathNode, Slice};

type Result<T> = std::result::Result<T, JsonPathError>;
type FoundValues<'a> = Vec<Cow<'a, Value>>;

fn error<T>(problem: impl Into<String>) -> Result<T> {
    Err(JsonPathError(problem.into()))
}

/// Runs each node on what the one before it found, beginning with `value`.
pub(super) fn path<'a>(nodes: &'a [PathNode], value: &'a Value) -> Result<FoundValues<'a>> {
    chain(nodes, vec![Cow::Borrowed(value)])
}

/// Values that may be found, however small the data, where a path can find the same value again and again.
const MAX_FOUND: usize = 1 << 20;
/// How often each value of the data may be found then.
const MAX_TIMES: usize = 8;

fn chain<'a>(nodes: &'a [PathNode], mut found: FoundValues<'a>) -> Result<FoundValues<'a>> {
    let descents = nodes.iter().filter(|node| **node == PathNode::Recursive).count();
    let repeats = descents > 1 || nodes.iter().any(|node| matches!(node, PathNode::Union(_)));
    let most = if repeats { MAX_FOUND.max(MAX_TIMES * found.iter().map(|value| values(value)).sum::<usize>()) } else { usize::MAX };
    for node in nodes {
        found = step(node, found, most)?;
    }
    Ok(found)
}

fn values(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(values).sum(),
        Value::Object(fields) => fields.values().map(values).sum(),
        _ => 0,
    }
}

/// Fails once more than `most` values are found.
fn check(found: &FoundValues<'_>, most: usize) -> Result<()> {
    if found.len() > most { error(format!("finds more than {most} values")) } else { Ok(()) }
}

fn step<'a>(node: &'a PathNode, input: FoundValues<'a>, most: usize) -> Result<FoundValues<'a>> {
    let mut found = Vec::new();
    match node {
        PathNode::Literal(value) => found.push(Cow::Borrowed(value)),
        PathNode::Field(name) => found.extend(input.into_iter().filter_map(|value| map(value, |value| value.get(name.as_str())))),
        PathNode::Wildcard => {
            for value in input {
                found.extend(children(value));
                check(&found, most)?;
            }
        }
        PathNode::Recursive => {
            for value in input {
                descend(value, &mut found);
                check(&found, most)?;
            }
        }
        PathNode::Slice(slice) => {
            for value in input {
                elements(*slice, value, &mut found)?;
                check(&found, most)?;
            }
        }
        PathNode::Union(members) => {
            for member in members {
                found.extend(chain(member, input.clone())?);
                check(&found, most)?;
            }
        }
        PathNode::Filter { left, comparison } => {
            for value in input {
                filter(left, comparison.as_ref(), value, &mut found)?;
            }
        }
    }
    Ok(found)
}

/// Follows a borrowed value by reference, an owned one (only literals are) by copy.
fn map<'a>(value: Cow<'a, Value>, follow: impl Fn(&Value) -> Option<&Value>) -> Option<Cow<'a, Value>> {
    match value {
        Cow::Borrowed(value) => follow(value).map(Cow::Borrowed),
        Cow::Owned(value) => follow(&value).cloned().map(Cow::Owned),
    }
}

fn children(value: Cow<'_, Value>) -> FoundValues<'_> {
    match value {
        Cow::Borrowed(Value::Object(fields)) => fields.values().map(Cow::Borrowed).collect(),
        Cow::Borrowed(Value::Array(items)) => items.iter().map(Cow::Borrowed).collect(),
        Cow::Owned(Value::Object(fields)) => fields.into_iter().map(|(_, value)| Cow::Owned(value)).collect(),
        Cow::Owned(Value::Array(items)) => items.into_iter().map(Cow::Owned).collect(),
        _ => Vec::new(),
    }
}

fn descend<'a>(value: Cow<'a, Value>, found: &mut FoundValues<'a>) {
    let inner = children(value.clone());
    if !inner.is_empty() {
        found.push(value);
        inner.into_iter().for_each(|child| descend(child, found));
    }
}

fn elements<'a>(slice: Slice, value: Cow<'a, Value>, found: &mut FoundValues<'a>) -> Result<()> {
    let length = match value.as_ref() {
        Value::Null => return Ok(()),
        Value::Array(items) => items.len() as i64,
        other => return error(format!("a {} has no elements to index", type_name(other))),
    };
    let from_end = |index: i64| if index < 0 { index.saturating_add(length) } else { index };
    let start = from_end(slice.start.unwrap_or(0));
    let end = if slice.is_index { start.saturating_add(1) } else { slice.end.map_or(length, from_end) };
    if start == end && !slice.is_index {
        return Ok(());
    }
    if !(0..length).contains(&start) {
        return error(format!("index {} is beyond a list of {length}", slice.start.unwrap_or(0)));
    }
    if end < start || end > length {
        return error(format!("the slice to {} is not within a list of {length}", slice.end.unwrap_or(end)));
    }
    let step = match slice.step {
        Some(step) if step <= 0 => return error("the step of a slice must be greater than 0"),
        Some(step) => step as usize,
        None => 1,
    };
    found.extend(children(value).into_iter().take(end as usize).skip(start as usize).step_by(step));
    Ok(())
}

fn filter<'a>(
    left: &'a [PathNode],
    comparison: Option<&'a (Comparison, Vec<PathNode>)>,
    value: Cow<'a, Value>,
    found: &mut FoundValues<'a>,
) -> Result<()> {
    if !value.is_array() {
        return error(format!("a {} has no elements to filter", type_name(&value)));
    }
    for item in children(value) {
        let passes = match comparison {
            None => chain(left, vec![item.clone()]).is_ok_and(|lefts| !lefts.is_empty()),
            Some((comparison, right)) => match (single(left, item.clone())?, single(right, item.clone())?) {
                (Some(left), Some(right)) => compare(*comparison, &left, &right)?,
                _ => false,
            },
        };
        if passes {
            found.push(item);
        }
    }
    Ok(())
}

fn single<'a>(nodes: &'a [PathNode], item: Cow<'a, Value>) -> Result<Option<Cow<'a, Value>>> {
    let mut found = chain(nodes, vec![item])?;
    if found.len() > 1 {
        return error("only one value can be compared at a time");
    }
    Ok(found.pop())
}

fn compare(comparison: Comparison, left: &Value, right: &Value) -> Result<bool> {
    let order = match (left, right) {
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal),
        },
        (Value::Bool(a), Value::Bool(b)) if matches!(comparison, Comparison::Equal | Comparison::NotEqual) => a.cmp(b),
        _ => return error(format!("cannot compare a {} with a {}", type_name(left), type_name(right))),
    };
    Ok(match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    })
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    }
}
