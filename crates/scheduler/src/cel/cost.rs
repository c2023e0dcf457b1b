//! The cost of an evaluation, as upstream counts it, and the memory it may use.
//! Sources: `cel-go` interpreter/runtimecost.go, common/cost.go, parser/macro.go; `apiserver/pkg/cel/library/cost.go` (CostEstimator.CallCost);
//! `dynamic-resource-allocation/cel/compile.go` (CostLimit). Which optimizer a release's cel-go has moves the count a little.

use super::parse::Expr;
use super::{CelError, Result, Value};

/// `CELSelectorExpressionMaxCost` (`api/resource/v1/types.go`).
const MAX_COST: u64 = 1_000_000;
/// Above this part of it, the result is reported as unknown: small differences in cost would decide.
const CERTAIN_COST: u64 = MAX_COST / 10 * 9;
/// Bytes that the values of one evaluation may use together. Upstream has no such limit.
const MAX_BYTES: usize = 32 << 20;
/// Values that one comparison or traversal may visit: lists that share their elements are small, but take long to traverse.
const MAX_VISITS: usize = 1 << 20;

/// `ListCreateBaseCost`, `MapCreateBaseCost`.
pub(super) const LIST_CREATE_COST: u64 = 10;
pub(super) const MAP_CREATE_COST: u64 = 30;

/// What an evaluation has cost so far.
#[derive(Default)]
pub(super) struct Meter {
    cost: u64,
    bytes: usize,
}

impl Meter {
    pub(super) fn spend(&mut self, cost: u64) -> Result<()> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > CERTAIN_COST { Err(too_costly()) } else { Ok(()) }
    }

    /// The cost so far.
    #[cfg(test)]
    pub(super) fn cost(&self) -> u64 {
        self.cost
    }

    /// Subtracts the cost of an attribute that upstream resolves without observing it.
    pub(super) fn unspend(&mut self, cost: u64) {
        self.cost = self.cost.saturating_sub(cost);
    }

    /// Reserves memory for a value.
    pub(super) fn reserve(&mut self, bytes: usize) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_BYTES { Err(too_large()) } else { Ok(()) }
    }

    /// Reserves memory for the result of a function or operator, and refuses to traverse more than a person could have written.
    pub(super) fn reserve_call(&mut self, function: &str, operands: &[&Value]) -> Result<()> {
        let mut visits = MAX_VISITS;
        if matches!(function, "==" | "!=" | "in" | "indexOf" | "lastIndexOf" | "includes" | "isSorted" | "join") {
            operands.iter().try_for_each(|operand| visit(operand, &mut visits))?;
        }
        self.reserve(result_bytes(function, operands))
    }
}

fn too_costly() -> CelError {
    CelError::Limit(format!(
        "costs more than {CERTAIN_COST}: upstream ends at {MAX_COST} (operation cancelled: actual cost limit exceeded)"
    ))
}

fn too_large() -> CelError {
    CelError::Limit(format!("takes more than {} MiB", MAX_BYTES >> 20))
}

fn visit(value: &Value, left: &mut usize) -> Result<()> {
    *left = left.checked_sub(1).ok_or_else(|| CelError::Limit(format!("compares more than {MAX_VISITS} values")))?;
    match value {
        Value::List(list) => list.iter().try_for_each(|element| visit(element, left)),
        Value::Map(map) => map.entries.iter().try_for_each(|(key, value)| visit(key, left).and_then(|()| visit(value, left))),
        Value::Optional(Some(inner)) => visit(inner, left),
        _ => Ok(()),
    }
}

/// An upper bound of the bytes that the result of a function or operator uses.
fn result_bytes(function: &str, operands: &[&Value]) -> usize {
    let element = size_of::<Value>();
    match (function, operands) {
        ("+", [Value::String(a), Value::String(b)]) => a.len() + b.len(),
        ("+", [Value::Bytes(a), Value::Bytes(b)]) => a.len() + b.len(),
        ("+", [Value::List(a), Value::List(b)]) => (a.len() + b.len()).saturating_mul(element),
        ("replace", [Value::String(text), Value::String(from), Value::String(to), ..]) => {
            text.len().saturating_add(text.matches(&**from).count().saturating_mul(to.len()))
        }
        ("split", [Value::String(text), Value::String(by), ..]) => {
            text.len().saturating_add((text.matches(&**by).count() + 1).saturating_mul(element + size_of::<[usize; 2]>()))
        }
        ("join", [Value::List(list), rest @ ..]) => {
            let between = rest.first().map_or(0, |separator| bytes_of(separator)).saturating_mul(list.len());
            list.iter().map(bytes_of).fold(between, usize::saturating_add)
        }
        (_, [first, ..]) => bytes_of(first),
        _ => 0,
    }
}

