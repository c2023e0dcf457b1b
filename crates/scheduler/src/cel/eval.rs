//! Evaluation of a parsed expression.

use std::sync::Arc;

use super::cost::{self, Meter};
use super::parse::{Expr, Expression};
use super::value::Map;
use super::{CelError, Result, Value, arithmetic, functions, macros, static_types};

/// Variables and their values, innermost last.
pub(super) struct Evaluator<'a> {
    names: Vec<(&'a str, Value)>,
    pub(super) meter: Meter,
}

impl Expression {
    pub(crate) fn evaluate(&self, variables: &[(&str, Value)]) -> Result<Value> {
        fold(&self.root)?;
        let mut scope = Evaluator { names: variables.to_vec(), meter: Meter::default() };
        scope.evaluate(&self.root)
    }
}

#[cfg(test)]
impl Expression {
    pub(super) fn cost(&self, variables: &[(&str, Value)]) -> u64 {
        let mut scope = Evaluator { names: variables.to_vec(), meter: Meter::default() };
        let _ = scope.evaluate(&self.root);
        scope.meter.cost()
    }
}

impl<'a> Evaluator<'a> {
    // Each kind of expression has its own function, so that deep nesting uses little stack.
    pub(super) fn evaluate(&mut self, expr: &'a Expr) -> Result<Value> {
        match expr {
            Expr::Literal(value) => Ok(value.clone()),
            Expr::Ident(name) => self.ident(name),
            Expr::List(elements) => self.list(elements, cost::is_constant(expr)),
            Expr::Map(entries) => self.map(entries, cost::is_constant(expr)),
            Expr::Conditional(parts) => self.conditional(parts),
            Expr::Select { operand, field, optional } => {
                self.meter.spend(if cost::is_attribute(operand) { 1 } else { 2 })?;
                let operand = self.evaluate(operand)?;
                access(&operand, &Value::string(field), *optional)
            }
            Expr::Index { operand, key, optional } => self.index(operand, key, *optional),
            Expr::Call { target, function, arguments } => self.call(target.as_deref(), function, arguments),
        }
    }

    fn ident(&mut self, name: &str) -> Result<Value> {
        self.meter.spend(1)?;
        self.lookup(name)
    }

    fn all(&mut self, exprs: &'a [Expr]) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(exprs.len());
        for expr in exprs {
            values.push(self.evaluate(expr)?);
        }
        Ok(values)
    }

    fn list(&mut self, elements: &'a [Expr], constant: bool) -> Result<Value> {
        self.meter.spend(if constant { 0 } else { cost::LIST_CREATE_COST })?;
        self.meter.reserve(size_of::<Value>() * elements.len())?;
        let values = self.all(elements)?;
        static_types::elements(elements, &values)?;
        Ok(Value::list(values))
    }

