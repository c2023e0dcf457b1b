//! Parses tokens of CEL into a tree.

use super::lexer::{Token, tokens};
use super::{CelError, Result, Value};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expression {
    pub(super) root: Expr,
    text: String,
    /// Fields selected from plain names: the name, the field, and the offset of the dot.
    fields: Vec<(String, String, usize)>,
}

/// A node of the tree.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    Literal(Value),
    Ident(String),
    /// `operand.field`, or `operand.?field`.
    Select {
        operand: Box<Expr>,
        field: String,
        optional: bool,
    },
    /// `operand[key]`, or `operand[?key]`.
    Index {
        operand: Box<Expr>,
        key: Box<Expr>,
        optional: bool,
    },
    /// A function, a method (with its target) or an operator (by its symbol).
    Call {
        target: Option<Box<Expr>>,
        function: String,
        arguments: Vec<Expr>,
    },
    List(Vec<Expr>),
    Map(Vec<(Expr, Expr)>),
    Conditional(Box<[Expr; 3]>),
}

/// `CELSelectorExpressionMaxLength` (`api/resource/v1/types.go`).
const MAX_LENGTH: usize = 10 * 1024;
/// Deeper nesting is refused, so that no expression exhausts the stack.
const MAX_NESTING: usize = 50;
/// More operators, accesses and calls than this are refused: chains of them nest too.
const MAX_LINKS: usize = 400;

/// Operators by binding strength, weakest first.
const BINARY_OPERATORS: [&[&str]; 5] = [&["||"], &["&&"], &["<", "<=", ">", ">=", "==", "!=", "in"], &["+", "-"], &["*", "/", "%"]];

impl Expression {
    /// Rejects fields that a variable does not have, as the compiler does.
    pub(crate) fn refuse_fields(&self, variable: &str, known: &[&str]) -> Result<()> {
        let mut unknown = self.fields.iter().filter(|(name, field, _)| name == variable && !known.contains(&field.as_str()));
        match (unknown.next(), unknown.next()) {
            (None, _) => Ok(()),
            (Some((_, field, place)), None) => Err(refusal(&self.text, *place, &format!("undefined field '{field}'"))),
            _ => Err(CelError::Unsupported("several fields that are not defined".to_owned())),
        }
    }

    /// Parses `text`. Errors name the part of the language that is not modelled, or the limit that the text exceeds.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        if text.len() > MAX_LENGTH {
            return Err(CelError::Limit(format!("is {} bytes long, more than the {MAX_LENGTH} that the API server takes", text.len())));
        }
        let (tokens, places) = tokens(text)?.into_iter().unzip();
        let mut parser = Parser { tokens, places, at: 0, depth: 0, links: 0, fields: Vec::new(), patterns: Vec::new() };
        let root = parser.expression()?;
        match parser.tokens.get(parser.at) {
            None => {
                let wrong = |(pattern, _): &&(String, usize)| matches!(regex::Regex::new(pattern), Err(regex::Error::Syntax(_)));
                let wrong = parser.patterns.iter().find(wrong).map(|(_, place)| refusal(text, *place, "invalid matches argument"));
                wrong.map_or(Ok(Self { root, text: text.to_owned(), fields: parser.fields }), Err)
            }
            Some(token) => Err(CelError::Unsupported(format!("{token:?} behind the end of the expression"))),
        }
    }
}

