//! What `-f` names: files, the endpoints of a live etcd, or an API server.

use crate::cli::system::files;

/// The variable that names what `-f` names, several separated as in `PATH`.
pub(in crate::cli) const FILE_VARIABLE: &str = "KETCD_FILE";

/// Splits the value of [`FILE_VARIABLE`].
pub(super) fn names_in(value: &str) -> Vec<String> {
    // The name of a context may hold any character, so it is the only one.
    if is_api_server(value) {
        return vec![value.to_owned()];
    }
    if files::LIST_SEPARATOR != ':' {
        return value.split(files::LIST_SEPARATOR).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    }
    names_between_colons(value)
}

/// Splits names at the colons between them: not at those of a URL, nor at the two of `ARCHIVE::NAME`.
fn names_between_colons(value: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    // Several URLs are separated by commas.
    let is_scheme = |name: &str| name.rsplit(',').next().is_some_and(|last| !last.contains('/'));
    let mut after_empty = false;
    for part in value.split(':') {
        let is_port =
            || part.split([',', '/']).next().is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
        match names.last_mut() {
            _ if part.is_empty() => {}
            Some(last) if after_empty => *last = format!("{last}::{part}"),
            Some(last) if part.starts_with("//") && is_scheme(last) || is_url(last) && is_port() => *last = format!("{last}:{part}"),
            _ => names.push(part.to_owned()),
        }
        after_empty = part.is_empty();
    }
    names
}

/// What separates the name of a file, or of an object in a bucket, from that of an entry in it.
pub(in crate::cli) const ENTRY_SEPARATOR: &str = "::";

/// Whether `-f` names a live etcd.
pub(in crate::cli) fn is_url(name: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| name.starts_with(scheme))
}

/// What the name of an API server begins with.
const KUBECONFIG_SCHEME: &str = "kubeconfig:";

/// Whether `-f` names an API server.
fn is_api_server(name: &str) -> bool {
    name.starts_with(KUBECONFIG_SCHEME)
}

/// The context that a name has; empty for the current one.
pub(super) fn context_of(name: &str) -> Option<&str> {
    name.strip_prefix(KUBECONFIG_SCHEME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_variable_are_separated_by_colons() {
        for (value, names) in [
            ("a.db", &["a.db"][..]),
            ("a.db:/b/c.db", &["a.db", "/b/c.db"]),
            (":a.db:backup.zip::db/etcd:b.db:", &["a.db", "backup.zip::db/etcd", "b.db"]),
            ("", &[]),
            ("https://10.0.0.1:2379,https://10.0.0.2:2379:a.db", &["https://10.0.0.1:2379,https://10.0.0.2:2379", "a.db"]),
            ("a.db:http://etcd:2379", &["a.db", "http://etcd:2379"]),
            ("s3://bucket/a.db:b.db", &["s3://bucket/a.db", "b.db"]),
        ] {
            assert_eq!(names_between_colons(value), names, "{value}");
        }
    }
}
