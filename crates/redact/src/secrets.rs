//! Objects that hold credentials, which go whatever was chosen.

use serde_json::{Map, Value};

/// The annotation in which kubectl keeps the manifest that it applied.
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Whether an object is a Secret, not merely a reference to one.
pub(crate) fn is_secret(object: &Map<String, Value>) -> bool {
    let is_of_core = object.get("apiVersion").and_then(Value::as_str).is_none_or(|version| !version.contains('.'));
    let holds = ["data", "stringData", "metadata"].iter().any(|member| object.contains_key(*member));
    object.get("kind").is_some_and(|kind| kind == "Secret") && is_of_core && holds
}

/// Whether an object is a list of Secrets.
pub(crate) fn is_list(object: &Map<String, Value>) -> bool {
    object.get("kind").is_some_and(|kind| kind == "SecretList")
}

/// Whether a ConfigMap holds a release of Helm, as Helm 2 and the driver `configmap` write it (helm v3 `pkg/storage/driver/cfgmaps.go`).
pub(crate) fn is_helm_release(object: &Map<String, Value>) -> bool {
    let labels = object.get("metadata").and_then(|metadata| metadata.get("labels"));
    let is = |key: &str, value: &str| labels.and_then(|labels| labels.get(key)).is_some_and(|label| label == value);
    is("owner", "helm") || is("OWNER", "TILLER")
}

/// Members of other kinds that hold credentials, `*` for each item of a list (openshift/api 2a3d7391).
pub(crate) fn credentials(kind: &str) -> &'static [&'static [&'static str]] {
    match kind {
        "OAuthAccessToken" => &[&["authorizeToken"], &["refreshToken"]],
        "OAuthAuthorizeToken" => &[&["codeChallenge"]],
        "OAuthClient" => &[&["secret"], &["additionalSecrets", "*"]],
        "Route" => &[&["spec", "tls", "key"]],
        "BuildConfig" => &[
            &["spec", "triggers", "*", "github", "secret"],
            &["spec", "triggers", "*", "generic", "secret"],
            &["spec", "triggers", "*", "gitlab", "secret"],
            &["spec", "triggers", "*", "bitbucket", "secret"],
        ],
        _ => &[],
    }
}

/// The strings at a place of an object.
pub(crate) fn at_place<'a>(value: &'a mut Value, place: &[&str]) -> Vec<&'a mut String> {
    match (place, value) {
        ([], Value::String(text)) => vec![text],
        (["*", rest @ ..], Value::Array(items)) => items.iter_mut().flat_map(|item| at_place(item, rest)).collect(),
        ([name, rest @ ..], Value::Object(members)) => members.get_mut(*name).map(|member| at_place(member, rest)).unwrap_or_default(),
        _ => Vec::new(),
    }
}
