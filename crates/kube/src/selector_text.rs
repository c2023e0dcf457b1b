//! The text of label selectors, read as the API server reads it, with its words where it refuses one.
//!
//! Source: apimachinery v0.36 `pkg/labels/selector.go`.

use std::collections::BTreeSet;

use crate::label_name::LabelWords;
use crate::label_term::LabelTerm;
use crate::requirement::{Operator, Requirement};

/// Reads the requirements of a selector. The error is the API server's message.
pub(super) fn terms(text: &str, words: LabelWords) -> Result<Vec<LabelTerm>, String> {
    let mut parser = SelectorParser { tokens: tokens(text), next: 0, words };
    let mut terms = Vec::new();
    loop {
        match parser.peek() {
            Token::Word(_) | Token::Symbol("!") => {}
            Token::End => break,
            other => return Err(format!("found '{}', expected: !, identifier, or 'end of string'", other.text())),
        }
        terms.push(parser.term().map_err(|problem| format!("unable to parse requirement: {problem}"))?);
        match parser.take() {
            Token::End => break,
            Token::Symbol(",") => {
                if !matches!(parser.peek(), Token::Word(_) | Token::Symbol("!")) {
                    return Err(format!("found '{}', expected: identifier after ','", parser.peek().text()));
                }
            }
            other => return Err(format!("found '{}', expected: ',' or 'end of string'", other.text())),
        }
    }
    Ok(terms)
}

/// A piece of a selector. `in` and `notin` are words where a value can stand, else operators.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Symbol(&'static str),
    End,
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Self::Word(word) => word,
            Self::Symbol(symbol) => symbol,
            Self::End => "",
        }
    }
}

/// The longest first.
const SELECTOR_SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];

fn tokens(text: &str) -> Vec<Token> {
    let is_blank = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
    let (mut rest, mut found) = (text, Vec::new());
    loop {
        rest = rest.trim_start_matches(is_blank);
        if rest.is_empty() {
            found.push(Token::End);
            return found;
        }
        if let Some(symbol) = SELECTOR_SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            found.push(Token::Symbol(symbol));
            rest = &rest[symbol.len()..];
            continue;
        }
        let end = rest.find(|c: char| is_blank(c) || "=!(),><".contains(c)).unwrap_or(rest.len());
        found.push(Token::Word(rest[..end].to_owned()));
        rest = &rest[end..];
    }
}

struct SelectorParser {
    tokens: Vec<Token>,
    next: usize,
    words: LabelWords,
}

impl SelectorParser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.next).unwrap_or(&Token::End)
    }

    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.next += 1;
        token
    }

    fn term(&mut self) -> Result<LabelTerm, String> {
        let is_negated = *self.peek() == Token::Symbol("!");
        if is_negated {
            self.take();
        }
        let key = match self.take() {
            Token::Word(key) => key,
            other => return Err(format!("found '{}', expected: identifier", other.text())),
        };
        let wrong = self.words.key_problems(&key);
        if !wrong.is_empty() {
            return Err(format!("<nil>: Invalid value: {key:?}: {}", wrong.join("; ")));
        }
        if is_negated {
            return Ok(LabelTerm::set(key, Operator::DoesNotExist, Vec::new()));
        }
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok(LabelTerm::set(key, Operator::Exists, Vec::new()));
        }
        let sign = self.take();
        let is_set = matches!(sign.text(), "in" | "notin");
        let (operator, values) = match sign.text() {
            "in" => (Operator::In, self.values()?),
            "notin" => (Operator::NotIn, self.values()?),
            "=" | "==" => (Operator::In, self.value()?),
            "!=" => (Operator::NotIn, self.value()?),
            ">" => (Operator::Gt, self.value()?),
            "<" => (Operator::Lt, self.value()?),
            other => return Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt")),
        };
        self.check(&key, operator, &values)?;
        let requirement = Requirement { key, operator, values: values.into_iter().collect() };
        Ok(LabelTerm { requirement, is_equality: !is_set })
    }

    fn check(&self, key: &str, operator: Operator, values: &BTreeSet<String>) -> Result<(), String> {
        let mut wrong = Vec::new();
        for (index, value) in values.iter().enumerate() {
            if matches!(operator, Operator::Gt | Operator::Lt) && value.parse::<i64>().is_err() {
                wrong.push(format!("values[{index}]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer"));
            }
        }
        for (index, value) in values.iter().enumerate() {
            let problems = self.words.value_problems(value);
            if !problems.is_empty() {
                wrong.push(format!("values[{index}][{key}]: Invalid value: {value:?}: {}", problems.join("; ")));
            }
        }
        match &wrong[..] {
            [] => Ok(()),
            [one] => Err(one.clone()),
            many => Err(format!("[{}]", many.join(", "))),
        }
    }

    fn value(&mut self) -> Result<BTreeSet<String>, String> {
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok([String::new()].into());
        }
        match self.take() {
            Token::Word(word) => Ok([word].into()),
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        let open = self.take();
        if open != Token::Symbol("(") {
            return Err(format!("found '{}' expected: '('", open.text()));
        }
        let first = self.peek().clone();
        match &first {
            Token::Symbol(")") => {
                self.take();
                return Ok([String::new()].into());
            }
            Token::Word(_) | Token::Symbol(",") => {}
            other => return Err(format!("found '{}', expected: ',', ')' or identifier", other.text())),
        }
        let values = self.list()?;
        match self.take() {
            Token::Symbol(")") => Ok(values),
            _ => Err(format!("found '{}', expected: ')'", first.text())),
        }
    }

    /// Values between commas, of which each may be empty.
    fn list(&mut self) -> Result<BTreeSet<String>, String> {
        let mut values = BTreeSet::new();
        loop {
            match self.take() {
                Token::Word(word) => {
                    values.insert(word);
                    match self.peek() {
                        Token::Symbol(",") => {}
                        Token::Symbol(")") => return Ok(values),
                        other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
                    }
                }
                Token::Symbol(",") => {
                    if values.is_empty() || matches!(self.peek(), Token::Symbol("," | ")")) {
                        values.insert(String::new());
                    }
                    if *self.peek() == Token::Symbol(")") {
                        return Ok(values);
                    }
                }
                other => return Err(format!("found '{}', expected: ',', or identifier", other.text())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::selector::LabelSelector;

    fn check(text: &str, wanted: &str) {
        let found = LabelSelector::parse(text).map_or_else(|error| error.problem, |selector| selector.to_string());
        assert_eq!(found, wanted, "{text}");
    }

    #[test]
    fn selectors_are_read_as_upstream_reads_them() {
        check("", "");
        check("app", "app");
        check("!app", "!app");
        check("app=web, tier != back", "app=web,tier!=back");
        check("x in (foo,,baz),y,z notin ()", "x in (,baz,foo),y,z notin ()");
        check("in=notin", "in=notin");
        check("a=", "a=");
    }

    #[test]
    fn refusals_have_upstreams_words() {
        check("a=b=c", "found '=', expected: ',' or 'end of string'");
        check(",", "found ',', expected: !, identifier, or 'end of string'");
        check("a=b,", "found '', expected: identifier after ','");
        check("a in b", "unable to parse requirement: found 'b' expected: '('");
        check("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt");
        check("a in (b", "unable to parse requirement: found '', expected: ',' or ')'");
        check(
            "a>b",
            "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer",
        );
    }
}
