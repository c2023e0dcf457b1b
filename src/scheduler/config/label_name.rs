//! Names as labels and resources have them, checked in upstream's words (`apimachinery/pkg/util/validation` IsQualifiedName).

use super::document::Document;

const NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character \
                    (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with \
                         an alphanumeric character (e.g. 'example.com', regex used for validation is \
                         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// What is wrong with a field that must be a label's name.
pub fn check(field: &Document<'_>) -> Vec<String> {
    reasons(field.text()).into_iter().map(|why| field.invalid(format!("{:?}", field.text()), why)).collect()
}

fn reasons(text: &str) -> Vec<String> {
    let parts: Vec<&str> = text.split('/').collect();
    let (prefix, name) = match parts[..] {
        [name] => (None, name),
        [prefix, name] => (Some(prefix), name),
        _ => return vec![format!("a qualified name {NAME} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')")],
    };
    let mut wrong = Vec::new();
    match prefix {
        Some("") => wrong.push("prefix part must be non-empty".to_owned()),
        Some(prefix) => {
            wrong.extend((prefix.len() > 253).then(|| "prefix part must be no more than 253 characters".to_owned()));
            wrong.extend((!is_subdomain(prefix)).then(|| format!("prefix part {SUBDOMAIN}")));
        }
        None => {}
    }
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        wrong.push("name part must be no more than 63 characters".to_owned());
    }
    wrong.extend((!is_name(name)).then(|| format!("name part {NAME}")));
    wrong
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
