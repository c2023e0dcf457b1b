//! Runs a template (Go's text/template/exec.go).

use std::borrow::Cow;
use std::io::Write;

use serde_json::Value as Json;

use super::format::print;
use super::limits::Limits;
use super::parse::{Branch, Operand, Pipeline, TemplateNode};
use super::value::Value;
use super::{GoTemplate, GoTemplateError, GoTemplateWriteError, functions};

/// How deep templates may call one another, so that the stack suffices.
const MAX_CALL_DEPTH: usize = 200;

/// Runs a template on an object, within limits.
pub(super) fn run(template: &GoTemplate, object: &Json, limits: Limits, out: &mut dyn Write) -> Result<(), GoTemplateWriteError> {
    let root = Value::from(object);
    let mut state = TemplateState { template, variables: vec![(String::new(), root.clone())], depth: 0, limits };
    state.list(&template.body, &root, out).map(drop)
}

/// How a list of nodes ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

struct TemplateState<'t, 'v> {
    template: &'t GoTemplate,
    variables: Vec<(String, Value<'v>)>,
    depth: usize,
    limits: Limits,
}

impl<'t, 'v> TemplateState<'t, 'v> {
    fn list(&mut self, nodes: &'t [TemplateNode], dot: &Value<'v>, out: &mut dyn Write) -> Result<Flow, GoTemplateWriteError> {
        for node in nodes {
            self.limits.step()?;
            let flow = match node {
                TemplateNode::Text(text) => {
                    self.write(text, out)?;
                    Flow::Next
                }
                TemplateNode::Action(pipeline) => {
                    let value = self.pipeline(pipeline, dot)?;
                    if pipeline.variables.is_empty() {
                        self.write(&print(&value), out)?;
                    }
                    Flow::Next
                }
                TemplateNode::If(branch) => self.branch(branch, dot, false, out)?,
                TemplateNode::With(branch) => self.branch(branch, dot, true, out)?,
                TemplateNode::Range(branch) => self.range(branch, dot, out)?,
                TemplateNode::Template(name, pipeline) => {
                    self.call(name, pipeline.as_ref(), dot, out)?;
                    Flow::Next
                }
                TemplateNode::Break => Flow::Break,
                TemplateNode::Continue => Flow::Continue,
            };
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn write(&mut self, text: &str, out: &mut dyn Write) -> Result<(), GoTemplateWriteError> {
        self.limits.take(text.len())?;
        Ok(out.write_all(text.as_bytes())?)
    }

    /// `if`, or `with`, which makes its value dot.
    fn branch(&mut self, branch: &'t Branch, dot: &Value<'v>, sets_dot: bool, out: &mut dyn Write) -> Result<Flow, GoTemplateWriteError> {
        let known = self.variables.len();
        let value = self.pipeline(&branch.pipeline, dot)?;
        let flow = match value.is_true() {
            true => self.list(&branch.body, if sets_dot { &value } else { dot }, out)?,
            false => self.list(&branch.otherwise, dot, out)?,
        };
        self.variables.truncate(known);
        Ok(flow)
    }

    fn range(&mut self, branch: &'t Branch, dot: &Value<'v>, out: &mut dyn Write) -> Result<Flow, GoTemplateWriteError> {
        let known = self.variables.len();
        let value = self.pipeline(&branch.pipeline, dot)?;
        self.limits.steps(value.item_count())?;
        let items: Vec<(Value<'v>, Value<'v>)> = match value {
            Value::Missing | Value::Nil => Vec::new(),
            Value::List(items) => {
                items.iter().enumerate().map(|(place, item)| (Value::Int(place.try_into().unwrap_or(i64::MAX)), item.into())).collect()
            }
            Value::Map(members) => {
                let mut sorted: Vec<(&String, &Json)> = members.iter().collect();
                sorted.sort_by_key(|(name, _)| *name);
                sorted.into_iter().map(|(name, member)| (Value::Text(Cow::Borrowed(name)), member.into())).collect()
            }
            Value::Int(count) => return self.count(branch, count, known, out, dot),
            other => return Err(GoTemplateError::new(format!("range can't iterate over {}", print(&other))).into()),
        };
        if items.is_empty() {
            self.variables.truncate(known);
            return self.list(&branch.otherwise, dot, out);
        }
        for (key, item) in items {
            self.set_range(branch, key, item.clone())?;
            let inside = self.variables.len();
            let flow = self.list(&branch.body, &item, out)?;
            self.variables.truncate(inside);
            if flow == Flow::Break {
                break;
            }
        }
        self.variables.truncate(known);
        Ok(Flow::Next)
    }

    /// A range over a number: 0 to the number before it.
    fn count(
        &mut self,
        branch: &'t Branch,
        count: i64,
        known: usize,
        out: &mut dyn Write,
        dot: &Value<'v>,
    ) -> Result<Flow, GoTemplateWriteError> {
        if branch.pipeline.variables.len() > 1 {
            return Err(GoTemplateError::new("can't use a number to iterate over with more than one variable").into());
        }
        if count <= 0 {
            self.variables.truncate(known);
            return self.list(&branch.otherwise, dot, out);
        }
        for place in 0..count {
            self.limits.step()?;
            self.set_range(branch, Value::Int(place), Value::Int(place))?;
            let inside = self.variables.len();
            let flow = self.list(&branch.body, &Value::Int(place), out)?;
            self.variables.truncate(inside);
            if flow == Flow::Break {
                break;
            }
        }
        self.variables.truncate(known);
        Ok(Flow::Next)
    }

    /// Sets the variables of a range for one item: the last of them is the item, the one before it its key.
    fn set_range(&mut self, branch: &Branch, key: Value<'v>, item: Value<'v>) -> Result<(), GoTemplateError> {
        match &branch.pipeline.variables[..] {
            [] => Ok(()),
            [one] => self.set(one, item),
            [one, two, ..] => {
                self.set(one, key)?;
                self.set(two, item)
            }
        }
    }

    fn call(
        &mut self,
        name: &str,
        pipeline: Option<&'t Pipeline>,
        dot: &Value<'v>,
        out: &mut dyn Write,
    ) -> Result<(), GoTemplateWriteError> {
        let template = self.template;
        let nodes = template.named.get(name).ok_or_else(|| GoTemplateError::new(format!("template {name:?} not defined")))?;
        let dot = pipeline.map_or(Ok(Value::Missing), |pipeline| self.pipeline(pipeline, dot))?;
        self.depth += 1;
        if self.depth > MAX_CALL_DEPTH {
            return Err(GoTemplateError::new(format!("templates call one another more than {MAX_CALL_DEPTH} deep")).into());
        }
        let outside = std::mem::replace(&mut self.variables, vec![(String::new(), dot.clone())]);
        self.list(nodes, &dot, out)?;
        self.variables = outside;
        self.depth -= 1;
        Ok(())
    }

    /// The value of a pipeline; the variables that it names are set.
    fn pipeline(&mut self, pipeline: &'t Pipeline, dot: &Value<'v>) -> Result<Value<'v>, GoTemplateError> {
        let mut value = None;
        for command in &pipeline.commands {
            value = Some(self.command(command, dot, value)?);
        }
        let value = value.unwrap_or(Value::Missing);
        if pipeline.declares {
            self.variables.extend(pipeline.variables.iter().map(|name| (name.clone(), value.clone())));
        } else {
            for name in &pipeline.variables {
                self.set(name, value.clone())?;
            }
        }
        Ok(value)
    }

    fn set(&mut self, name: &str, value: Value<'v>) -> Result<(), GoTemplateError> {
        let variable = self.variables.iter_mut().rev().find(|(known, _)| known == name);
        let (_, known) = variable.ok_or_else(|| GoTemplateError::new(format!("undefined variable: ${name}")))?;
        *known = value;
        Ok(())
    }

    /// The value of a command, which gets `last` as its last argument.
    fn command(&mut self, command: &'t [Operand], dot: &Value<'v>, last: Option<Value<'v>>) -> Result<Value<'v>, GoTemplateError> {
        let Some((first, arguments)) = command.split_first() else { return Ok(Value::Missing) };
        if let Operand::Function(name) = first {
            return self.function(name, arguments, dot, last);
        }
        if !arguments.is_empty() || last.is_some() {
            return Err(GoTemplateError::new("can't give argument to non-function"));
        }
        if matches!(first, Operand::Nil) {
            return Err(GoTemplateError::new("nil is not a command"));
        }
        self.operand(first, dot)
    }

    fn function(
        &mut self,
        name: &str,
        arguments: &'t [Operand],
        dot: &Value<'v>,
        last: Option<Value<'v>>,
    ) -> Result<Value<'v>, GoTemplateError> {
        if name == "and" || name == "or" {
            return self.logic(name == "and", arguments, dot, last);
        }
        let mut values = Vec::with_capacity(arguments.len() + 1);
        for argument in arguments {
            values.push(self.operand(argument, dot)?);
        }
        values.extend(last);
        self.limits.take_all(&values)?;
        let value = functions::call(name, values)?;
        self.limits.take(value.text_length())?;
        Ok(value)
    }

    /// `and` and `or`, which evaluate no more than they need.
    fn logic(
        &mut self,
        is_and: bool,
        arguments: &'t [Operand],
        dot: &Value<'v>,
        last: Option<Value<'v>>,
    ) -> Result<Value<'v>, GoTemplateError> {
        let mut value = None;
        for argument in arguments {
            let of_argument = self.operand(argument, dot)?;
            if of_argument.is_true() != is_and {
                return Ok(of_argument);
            }
            value = Some(of_argument);
        }
        last.or(value).ok_or_else(|| GoTemplateError::new("wrong number of args: want at least 1 got 0"))
    }

