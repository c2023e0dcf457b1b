//! Makes nodes of the words of a template (Go's text/template/parse/parse.go).

use std::collections::HashMap;

use super::functions::is_function;
use super::lex::{TemplatePiece, Token, pieces};
use super::{GoTemplate, GoTemplateError};

#[derive(Clone, Debug)]
pub(super) enum TemplateNode {
    Text(String),
    /// A pipeline, whose value is printed unless it sets a variable.
    Action(Pipeline),
    /// `if`, or what follows `else`.
    If(Branch),
    /// `with`.
    With(Branch),
    /// `range`.
    Range(Branch),
    /// `template "name" pipeline`.
    Template(String, Option<Pipeline>),
    /// `break`.
    Break,
    /// `continue`.
    Continue,
}

/// A pipeline with what is done if it is true, and if not.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub(super) pipeline: Pipeline,
    pub(super) body: Vec<TemplateNode>,
    pub(super) otherwise: Vec<TemplateNode>,
}

/// Commands of which each gets the value of the one before it as its last argument.
#[derive(Clone, Debug)]
pub(super) struct Pipeline {
    pub(super) variables: Vec<String>,
    /// Whether they are declared, and not only set.
    pub(super) declares: bool,
    pub(super) commands: Vec<Vec<Operand>>,
}

/// A word of a command.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    Dot,
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    Function(String),
    Variable(String, Vec<String>),
    Fields(Vec<String>),
    /// A pipeline in parentheses, and fields of its value.
    Pipeline(Pipeline, Vec<String>),
}

/// How deep actions may lie in one another, so that the stack suffices.
const MAX_ACTION_DEPTH: usize = 200;

pub(super) fn template(text: &str) -> Result<GoTemplate, GoTemplateError> {
    let mut parser =
        Parser { pieces: pieces(text)?.into_iter(), named: HashMap::new(), variables: vec![String::new()], loops: 0, depth: 0 };
    let (body, end) = parser.list()?;
    match end {
        Stop::OfText => Ok(GoTemplate { body, named: parser.named }),
        Stop::End => Err(GoTemplateError::new("unexpected {{end}}")),
        Stop::Else(_) => Err(GoTemplateError::new("unexpected {{else}}")),
    }
}

/// What ended a list of nodes.
enum Stop {
    OfText,
    End,
    /// With the words behind it.
    Else(Vec<Token>),
}

struct Parser {
    pieces: std::vec::IntoIter<TemplatePiece>,
    named: HashMap<String, Vec<TemplateNode>>,
    /// The variables that are declared here; the first is `$`.
    variables: Vec<String>,
    /// How many ranges are open.
    loops: usize,
    depth: usize,
}

impl Parser {
    fn list(&mut self) -> Result<(Vec<TemplateNode>, Stop), GoTemplateError> {
        let mut nodes = Vec::new();
        while let Some(piece) = self.pieces.next() {
            let tokens = match piece {
                TemplatePiece::Text(text) => {
                    nodes.push(TemplateNode::Text(text));
                    continue;
                }
                TemplatePiece::Action(tokens) => trimmed(tokens),
            };
            let (word, rest) = match tokens.split_first() {
                None => return Err(GoTemplateError::new("missing value for command")),
                Some((Token::Word(word), rest)) => (word.as_str(), rest),
                Some(_) => ("", &tokens[..]),
            };
            match word {
                "end" if rest.is_empty() => return Ok((nodes, Stop::End)),
                "else" => return Ok((nodes, Stop::Else(trimmed(rest.to_vec())))),
                "if" | "with" | "range" => nodes.push(self.control(word, rest)?),
                "define" => self.define(rest)?,
                "block" => nodes.push(self.block(rest)?),
                "template" => nodes.push(self.call(rest)?),
                "break" | "continue" if rest.is_empty() => {
                    if self.loops == 0 {
                        return Err(GoTemplateError::new(format!("{{{{{word}}}}} outside {{{{range}}}}")));
                    }
                    nodes.push(if word == "break" { TemplateNode::Break } else { TemplateNode::Continue });
                }
                _ => nodes.push(TemplateNode::Action(self.pipeline(&tokens)?)),
            }
        }
        Ok((nodes, Stop::OfText))
    }

    /// Reads `if`, `with` or `range` up to its end.
    fn control(&mut self, word: &str, words: &[Token]) -> Result<TemplateNode, GoTemplateError> {
        self.depth += 1;
        if self.depth > MAX_ACTION_DEPTH {
            return Err(GoTemplateError::new(format!("more than {MAX_ACTION_DEPTH} actions lie in one another")));
        }
        let known = self.variables.len();
        let pipeline = self.declaring(words, word == "range")?;
        self.loops += usize::from(word == "range");
        let (body, end) = self.list()?;
        self.loops -= usize::from(word == "range");
        let otherwise = match end {
            Stop::OfText => return Err(GoTemplateError::new("unexpected EOF")),
            Stop::End => Vec::new(),
            Stop::Else(words) => self.otherwise(word, &words)?,
        };
        self.variables.truncate(known);
        self.depth -= 1;
        let branch = Branch { pipeline, body, otherwise };
        Ok(match word {
            "if" => TemplateNode::If(branch),
            "with" => TemplateNode::With(branch),
            _ => TemplateNode::Range(branch),
        })
    }

