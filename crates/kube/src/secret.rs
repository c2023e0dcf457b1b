//! Masks the values of Secrets while a stored value becomes an object, so that nothing further on ever holds them.
//!
//! A Secret's values are in its `data`, and in copies that tools keep in its annotations: `kubectl apply`, kapp, Rancher and others store
//! the whole manifest there, plain or compressed. So of a Secret only what is known to be no value is kept; everything else becomes
//! [`VALUE_MASK`], whatever its length.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use json_patch::jsonptr::PointerBuf;
use serde_json::{Map, Value};

use super::credentials;
use super::object::{Object, VALUE_MASK};

/// Members of a Secret whose values are secret and whose names are not.
const VALUE_MEMBERS: [&str; 2] = ["data", "stringData"];

/// Members of a Secret that are shown as they are; `metadata` is looked into.
const SHOWN_MEMBERS: [&str; 4] = ["apiVersion", "kind", "type", "immutable"];

/// Members of ObjectMeta (apimachinery v1.36, `pkg/apis/meta/v1/types.go`); `annotations` are looked into.
const METADATA_MEMBERS: [&str; 15] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
    "clusterName",
];

/// Annotations of Secrets that name things and hold no values: of service account tokens, Helm and cert-manager.
const KNOWN_ANNOTATIONS: [&str; 15] = [
    "kubernetes.io/service-account.name",
    "kubernetes.io/service-account.uid",
    "kubernetes.io/created-by",
    "kubernetes.io/legacy-token-invalid-since",
    "meta.helm.sh/release-name",
    "meta.helm.sh/release-namespace",
    "helm.sh/resource-policy",
    "cert-manager.io/certificate-name",
    "cert-manager.io/common-name",
    "cert-manager.io/issuer-group",
    "cert-manager.io/issuer-kind",
    "cert-manager.io/issuer-name",
    "control-plane.alpha.kubernetes.io/hash",
    "auth.openshift.io/certificate-not-after",
    "auth.openshift.io/certificate-not-before",
];

/// The longest text that an annotation of [`KNOWN_ANNOTATIONS`] holds: a DNS name.
const LONGEST_NAME: usize = 253;

/// Hashes masked values. Its key is random, so that a hash shows nothing but whether two values of one run are equal.
static MASK_HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The annotation in which kubectl keeps what was applied; it parses it, so its mask is JSON.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Whether a stored value may hold a Secret: it lies among Secrets, or its bytes name the kind, or may do so in a way that only a parser sees; or
/// whether it may be one of OpenShift's objects, of which some hold credentials.
pub(super) fn may_be_in(key: &[u8], value: &[u8]) -> bool {
    /// What CBOR begins with, whose text may come in pieces.
    const CBOR_MAGIC: &[u8] = b"\xd9\xd9\xf7";
    is_secret_key(key)
        || credentials::may_be_under(key)
        || may_be_release(key, value)
        || value.starts_with(CBOR_MAGIC)
        || names_secret(value)
        || has_escaped_letter(value)
}

/// Whether a stored value may be a ConfigMap in which Helm keeps a release.
fn may_be_release(key: &[u8], value: &[u8]) -> bool {
    let holds = |text: &str| memchr::memmem::find(value, text.as_bytes()).is_some();
    is_config_map_key(key) && (holds("helm") || holds("TILLER"))
}

/// Whether a key is that of a ConfigMap.
fn is_config_map_key(key: &[u8]) -> bool {
    key.rsplit(|&byte| byte == b'/').nth(2) == Some(b"configmaps")
}

/// Whether a ConfigMap holds a release of Helm, with all values that it was installed with, as Helm 2 and the driver `configmap` write it (helm v3
/// `pkg/storage/driver/cfgmaps.go`).
fn is_release(object: &Value) -> bool {
    let labels = &object["metadata"]["labels"];
    labels["owner"] == "helm" || labels["OWNER"] == "TILLER"
}

/// Whether bytes name the kind, or that of its lists.
fn names_secret(bytes: &[u8]) -> bool {
    const SECRET_KIND: &[u8] = b"Secret";
    // In JSON the name is followed by a quote, which is escaped where the JSON lies in a string; in protobuf by another field.
    let ends_in = |rest: &[u8]| rest.first().is_none_or(|next| !next.is_ascii_alphanumeric());
    memchr::memmem::find_iter(bytes, SECRET_KIND).any(|at| {
        let rest = &bytes[at + SECRET_KIND.len()..];
        ends_in(rest) || rest.strip_prefix(b"List").is_some_and(ends_in)
    })
}

