//! Tells from stored bytes that an object does not show a text, so that a search through many values decodes only those that may.
//!
//! Text lies in a value as it is shown, with these exceptions, for which a value is decoded:
//!
//! | what | where it is looked for |
//! |---|---|
//! | numbers, booleans, times, durations | never in bytes: a text that can be a part of one is in every value |
//! | bytes, shown in base64 | the bits that the text stands for, in kinds that have bytes ([`super::digits`]) |
//! | characters that JSON escapes | a backslash, where the text has such characters; else an escape that Go does not write |
//! | strings of CBOR in pieces, or shown in base16 or base64url | their heads |
//! | versions and defaults that the server adds | objects of these kinds are decoded |
//! | names of members | a text that is a part of the name of a field of Kubernetes' own kinds is in every value |

use std::sync::Arc;

use aho_corasick::AhoCorasick;
use memchr::{memchr, memmem};

use super::digits::Digits;
use super::envelope::Envelope;
use super::stored::find_message;
use super::{Decoder, cbor, kind_of_key, secret, served, versions};
use crate::proto::kubernetes::MESSAGES;
use crate::proto::table::Message;

/// Texts that are searched for in stored values.
#[derive(Clone, Debug)]
pub struct SearchedText {
    /// The texts, and what stands for them in base64; `None` where they may be in any value.
    bytes: Option<Finders>,
    /// Whether one has a character that JSON escapes.
    is_escaped: bool,
    /// Whether field managers are searched, too.
    in_managers: bool,
}

/// What finds texts in bytes.
#[derive(Clone, Debug)]
struct Finders {
    as_text: TextFinder,
    as_base64: Option<Arc<Digits>>,
}

#[derive(Clone, Debug)]
enum TextFinder {
    One(Box<memmem::Finder<'static>>),
    Many(AhoCorasick),
}

impl TextFinder {
    fn of(texts: &[String]) -> Option<Self> {
        match texts {
            [text] => Some(Self::One(Box::new(memmem::Finder::new(text).into_owned()))),
            texts => AhoCorasick::new(texts).ok().map(Self::Many),
        }
    }

    fn is_in(&self, bytes: &[u8]) -> bool {
        match self {
            Self::One(finder) => finder.find(bytes).is_some(),
            Self::Many(finder) => finder.is_match(bytes),
        }
    }
}

impl Finders {
    /// `None` where nothing can be looked for.
    fn of(texts: &[String]) -> Option<Self> {
        Some(Self { as_text: TextFinder::of(texts)?, as_base64: Digits::of(texts)?.map(Arc::new) })
    }
}

impl SearchedText {
    /// Texts of which an object shows at least one if it has what is searched for: in its values, or with `members` in the names of its members, too.
    /// An empty list says nothing, so that what is searched for may be in every value.
    pub fn any_of(texts: &[String], members: bool) -> Self {
        let is_anywhere = |text: &String| may_be_rendered(text) || members && is_in_a_field_name(text);
        let is_certain = !texts.is_empty() && !texts.iter().any(is_anywhere);
        Self {
            bytes: is_certain.then(|| Finders::of(texts)).flatten(),
            is_escaped: texts.iter().any(|text| text.chars().any(is_escaped)),
            in_managers: false,
        }
    }

    /// The same, searched for in the names of field managers, too, where `is_wanted`.
    #[must_use]
    pub fn in_managers(self, is_wanted: bool) -> Self {
        Self { in_managers: is_wanted, ..self }
    }

    /// Whether `metadata.managedFields` may show what is searched for.
    pub(super) fn is_in_managers(&self) -> bool {
        self.in_managers
    }

    /// Whether a text that is stored as it is shown has one of the texts.
    pub(super) fn is_in(&self, bytes: &[u8]) -> bool {
        self.bytes.as_ref().is_none_or(|finders| finders.as_text.is_in(bytes))
    }

    /// Whether JSON or CBOR may show one of the texts.
    pub(super) fn may_be_in_json(&self, json: &[u8]) -> bool {
        self.is_in(json) || json.starts_with(&cbor::CBOR_MAGIC) || self.may_be_escaped(json)
    }

    /// Whether bytes that are shown in base64 may show one of the texts.
    pub(super) fn may_be_in_base64(&self, bytes: &[u8]) -> bool {
        self.bytes.as_ref().is_none_or(|finders| finders.as_base64.as_ref().is_some_and(|digits| digits.may_be_in(bytes)))
    }

