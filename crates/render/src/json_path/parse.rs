//! Reading a JSONPath template.

use serde_json::Value;

use super::{Comparison, JsonPathError, PathNode, PathPart, Slice};

type Result<T> = std::result::Result<T, JsonPathError>;

fn error<T>(problem: impl Into<String>) -> Result<T> {
    Err(JsonPathError(problem.into()))
}

/// Ranges within each other; each level of the data can have one.
const MAX_RANGES: usize = 250;

/// Reads text and expressions; a `range` without `end` goes to the end of the template.
pub(super) fn template(text: &str) -> Result<Vec<PathPart>> {
    let mut open: Vec<(Vec<PathNode>, Vec<PathPart>)> = Vec::new();
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(brace) = rest.find('{') {
        if brace > 0 {
            parts.push(PathPart::Text(rest[..brace].to_owned()));
        }
        let mut reader = Reader { rest: &rest[brace + 1..] };
        let mut nodes = Vec::new();
        match reader.action(&mut nodes, Some('}'))? {
            None => parts.push(PathPart::Path(nodes)),
            Some(Word::Range) if open.len() == MAX_RANGES => return error(format!("more than {MAX_RANGES} ranges within each other")),
            Some(Word::Range) => open.push((nodes, std::mem::take(&mut parts))),
            Some(Word::End) => {
                let Some((nodes, before)) = open.pop() else { return error("end without range") };
                let inner = std::mem::replace(&mut parts, before);
                parts.push(PathPart::Range(nodes, inner));
            }
        }
        rest = reader.rest;
    }
    if !rest.is_empty() {
        parts.push(PathPart::Text(rest.to_owned()));
    }
    while let Some((nodes, before)) = open.pop() {
        let inner = std::mem::replace(&mut parts, before);
        parts.push(PathPart::Range(nodes, inner));
    }
    Ok(parts)
}

enum Word {
    Range,
    End,
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    /// Reads nodes up to `close` (or the end of the text, inside brackets) and says whether `range` or `end` was among them.
    fn action(&mut self, nodes: &mut Vec<PathNode>, close: Option<char>) -> Result<Option<Word>> {
        let mut word = None;
        loop {
            let Some(c) = self.rest.chars().next() else {
                return if close.is_some() { error("{ without }") } else { Ok(word) };
            };
            match c {
                c if Some(c) == close => {
                    self.rest = &self.rest[1..];
                    return Ok(word);
                }
                _ if self.rest.starts_with("[?(") => nodes.push(self.filter()?),
                _ if self.rest.starts_with("..") => {
                    // `parseRecursive` of `client-go/util/jsonpath/parser.go`.
                    if nodes.last() == Some(&PathNode::Recursive) {
                        return error("invalid multiple recursive descent");
                    }
                    self.rest = &self.rest[2..];
                    nodes.push(PathNode::Recursive);
                    if self.rest.starts_with(|c: char| c == '_' || c.is_alphanumeric()) {
                        nodes.push(PathNode::Field(self.field()));
                    }
                }
                ' ' | '@' | '$' => self.rest = &self.rest[1..],
                '[' => nodes.push(self.brackets()?),
                '"' | '\'' => nodes.push(PathNode::Literal(Value::String(self.quoted(c)?))),
                '.' => {
                    self.rest = &self.rest[1..];
                    let name = self.field();
                    match name.as_str() {
                        "*" => nodes.push(PathNode::Wildcard),
                        "" => {}
                        _ => nodes.push(PathNode::Field(name)),
                    }
                }
                '+' | '-' | '0'..='9' => nodes.push(self.number()?),
                c if c == '_' || c.is_alphabetic() => match self.field().as_str() {
                    "range" => word = Some(Word::Range),
                    "end" => word = Some(Word::End),
                    "true" => nodes.push(PathNode::Literal(Value::Bool(true))),
                    "false" => nodes.push(PathNode::Literal(Value::Bool(false))),
                    other => return error(format!("unknown word \"{other}\"; a path begins with a dot")),
                },
                other => return error(format!("unexpected \"{other}\"")),
            }
        }
    }

