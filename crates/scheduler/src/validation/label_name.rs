//! Names and values as labels and resources have them, checked in upstream's words: `apimachinery/pkg/util/validation` IsQualifiedName and
//! IsValidLabelValue, since 1.35 `apimachinery/pkg/api/validate/content` IsLabelKey and IsLabelValue.

use crate::Release;

use super::document::Document;

const NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character \
                    (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const SUBDOMAIN: &str = "subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an \
                         alphanumeric character (e.g. 'example.com', regex used for validation is \
                         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                     alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
                     '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// What is wrong with a field that must be a label's name.
pub(crate) fn check(field: &Document<'_>, release: Release) -> Vec<String> {
    of_name(field.text(), release).into_iter().map(|why| field.invalid_text(why)).collect()
}

/// What is wrong with a label's name.
pub(crate) fn of_name(text: &str, release: Release) -> Vec<String> {
    let parts: Vec<&str> = text.split('/').collect();
    let (prefix, name) = match parts[..] {
        [name] => (None, name),
        [prefix, name] => (Some(prefix), name),
        _ => {
            let what = if release.0 >= 35 { "valid label key" } else { "qualified name" };
            return vec![format!("a {what} {NAME} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')")];
        }
    };
    let mut wrong = Vec::new();
    match prefix {
        Some("") => wrong.push("prefix part must be non-empty".to_owned()),
        Some(prefix) => {
            let standard = if release.0 >= 20 { "a lowercase RFC 1123" } else { "a DNS-1123" };
            wrong.extend(too_long(prefix, 253, release).map(|why| format!("prefix part {why}")));
            wrong.extend((!is_subdomain(prefix)).then(|| format!("prefix part {standard} {SUBDOMAIN}")));
        }
        None => {}
    }
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    }
    wrong.extend(too_long(name, 63, release).map(|why| format!("name part {why}")));
    wrong.extend((!is_name(name)).then(|| format!("name part {NAME}")));
    wrong
}

/// What is wrong with a label's value.
pub(crate) fn of_value(text: &str, release: Release) -> Vec<String> {
    let mut wrong: Vec<String> = too_long(text, 63, release).into_iter().collect();
    wrong.extend((!text.is_empty() && !is_name(text)).then(|| VALUE.to_owned()));
    wrong
}

fn too_long(text: &str, most: usize, release: Release) -> Option<String> {
    let unit = if release.0 >= 35 { "bytes" } else { "characters" };
    (text.len() > most).then(|| format!("must be no more than {most} {unit}"))
}

fn is_name(text: &str) -> bool {
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    ends(text.as_bytes().first()) && ends(text.as_bytes().last()) && text.bytes().all(inner)
}

fn is_subdomain(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.split('.').all(|label| {
        let bytes = label.as_bytes();
        bytes.first().is_some_and(|byte| plain(*byte))
            && bytes.last().is_some_and(|byte| plain(*byte))
            && bytes.iter().all(|byte| plain(*byte) || *byte == b'-')
    })
}
