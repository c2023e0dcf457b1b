//! Keys and values of labels, checked in upstream's words: `apimachinery/pkg/util/validation` IsQualifiedName and IsValidLabelValue, since
//! 1.35 `apimachinery/pkg/api/validate/content` IsLabelKey and IsLabelValue.

use crate::dns_name::is_subdomain;
use crate::release::Release;

const NAME_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character \
                    (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const SUBDOMAIN_RULE: &str = "subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an \
                         alphanumeric character (e.g. 'example.com', regex used for validation is \
                         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const VALUE_RULE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                     alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
                     '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// The longest a name or a value may be, in bytes.
const MAX_NAME_BYTES: usize = 63;
/// The longest a prefix may be, in bytes.
const LONGEST_PREFIX: usize = 253;

/// The words of upstream's messages that changed between releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelWords {
    /// What a key is called: `qualified name`, since 1.35 `valid label key`.
    pub key: &'static str,
    /// What lengths are counted in: `characters`, since 1.35 `bytes`.
    pub unit: &'static str,
    /// The standard of a prefix: `a DNS-1123`, since 1.20 `a lowercase RFC 1123`.
    pub standard: &'static str,
}

impl LabelWords {
    /// Those of a release (`validation.go`): worded differently for a DNS subdomain since 1.20, for a key since 1.35.
    pub fn of(release: Release) -> Self {
        let (key, unit) = if release.0 >= 35 { ("valid label key", "bytes") } else { ("qualified name", "characters") };
        Self { key, unit, standard: if release.0 >= 20 { "a lowercase RFC 1123" } else { "a DNS-1123" } }
    }

    /// Returns what is wrong with a label's key or another qualified name.
    pub fn key_problems(&self, text: &str) -> Vec<String> {
        let parts: Vec<&str> = text.split('/').collect();
        let (prefix, name) = match parts[..] {
            [name] => (None, name),
            [prefix, name] => (Some(prefix), name),
            _ => {
                return vec![format!(
                    "a {} {NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                    self.key
                )];
            }
        };
        let mut wrong = Vec::new();
        match prefix {
            Some("") => wrong.push("prefix part must be non-empty".to_owned()),
            Some(prefix) => {
                wrong.extend(self.too_long(prefix, LONGEST_PREFIX).map(|why| format!("prefix part {why}")));
                wrong.extend((!is_subdomain(prefix)).then(|| format!("prefix part {} {SUBDOMAIN_RULE}", self.standard)));
            }
            None => {}
        }
        if name.is_empty() {
            wrong.push("name part must be non-empty".to_owned());
        }
        wrong.extend(self.too_long(name, MAX_NAME_BYTES).map(|why| format!("name part {why}")));
        wrong.extend((!is_name(name)).then(|| format!("name part {NAME_RULE}")));
        wrong
    }

    /// Returns what is wrong with a label's value.
    pub fn value_problems(&self, text: &str) -> Vec<String> {
        let mut wrong: Vec<String> = self.too_long(text, MAX_NAME_BYTES).into_iter().collect();
        wrong.extend((!text.is_empty() && !is_name(text)).then(|| VALUE_RULE.to_owned()));
        wrong
    }

    fn too_long(&self, text: &str, most: usize) -> Option<String> {
        (text.len() > most).then(|| format!("must be no more than {most} {}", self.unit))
    }
}

/// Returns whether a label may have the key.
pub fn is_label_key(text: &str) -> bool {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    !name.is_empty() && is_label_value(name) && prefix.is_none_or(|prefix| prefix.len() <= LONGEST_PREFIX && is_subdomain(prefix))
}

/// Returns whether a label may have the value.
pub fn is_label_value(text: &str) -> bool {
    text.len() <= MAX_NAME_BYTES && (text.is_empty() || is_name(text))
}

fn is_name(text: &str) -> bool {
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    ends(text.as_bytes().first()) && ends(text.as_bytes().last()) && text.bytes().all(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABEL_WORDS: LabelWords = LabelWords { key: "qualified name", unit: "characters", standard: "a DNS-1123" };

    #[test]
    fn keys_and_values_are_valid_where_nothing_is_wrong_with_them() {
        let long = "a".repeat(64);
        let prefix = format!("{}/a", "a.".repeat(127) + "a");
        for (text, key, value) in [
            ("app", true, true),
            ("", false, true),
            ("a.b_c-d", true, true),
            ("-a", false, false),
            ("a-", false, false),
            ("example.com/App", true, false),
            ("Example.com/App", false, false),
            ("/a", false, false),
            ("a/", false, false),
            ("a/b/c", false, false),
            (&long, false, false),
            (&long[..63], true, true),
            (&prefix, false, false),
        ] {
            assert_eq!((is_label_key(text), is_label_value(text)), (key, value), "{text:?}");
            assert_eq!((LABEL_WORDS.key_problems(text).is_empty(), LABEL_WORDS.value_problems(text).is_empty()), (key, value), "{text:?}");
        }
    }

    #[test]
    fn problems_are_named_in_the_words_of_the_release() {
        let problems = LABEL_WORDS.key_problems(&format!("-/{}", "a".repeat(64)));
        assert!(problems[0].starts_with("prefix part a DNS-1123 subdomain must consist"), "{problems:?}");
        assert_eq!(problems[1], "name part must be no more than 63 characters");
        assert!(LABEL_WORDS.key_problems("a/b/c")[0].starts_with("a qualified name must consist"));
    }
}