fn bytes_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    }
}

/// The cost of a call in addition to its operands; a method's target is the first of them.
pub(super) fn of_call(function: &str, operands: &[&Value], result: &Value) -> u64 {
    let size_at = |at: usize| operands.get(at).map_or(0, |value| size(value));
    let traversals = |size: u64, times: f64| scaled(size, times * STRING_TRAVERSAL_COST);
    match function {
        "lowerAscii" | "upperAscii" | "substring" | "trim" | "quantity" | "isQuantity" | "semver" | "isSemver" | "startsWith"
        | "endsWith" => traversals(size_at(0), 1.0),
        "replace" | "split" => traversals(size_at(0), 2.0),
        "join" => traversals(size(result), 2.0),
        "find" | "matches" => traversals(size_at(0) + 1, 1.0).saturating_mul(scaled(size_at(1), REGEX_LENGTH_COST)),
        "contains" => traversals(size_at(0), 1.0).saturating_mul(traversals(size_at(1), 1.0)),
        "isSorted" | "indexOf" | "lastIndexOf" | "includes" => operands.first().map_or(0, |value| traversal(value)),
        "==" if matches!(operands.first(), Some(Value::Quantity(_) | Value::Semver(_))) => 1,
        "==" | "!=" => traversals(size_at(0).min(size_at(1)), 1.0),
        "<" | "<=" | ">" | ">=" if is_text(operands) => traversals(size_at(0).min(size_at(1)), 1.0),
        "+" if is_text(operands) => traversals(size_at(0) + size_at(1), 1.0),
        "in" if matches!(operands.get(1), Some(Value::List(_))) => size_at(1),
        _ => 1,
    }
}

/// `StringTraversalCostFactor`, `RegexStringLengthCostFactor`.
const STRING_TRAVERSAL_COST: f64 = 0.1;
const REGEX_LENGTH_COST: f64 = 0.25;

fn is_text(operands: &[&Value]) -> bool {
    operands.iter().all(|operand| matches!(operand, Value::String(_) | Value::Bytes(_)))
}

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as upstream computes it")]
fn scaled(size: u64, factor: f64) -> u64 {
    (size as f64 * factor).ceil() as u64
}

/// `actualSize`.
fn size(value: &Value) -> u64 {
    let size = match value {
        Value::String(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(list) => list.len(),
        Value::Map(map) => map.entries.len(),
        Value::Optional(Some(inner)) => return size(inner),
        _ => 1,
    };
    u64::try_from(size).unwrap_or(u64::MAX)
}

/// `traversalCost`.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as upstream computes it")]
fn traversal(value: &Value) -> u64 {
    match value {
        Value::String(_) | Value::Bytes(_) => (bytes_of(value) as f64 * STRING_TRAVERSAL_COST) as u64,
        Value::List(list) => list.iter().map(traversal).fold(0, u64::saturating_add),
        Value::Map(map) => map.entries.iter().map(|(key, value)| traversal(key) + traversal(value)).fold(0, u64::saturating_add),
        _ => 1,
    }
}

/// Whether upstream resolves it as an attribute: a name and selections from it.
pub(super) fn is_attribute(expr: &Expr) -> bool {
    matches!(expr, Expr::Ident(_) | Expr::Select { .. } | Expr::Index { .. } | Expr::Conditional(_))
}

/// Whether it is a literal that upstream creates before the program runs (`OptOptimize`).
pub(super) fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(_) => true,
        Expr::List(elements) => elements.iter().all(is_constant),
        Expr::Map(entries) => entries.iter().all(|(key, value)| is_constant(key) && is_constant(value)),
        _ => false,
    }
}