/// Whether JSON writes a letter by its number, `\u0053`, which no API server does: names cannot be found by their bytes then.
fn has_escaped_letter(bytes: &[u8]) -> bool {
    const UNICODE_ESCAPE: &[u8] = b"\\u00";
    memchr::memmem::find_iter(bytes, UNICODE_ESCAPE)
        .any(|at| bytes.get(at + UNICODE_ESCAPE.len()).is_some_and(|digit| (b'4'..=b'7').contains(digit)))
}

/// Whether a key is that of a Secret: `<prefix>/secrets/<namespace>/<name>`. Custom resources that happen to be called `secrets` have such keys too.
pub fn is_secret_key(key: &[u8]) -> bool {
    key.rsplit(|&byte| byte == b'/').nth(2) == Some(b"secrets")
}

/// Whether the object under `key` is a custom resource that happens to be called `secrets`: its group stands in the key.
fn is_custom(key: &[u8], object: &Value) -> bool {
    let group = key.rsplit(|&byte| byte == b'/').nth(3).unwrap_or_default();
    let of_group = |version: &str| version.split_once('/').is_some_and(|(named, _)| named.as_bytes() == group && named.contains('.'));
    object["apiVersion"].as_str().is_some_and(of_group)
}

/// Masks what is secret in the object that is stored under `key`.
pub(super) fn mask(key: &[u8], value: Value) -> Object {
    let mut masking = Masking::default();
    let mut value = value;
    if is_secret_key(key) && !is_custom(key, &value) {
        masking.secret(&mut value);
    } else {
        if is_config_map_key(key) && is_release(&value) {
            masking.release(&mut value);
        }
        masking.any(&mut value);
    }
    Object::masked(value, masking.masked)
}

/// A walk through an object that masks.
#[derive(Default)]
struct Masking {
    path: PointerBuf,
    masked: Vec<(PointerBuf, u64)>,
}

impl Masking {
    /// Masks the Secrets in a value of whatever kind: itself, items of lists, manifests that other kinds hold, copies in annotations; and the credentials
    /// of OpenShift's kinds.
    fn any(&mut self, value: &mut Value) {
        if let Some(found) = credentials::of(value) {
            let known = self.masked.len();
            found.places.iter().for_each(|place| self.place(value, place));
            if self.masked.len() > known {
                self.applied(value);
            }
        }
        match value {
            Value::Object(object) if object.get("kind").is_some_and(|kind| kind == "Secret") => self.secret(value),
            Value::Object(object) if object.get("kind").is_some_and(|kind| kind == "SecretList") => self.list(object),
            Value::Object(object) => {
                for (name, member) in object {
                    self.at(name, |masking| match member {
                        Value::Object(annotations) if name == "annotations" => masking.copies(annotations),
                        _ => masking.any(member),
                    });
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.at(&index.to_string(), |masking| masking.any(item));
                }
            }
            _ => {}
        }
    }