/// The compiler's message for an offset in the text (`common/error.go`); offsets after non-ASCII characters are not reported.
fn refusal(text: &str, place: usize, what: &str) -> CelError {
    let start = text[..place].rfind('\n').map_or(0, |at| at + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    if !line.is_ascii() {
        return CelError::Unsupported("what the compiler refuses".to_owned());
    }
    let (number, column) = (text[..place].matches('\n').count() + 1, place - start);
    let dots = ".".repeat(column);
    CelError::Compile(format!("compilation failed: ERROR: <input>:{number}:{}: {what}\n | {line}\n | {dots}^", column + 1))
}

struct Parser {
    tokens: Vec<Token>,
    places: Vec<usize>,
    fields: Vec<(String, String, usize)>,
    /// Literal patterns, with their offsets.
    patterns: Vec<(String, usize)>,
    at: usize,
    depth: usize,
    links: usize,
}

impl Parser {
    fn expression(&mut self) -> Result<Expr> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(CelError::Unsupported("an expression nested this deep".to_owned()));
        }
        let condition = self.binary(0)?;
        let expression = if self.take("?") {
            let yes = self.binary(0)?;
            self.expect(":")?;
            let no = self.expression()?;
            Expr::Conditional(Box::new([condition, yes, no]))
        } else {
            condition
        };
        self.depth -= 1;
        Ok(expression)
    }

    fn binary(&mut self, level: usize) -> Result<Expr> {
        let Some(operators) = BINARY_OPERATORS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(operator) = operators.iter().find(|operator| self.peek(operator)) {
            self.at += 1;
            self.link()?;
            let right = self.binary(level + 1)?;
            left = Expr::Call { target: None, function: (*operator).to_owned(), arguments: vec![left, right] };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr> {
        if self.peek("-") {
            match self.tokens.get(self.at + 1) {
                Some(Token::Int(value)) => self.tokens[self.at + 1] = Token::Int(-value),
                Some(Token::IntMin) => self.tokens[self.at + 1] = Token::Int(i64::MIN),
                Some(Token::Double(value)) => self.tokens[self.at + 1] = Token::Double(-value),
                _ => return self.prefixed("-", "neg"),
            }
            self.at += 1;
        }
        if self.peek("!") {
            return self.prefixed("!", "!");
        }
        self.member()
    }

    fn prefixed(&mut self, symbol: &str, function: &str) -> Result<Expr> {
        self.expect(symbol)?;
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(CelError::Unsupported("an expression nested this deep".to_owned()));
        }
        let operand = self.unary()?;
        self.depth -= 1;
        Ok(Expr::Call { target: None, function: function.to_owned(), arguments: vec![operand] })
    }

    fn member(&mut self) -> Result<Expr> {
        let mut operand = self.primary()?;
        loop {
            if self.take(".?") {
                operand = Expr::Select { operand: Box::new(operand), field: self.identifier()?, optional: true };
            } else if self.take(".") {
                let place = self.places[self.at - 1];
                let field = self.identifier()?;
                operand = if self.take("(") {
                    if let (true, Some(Token::String(pattern))) = (field == "matches", self.tokens.get(self.at)) {
                        self.patterns.push((pattern.clone(), self.places[self.at]));
                    }
                    Expr::Call { target: Some(Box::new(operand)), function: field, arguments: self.list(")")? }
                } else {
                    if let Expr::Ident(name) = &operand {
                        self.fields.push((name.clone(), field.clone(), place));
                    }
                    Expr::Select { operand: Box::new(operand), field, optional: false }
                };
            } else if self.peek("[") || self.peek("[?") {
                let optional = self.take("[?");
                if !optional {
                    self.expect("[")?;
                }
                let key = self.expression()?;
                self.expect("]")?;
                operand = Expr::Index { operand: Box::new(operand), key: Box::new(key), optional };
            } else {
                return Ok(operand);
            }
            self.link()?;
        }
    }

    fn link(&mut self) -> Result<()> {
        self.links += 1;
        if self.links > MAX_LINKS { Err(CelError::Unsupported("an expression this long".to_owned())) } else { Ok(()) }
    }

    fn primary(&mut self) -> Result<Expr> {
        let token =
            self.tokens.get(self.at).cloned().ok_or_else(|| CelError::Unsupported("an expression that ends too early".to_owned()))?;
        self.at += 1;
        Ok(Expr::Literal(match token {
            Token::Int(value) => Value::Int(value),
            Token::Uint(value) => Value::Uint(value),
            Token::Double(value) => Value::Double(value),
            Token::String(text) => Value::String(text.into()),
            Token::Bytes(bytes) => Value::Bytes(bytes.into()),
            Token::Ident(name) => match name.as_str() {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                "null" => Value::Null,
                _ if self.take("(") => {
                    let (place, known) = (self.places[self.at - 1], self.fields.len());
                    let arguments = self.list(")")?;
                    if let ("has", [Expr::Select { operand, .. }]) = (name.as_str(), arguments.as_slice())
                        && let (Expr::Ident(_), Some((.., of))) = (&**operand, self.fields.get_mut(known))
                    {
                        // The offset of a macro's result is that of its bracket.
                        *of = place;
                    }
                    return Ok(Expr::Call { target: None, function: name, arguments });
                }
                _ => return Ok(Expr::Ident(name)),
            },
            Token::Symbol("(") => {
                let inner = self.expression()?;
                self.expect(")")?;
                return Ok(inner);
            }
            Token::Symbol("[") => return Ok(Expr::List(self.list("]")?)),
            Token::Symbol("{") => return self.map(),
            other => return Err(CelError::Unsupported(format!("{other:?} where a value should be"))),
        }))
    }

    fn map(&mut self) -> Result<Expr> {
        let mut entries = Vec::new();
        while !self.take("}") {
            let key = self.expression()?;
            self.expect(":")?;
            entries.push((key, self.expression()?));
            if !self.take(",") && !self.peek("}") {
                return Err(CelError::Unsupported("a map without its closing brace".to_owned()));
            }
        }
        Ok(Expr::Map(entries))
    }

    fn list(&mut self, end: &str) -> Result<Vec<Expr>> {
        let mut elements = Vec::new();
        while !self.take(end) {
            elements.push(self.expression()?);
            if !self.take(",") && !self.peek(end) {
                return Err(CelError::Unsupported(format!("a list without its closing {end}")));
            }
        }
        Ok(elements)
    }

    fn identifier(&mut self) -> Result<String> {
        match self.tokens.get(self.at) {
            Some(Token::Ident(name)) => {
                self.at += 1;
                Ok(name.clone())
            }
            other => Err(CelError::Unsupported(format!("{other:?} where a field's name should be"))),
        }
    }

    fn peek(&self, symbol: &str) -> bool {
        match self.tokens.get(self.at) {
            Some(Token::Symbol(found)) => *found == symbol,
            Some(Token::Ident(word)) => symbol == "in" && word == "in",
            _ => false,
        }
    }

    fn take(&mut self, symbol: &str) -> bool {
        let found = self.peek(symbol);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<()> {
        if self.take(symbol) { Ok(()) } else { Err(CelError::Unsupported(format!("an expression without the {symbol} that belongs here"))) }
    }
}