    /// Whether a message may show one of the texts, as text, as the base64 of bytes or in JSON and CBOR within it.
    pub(super) fn may_be_in_message(&self, message: &'static Message, bytes: &[u8]) -> bool {
        self.is_in(bytes) || self.may_be_escaped(bytes) || self.may_be_encoded_in(message, bytes)
    }

    /// Whether a message may show one of the texts as the base64 of bytes or in CBOR within it.
    fn may_be_encoded_in(&self, message: &'static Message, bytes: &[u8]) -> bool {
        let Some(finders) = &self.bytes else { return true };
        finders.as_base64.as_ref().is_some_and(|digits| digits.have_place_in(message) && digits.may_be_in(bytes)) || has_odd_cbor(bytes)
    }

    pub(super) fn is_anywhere(&self) -> bool {
        self.bytes.is_none()
    }

    /// Whether JSON in a value writes characters of the texts in another way.
    fn may_be_escaped(&self, value: &[u8]) -> bool {
        let is_odd = |at: usize| match value.get(at + 1) {
            _ if self.is_escaped => true,
            Some(b'u') => !is_gos_escape(value.get(at + 2..at + 6).unwrap_or_default()),
            next => next == Some(&b'/'),
        };
        memchr(b'\\', value).is_some_and(|first| memchr::memchr_iter(b'\\', &value[first..]).any(|at| is_odd(first + at)))
    }
}

/// Whether an item of CBOR may hold a string that is in pieces, or that is shown as text of its bytes.
fn has_odd_strings(item: &[u8]) -> bool {
    /// Strings of indefinite length, of bytes and of text.
    const IN_PIECES: [u8; 2] = [0x5f, 0x7f];
    // Tags 21 to 23, and the heads of tags that are written in more bytes than they need.
    item[cbor::CBOR_MAGIC.len()..].iter().any(|byte| IN_PIECES.contains(byte) || (0xd5..=0xdb).contains(byte))
}

fn has_odd_cbor(message: &[u8]) -> bool {
    memmem::find_iter(message, &cbor::CBOR_MAGIC).any(|at| has_odd_strings(&message[at..]))
}

impl SearchedText {
    /// Whether the object in an open value may show one of the texts. `false` is certain; `true` is to be decided by decoding.
    pub(super) fn may_be_shown(&self, decoder: &Decoder, key: &[u8], value: &[u8]) -> bool {
        // What is masked is not looked at: neither time nor reports of decoding are to depend on it.
        !decoder.shows_secrets && secret::is_secret_key(key)
            || self.is_in(value)
            || self.may_be_escaped(value)
            || match Envelope::of(value) {
                Err(_) | Ok(Envelope::Foreign) => true,
                Ok(Envelope::Protobuf { api_version, kind, .. }) => {
                    decoder.adds_text(&api_version, &kind)
                        || find_message(&api_version, &kind).is_some_and(|message| self.may_be_encoded_in(message, value))
                }
                Ok(Envelope::Cbor) => has_odd_strings(value) || decoder.is_conformed(key, value),
                Ok(Envelope::Json) => decoder.is_conformed(key, value),
            }
    }
}

impl Decoder {
    /// Whether the server shows text of an object in protobuf that is not stored in it.
    fn adds_text(&self, api_version: &str, kind: &str) -> bool {
        !self.is_for_stored
            && (served::changes(api_version, kind) || versions::served_as(api_version, kind, self.release.in_tables()).is_some())
    }

