//! Types of an expression known without a device: the compiler rejects operands by them, before anything runs.
//! Its messages are not modelled; that it rejects is (`cel-go` checker/checker.go).

use super::parse::Expr;
use super::{CelError, Result, Value};

/// Whether the compiler knows the type: attributes and variables of macros may have any.
pub(super) fn is_typed(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(_) => true,
        Expr::Ident(_) | Expr::Map(_) => false,
        Expr::Select { operand, field, .. } => matches!(&**operand, Expr::Ident(name) if name == "device" && field == "driver"),
        Expr::Index { operand, .. } => is_typed(operand),
        Expr::List(elements) => elements.iter().all(is_typed),
        Expr::Conditional(parts) => parts[1..].iter().all(is_typed),
        Expr::Call { target, function, .. } => match target {
            // These have the type of their operands.
            Some(target) if matches!(function.as_str(), "orValue" | "value" | "or" | "bind" | "min" | "max" | "map" | "filter") => {
                is_typed(target)
            }
            None if function == "dyn" => false,
            _ => true,
        },
    }
}

/// Rejects operands an operator does not accept, where they are typed.
pub(super) fn operands(function: &str, arguments: &[Expr], result: Result<Value>) -> Result<Value> {
    match &result {
        Err(CelError::Error(error)) if error.starts_with("no such overload") && arguments.iter().all(is_typed) => Err(refused(function)),
        _ => result,
    }
}

/// Rejects comparing different types, where both are typed.
pub(super) fn equals(function: &str, sides: &[Expr], values: [&Value; 2]) -> Result<()> {
    let [left, right] = values.map(std::mem::discriminant);
    if left != right && sides.iter().all(is_typed) { Err(refused(function)) } else { Ok(()) }
}

/// Rejects a list whose elements have different types.
pub(super) fn elements(elements: &[Expr], values: &[Value]) -> Result<()> {
    let typed = elements.iter().filter(|element| is_typed(element)).count();
    let kinds = |pair: &[Value]| std::mem::discriminant(&pair[0]) != std::mem::discriminant(&pair[1]);
    if typed > 0 && (typed < elements.len() || values.windows(2).any(kinds)) { Err(refused("a list")) } else { Ok(()) }
}

fn refused(what: &str) -> CelError {
    CelError::Unsupported(format!("operands of {what} that the compiler refuses"))
}
