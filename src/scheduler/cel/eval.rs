//! Evaluation of a parsed expression.

use std::sync::Arc;

use super::parse::{Expr, Expression};
use super::value::Map;
use super::{Fault, Result, Value, arithmetic, functions, macros, written};

/// Names and their values, innermost last.
pub(super) struct Scope<'a> {
    names: Vec<(&'a str, Value)>,
    steps: u32,
}

/// Upstream stops an expression at a cost of 1,000,000 (`CELSelectorExpressionMaxCost`); ours are fewer, larger steps.
const STEPS: u32 = 1_000_000;

impl Expression {
    /// Evaluates the expression with these variables.
    pub fn evaluate(&self, variables: &[(&str, Value)]) -> Result<Value> {
        fold(&self.root)?;
        let mut scope = Scope { names: variables.to_vec(), steps: 0 };
        scope.evaluate(&self.root)
    }
}

impl<'a> Scope<'a> {
    pub(super) fn evaluate(&mut self, expr: &'a Expr) -> Result<Value> {
        self.steps += 1;
        if self.steps > STEPS {
            return Err(Fault::Unsupported("an expression this costly".to_owned()));
        }
        match expr {
            Expr::Literal(value) => Ok(value.clone()),
            Expr::Ident(name) => self.lookup(name),
            Expr::List(elements) => {
                let values = elements.iter().map(|element| self.evaluate(element)).collect::<Result<Vec<_>>>()?;
                written::elements(elements, &values)?;
                Ok(Value::list(values))
            }
            Expr::Map(entries) => {
                let entries =
                    entries.iter().map(|(key, value)| Ok((self.evaluate(key)?, self.evaluate(value)?))).collect::<Result<Vec<_>>>()?;
                Ok(Value::Map(Arc::new(Map { entries, default_empty: false })))
            }
            Expr::Conditional(parts) => match self.evaluate(&parts[0])? {
                Value::Bool(true) => self.evaluate(&parts[1]),
                Value::Bool(false) => self.evaluate(&parts[2]),
                _ => written::operands("? :", &parts[..1], Err(Fault::no_overload())),
            },
            Expr::Select { operand, field, optional } => {
                let operand = self.evaluate(operand)?;
                access(&operand, &Value::string(field), *optional)
            }
            Expr::Index { operand, key, optional } => {
                let operand = self.evaluate(operand)?;
                let key = self.evaluate(key)?;
                access(&operand, &key, *optional)
            }
            Expr::Call { target, function, arguments } => self.call(target.as_deref(), function, arguments),
        }
    }

    /// Evaluates `expr` with one more name.
    pub(super) fn with(&mut self, name: &'a str, value: Value, expr: &'a Expr) -> Result<Value> {
        self.names.push((name, value));
        let result = self.evaluate(expr);
        self.names.pop();
        result
    }

    fn lookup(&self, name: &str) -> Result<Value> {
        let found = self.names.iter().rev().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.clone()).ok_or_else(|| Fault::Unsupported(format!("the name {name}")))
    }

    fn call(&mut self, target: Option<&'a Expr>, function: &str, arguments: &'a [Expr]) -> Result<Value> {
        match (target, function, arguments) {
            (None, "&&", [left, right]) => return self.logical(left, right, false),
            (None, "||", [left, right]) => return self.logical(left, right, true),
            _ => {}
        }
        if let Some(result) = macros::expand(self, target, function, arguments) {
            return result;
        }
        // What `add` and `sub` make equals nothing on the right: upstream compares with the other of two Go types.
        if let ("==" | "!=", [_, Expr::Call { target: Some(_), function, .. }]) = (function, arguments)
            && matches!(function.as_str(), "add" | "sub")
        {
            arguments.iter().try_for_each(|argument| self.evaluate(argument).map(drop))?;
            return Err(Fault::no_overload());
        }
        let target = target.map(|target| self.evaluate(target)).transpose()?;
        let sides = arguments;
        let arguments = arguments.iter().map(|argument| self.evaluate(argument)).collect::<Result<Vec<_>>>()?;
        match (&target, arguments.as_slice()) {
            (None, [operand]) if function == "!" || function == "neg" => {
                written::operands(function, sides, arithmetic::unary(function, operand))
            }
            (None, [left, right]) if arithmetic::is_operator(function) => {
                if matches!(function, "==" | "!=") {
                    written::equals(function, sides, [left, right])?;
                }
                written::operands(function, sides, arithmetic::binary(function, left, right))
            }
            (None, arguments) => functions::call(function, arguments),
            (Some(target), arguments) => functions::method(target, function, arguments),
        }
    }

    /// `&&` and `||`: either side may decide, whatever the other one does.
    fn logical(&mut self, left: &'a Expr, right: &'a Expr, deciding: bool) -> Result<Value> {
        let left = self.evaluate(left);
        if left == Ok(Value::Bool(deciding)) {
            return left;
        }
        let right = self.evaluate(right);
        match (left, right) {
            (_, Ok(Value::Bool(value))) if value == deciding => Ok(Value::Bool(deciding)),
            (Ok(Value::Bool(_)), Ok(Value::Bool(value))) => Ok(Value::Bool(value)),
            // What we cannot evaluate might have decided; an error of CEL's cannot.
            (Err(fault @ (Fault::Unsupported(_) | Fault::Compile(_))), _)
            | (_, Err(fault @ (Fault::Unsupported(_) | Fault::Compile(_)))) => Err(fault),
            (Err(fault), _) | (_, Err(fault)) => Err(fault),
            _ => Err(Fault::no_overload()),
        }
    }
}

