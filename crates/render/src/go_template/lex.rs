//! Splits a template into text and the words of its actions (Go's text/template/parse/lex.go).

use super::GoTemplateError;

/// A word of an action.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// `.name`.
    Field(String),
    /// `.` alone.
    Dot,
    /// `$name`; `$` alone is the empty name.
    Variable(String),
    /// A keyword, a function, `true`, `false` or `nil`.
    Word(String),
    Text(String),
    Number(String),
    /// A character in single quotes.
    Char(char),
    /// One of `( ) | , = :=`.
    Sign(&'static str),
    /// Blanks, which part arguments.
    Space,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TemplatePiece {
    Text(String),
    Action(Vec<Token>),
}

/// Splits a template.
///
/// # Errors
/// An action that does not end, or a character that none has.
pub(super) fn pieces(text: &str) -> Result<Vec<TemplatePiece>, GoTemplateError> {
    let (mut pieces, mut rest, mut trims) = (Vec::new(), text, false);
    while let Some(at) = rest.find("{{") {
        let (mut before, mut action) = (&rest[..at], &rest[at + 2..]);
        if trims {
            before = before.trim_start_matches(is_blank);
        }
        if let Some(trimmed) = action.strip_prefix('-').filter(|rest| rest.starts_with(is_blank)) {
            before = before.trim_end_matches(is_blank);
            action = trimmed;
        }
        if !before.is_empty() {
            pieces.push(TemplatePiece::Text(before.to_owned()));
        }
        if action.trim_start_matches(is_blank).starts_with("/*") {
            (rest, trims) = after_comment(action)?;
            continue;
        }
        let mut words = TemplateWords { rest: action, tokens: Vec::new() };
        trims = words.read()?;
        rest = words.rest;
        pieces.push(TemplatePiece::Action(words.tokens));
    }
    let last = if trims { rest.trim_start_matches(is_blank) } else { rest };
    if !last.is_empty() {
        pieces.push(TemplatePiece::Text(last.to_owned()));
    }
    Ok(pieces)
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

/// What comes after a comment, and whether blanks there go.
fn after_comment(action: &str) -> Result<(&str, bool), GoTemplateError> {
    let unclosed = || GoTemplateError::new("unclosed comment");
    let rest = &action[action.find("*/").ok_or_else(unclosed)? + 2..];
    if let Some(rest) = rest.strip_prefix("}}") {
        return Ok((rest, false));
    }
    let trimmed = rest.strip_prefix(is_blank).and_then(|rest| rest.strip_prefix("-}}"));
    trimmed.map(|rest| (rest, true)).ok_or_else(|| GoTemplateError::new("comment ends before closing delimiter"))
}

struct TemplateWords<'t> {
    rest: &'t str,
    tokens: Vec<Token>,
}

impl TemplateWords<'_> {
    /// Reads the words up to the end of the action; returns whether blanks after it go.
    fn read(&mut self) -> Result<bool, GoTemplateError> {
        loop {
            if let Some(rest) = self.rest.strip_prefix("}}") {
                self.rest = rest;
                return Ok(false);
            }
            let trimmed = self.rest.strip_prefix(is_blank).and_then(|rest| rest.strip_prefix("-}}"));
            if let Some(rest) = trimmed {
                self.rest = rest;
                return Ok(true);
            }
            let token = self.token()?;
            self.tokens.push(token);
        }
    }

    fn token(&mut self) -> Result<Token, GoTemplateError> {
        let Some(first) = self.rest.chars().next() else { return Err(GoTemplateError::new("unclosed action")) };
        if is_blank(first) {
            // The last blank may belong to the mark that trims.
            let blanks = self.rest.find(|c| !is_blank(c)).unwrap_or(self.rest.len());
            let keeps = usize::from(self.rest[blanks..].starts_with("-}}") && blanks > 1);
            self.rest = &self.rest[blanks - keeps..];
            return Ok(Token::Space);
        }
        for sign in ["(", ")", "|", ",", ":=", "="] {
            if let Some(rest) = self.rest.strip_prefix(sign) {
                self.rest = rest;
                return Ok(Token::Sign(sign));
            }
        }
        match first {
            '"' => self.quoted(),
            '`' => self.raw(),
            '\'' => self.character(),
            '$' => {
                self.rest = &self.rest[1..];
                Ok(Token::Variable(self.name()))
            }
            '.' if !self.rest[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                self.rest = &self.rest[1..];
                let name = self.name();
                Ok(if name.is_empty() { Token::Dot } else { Token::Field(name) })
            }
            '+' | '-' | '.' | '0'..='9' => self.number(),
            c if is_letter(c) => Ok(Token::Word(self.name())),
            c => Err(GoTemplateError::new(format!("unexpected {c:?} in an action"))),
        }
    }

    /// Takes the letters and digits at the beginning.
    fn name(&mut self) -> String {
        let end = self.rest.find(|c| !is_letter(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        name.to_owned()
    }

    fn number(&mut self) -> Result<Token, GoTemplateError> {
        let sign = usize::from(self.rest.starts_with(['+', '-']));
        let is_hexadecimal = self.rest[sign..].starts_with("0x") || self.rest[sign..].starts_with("0X");
        let mut last = ' ';
        let is_part = |c: char| {
            let is_exponent_sign =
                matches!(c, '+' | '-') && if is_hexadecimal { matches!(last, 'p' | 'P') } else { matches!(last, 'e' | 'E') };
            last = c;
            c.is_ascii_alphanumeric() || matches!(c, '.' | '_') || is_exponent_sign
        };
        let end = sign + self.rest[sign..].find(pattern_end(is_part)).unwrap_or(self.rest.len() - sign);
        let (number, rest) = self.rest.split_at(end);
        self.rest = rest;
        if number.contains(|c: char| c.is_ascii_digit()) {
            return Ok(Token::Number(number.to_owned()));
        }
        Err(GoTemplateError::new(format!("bad number syntax: {number:?}")))
    }

    fn quoted(&mut self) -> Result<Token, GoTemplateError> {
        let mut text = String::new();
        let mut rest = &self.rest[1..];
        loop {
            match rest.chars().next() {
                None | Some('\n') => return Err(GoTemplateError::new("unterminated quoted string")),
                Some('"') => break,
                Some(_) => {
                    let (c, after) = character(rest, '"')?;
                    text.push(c);
                    rest = after;
                }
            }
        }
        self.rest = &rest[1..];
        Ok(Token::Text(text))
    }

    fn raw(&mut self) -> Result<Token, GoTemplateError> {
        let unterminated = || GoTemplateError::new("unterminated raw quoted string");
        let (text, rest) = self.rest[1..].split_once('`').ok_or_else(unterminated)?;
        self.rest = rest;
        Ok(Token::Text(text.replace('\r', "")))
    }

    fn character(&mut self) -> Result<Token, GoTemplateError> {
        let (c, rest) = character(&self.rest[1..], '\'')?;
        self.rest = rest.strip_prefix('\'').ok_or_else(|| GoTemplateError::new("unterminated character constant"))?;
        Ok(Token::Char(c))
    }
}

/// The opposite of a condition, for searches.
fn pattern_end(mut is_part: impl FnMut(char) -> bool) -> impl FnMut(char) -> bool {
    move |c| !is_part(c)
}

fn is_letter(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// The first character of a text in Go's quotes, and what follows it (strconv.UnquoteChar).
fn character(text: &str, quote: char) -> Result<(char, &str), GoTemplateError> {
    let bad = || GoTemplateError::new("invalid escape in a quoted text");
    let mut characters = text.chars();
    let first = characters.next().ok_or_else(bad)?;
    if first != '\\' {
        return Ok((first, characters.as_str()));
    }
    let escape = characters.next().ok_or_else(bad)?;
    let plain = |c| Ok((c, characters.as_str()));
    match escape {
        'a' => return plain('\u{7}'),
        'b' => return plain('\u{8}'),
        'f' => return plain('\u{c}'),
        'n' => return plain('\n'),
        'r' => return plain('\r'),
        't' => return plain('\t'),
        'v' => return plain('\u{b}'),
        '\\' => return plain('\\'),
        c if c == quote => return plain(c),
        _ => {}
    }
    let (radix, start, length) = match escape {
        'x' => (16, 1, 2),
        'u' => (16, 1, 4),
        'U' => (16, 1, 8),
        '0'..='7' => (8, 0, 3),
        _ => return Err(bad()),
    };
    let after = &text[1 + start..];
    let digits = after.get(..length).ok_or_else(bad)?;
    let number = u32::from_str_radix(digits, radix).map_err(|_| bad())?;
    // A byte above ASCII is part of a character.
    let is_byte = matches!(escape, 'x' | '0'..='7');
    let c = char::from_u32(number).filter(|c| !is_byte || c.is_ascii()).ok_or_else(bad)?;
    Ok((c, &after[length..]))
}
