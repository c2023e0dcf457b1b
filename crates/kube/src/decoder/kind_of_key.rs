//! Whether a value is of the kind that its key says. API servers put no other there and could not read one.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde::Deserialize;

use super::cbor;
use crate::kinds::Kinds;
use crate::registry_key::{KeyResource, RegistryKey};

static BUILT_IN: LazyLock<Kinds> = LazyLock::new(Kinds::builtin);

/// The prefixes that API servers' keys have where no other is named: Kubernetes' and OpenShift's.
const KEY_PREFIXES: [&str; 2] = ["/registry", "/kubernetes.io"];

/// The kind of Kubernetes' own whose objects lie at a key below `prefix`, or else below the usual ones.
pub(super) fn kind_at<'k>(prefix: Option<&str>, key: &'k [u8]) -> Option<&'k str> {
    let below = |prefix: &str| match RegistryKey::parse(prefix, key, &BUILT_IN).object()?.resource {
        KeyResource::Known(kind) => Some(&*kind.kind),
        KeyResource::Unlisted { .. } => None,
    };
    match prefix {
        Some(prefix) => below(prefix),
        None => KEY_PREFIXES.into_iter().filter(|prefix| key.starts_with(prefix.as_bytes())).find_map(below),
    }
}

/// Why a value of the kind `found` cannot be an object of `expected`; `None` where it can.
pub(super) fn misplaced(expected: &str, found: &str) -> Option<String> {
    const MAX_NAME_BYTES: usize = 63;
    let is_name = found.len() <= MAX_NAME_BYTES && found.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let what = match found {
        "" => "an object without a kind",
        found if is_name => found,
        _ => "an object of another kind",
    };
    (found != expected).then(|| {
        format!("stored under the key of a {expected}, but it holds {}{what}", if is_name && !found.is_empty() { "a " } else { "" })
    })
}

/// The kind of an object in JSON or CBOR that is damaged in some other place, empty where it has none; `None` where the value cannot be read.
pub(super) fn dynamic_kind(value: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct KindAlone<'v> {
        #[serde(borrow, default)]
        kind: Cow<'v, str>,
    }
    serde_json::from_slice::<KindAlone<'_>>(&json_of(value)?).ok().map(|alone| alone.kind.into_owned())
}

/// The API version and kind of an object in JSON or CBOR, empty where it has none; `None` where the value cannot be read.
pub(super) fn dynamic_type(value: &[u8]) -> Option<(String, String)> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Typed<'v> {
        #[serde(borrow, default)]
        api_version: Cow<'v, str>,
        #[serde(borrow, default)]
        kind: Cow<'v, str>,
    }
    let json = json_of(value)?;
    let typed = serde_json::from_slice::<Typed<'_>>(&json).ok()?;
    Some((typed.api_version.into_owned(), typed.kind.into_owned()))
}

fn json_of(value: &[u8]) -> Option<Cow<'_, [u8]>> {
    if !value.starts_with(&cbor::CBOR_MAGIC) {
        return Some(Cow::Borrowed(value));
    }
    let mut text = Vec::new();
    cbor::append(value, &mut text).ok()?;
    Some(Cow::Owned(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_says_which_kind_lies_there() {
        assert_eq!(kind_at(None, b"/registry/pods/a/b"), Some("Pod"));
        assert_eq!(kind_at(None, b"/registry/services/specs/a/b"), Some("Service"));
        assert_eq!(kind_at(None, b"/kubernetes.io/configmaps/a/b"), Some("ConfigMap"));
        assert_eq!(kind_at(Some("/k"), b"/k/minions/n1"), Some("Node"));
        for key in [
            &b"/registry/stable.example.com/crontabs/a/b"[..],
            b"/registry/ranges/serviceips",
            b"/registry/pods/a",
            b"/other/pods/a/b",
            b"",
        ] {
            assert_eq!(kind_at(None, key), None);
        }
    }

    #[test]
    fn another_kind_is_named() {
        assert_eq!(misplaced("Pod", "Pod"), None);
        assert_eq!(misplaced("Pod", "ConfigMap").unwrap(), "stored under the key of a Pod, but it holds a ConfigMap");
        assert_eq!(misplaced("Pod", "").unwrap(), "stored under the key of a Pod, but it holds an object without a kind");
        assert_eq!(misplaced("Pod", "a\nb").unwrap(), "stored under the key of a Pod, but it holds an object of another kind");
    }
}