    /// A name up to the next sign that ends one; a backslash takes its meaning from the sign after it.
    fn field(&mut self) -> String {
        let mut name = String::new();
        let mut chars = self.rest.char_indices();
        while let Some((index, c)) = chars.next() {
            match c {
                '\\' => name.extend(chars.next().map(|(_, escaped)| escaped)),
                ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}' => {
                    self.rest = &self.rest[index..];
                    return name;
                }
                _ => name.push(c),
            }
        }
        self.rest = "";
        name
    }

    fn number(&mut self) -> Result<PathNode> {
        let signed = usize::from(self.rest.starts_with(['+', '-']));
        let end = self.rest[signed..].find(|c: char| c != '.' && !c.is_ascii_digit()).map_or(self.rest.len(), |end| signed + end);
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        let number = text.parse::<i64>().map(Value::from).or_else(|_| text.parse::<f64>().map(Value::from));
        number.map(PathNode::Literal).or_else(|_| error(format!("invalid number \"{text}\"")))
    }

    fn quoted(&mut self, quote: char) -> Result<String> {
        let mut text = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((index, c)) = chars.next() {
            match c {
                '\n' => break,
                '\\' => match chars.next().map(|(_, escaped)| escaped) {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some('u') => {
                        let digits: String = chars.by_ref().take(4).map(|(_, digit)| digit).collect();
                        let code = u32::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 4).and_then(char::from_u32);
                        text.push(code.ok_or_else(|| JsonPathError(format!("\\u{digits} is not a character")))?);
                    }
                    Some(escaped @ ('\\' | '"' | '\'')) => text.push(escaped),
                    Some(other) => return error(format!("unknown escape \\{other}")),
                    None => break,
                },
                c if c == quote => {
                    self.rest = &self.rest[index + 1..];
                    return Ok(text);
                }
                _ => text.push(c),
            }
        }
        error("a quote without its end")
    }

    fn brackets(&mut self) -> Result<PathNode> {
        let Some(end) = self.rest.find(']') else { return error("[ without ]") };
        let inner = &self.rest[1..end];
        self.rest = &self.rest[end + 1..];
        let mut members = inner.split(',').map(|member| bracket(member.trim_matches(' ')));
        if inner.contains(',') {
            return members.map(|member| member.map(|node| vec![node])).collect::<Result<_>>().map(PathNode::Union);
        }
        members.next().unwrap_or_else(|| error("[] holds nothing"))
    }

    fn filter(&mut self) -> Result<PathNode> {
        let text = &self.rest["[?(".len()..];
        let mut quote = None;
        let mut before = '(';
        let end = text.char_indices().find_map(|(index, c)| {
            match quote {
                Some(open) if c == open && before != '\\' => quote = None,
                None if c == '"' || c == '\'' => quote = Some(c),
                None if c == ')' => return Some(index),
                _ => {}
            }
            before = c;
            None
        });
        let Some(end) = end.filter(|&end| text[end..].starts_with(")]")) else { return error("[?( without )]") };
        let inner = &text[..end];
        self.rest = &text[end + 2..];
        let Some(at) = inner.find(['!', '<', '>', '=']) else { return Ok(PathNode::Filter { left: nodes(inner)?, comparison: None }) };
        let length = inner[at..].find(|c| !matches!(c, '!' | '<' | '>' | '=')).unwrap_or(inner.len() - at);
        let comparison = match &inner[at..at + length] {
            "==" => Comparison::Equal,
            "!=" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterOrEqual,
            other => return error(format!("unknown comparison \"{other}\"")),
        };
        Ok(PathNode::Filter { left: nodes(&inner[..at])?, comparison: Some((comparison, nodes(&inner[at + length..])?)) })
    }
}

/// Reads the nodes of one side of a filter.
fn nodes(text: &str) -> Result<Vec<PathNode>> {
    let mut nodes = Vec::new();
    match (Reader { rest: text }).action(&mut nodes, None)? {
        None => Ok(nodes),
        Some(_) => error("range and end have no place in a filter"),
    }
}

/// Reads what stands between brackets: `*`, a quoted name, an index or a slice.
fn bracket(text: &str) -> Result<PathNode> {
    let quoted = |quote: char| text.strip_prefix(quote).and_then(|inner| inner.strip_suffix(quote));
    if let Some(name) = quoted('\'').or_else(|| quoted('"')) {
        return Ok(PathNode::Field(name.replace('\\', "")));
    }
    let all = Slice { start: None, end: None, step: None, is_index: false };
    if text == "*" {
        return Ok(PathNode::Slice(all));
    }
    let wrong = || JsonPathError(format!("invalid index \"{text}\": expected an index, a slice or a quoted name"));
    let number = |part: &str| if part.is_empty() { Ok(None) } else { part.parse::<i64>().map(Some).map_err(|_| wrong()) };
    let parts: Vec<&str> = text.split(':').collect();
    match parts[..] {
        [index] => Ok(PathNode::Slice(Slice { start: Some(number(index)?.unwrap_or(0)), is_index: true, ..all })),
        [start, end] => Ok(PathNode::Slice(Slice { start: number(start)?, end: number(end)?, ..all })),
        [start, end, step] => Ok(PathNode::Slice(Slice { start: number(start)?, end: number(end)?, step: number(step)?, ..all })),
        _ => Err(wrong()),
    }
}
