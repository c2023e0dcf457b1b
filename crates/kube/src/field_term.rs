//! The text of field selectors, read as the API server reads it, with its words where it refuses one.
//!
//! Source: apimachinery v0.36 `pkg/fields/selector.go`.

use crate::selector::SelectorError;

/// What one field is to be, or not to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldTerm {
    /// The field, as it is written.
    pub label: String,
    /// The value, without the backslashes that escape `\\`, `,` and `=`.
    pub value: String,
    /// `=` or `==`, not `!=`.
    pub is_equal: bool,
}

impl FieldTerm {
    /// Reads the terms of a selector, sorted by their text.
    ///
    /// # Errors
    /// The text is not a selector.
    pub fn read(text: &str) -> Result<Vec<Self>, SelectorError> {
        let mut parts = split(text);
        parts.sort_unstable();
        let terms = parts.into_iter().filter(|part| !part.is_empty()).map(|part| Self::of(text, part));
        terms.collect::<Result<_, _>>().map_err(|problem| SelectorError { selector: text.to_owned(), problem })
    }

    fn of(text: &str, part: &str) -> Result<Self, String> {
        let at = part.find('=').ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{part}'"))?;
        let (label, is_equal) = part[..at].strip_suffix('!').map_or((&part[..at], true), |label| (label, false));
        let value = part[at + 1..].strip_prefix('=').filter(|_| is_equal).unwrap_or(&part[at + 1..]);
        Ok(Self { label: label.to_owned(), value: unescape(value)?, is_equal })
    }
}

/// Splits at commas that no backslash stands before.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut is_escaped) = (Vec::new(), 0, false);
    for (index, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            ',' => {
                parts.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped @ ('\\' | ',' | '=')) => out.push(escaped),
                other => {
                    let other = other.map_or_else(String::new, String::from);
                    return Err(format!("invalid field selector: invalid escape sequence: \\{other}"));
                }
            },
            // Upstream prints the character's number.
            ',' | '=' => return Err(format!("invalid field selector: unescaped character in value: {}", c as u32)),
            _ => out.push(c),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str, problem: &str) {
        assert_eq!(FieldTerm::read(text).unwrap_err().problem, problem, "{text}");
    }

    #[test]
    fn terms_are_read_as_upstream_reads_them() {
        let terms = FieldTerm::read("b!=2,a==x\\,y\\=z,").unwrap();
        let shown: Vec<_> = terms.iter().map(|term| (term.label.as_str(), term.is_equal, term.value.as_str())).collect();
        assert_eq!(shown, [("a", true, "x,y=z"), ("b", false, "2")]);
    }

    #[test]
    fn refusals_have_upstreams_words() {
        refused("a", "invalid selector: 'a'; can't understand 'a'");
        refused("a=b=c", "invalid field selector: unescaped character in value: 61");
        refused("a=\\n", "invalid field selector: invalid escape sequence: \\n");
    }
}
