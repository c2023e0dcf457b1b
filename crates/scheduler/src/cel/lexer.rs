//! Tokens of a CEL expression.

use super::{CelError, Result};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Ident(String),
    Int(i64),
    /// 9223372036854775808, which is valid only after a minus.
    IntMin,
    Uint(u64),
    Double(f64),
    String(String),
    Bytes(Vec<u8>),
    /// An operator or a bracket.
    Symbol(&'static str),
}

const OPERATOR_SYMBOLS: [&str; 27] = [
    "&&", "||", "==", "!=", "<=", ">=", ".?", "[?", "?", ":", "<", ">", "+", "-", "*", "/", "%", "!", "(", ")", "[", "]", "{", "}", ".",
    ",", ";",
];

/// Splits `text` into tokens, each with its offset in bytes.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, usize)>> {
    let mut found = Vec::new();
    let mut rest = skip_space(text);
    while !rest.is_empty() {
        let (token, after) = token(rest)?;
        found.push((token, text.len() - rest.len()));
        rest = skip_space(after);
    }
    Ok(found)
}

fn skip_space(mut text: &str) -> &str {
    loop {
        text = text.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
        match text.strip_prefix("//") {
            Some(comment) => text = comment.find('\n').map_or("", |end| &comment[end..]),
            None => return text,
        }
    }
}

fn token(text: &str) -> Result<(Token, &str)> {
    if let Some(found) = string(text)? {
        return Ok(found);
    }
    let first = text.chars().next().unwrap_or_default();
    if first.is_ascii_digit() || (first == '.' && text[1..].starts_with(|c: char| c.is_ascii_digit())) {
        return number(text);
    }
    if first == '_' || first.is_ascii_alphabetic() {
        let end = text.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(text.len());
        return Ok((Token::Ident(text[..end].to_owned()), &text[end..]));
    }
    let symbol = OPERATOR_SYMBOLS.iter().find(|symbol| text.starts_with(**symbol));
    symbol.map(|symbol| (Token::Symbol(symbol), &text[symbol.len()..])).ok_or_else(|| unsupported(&format!("the character {first:?}")))
}

fn number(text: &str) -> Result<(Token, &str)> {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
        let value = u64::from_str_radix(&hex[..end], 16).map_err(|_| unsupported("a hexadecimal number that large"))?;
        return whole(value, &hex[end..]);
    }
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let mut end = digits(text);
    let mut double = false;
    if text[end..].starts_with('.') && text[end + 1..].starts_with(|c: char| c.is_ascii_digit()) {
        end += 1 + digits(&text[end + 1..]);
        double = true;
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent = digits(&text[end + 1 + sign..]);
        if exponent > 0 {
            end += 1 + sign + exponent;
            double = true;
        }
    }
    if double {
        let value = text[..end].parse().map_err(|_| unsupported("a number of this form"))?;
        return Ok((Token::Double(value), &text[end..]));
    }
    whole(text[..end].parse().map_err(|_| unsupported("an integer that large"))?, &text[end..])
}

fn whole(value: u64, rest: &str) -> Result<(Token, &str)> {
    if let Some(rest) = rest.strip_prefix(['u', 'U']) {
        return Ok((Token::Uint(value), rest));
    }
    match i64::try_from(value) {
        Ok(value) => Ok((Token::Int(value), rest)),
        Err(_) if value == 1 << 63 => Ok((Token::IntMin, rest)),
        Err(_) => Err(unsupported("an integer that large")),
    }
}

/// A string or bytes literal with its prefixes, if `text` begins with one.
fn string(text: &str) -> Result<Option<(Token, &str)>> {
    // At most two letters precede the quote.
    let prefix = text.bytes().take(3).position(|byte| matches!(byte, b'"' | b'\''));
    let Some((prefix, body)) = prefix.map(|at| text.split_at(at)) else { return Ok(None) };
    let lower = prefix.to_ascii_lowercase();
    let (raw, bytes) = match lower.as_str() {
        "" => (false, false),
        "r" => (true, false),
        "b" => (false, true),
        "rb" | "br" => (true, true),
        _ => return Ok(None),
    };
    let quote = [r#"""""#, "'''", "\"", "'"].into_iter().find(|quote| body.starts_with(*quote)).unwrap_or("\"");
    let mut out = Vec::new();
    let mut rest = &body[quote.len()..];
    loop {
        if let Some(after) = rest.strip_prefix(quote) {
            let token = if bytes {
                Token::Bytes(out)
            } else {
                Token::String(String::from_utf8(out).map_err(|_| unsupported("a string that is not UTF-8"))?)
            };
            return Ok(Some((token, after)));
        }
        let Some(c) = rest.chars().next() else { return Err(unsupported("a string without its closing quote")) };
        rest = &rest[c.len_utf8()..];
        if c == '\\' && !raw {
            rest = escape(rest, bytes, &mut out)?;
        } else {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

/// What follows a backslash.
fn escape<'a>(text: &'a str, bytes: bool, out: &mut Vec<u8>) -> Result<&'a str> {
    let bad = || unsupported("an escape of this form");
    let c = text.chars().next().ok_or_else(bad)?;
    let rest = &text[c.len_utf8()..];
    let code = |length: usize, from: &'a str, radix: u32| -> Result<(u32, &'a str)> {
        let digits = from.get(..length).ok_or_else(bad)?;
        Ok((u32::from_str_radix(digits, radix).map_err(|_| bad())?, &from[length..]))
    };
    let simple = match c {
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        '\\' | '\'' | '"' | '`' | '?' => c as u8,
        _ => {
            let (value, rest) = match c {
                'x' | 'X' => code(2, rest, 16)?,
                'u' if !bytes => code(4, rest, 16)?,
                'U' if !bytes => code(8, rest, 16)?,
                '0'..='3' => code(3, text, 8)?,
                _ => return Err(bad()),
            };
            match u8::try_from(value) {
                Ok(byte) if bytes => out.push(byte),
                _ => out.extend_from_slice(char::from_u32(value).ok_or_else(bad)?.encode_utf8(&mut [0; 4]).as_bytes()),
            }
            return Ok(rest);
        }
    };
    out.push(simple);
    Ok(rest)
}

fn unsupported(what: &str) -> CelError {
    CelError::Unsupported(what.to_owned())
}