    fn map(&mut self, entries: &'a [(Expr, Expr)], constant: bool) -> Result<Value> {
        self.meter.spend(if constant { 0 } else { cost::MAP_CREATE_COST })?;
        self.meter.reserve(2 * size_of::<Value>() * entries.len())?;
        let mut values = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            values.push((self.evaluate(key)?, self.evaluate(value)?));
        }
        Ok(Value::Map(Arc::new(Map { entries: values, default_empty: false })))
    }

    fn conditional(&mut self, parts: &'a [Expr; 3]) -> Result<Value> {
        match self.evaluate(&parts[0])? {
            Value::Bool(true) => self.branch(&parts[1]),
            Value::Bool(false) => self.branch(&parts[2]),
            _ => static_types::operands("? :", &parts[..1], Err(CelError::no_overload())),
        }
    }

    fn index(&mut self, operand: &'a Expr, key: &'a Expr, optional: bool) -> Result<Value> {
        // A key that is an attribute is counted as one already.
        self.meter.spend(u64::from(!cost::is_attribute(operand)) + u64::from(!cost::is_attribute(key)))?;
        let operand = self.evaluate(operand)?;
        let key = self.evaluate(key)?;
        access(&operand, &key, optional)
    }

    /// Evaluates a branch of a conditional: upstream resolves an attribute there without counting it.
    fn branch(&mut self, expr: &'a Expr) -> Result<Value> {
        self.meter.unspend(u64::from(cost::is_attribute(expr) && !matches!(expr, Expr::Conditional(_))));
        self.evaluate(expr)
    }

    /// Evaluates `expr` with one more variable.
    pub(super) fn with(&mut self, name: &'a str, value: Value, expr: &'a Expr) -> Result<Value> {
        self.names.push((name, value));
        let result = self.evaluate(expr);
        self.names.pop();
        result
    }

    fn lookup(&self, name: &str) -> Result<Value> {
        let found = self.names.iter().rev().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.clone()).ok_or_else(|| CelError::Unsupported(format!("the name {name}")))
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
        let target = match target {
            Some(target) => Some(self.evaluate(target)?),
            None => None,
        };
        let values = self.all(arguments)?;
        self.finish(target.as_ref(), function, arguments, &values)
    }

    /// Evaluates a call that is not a macro; its operands are evaluated.
    fn finish(&mut self, target: Option<&Value>, function: &str, sides: &[Expr], arguments: &[Value]) -> Result<Value> {
        // Results of `add` and `sub` equal nothing on the right: upstream compares two different Go types.
        if let ("==" | "!=", [_, Expr::Call { target: Some(_), function, .. }]) = (function, sides)
            && matches!(function.as_str(), "add" | "sub")
        {
            return Err(CelError::no_overload());
        }
        let operands: Vec<&Value> = target.into_iter().chain(arguments).collect();
        self.meter.reserve_call(function, &operands)?;
        let result = apply(target, function, sides, arguments)?;
        self.meter.spend(if is_folded(target, function, sides) { 0 } else { cost::of_call(function, &operands, &result) })?;
        Ok(result)
    }

    /// `&&` and `||`: either side may decide, whatever the other one is.
    fn logical(&mut self, left: &'a Expr, right: &'a Expr, deciding: bool) -> Result<Value> {
        let left = self.evaluate(left);
        if left == Ok(Value::Bool(deciding)) || matches!(left, Err(CelError::Limit(_))) {
            return left;
        }
        let right = self.evaluate(right);
        match (left, right) {
            (_, Err(fault @ CelError::Limit(_))) => Err(fault),
            (_, Ok(Value::Bool(value))) if value == deciding => Ok(Value::Bool(deciding)),
            (Ok(Value::Bool(_)), Ok(Value::Bool(value))) => Ok(Value::Bool(value)),
            // What is not modelled might have decided; an error of CEL cannot.
            (Err(fault @ (CelError::Unsupported(_) | CelError::Compile(_))), _)
            | (_, Err(fault @ (CelError::Unsupported(_) | CelError::Compile(_)))) => Err(fault),
            (Err(fault), _) | (_, Err(fault)) => Err(fault),
            _ => Err(CelError::no_overload()),
        }
    }
}

/// Applies an operator, function or method to its operands.
fn apply(target: Option<&Value>, function: &str, sides: &[Expr], arguments: &[Value]) -> Result<Value> {
    match (target, arguments) {
        (None, [operand]) if function == "!" || function == "neg" => {
            static_types::operands(function, sides, arithmetic::unary(function, operand))
        }
        (None, [left, right]) if arithmetic::is_operator(function) => {
            if matches!(function, "==" | "!=") {
                static_types::equals(function, sides, [left, right])?;
            }
            static_types::operands(function, sides, arithmetic::binary(function, left, right))
        }
        (None, arguments) => functions::call(function, arguments),
        (Some(target), arguments) => functions::method(target, function, arguments),
    }
}

/// Whether upstream computes the result before the program runs, or looks it up in a set made then.
fn is_folded(target: Option<&Value>, function: &str, sides: &[Expr]) -> bool {
    target.is_none()
        && match (function, sides) {
            ("in", [_, list]) => cost::is_constant(list),
            (function, [argument]) => is_conversion(function) && cost::is_constant(argument),
            _ => false,
        }
}

/// Conversions of literals are evaluated when the program is created: one that fails fails the creation (`interpreter/decorators.go`).
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
                    Err(CelError::Error(error)) => Err(CelError::Compile(format!("program instantiation failed: {error}"))),
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
        // Upstream's spelling of them is not modelled, and they may be huge.
        None if matches!(key, Value::List(_) | Value::Map(_) | Value::Optional(_)) => {
            Err(CelError::Unsupported("a key of this type".to_owned()))
        }
        None => Err(CelError::Error(match (operand, key) {
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
        (Value::List(_), _) => Err(CelError::no_overload()),
        // A value without keys does not have this one.
        _ => Ok(None),
    }
}
