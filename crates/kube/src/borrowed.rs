//! Text and maps of text, borrowed from the bytes they are parsed from wherever these contain them unescaped.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// A string. (`Cow` alone is borrowed by serde only where it is a field's own type, not within lists, maps and options.)
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Text<'a>(Cow<'a, str>);

impl Text<'_> {
    /// The string.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl Hash for Text<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(text)))
    }
}

/// A map of strings, ascending by key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pairs<'a>(Vec<(Text<'a>, Text<'a>)>);

impl<'a> Pairs<'a> {
    /// Returns the value of `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known.as_str() == key).map(|(_, value)| value.as_str())
    }

    /// The pairs, ascending by key.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PairsVisitor)
    }
}

struct PairsVisitor;

impl<'de> Visitor<'de> for PairsVisitor {
    type Value = Pairs<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of strings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<'de>, A::Error> {
        let mut pairs: Vec<(Text<'de>, Text<'de>)> = Vec::with_capacity(map.size_hint().unwrap_or(0).min(64));
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        if !pairs.is_sorted_by(|a, b| a.0 < b.0) {
            // For duplicate keys the last one wins, as in a map.
            pairs.reverse();
            pairs.sort_by(|a, b| a.0.cmp(&b.0));
            pairs.dedup_by(|later, first| later.0 == first.0);
        }
        Ok(Pairs(pairs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unescaped_text_is_borrowed() {
        let json = r#"{"b": "1", "a": "2", "b": "3\n"}"#;
        let pairs: Pairs = serde_json::from_str(json).unwrap();
        assert_eq!(pairs.iter().collect::<Vec<_>>(), [("a", "2"), ("b", "3\n")]);
        assert!(matches!(pairs.0[0].1.0, Cow::Borrowed(_)));
        assert!(matches!(pairs.0[1].1.0, Cow::Owned(_)));
    }
}