    /// Reads what follows `else`.
    fn otherwise(&mut self, word: &str, words: &[Token]) -> Result<Vec<TemplateNode>, GoTemplateError> {
        match words.split_first() {
            None => match self.list()? {
                (nodes, Stop::End) => Ok(nodes),
                (_, Stop::Else(_)) => Err(GoTemplateError::new("expected end; found {{else}}")),
                (_, Stop::OfText) => Err(GoTemplateError::new("unexpected EOF")),
            },
            Some((Token::Word(next), rest)) if next == word && matches!(word, "if" | "with") => Ok(vec![self.control(word, rest)?]),
            Some(_) => Err(GoTemplateError::new("unexpected words after else")),
        }
    }

    /// Reads the body of a named template.
    fn body(&mut self) -> Result<Vec<TemplateNode>, GoTemplateError> {
        let outside = std::mem::replace(&mut self.variables, vec![String::new()]);
        let loops = std::mem::take(&mut self.loops);
        let (nodes, end) = self.list()?;
        (self.variables, self.loops) = (outside, loops);
        match end {
            Stop::End => Ok(nodes),
            Stop::Else(_) => Err(GoTemplateError::new("unexpected {{else}} in a definition")),
            Stop::OfText => Err(GoTemplateError::new("unexpected EOF")),
        }
    }

    fn define(&mut self, words: &[Token]) -> Result<(), GoTemplateError> {
        let (name, rest) = name(words)?;
        if !rest.is_empty() {
            return Err(GoTemplateError::new("unexpected words after define"));
        }
        let nodes = self.body()?;
        self.named.insert(name, nodes);
        Ok(())
    }

    fn block(&mut self, words: &[Token]) -> Result<TemplateNode, GoTemplateError> {
        let (name, rest) = name(words)?;
        let pipeline = self.pipeline(&rest)?;
        let nodes = self.body()?;
        self.named.entry(name.clone()).or_insert(nodes);
        Ok(TemplateNode::Template(name, Some(pipeline)))
    }

    fn call(&mut self, words: &[Token]) -> Result<TemplateNode, GoTemplateError> {
        let (name, rest) = name(words)?;
        let pipeline = if rest.is_empty() { None } else { Some(self.pipeline(&rest)?) };
        Ok(TemplateNode::Template(name, pipeline))
    }

    /// Reads the pipeline of an action; what it declares is known to what follows.
    fn pipeline(&mut self, words: &[Token]) -> Result<Pipeline, GoTemplateError> {
        self.declaring(words, false)
    }

    fn declaring(&mut self, words: &[Token], is_range: bool) -> Result<Pipeline, GoTemplateError> {
        let words = trimmed(words.to_vec());
        let bare: Vec<&Token> = words.iter().filter(|word| **word != Token::Space).take(4).collect();
        let (names, sign) = match &bare[..] {
            [Token::Variable(one), Token::Sign(sign @ (":=" | "=")), ..] => (vec![one.clone()], *sign),
            [Token::Variable(one), Token::Sign(","), Token::Variable(two), Token::Sign(sign @ (":=" | "="))] if is_range => {
                (vec![one.clone(), two.clone()], *sign)
            }
            _ => (Vec::new(), ""),
        };
        let start = if sign.is_empty() { 0 } else { words.iter().position(|word| *word == Token::Sign(sign)).unwrap_or(0) + 1 };
        let declares = sign == ":=";
        if !declares && let Some(unknown) = names.iter().find(|name| !self.variables.contains(name)) {
            return Err(GoTemplateError::new(format!("undefined variable \"${unknown}\"")));
        }
        let (commands, rest) = self.commands(&words[start..], false)?;
        debug_assert!(rest.is_empty());
        self.variables.extend(names.iter().filter(|_| declares).cloned());
        Ok(Pipeline { variables: names, declares, commands })
    }

