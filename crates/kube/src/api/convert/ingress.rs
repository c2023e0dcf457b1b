//! Ingresses between v1beta1 and v1, which name backends differently.
//!
//! Source: Kubernetes 1.21 `pkg/apis/networking/v1beta1/conversion.go`.

use serde_json::{Map, Value, json};

/// Makes an ingress of v1beta1 one of v1.
pub(super) fn to_v1(ingress: &mut Value) {
    rename(ingress, "backend", "defaultBackend");
    each_backend(ingress, "defaultBackend", |backend| {
        let (name, port) = (backend.remove("serviceName"), backend.remove("servicePort"));
        let port = port.map(|port| if port.is_string() { json!({"name": port}) } else { json!({"number": port}) });
        if name.is_some() || port.is_some() {
            let mut service = Map::new();
            service.insert("name".to_owned(), name.unwrap_or_else(|| "".into()));
            service.insert("port".to_owned(), port.unwrap_or_else(|| json!({})));
            backend.insert("service".to_owned(), service.into());
        }
    });
}

/// Makes an ingress of v1 one of v1beta1.
pub(super) fn from_v1(ingress: &mut Value) {
    rename(ingress, "defaultBackend", "backend");
    each_backend(ingress, "backend", |backend| {
        let Some(service) = backend.remove("service") else { return };
        backend.insert("serviceName".to_owned(), service["name"].clone());
        let port = service["port"].get("name").or_else(|| service["port"].get("number"));
        backend.insert("servicePort".to_owned(), port.cloned().unwrap_or_else(|| 0.into()));
    });
}

fn rename(ingress: &mut Value, from: &str, to: &str) {
    if let Some(spec) = ingress.get_mut("spec").and_then(Value::as_object_mut)
        && let Some(backend) = spec.remove(from)
    {
        spec.insert(to.to_owned(), backend);
    }
}

fn each_backend(ingress: &mut Value, default: &str, change: impl Fn(&mut Map<String, Value>)) {
    let Some(spec) = ingress.get_mut("spec") else { return };
    if let Some(backend) = spec.get_mut(default).and_then(Value::as_object_mut) {
        change(backend);
    }
    let rules = spec.get_mut("rules").and_then(Value::as_array_mut).into_iter().flatten();
    let paths = rules.filter_map(|rule| rule.pointer_mut("/http/paths").and_then(Value::as_array_mut)).flatten();
    paths.filter_map(|path| path.get_mut("backend").and_then(Value::as_object_mut)).for_each(change);
}
