//! Members of OpenShift's objects that hold credentials, masked as the values of Secrets are (openshift/api 2a3d7391).
//!
//! The names of tokens that OpenShift 4.6 and later make are hashes (`sha256~…`). Those of older releases are the tokens themselves, and a key says its
//! object's name: names are not masked.

use serde_json::Value;

/// Objects of a kind that hold credentials.
pub(super) struct Credentials {
    kind: &'static str,
    group: &'static str,
    /// Where they are: members, `*` for each item of a list.
    pub places: &'static [&'static [&'static str]],
}

const ALL_CREDENTIALS: [Credentials; 5] = [
    Credentials { kind: "OAuthAccessToken", group: "oauth.openshift.io", places: &[&["authorizeToken"], &["refreshToken"]] },
    // By the method `plain` the challenge is the verifier itself (RFC 7636, 4.2).
    Credentials { kind: "OAuthAuthorizeToken", group: "oauth.openshift.io", places: &[&["codeChallenge"]] },
    Credentials { kind: "OAuthClient", group: "oauth.openshift.io", places: &[&["secret"], &["additionalSecrets", "*"]] },
    Credentials { kind: "Route", group: "route.openshift.io", places: &[&["spec", "tls", "key"]] },
    Credentials {
        kind: "BuildConfig",
        group: "build.openshift.io",
        places: &[
            &["spec", "triggers", "*", "github", "secret"],
            &["spec", "triggers", "*", "generic", "secret"],
            &["spec", "triggers", "*", "gitlab", "secret"],
            &["spec", "triggers", "*", "bitbucket", "secret"],
        ],
    },
];

/// Whether an object under this key may be one of OpenShift's: its prefix or its group is in it, or the key is not known.
pub(super) fn may_be_under(key: &[u8]) -> bool {
    key.is_empty() || memchr::memmem::find(key, b"openshift.io/").is_some()
}

/// The credentials in an object, by its kind and group. OpenShift 3 stored its kinds as `v1`, without a group.
pub(super) fn of(object: &Value) -> Option<&'static Credentials> {
    let (kind, version) = (object["kind"].as_str()?, object["apiVersion"].as_str()?);
    let group = version.split_once('/').map(|(group, _)| group);
    ALL_CREDENTIALS.iter().find(|one| one.kind == kind && group.is_none_or(|group| group == one.group))
}