/// Conversions of what is written out are made when the program is: one that fails makes none (`interpreter/decorators.go`).
fn fold(expr: &Expr) -> Result<()> {
    match expr {
        Expr::Literal(_) | Expr::Ident(_) => Ok(()),
        Expr::Select { operand, .. } => fold(operand),
        Expr::Index { operand, key, .. } => fold(operand).and_then(|()| fold(key)),
        Expr::List(elements) => elements.iter().try_for_each(fold),
        Expr::Map(entries) => entries.iter().try_for_each(|(key, value)| fold(key).and_then(|()| fold(value))),
        Expr::Conditional(parts) => parts.iter().try_for_each(fold),
        Expr::Call { target: None, function, arguments } if is_conversion(function) => {
            arguments.iter().try_for_each(fold)?;
            match (arguments.as_slice(), function.as_str()) {
                ([Expr::Literal(value)], function) => match functions::call(function, std::slice::from_ref(value)) {
                    Err(Fault::Error(error)) => Err(Fault::Compile(format!("program instantiation failed: {error}"))),
                    _ => Ok(()),
                },
                _ => Ok(()),
            }
        }
        Expr::Call { target, arguments, .. } => {
            target.iter().try_for_each(|target| fold(target))?;
            arguments.iter().try_for_each(fold)
        }
    }
}

fn is_conversion(function: &str) -> bool {
    matches!(function, "bool" | "bytes" | "double" | "duration" | "dyn" | "int" | "string" | "timestamp" | "uint")
}

/// `operand.key`, `operand[key]` and their optional forms.
fn access(operand: &Value, key: &Value, optional: bool) -> Result<Value> {
    if let Value::Optional(inner) = operand {
        let Some(inner) = inner else { return Ok(Value::Optional(None)) };
        return lookup(inner, key).map(|found| Value::Optional(found.map(Box::new)));
    }
    let found = lookup(operand, key)?;
    match found {
        _ if optional => Ok(Value::Optional(found.map(Box::new))),
        Some(value) => Ok(value),
        None => Err(Fault::Error(match (operand, key) {
            (Value::List(_), key) => format!("index out of bounds: {}", functions::text(key)),
            (_, key) => format!("no such key: {}", functions::text(key)),
        })),
    }
}

fn lookup(operand: &Value, key: &Value) -> Result<Option<Value>> {
    match (operand, key) {
        (Value::Map(map), key) => Ok(match map.find(key) {
            None if map.default_empty => Some(Value::map::<&str>([])),
            found => found.cloned(),
        }),
        (Value::List(list), Value::Int(at)) => Ok(usize::try_from(*at).ok().and_then(|at| list.get(at)).cloned()),
        (Value::List(list), Value::Uint(at)) => Ok(usize::try_from(*at).ok().and_then(|at| list.get(at)).cloned()),
        (Value::List(_), _) => Err(Fault::no_overload()),
        // What has no keys has not this one.
        _ => Ok(None),
    }
}
