//! The small languages: CEL, JSONPath and selectors.

use std::io::{self, Write};
use std::sync::OnceLock;

use ketcd_kube::{FieldSelector, LabelSelector};
use ketcd_render::custom_columns::CustomColumns;
use ketcd_render::json_path::{ItemByItem, JsonPath};
use ketcd_render::sort_key::SortKey;
use ketcd_scheduler::fuzz::evaluate_cel;
use serde_json::{Value, json};

/// An expression of a device selector: the same answer each time, and no larger than the limit on cost lets it grow.
pub fn cel(data: &[u8]) {
    const MAX_HEAP_BYTES: usize = 64 << 20;
    let Ok(expression) = std::str::from_utf8(data) else { return };
    let answer = evaluate_cel(expression);
    let (Ok(text) | Err(text)) = &answer;
    assert!(text.len() <= MAX_HEAP_BYTES, "{} bytes of answer", text.len());
    assert_eq!(answer, evaluate_cel(expression));
}

/// A template, run over a list: what it prints item by item is what it prints of all at once.
pub fn json_path(data: &[u8]) {
    let Ok(template) = std::str::from_utf8(data) else { return };
    let _ = CustomColumns::parse(template).map(|columns| pods()["items"].as_array().unwrap().iter().for_each(|pod| drop(columns.row(pod))));
    let _ = JsonPath::parse_relaxed(template).map(|path| SortKey::of(&path, &pods()["items"][0]));
    let Ok(path) = JsonPath::parse(template) else { return };
    let mut whole = Narrow::default();
    let is_written = path.write(pods(), &mut whole).is_ok();
    let _ = path.find(pods());
    if let (Some(mut streamed), true) = (ItemByItem::of(&path), is_written) {
        let mut out = Narrow::default();
        pods()["items"].as_array().unwrap().iter().for_each(|item| streamed.write(item, &mut out).unwrap());
        streamed.finish(&mut out).unwrap();
        assert_eq!(out.0.escape_ascii().to_string(), whole.0.escape_ascii().to_string());
    }
}

/// Takes as much as a pipe whose reader has seen enough.
#[derive(Default)]
struct Narrow(Vec<u8>);

impl Write for Narrow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        const MAX_OUTPUT_BYTES: usize = 1 << 20;
        if self.0.len() > MAX_OUTPUT_BYTES {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn pods() -> &'static Value {
    static RECORDED_PODS: OnceLock<Value> = OnceLock::new();
    RECORDED_PODS.get_or_init(|| {
        let pod = |n: usize| {
            json!({"metadata": {"name": format!("web-{n}"), "labels": {"app": "web", "n": n.to_string()}},
                "spec": {"containers": [{"name": "main", "ports": [{"containerPort": 80 + n}]}, {"name": "side"}], "replicas": n},
                "status": {"phase": (["Running", "Pending"][n % 2]), "ready": n != 1, "none": null, "load": 0.5}})
        };
        json!({"kind": "List", "apiVersion": "v1", "items": [pod(0), pod(1), pod(2)]})
    })
}

/// Label and field selectors: what is written of one selects the same, and what the key alone decides, the object decides in the same way.
pub fn selectors(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(selector) = LabelSelector::parse(text) {
        let shown = selector.to_string();
        let again = LabelSelector::parse(&shown).unwrap_or_else(|error| panic!("{text:?} is shown as {shown:?}: {error}"));
        assert_eq!(again.to_string(), shown);
        for labels in [json!({}), json!({"a": "b", "n": "5"}), json!({"a": "", "app": "web", "n": "-1", "example.com/x": "y"})] {
            assert_eq!(selector.matches(&labels.as_object()), again.matches(&labels.as_object()), "{text:?}, {shown:?} on {labels}");
        }
        assert_eq!(selector.matches(&None::<&serde_json::Map<String, Value>>), selector.matches(&json!({}).as_object()));
        assert!(!selector.is_empty() || selector.matches(&None::<&serde_json::Map<String, Value>>));
    }
    if let Ok(selector) = FieldSelector::parse(text) {
        for (namespace, name) in [("lab", "web-0"), ("", "a=b,c\\")] {
            let object = json!({"metadata": {"name": name, "namespace": namespace}, "spec": {"nodeName": "n1", "n": 5, "list": [1]}});
            let matches = selector.matches(&object);
            let is_ruled_out = selector.rules_out(Some(namespace), name);
            assert!(!(matches && is_ruled_out), "{text:?}");
            assert!(!selector.is_decided_by_key() || matches != is_ruled_out, "{text:?}");
        }
    }
}

/// What `ketcd serve` is asked, a URL and an `Accept`: the same answer each time, and a refusal is the client's fault.
pub fn request(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (url, accept) = text.split_once('\n').unwrap_or((text, ""));
    let answer = ketcd_serve::read_request(url, accept);
    assert_eq!(answer, ketcd_serve::read_request(url, accept));
    if let Some(Err(status)) = answer {
        let status: Value = serde_json::from_str(&status).unwrap();
        assert!((400..500).contains(&status["code"].as_u64().unwrap()), "{url}: {status}");
    }
}