    /// Masks what is at a place, each item of what is at `*`.
    fn place(&mut self, value: &mut Value, place: &[&str]) {
        match (place, value) {
            ([], Value::String(text)) if text.is_empty() => {}
            ([], value) => self.whole(value),
            (["*", rest @ ..], Value::Array(items)) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.at(&index.to_string(), |masking| masking.place(item, rest));
                }
            }
            ([name, rest @ ..], Value::Object(members)) => {
                if let Some(member) = members.get_mut(*name) {
                    self.at(name, |masking| masking.place(member, rest));
                }
            }
            _ => {}
        }
    }

    /// Masks the copy that kubectl keeps of an object that holds credentials.
    fn applied(&mut self, object: &mut Value) {
        if let Some(annotation) = object.pointer_mut("/metadata/annotations").and_then(|annotations| annotations.get_mut(LAST_APPLIED)) {
            self.at("metadata", |masking| masking.at("annotations", |masking| masking.annotation(LAST_APPLIED, annotation)));
        }
    }

    /// Masks a list of Secrets, which name their kind or not.
    fn list(&mut self, list: &mut Map<String, Value>) {
        for (name, member) in list {
            self.at(name, |masking| match member {
                Value::Array(items) if name == "items" => {
                    for (index, item) in items.iter_mut().enumerate() {
                        masking.at(&index.to_string(), |masking| masking.secret(item));
                    }
                }
                _ if name == "items" => masking.whole(member),
                _ => masking.any(member),
            });
        }
    }

    /// Masks annotations of another kind that hold the manifest of a Secret.
    fn copies(&mut self, annotations: &mut Map<String, Value>) {
        let holds_one = |text: &str| has_escaped_letter(text.as_bytes()) || names_secret(text.as_bytes()) && text.contains("kind");
        for (name, annotation) in annotations {
            if annotation.as_str().is_some_and(holds_one) {
                self.annotation(name, annotation);
            }
        }
    }

    fn annotation(&mut self, name: &str, annotation: &mut Value) {
        self.at(name, |masking| masking.whole(annotation));
        if name == LAST_APPLIED && annotation == VALUE_MASK {
            *annotation = "{}".into();
        }
    }

    /// Masks the data of a release.
    fn release(&mut self, config_map: &mut Value) {
        if let Some(Value::Object(values)) = config_map.get_mut("data") {
            self.at("data", |masking| masking.each(values));
        }
    }

    /// Masks a Secret, or whatever lies in its place.
    fn secret(&mut self, value: &mut Value) {
        let Value::Object(members) = value else { return self.whole(value) };
        for (name, member) in members {
            self.at(name, |masking| match (name.as_str(), &mut *member) {
                ("metadata", Value::Object(metadata)) => masking.metadata(metadata),
                (field, Value::Object(values)) if VALUE_MEMBERS.contains(&field) => masking.each(values),
                (field, Value::String(_) | Value::Bool(_) | Value::Null) if SHOWN_MEMBERS.contains(&field) => {}
                _ => masking.whole(member),
            });
        }
    }

    fn metadata(&mut self, metadata: &mut Map<String, Value>) {
        for (name, member) in metadata {
            self.at(name, |masking| match (name.as_str(), &mut *member) {
                ("annotations", Value::Object(annotations)) => masking.annotations(annotations),
                (field, _) if METADATA_MEMBERS.contains(&field) => {}
                _ => masking.whole(member),
            });
        }
    }

    fn annotations(&mut self, annotations: &mut Map<String, Value>) {
        let is_name =
            |text: &str| text.len() <= LONGEST_NAME && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:*".contains(&byte));
        for (name, annotation) in annotations {
            let is_harmless = |text: &str| text.is_empty() || KNOWN_ANNOTATIONS.contains(&name.as_str()) && is_name(text);
            if !annotation.as_str().is_some_and(is_harmless) {
                self.annotation(name, annotation);
            }
        }
    }

    fn each(&mut self, values: &mut Map<String, Value>) {
        for (name, value) in values {
            self.at(name, |masking| masking.whole(value));
        }
    }

    /// Masks a value as a whole; null says that there is none.
    fn whole(&mut self, value: &mut Value) {
        if !value.is_null() {
            self.masked.push((self.path.clone(), MASK_HASHER.hash_one(value.to_string())));
            *value = VALUE_MASK.into();
        }
    }

    fn at(&mut self, name: &str, work: impl FnOnce(&mut Self)) {
        self.path.push_back(name);
        work(self);
        self.path.pop_back();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SECRET_KEY: &[u8] = b"/registry/secrets/lab/s";

    #[test]
    fn of_a_secret_only_what_is_no_value_is_kept() {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": true, "data": {"a": "czNjcjN0"}, "stringData": {"b": "s3cr3t"},
            "metadata": {"name": "s", "labels": {"app": "x"}, "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": "{\"data\":{\"a\":\"czNjcjN0\"}}", "note": "s3cr3t",
                "kubernetes.io/service-account.name": "default", "meta.helm.sh/release-name": "not a {name}"}, "more": "s3cr3t"},
            "more": ["s3cr3t"],
        });
        let wanted = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": true, "data": {"a": "***"}, "stringData": {"b": "***"},
            "metadata": {"name": "s", "labels": {"app": "x"}, "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": "{}", "note": "***",
                "kubernetes.io/service-account.name": "default", "meta.helm.sh/release-name": "***"}, "more": "***"},
            "more": "***",
        });
        assert_eq!(*mask(SECRET_KEY, secret.clone()), wanted);
        assert_eq!(*mask(b"", secret.clone()), wanted);
        let list = json!({"kind": "SecretList", "items": [secret]});
        assert_eq!(mask(b"/registry/templates/lab/x", list)["items"][0], wanted);
    }

    #[test]
    fn releases_of_helm_in_config_maps_are_masked() {
        let key = b"/registry/configmaps/lab/shop.v1";
        let release = |labels: Value| json!({"kind": "ConfigMap", "metadata": {"name": "shop.v1", "labels": labels}, "data": {"release": "H4sIAAAA"}});
        for labels in [json!({"owner": "helm"}), json!({"OWNER": "TILLER"})] {
            let stored = release(labels);
            assert!(may_be_in(key, stored.to_string().as_bytes()));
            assert_eq!(mask(key, stored)["data"]["release"], "***");
        }
        assert_eq!(mask(key, release(json!({"owner": "us"})))["data"]["release"], "H4sIAAAA");
        assert!(!may_be_in(b"/registry/configmaps/lab/c", b"{\"kind\":\"ConfigMap\"}"));
    }

    #[test]
    fn items_of_a_list_of_secrets_need_no_kind() {
        let item = json!({"metadata": {"name": "s"}, "data": {"a": "czNjcjN0"}});
        let masked = json!({"metadata": {"name": "s"}, "data": {"a": "***"}});
        let list = |items: &[&Value]| json!({"items": items, "kind": "SecretList", "metadata": {"resourceVersion": "7"}});
        let object = json!({"kind": "Backup", "spec": {"kept": [list(&[&item, &item])]}});
        let wanted = json!({"kind": "Backup", "spec": {"kept": [list(&[&masked, &masked])]}});
        let value = serde_json::to_vec(&object).unwrap();
        assert!(may_be_in(b"/registry/example.com/backups/x/y", &value));
        assert_eq!(*mask(b"/registry/example.com/backups/x/y", object), wanted);
        assert_eq!(mask(b"/x", json!({"kind": "SecretList", "items": {"a": item}}))["items"], "***");
        let lists = json!({"kind": "List", "items": [{"kind": "List", "items": [list(&[&item])]}]});
        assert_eq!(mask(b"/x", lists)["items"][0]["items"][0], list(&[&masked]));
    }

    #[test]
    fn an_escape_in_a_name_hides_no_secret() {
        for text in [
            r#"{"kind": "ConfigMap", "x": {"kind": "\u0053ecret", "data": {"a": "czNjcjN0"}}}"#,
            r#"{"kind": "ConfigMap", "x": {"data": {"a": "czNjcjN0"}, "k\u0069nd": "Secr\u0065t"}}"#,
            r#"{"kind": "ConfigMap", "x": {"\u0064ata": {"a": "czNjcjN0"}, "kind": "Secret"}}"#,
            r#"{"kind": "ConfigMap", "x": {"items": [{"data": {"a": "czNjcjN0"}}], "kind": "Secret\u004cist"}}"#,
            r#"{"kind": "App", "metadata": {"annotations": {"a": "{\"k\\u0069nd\":\"\\u0053ecret\",\"data\":{\"a\":\"czNjcjN0\"}}"}}}"#,
        ] {
            assert!(may_be_in(b"/registry/configmaps/lab/x", text.as_bytes()), "{text}");
            let masked = mask(b"/registry/configmaps/lab/x", serde_json::from_str(text).unwrap());
            assert!(!masked.to_string().contains("czNjcjN0"), "{}", *masked);
        }
        // Go escapes no letters.
        assert!(!may_be_in(b"/registry/configmaps/lab/x", br#"{"a": "\u003cb\u003e \u0026 \u2028"}"#));
    }

    #[test]
    fn what_lies_among_secrets_is_masked_whatever_its_shape() {
        assert_eq!(
            *mask(SECRET_KEY, json!({"kind": "ConfigMap", "data": "s3cr3t", "spec": {"x": 1}})),
            json!({"kind": "ConfigMap", "data": "***", "spec": "***"})
        );
        assert_eq!(
            *mask(b"/kubernetes.io/secrets/lab/s", json!({"kind": ["s3cr3t"], "metadata": "s3cr3t"})),
            json!({"kind": "***", "metadata": "***"})
        );
        assert_eq!(*mask(SECRET_KEY, json!(["s3cr3t"])), json!("***"));
        let custom = json!({"apiVersion": "vault.example.com/v1", "kind": "Entry", "data": {"a": 1}});
        assert_eq!(*mask(b"/registry/vault.example.com/secrets/lab/s", custom.clone()), custom);
    }

    #[test]
    fn credentials_of_openshifts_objects_are_masked() {
        let route = json!({
            "apiVersion": "route.openshift.io/v1", "kind": "Route", "spec": {"host": "a", "tls": {"key": "s3cr3t", "certificate": "c"}},
            "metadata": {"name": "r", "annotations": {LAST_APPLIED: "{\"spec\":{\"tls\":{\"key\":\"s3cr3t\"}}}", "note": "n"}},
        });
        let masked = json!({
            "apiVersion": "route.openshift.io/v1", "kind": "Route", "spec": {"host": "a", "tls": {"key": "***", "certificate": "c"}},
            "metadata": {"name": "r", "annotations": {LAST_APPLIED: "{}", "note": "n"}},
        });
        let key = b"/openshift.io/routes/a/r";
        // A value alone may be one of them, too.
        assert!(may_be_in(key, b"{}") && may_be_in(b"", b"{}") && !may_be_in(b"/registry/pods/a/b", b"{}"));
        assert_eq!(*mask(key, route.clone()), masked);
        let template = json!({"kind": "Template", "apiVersion": "template.openshift.io/v1", "objects": [route]});
        assert_eq!(mask(b"/openshift.io/templates/a/t", template)["objects"][0], masked);
        for (kind, group, object, wanted) in [
            (
                "OAuthClient",
                "oauth",
                json!({"secret": "s", "additionalSecrets": ["t", "u"]}),
                json!({"secret": "***", "additionalSecrets": ["***", "***"]}),
            ),
            (
                "OAuthAccessToken",
                "oauth",
                json!({"authorizeToken": "s", "refreshToken": "", "userName": "u"}),
                json!({"authorizeToken": "***", "refreshToken": "", "userName": "u"}),
            ),
            ("OAuthAuthorizeToken", "oauth", json!({"codeChallenge": "s"}), json!({"codeChallenge": "***"})),
            (
                "BuildConfig",
                "build",
                json!({"spec": {"triggers": [{"github": {"secret": "s"}}, {"type": "x"}]}}),
                json!({"spec": {"triggers": [{"github": {"secret": "***"}}, {"type": "x"}]}}),
            ),
            ("Route", "serving.knative", json!({"spec": {"tls": {"key": "k"}}}), json!({"spec": {"tls": {"key": "k"}}})),
        ] {
            let named = |mut object: Value, version: &str| {
                object["kind"] = kind.into();
                object["apiVersion"] = version.into();
                object
            };
            let version = format!("{group}.openshift.io/v1");
            let version = if group == "serving.knative" { "serving.knative.dev/v1" } else { &version };
            assert_eq!(*mask(b"/openshift.io/x/y", named(object, version)), named(wanted, version), "{kind}");
        }
    }

    #[test]
    fn copies_of_secrets_in_other_objects_are_masked() {
        let copy = "{\"kind\":\"Secret\",\"data\":{\"a\":\"czNjcjN0\"}}";
        let applied = json!({"kind": "App", "metadata": {"annotations": {LAST_APPLIED: copy}}});
        assert_eq!(mask(b"/registry/configmaps/lab/x", applied)["metadata"]["annotations"], json!({LAST_APPLIED: "{}"}));
        let object = json!({"kind": "App", "metadata": {"annotations": {"kapp.k14s.io/original": copy, "note": "a Secret is used"}}});
        let masked = mask(b"/registry/configmaps/lab/x", object);
        assert_eq!(masked["metadata"]["annotations"], json!({"kapp.k14s.io/original": "***", "note": "a Secret is used"}));
    }

    #[test]
    fn objects_that_may_hold_a_secret_are_found_by_their_bytes() {
        for value in [&b"{\"kind\":\"Secret\"}"[..], b"{\\\"kind\\\":\\\"Secret\\\"}", b"k8s\0\x0a\x0c\x0a\x02v1\x12\x06Secret\x12\x02"] {
            assert!(may_be_in(b"/x", value));
        }
        assert!(may_be_in(SECRET_KEY, b"{}") && !may_be_in(b"/registry/pods/a/b", b"{\"secretName\":\"x\",\"kind\":\"SecretClass\"}"));
    }
}