    /// Whether more than its own text decides what is shown of an object in JSON or CBOR: it is of a kind of Kubernetes' own, or schemas add defaults.
    fn is_conformed(&self, key: &[u8], value: &[u8]) -> bool {
        self.schemas.is_some() || kind_of_key::kind_at(self.prefix.as_deref(), key).is_some() || names_built_in(value)
    }
}

/// Whether a value in JSON or CBOR is of a kind of Kubernetes' own, or cannot be read.
fn names_built_in(value: &[u8]) -> bool {
    kind_of_key::dynamic_type(value).is_none_or(|(api_version, kind)| find_message(&api_version, &kind).is_some())
}

/// Whether a text may be a part of what is not stored as text: a number, a boolean, a time, a duration, or a character in place of bytes that are not
/// text.
fn may_be_rendered(text: &str) -> bool {
    let is_of = |letters: &str| text.matches('.').count() <= 1 && text.chars().all(|c| c.is_ascii_digit() || letters.contains(c));
    text.is_empty()
        || text.contains(char::REPLACEMENT_CHARACTER)
        || ["true", "false"].iter().any(|word| word.contains(text))
        || is_of("-+.:TZ")
        || is_of("-.hmsnuµ")
        || is_part_of_a_number(text)
}

/// Whether a text may be a part of a number as Go writes it: `-1`, `0.5`, `1e+21`.
fn is_part_of_a_number(text: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    let rest = text.trim_start_matches(is_digit);
    let rest = if rest.len() == text.len() { text.strip_prefix(['-', '+']).unwrap_or(text).trim_start_matches(is_digit) } else { rest };
    let rest = rest.strip_prefix('.').map_or(rest, |fraction| fraction.trim_start_matches(is_digit));
    let exponent = rest.strip_prefix(['e', 'E']).map(|exponent| exponent.strip_prefix(['-', '+']).unwrap_or(exponent));
    exponent.map_or(rest, |exponent| exponent.trim_start_matches(is_digit)).is_empty()
}

/// Whether a text is a part of the name of a field, which protobuf stores as a number.
fn is_in_a_field_name(text: &str) -> bool {
    MESSAGES.iter().flat_map(|message| message.rows).any(|row| row.name.contains(text))
}

/// Whether JSON may write a character in another way than as itself, as Go and others do.
fn is_escaped(c: char) -> bool {
    c.is_control() || matches!(c, '"' | '\\' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}')
}

/// Whether Go escapes the character of this number, and so none of a text that has no such character.
fn is_gos_escape(number: &[u8]) -> bool {
    let number = std::str::from_utf8(number).ok().and_then(|digits| u32::from_str_radix(digits, 16).ok());
    number.and_then(char::from_u32).is_some_and(is_escaped)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    const SAMPLE_KEY: &[u8] = b"/registry/example.com/things/a/b";

    fn text(text: &str) -> SearchedText {
        SearchedText::any_of(&[text.to_owned()], false)
    }

    fn may_show(key: &[u8], value: &[u8], text: &SearchedText) -> bool {
        text.decode(&Decoder::new(), key, value, 7).is_some()
    }

    /// Whether an object shows a text in a value, or with `members` in the name of a member.
    fn shows(object: &Value, text: &str, members: bool) -> bool {
        match object {
            Value::Null => false,
            Value::String(own) => own.contains(text),
            Value::Array(items) => items.iter().any(|item| shows(item, text, members)),
            Value::Object(object) => object.iter().any(|(name, member)| members && name.contains(text) || shows(member, text, members)),
            scalar => scalar.to_string().contains(text),
        }
    }

    #[test]
    fn what_is_not_stored_as_text_is_decoded() {
        for rendered in ["8080", "1.5", "true", "als", "2026-11-20T22", "1m0s", "e+21", "-3", "\u{fffd}", "", "a", "=="] {
            assert!(text(rendered).bytes.is_none(), "{rendered}");
        }
        for stored in ["10.244.1.7", "nginx:1.25", "node-17", "web", "8d7c5b6e-1f", "a1b2c3"] {
            assert!(text(stored).bytes.is_some(), "{stored}");
        }
        assert!(SearchedText::any_of(&[], false).bytes.is_none());
        let member = |text: &str| SearchedText::any_of(&[text.to_owned()], true).bytes.is_none();
        assert!(member("containerPor") && !member("app.kubernetes.io"));
    }

    #[test]
    fn bytes_are_found_by_their_base64() {
        for bytes in [&b"nginx and more"[..], &[0, 255, 17, 3, 200, 77, 9]] {
            let shown = STANDARD.encode(bytes);
            for start in 0..shown.len() {
                for end in start + 2..=shown.len() {
                    assert!(text(&shown[start..end]).may_be_in_base64(bytes), "{}", &shown[start..end]);
                }
            }
        }
        assert!(!text("bmdpbng").may_be_in_base64(b"another text"));
    }

    #[test]
    fn escapes_of_others_than_go_are_decoded() {
        let value = |text: &str| format!(r#"{{"apiVersion":"example.com/v1","kind":"Thing","spec":"{text}"}}"#);
        let may_show = |stored: &str, shown: &str| may_show(SAMPLE_KEY, value(stored).as_bytes(), &text(shown));
        assert!(
            may_show(r"\u0077eb", "web") && may_show(r"a\/b-c", "a/b-c") && may_show(r"a\u003cb", "a<b") && may_show(r#"a\"b"#, "a\"b")
        );
        assert!(!may_show(r"a\u003cb \u0026 \n", "web") && !may_show("other", "web"));
    }

    #[test]
    fn kinds_that_are_changed_on_their_way_are_decoded() {
        let stored = br#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}"#;
        assert!(may_show(b"/registry/namespaces/a", stored, &text("Active")));
        let sealed = b"k8s:enc:aescbc:v1:key1:0123456789abcdef";
        assert!(may_show(b"/registry/secrets/a/b", sealed, &text("anything")));
    }

    prop_compose! {
        /// Text with what is written otherwise by some encoding.
        fn any_text()(text in "[a-c<&\"\\\\\n\u{e9}\u{2028}\u{1f600}/._:0-9-]{0,12}") -> String { text }
    }

    prop_compose! {
        fn object()(
            texts in proptest::collection::vec(any_text(), 1..4),
            name in any_text(),
            number in any::<i32>(),
            float in any::<f32>(),
            flag in any::<bool>(),
        ) -> Value {
            let float = if float.is_finite() { f64::from(float) } else { 0.5 };
            json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "b", "labels": {name: "x"}},
                   "spec": {"texts": texts, "number": number, "float": float, "flag": flag}})
        }
    }

