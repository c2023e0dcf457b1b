//! What is searched for, and the texts that every match of it has, by which stored values are passed over.

use std::fmt;

use memchr::memmem::Finder;
use regex::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::literal::{ExtractKind, Extractor, Seq};

use crate::error::{Error, Result};

/// A longer pattern is refused.
pub const MAX_PATTERN_BYTES: usize = 4096;

/// A regular expression that takes more bytes than this, compiled, is refused.
const MAX_COMPILED_BYTES: usize = 10 << 20;

/// More texts than this are not looked for one by one.
const MAX_TEXTS: usize = 256;

/// What is searched for.
#[derive(Clone)]
pub struct Pattern {
    text: String,
    matcher: Matcher,
    texts: Vec<String>,
}

/// What finds a pattern in a text.
#[derive(Clone)]
enum Matcher {
    Text(Box<Finder<'static>>),
    Regex(Regex),
}

impl Pattern {
    /// Reads a pattern: the text itself, or with `is_regex` a regular expression. In whatever case its letters are, with `ignores_case`.
    ///
    /// # Errors
    /// It is empty, too long, or not a regular expression.
    pub fn new(text: &str, is_regex: bool, ignores_case: bool) -> Result<Self> {
        if text.is_empty() {
            return Err(Error::invalid("the pattern is empty: every value would match".to_owned()));
        }
        if text.len() > MAX_PATTERN_BYTES {
            let length = text.len();
            return Err(Error::invalid(format!(
                "the pattern has {length} bytes; {MAX_PATTERN_BYTES} are the most: search for a part of it"
            )));
        }
        if !is_regex && !ignores_case {
            let matcher = Matcher::Text(Box::new(Finder::new(text).into_owned()));
            return Ok(Self { text: text.to_owned(), matcher, texts: vec![text.to_owned()] });
        }
        let written = if is_regex { text.to_owned() } else { regex::escape(text) };
        let mut builder = RegexBuilder::new(&written);
        let regex = builder.case_insensitive(ignores_case).size_limit(MAX_COMPILED_BYTES).build();
        let regex = regex.map_err(|error| Error::invalid(format!("invalid regular expression {text:?}: {}", last_line(&error))))?;
        Ok(Self { text: text.to_owned(), matcher: Matcher::Regex(regex), texts: texts(&written, ignores_case) })
    }

    /// Whether a text matches.
    pub fn is_in(&self, text: &str) -> bool {
        match &self.matcher {
            Matcher::Text(finder) => finder.find(text.as_bytes()).is_some(),
            Matcher::Regex(regex) => regex.is_match(text),
        }
    }

    /// Texts of which every match has one; none where no such texts are known.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// The pattern as it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pattern").field("text", &self.text).field("texts", &self.texts).finish_non_exhaustive()
    }
}

/// What is wrong with a regular expression: an error's lines before the last one show where.
fn last_line(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

/// Texts of which every match of an expression begins or ends with one, the longer ones; none if there are none.
fn texts(expression: &str, ignores_case: bool) -> Vec<String> {
    let Ok(parsed) = ParserBuilder::new().case_insensitive(ignores_case).build().parse(expression) else { return Vec::new() };
    let of = |kind: ExtractKind| {
        let mut extractor = Extractor::new();
        extractor.kind(kind);
        usable(extractor.extract(&parsed))
    };
    let least = |texts: &Vec<String>| texts.iter().map(String::len).min().unwrap_or(0);
    [of(ExtractKind::Prefix), of(ExtractKind::Suffix)].into_iter().max_by_key(least).unwrap_or_default()
}

/// The texts of a sequence, where it is finite, not too long and of whole characters.
fn usable(mut found: Seq) -> Vec<String> {
    found.dedup();
    let texts = found.literals().filter(|literals| literals.len() <= MAX_TEXTS).unwrap_or_default();
    let texts: Option<Vec<String>> = texts.iter().map(|literal| String::from_utf8(literal.as_bytes().to_vec()).ok()).collect();
    texts.filter(|texts| texts.iter().all(|text| !text.is_empty())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regex(text: &str) -> Pattern {
        Pattern::new(text, true, false).unwrap()
    }

    #[test]
    fn every_match_has_one_of_the_texts() {
        assert_eq!(Pattern::new("a.b", false, false).unwrap().texts(), ["a.b"]);
        assert_eq!(regex(r"10\.244\.\d+").texts(), ["10.244."]);
        assert_eq!(regex(r"^nginx$").texts(), ["nginx"]);
        let suffixes = regex(r"[0-9]+-suffix");
        assert!(!suffixes.texts().is_empty() && suffixes.texts().iter().all(|text| text.ends_with("-suffix")), "{suffixes:?}");
        assert!(regex(".*").texts().is_empty() && regex("a?").texts().is_empty());
        for (pattern, is_regex, ignores_case, samples) in [
            ("Nginx", false, true, &["nginx", "NGINX:1", "xnGinX"][..]),
            ("web-k", false, true, &["WEB-\u{212a}", "web-k"]),
            ("node(1|2)-[ab]", true, false, &["node1-a", "a node2-b"]),
            (r"(?i)straße|ſ", true, false, &["STRAßE", "s", "S"]),
            (r"^a.c$|x{3,}", true, false, &["abc", "a\u{e9}c", "xxxx"]),
        ] {
            let pattern = Pattern::new(pattern, is_regex, ignores_case).unwrap();
            for sample in samples {
                assert!(pattern.is_in(sample), "{pattern:?} {sample}");
                let texts = pattern.texts();
                assert!(texts.is_empty() || texts.iter().any(|text| sample.contains(text.as_str())), "{pattern:?} {sample}");
            }
        }
    }

    #[test]
    fn what_cannot_be_searched_for_is_refused() {
        assert!(Pattern::new("", false, false).is_err());
        let error = Pattern::new("a(b", true, false).unwrap_err().to_string();
        assert_eq!(error, "invalid regular expression \"a(b\": unclosed group");
        assert!(Pattern::new("a(b", false, false).unwrap().is_in("xa(by"));
        let longest = "x".repeat(MAX_PATTERN_BYTES);
        assert!(Pattern::new(&longest, false, false).unwrap().is_in(&longest));
        let error = Pattern::new(&(longest + "x"), false, false).unwrap_err().to_string();
        assert_eq!(error, "the pattern has 4097 bytes; 4096 are the most: search for a part of it");
        // What is short and compiles to much is refused as well.
        let error = Pattern::new(r"(\pL{1000}){1000}", true, false).unwrap_err().to_string();
        assert!(error.contains("size limit"), "{error}");
    }

    /// No text makes a search slow: an expression that engines with backtracking need exponential time for.
    #[test]
    fn expressions_take_linear_time() {
        let pattern = regex("(a*)*b");
        assert!(!pattern.is_in(&"a".repeat(100_000)));
    }
}