    /// Reads commands up to the end or, in parentheses, to the closing one.
    fn commands<'t>(&mut self, words: &'t [Token], in_parentheses: bool) -> Result<(Vec<Vec<Operand>>, &'t [Token]), GoTemplateError> {
        let (mut commands, mut command, mut rest) = (Vec::new(), Vec::new(), words);
        loop {
            let Some((word, after)) = rest.split_first() else {
                if in_parentheses {
                    return Err(GoTemplateError::new("unclosed left paren"));
                }
                break;
            };
            rest = after;
            match word {
                Token::Space => {}
                Token::Sign(")") if in_parentheses => break,
                Token::Sign("|") => commands.push(checked(std::mem::take(&mut command), commands.len())?),
                _ => {
                    let (operand, after) = self.operand(word, rest)?;
                    command.push(operand);
                    if !matches!(after.first(), None | Some(Token::Space | Token::Sign("|" | ")"))) {
                        return Err(GoTemplateError::new("arguments must be separated by blanks"));
                    }
                    rest = after;
                }
            }
        }
        commands.push(checked(command, commands.len())?);
        Ok((commands, rest))
    }

    /// Reads an operand with the fields behind it.
    fn operand<'t>(&mut self, word: &Token, rest: &'t [Token]) -> Result<(Operand, &'t [Token]), GoTemplateError> {
        let fields = |rest: &'t [Token]| {
            let count = rest.iter().take_while(|word| matches!(word, Token::Field(_))).count();
            let names = rest[..count].iter().filter_map(|word| if let Token::Field(name) = word { Some(name.clone()) } else { None });
            (names.collect::<Vec<_>>(), &rest[count..])
        };
        Ok(match word {
            Token::Dot => (Operand::Dot, rest),
            Token::Text(text) => (Operand::Text(text.clone()), rest),
            Token::Char(c) => (Operand::Int(i64::from(u32::from(*c))), rest),
            Token::Number(number) => (constant(number)?, rest),
            Token::Word(word) if word == "true" || word == "false" => (Operand::Bool(word == "true"), rest),
            Token::Word(word) if word == "nil" => (Operand::Nil, rest),
            Token::Word(word) if is_function(word) => (Operand::Function(word.clone()), rest),
            Token::Word(word) => return Err(GoTemplateError::new(format!("function {word:?} not defined"))),
            Token::Field(name) => {
                let (mut names, rest) = fields(rest);
                names.insert(0, name.clone());
                (Operand::Fields(names), rest)
            }
            Token::Variable(name) if !self.variables.contains(name) => {
                return Err(GoTemplateError::new(format!("undefined variable \"${name}\"")));
            }
            Token::Variable(name) => {
                let (names, rest) = fields(rest);
                (Operand::Variable(name.clone(), names), rest)
            }
            Token::Sign("(") => {
                self.depth += 1;
                if self.depth > MAX_ACTION_DEPTH {
                    return Err(GoTemplateError::new(format!("more than {MAX_ACTION_DEPTH} actions lie in one another")));
                }
                let (commands, rest) = self.commands(rest, true)?;
                self.depth -= 1;
                let (names, rest) = fields(rest);
                (Operand::Pipeline(Pipeline { variables: Vec::new(), declares: false, commands }, names), rest)
            }
            Token::Sign(sign) => return Err(GoTemplateError::new(format!("unexpected {sign:?} in operand"))),
            Token::Space => return Err(GoTemplateError::new("missing value for command")),
        })
    }
}

/// A command that is not empty; only the first of a pipeline may be a constant.
fn checked(command: Vec<Operand>, place: usize) -> Result<Vec<Operand>, GoTemplateError> {
    match command.first() {
        None => Err(GoTemplateError::new("missing value for command")),
        Some(Operand::Bool(_) | Operand::Dot | Operand::Nil | Operand::Int(_) | Operand::Float(_) | Operand::Text(_)) if place > 0 => {
            Err(GoTemplateError::new(format!("non executable command in pipeline stage {}", place + 1)))
        }
        Some(_) => Ok(command),
    }
}

/// The words without blanks at the ends.
fn trimmed(mut words: Vec<Token>) -> Vec<Token> {
    let start = words.iter().take_while(|word| **word == Token::Space).count();
    words.drain(..start);
    while words.last() == Some(&Token::Space) {
        words.pop();
    }
    words
}

/// The name of a template, and what follows it.
fn name(words: &[Token]) -> Result<(String, Vec<Token>), GoTemplateError> {
    let words = trimmed(words.to_vec());
    match words.split_first() {
        Some((Token::Text(name), rest)) => Ok((name.clone(), trimmed(rest.to_vec()))),
        _ => Err(GoTemplateError::new("expected the name of a template in quotes")),
    }
}

/// A number as Go reads it without knowing its type.
fn constant(text: &str) -> Result<Operand, GoTemplateError> {
    let bad = || GoTemplateError::new(format!("bad number syntax: {text:?}"));
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase().replace('_', "");
    let radix = [("0x", 16), ("0o", 8), ("0b", 2)].into_iter().find_map(|(lead, radix)| Some((lower.strip_prefix(lead)?, radix)));
    let old_octal = lower.strip_prefix('0').filter(|rest| !rest.is_empty() && rest.bytes().all(|digit| digit.is_ascii_digit()));
    let whole = match (radix, old_octal) {
        (Some((digits, radix)), _) => i64::from_str_radix(&format!("{sign}{digits}"), radix),
        (None, Some(digits)) => i64::from_str_radix(&format!("{sign}{digits}"), 8),
        (None, None) => format!("{sign}{lower}").parse(),
    };
    if let Ok(whole) = whole {
        return Ok(Operand::Int(whole));
    }
    let is_float = radix.is_none() && lower.contains(['.', 'e']);
    let float: f64 = format!("{sign}{lower}").parse().map_err(|_| bad())?;
    if is_float && float.is_finite() { Ok(Operand::Float(float)) } else { Err(bad()) }
}