    /// CBOR of JSON as API servers write it: strings as byte strings of definite length.
    fn cbor_of(value: &Value, out: &mut Vec<u8>) {
        let head = |out: &mut Vec<u8>, major: u8, length: u64| {
            out.push(major << 5 | 27);
            out.extend_from_slice(&length.to_be_bytes());
        };
        match value {
            Value::Null => out.push(0xf6),
            Value::Bool(flag) => out.push(if *flag { 0xf5 } else { 0xf4 }),
            Value::Number(number) => match number.as_i64() {
                Some(number) if number >= 0 => head(out, 0, number.unsigned_abs()),
                Some(number) => head(out, 1, number.unsigned_abs() - 1),
                None => {
                    out.push(0xfb);
                    out.extend_from_slice(&number.as_f64().unwrap_or_default().to_be_bytes());
                }
            },
            Value::String(text) => {
                head(out, 2, text.len() as u64);
                out.extend_from_slice(text.as_bytes());
            }
            Value::Array(items) => {
                head(out, 4, items.len() as u64);
                items.iter().for_each(|item| cbor_of(item, out));
            }
            Value::Object(members) => {
                head(out, 5, members.len() as u64);
                for (name, member) in members {
                    cbor_of(&Value::String(name.clone()), out);
                    cbor_of(member, out);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_that_is_shown_is_missed(object in object(), part in any_text(), members in any::<bool>()) {
            let mut cbor = cbor::CBOR_MAGIC.to_vec();
            cbor_of(&object, &mut cbor);
            let (compact, escaped) = (serde_json::to_vec(&object).unwrap(), super::super::go_json(&object));
            let spelt = object.to_string().replace('a', "\\u0061").replace("f\\u0061lse", "false");
            for stored in [&compact[..], &escaped, spelt.as_bytes(), &cbor] {
                let Some(shown) = Decoder::new().decode(SAMPLE_KEY, stored, 7).object().cloned() else { continue };
                let parts = shown["spec"]["texts"].as_array().into_iter().flatten().filter_map(Value::as_str);
                let parts: Vec<String> = parts.flat_map(pieces).chain([part.clone()]).filter(|part| shows(&shown, part, members)).collect();
                for part in parts {
                    let searched = SearchedText::any_of(std::slice::from_ref(&part), members);
                    prop_assert!(may_show(SAMPLE_KEY, stored, &searched), "{:?} in {}", part, shown);
                }
            }
        }
    }

    fn pieces(text: &str) -> Vec<String> {
        let letters: Vec<char> = text.chars().collect();
        (1..=letters.len()).map(|end| letters[end / 2..end].iter().collect()).collect()
    }
}
