//! Resource names of kinds whose definitions are not in the input, by the rule with which kubectl guesses them.

use serde_json::{Value, json};

/// The resource of a kind, as kubectl guesses it (apimachinery v0.36 `pkg/api/meta/restmapper.go`, `UnsafeGuessKindToResource`).
fn plural(kind: &str) -> String {
    let singular = kind.to_lowercase();
    match singular.as_str() {
        _ if singular.ends_with("endpoints") => singular,
        name if name.ends_with('s') => format!("{singular}es"),
        name => match name.strip_suffix('y') {
            Some(stem) => format!("{stem}ies"),
            None => format!("{singular}s"),
        },
    }
}

/// What is guessed of a kind, as a definition and as its resource; `None` for what cannot be a custom resource: their groups are domain names.
pub(super) fn definition(object: &Value) -> Option<(Value, String)> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    let is_word = |text: &str, also: &[u8]| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || also.contains(&byte));
    let (group, version) = text("/apiVersion")?.split_once('/')?;
    let kind = text("/kind").filter(|kind| is_word(kind, b""))?;
    text("/metadata/name")?;
    if !group.contains('.') || !is_word(group, b".-") || !is_word(version, b"") {
        return None;
    }
    let plural = plural(kind);
    let scope = if text("/metadata/namespace").is_some() { "Namespaced" } else { "Cluster" };
    let resource = format!("{plural}.{group}");
    let spec = json!({
        "group": group,
        "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind},
        "scope": scope,
        "versions": [{"name": version, "served": true, "storage": true}],
    });
    let names = json!({"name": resource});
    Some((json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": names, "spec": spec}), resource))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{definition, plural};

    #[test]
    fn plurals_are_kubectls() {
        for (kind, wanted) in [
            ("Certificate", "certificates"),
            ("IngressClass", "ingressclasses"),
            ("NetworkPolicy", "networkpolicies"),
            ("Gateway", "gatewaies"),
            ("Mesh", "meshs"),
            ("CiliumEndpoints", "ciliumendpoints"),
        ] {
            assert_eq!(plural(kind), wanted);
        }
    }

    #[test]
    fn only_what_may_be_a_custom_resource_is_guessed() {
        let object = |api_version: &str, name: &str| json!({"apiVersion": api_version, "kind": "Certificate", "metadata": {"name": name, "namespace": "x"}});
        let (definition_of, resource) = definition(&object("cert-manager.io/v1", "a")).unwrap();
        assert_eq!((resource.as_str(), &definition_of["spec"]["scope"]), ("certificates.cert-manager.io", &json!("Namespaced")));
        for (api_version, name) in
            [("v1", "a"), ("apps/v1", "a"), ("cert-manager.io/v1", ""), ("cert/manager.io/v1", "a"), ("a.b\nc/v1", "a")]
        {
            assert!(definition(&object(api_version, name)).is_none(), "{api_version} {name}");
        }
    }
}