    fn operand(&mut self, operand: &'t Operand, dot: &Value<'v>) -> Result<Value<'v>, GoTemplateError> {
        let value = self.value(operand, dot)?;
        self.limits.step()?;
        self.limits.take(value.text_length())?;
        Ok(value)
    }

    fn value(&mut self, operand: &'t Operand, dot: &Value<'v>) -> Result<Value<'v>, GoTemplateError> {
        Ok(match operand {
            Operand::Dot => dot.clone(),
            Operand::Nil => Value::Nil,
            Operand::Bool(bool) => Value::Bool(*bool),
            Operand::Int(number) => Value::Int(*number),
            Operand::Float(number) => Value::Float(*number),
            Operand::Text(text) => Value::Text(Cow::Owned(text.clone())),
            Operand::Function(name) => return self.function(name, &[], dot, None),
            Operand::Fields(names) => return fields(dot.clone(), names),
            Operand::Variable(name, names) => {
                let known = self.variables.iter().rev().find(|(known, _)| known == name);
                let (_, value) = known.ok_or_else(|| GoTemplateError::new(format!("undefined variable: ${name}")))?;
                return fields(value.clone(), names);
            }
            Operand::Pipeline(pipeline, names) => {
                let value = self.pipeline(pipeline, dot)?;
                return fields(value, names);
            }
        })
    }
}

fn fields<'v>(mut value: Value<'v>, names: &[String]) -> Result<Value<'v>, GoTemplateError> {
    for name in names {
        value = match value {
            Value::Missing => Value::Missing,
            Value::Nil => return Err(GoTemplateError::new(format!("nil pointer evaluating interface {{}}.{name}"))),
            Value::Map(members) => members.get(name).map_or(Value::Missing, Value::from),
            other => return Err(GoTemplateError::new(format!("can't evaluate field {name} in type {}", other.type_name()))),
        };
    }
    Ok(value)
}
